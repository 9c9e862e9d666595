"""The documentation site: it builds without a warning, opens without a network, and finds what people ask for."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.party.options import options_of
from copublish.party.request import RunOptions, RunRequest
from copublish.tools.planning.meaning import epsilon_in_words
from support.browser import browser
from website import notebooks, pictures
from website.build import build_site
from website.errors import BrokenLinkError, SiteError, UnexplainedKeyError
from website.links import problems_of_links
from website.menus import configuration_for, pages_in_menus
from website.places import DOCS, PICTURES, ROOT, THEME, Build
from website.reference import agreement_keys
from website.reference.commands import page_of_commands
from website.reference.messages import messages, parts_of_messages
from website.reference.run_options import page_of_run_options
from website.staging import moved

QUESTIONS = {
    "how much epsilon": "how-much-epsilon",
    "which mechanism": "which-mechanism",
    "firewall": "network-teams",
    "is it anonymous": "for-lawyers",
    "GDPR": "for-lawyers",
    "what does the other party see": "what-the-other-party-sees",
    "run failed, is the budget spent": "run-failed",
    "mean with error bars": "notebooks/errors-and-intervals",
    "add a hospital": "add-a-party",
    "missing values": "missing-values",
    "how long does it take": "how-long-does-it-take",
    "not enough budget": "budgets",
    "what is delta": "what-is-delta",
    "what is epsilon": "how-much-epsilon",
    "how many records do I need": "how-much-epsilon",
    "who can see my data": "what-the-other-party-sees",
    "ports to open": "network-teams",
    "budget used up": "budgets",
    "train a classifier": "notebooks/train-a-model",
    "delete a person": "for-lawyers",
    "install": "install",
}
"""What people type, and the page that answers it."""

PLAIN_QUESTIONS = {
    "several rows per person": "your-data",
    "dates": "your-data",
    "no class": "your-data",
    "Excel": "your-data",
    "how do I choose bins": "your-data",
    "decimal comma": "your-data",
    "what if the other side lies": "what-the-other-party-sees",
    "repeat next year": "budgets",
    "Windows and macOS": "install",
    "can I run it on a Mac": "install",
    "can I delete a person later": "for-lawyers",
    "how long does it take": "how-long-does-it-take",
    "impact assessment": "impact-assessment",
    "DPIA": "impact-assessment",
    "joint controller contract": "joint-controllers",
    "mean cost by stage": "tutorials/hospital-and-registry",
    "three banks": "tutorials/three-banks",
    "what does a privacy officer click": "tutorials/privacy-officer",
    "one customer at two banks": "tutorials/three-banks",
    "the other party stopped": "run-failed",
    "is the release genuine": "verify",
    "which columns can I publish": "your-data",
}
"""What people ask who do not know the words of these pages, and the page that answers it."""

LOOKED_AT = ("index", "what-the-other-party-sees", "notebooks/errors-and-intervals", "reference/agreement-keys")
"""Pages that are opened: a picture, a wide table, results of a notebook, keys."""


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Build:
    build = Build(tmp_path_factory.mktemp("site"))
    build_site(build.folder, people=3000)
    return build


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


def test_the_site_has_every_kind_of_page(build):
    for page in [
        *QUESTIONS.values(),
        *PLAIN_QUESTIONS.values(),
        "reference/messages",
        "reference/python-names",
        "contributing",
        "decisions/index",
    ]:
        assert (build.site / f"{page}.html").is_file(), page
    names = (build.site / "reference" / "python-names.html").read_text()
    assert (
        'id="copublish.party.local.simulation.simulate"' in names and "Privacy" in names
    )  # mkdocstrings read the source


def test_without_a_network_every_question_finds_its_page_first_or_second(build, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    foreign: list[str] = []
    page.on("request", lambda request: request.url.startswith("file://") or foreign.append(request.url))
    page.on("console", lambda message: foreign.append(message.text))
    page.context.set_offline(True)
    page.goto((build.site / "index.html").as_uri())
    page.locator("button.md-search__button").click()
    box = page.locator("input[role=combobox]")
    found = {}
    for question, wanted in {**QUESTIONS, **PLAIN_QUESTIONS}.items():
        box.fill(question)
        page.wait_for_function(FOUND, arg=[question, 2])
        found[question] = (wanted, page.evaluate(HITS))
    assert {asked: hits for asked, (wanted, hits) in found.items() if wanted not in hits[:2]} == {}
    box.fill("xylophone")  # a word of no page: the check of hits can fail
    page.wait_for_function(FOUND, arg=["xylophone", 0])
    assert page.evaluate(HITS) == []
    assert foreign == []
    page.close()


HITS = """() => [...document.querySelectorAll("*")].filter(e => e.shadowRoot)
  .flatMap(e => [...e.shadowRoot.querySelectorAll("a[href*='?h=']")])
  .map(a => a.href.replace(/^.*?\\/site\\//, "").replace(/\\.html.*$/, ""))"""
"""The pages that the search shows, in its order."""

FOUND = """([question, least]) => {
  const links = [...document.querySelectorAll("*")].filter(e => e.shadowRoot)
    .flatMap(e => [...e.shadowRoot.querySelectorAll("a[href*='?h=']")]);
  const asked = encodeURIComponent(question).replaceAll("%20", "+");
  return least ? links.length > 0 && links.every(a => a.href.includes("?h=" + asked)) : links.length === 0;
}"""
"""Whether what is shown answers this question, and not the one before."""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_fit_wide_and_narrow_windows_and_follow_light_and_dark(build, chromium, width, scheme):
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in LOOKED_AT:
        page.goto((build.site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.locator("article h1").count() == 1, name
        assert page.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
        for picture in page.locator("svg.picture").all():
            assert picture.bounding_box()["width"] >= 300
            ink = picture.locator("text.strong").first.evaluate("e => getComputedStyle(e).fill")
            assert ink == {"light": "rgb(29, 39, 51)", "dark": "rgb(230, 235, 241)"}[scheme]
    page.close()


def test_links_of_a_site_that_lead_to_nothing_or_elsewhere_are_told(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="b.html#there">b</a><a href="#here">a</a><a href="b.html#nowhere">x</a>'
        '<a href="c.html">c</a><a href="https://example.org/">out</a><script src="https://cdn.example/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert list(problems_of_links(tmp_path)) == [
        "a.html loads https://cdn.example/x.js from elsewhere",
        "a.html: b.html#nowhere leads to no place on its page",
        "a.html: c.html leads to nothing",
    ]


def test_a_link_of_a_page_follows_its_target_or_becomes_text(tmp_path):
    page, place = DOCS / "tutorials" / "first-release.md", tmp_path / "tutorials" / "first-release.md"
    text = "[a](../../README.md) [b](../../compose.yaml) [c](../reference/python.md#data) `[d](e)`\n```\n[f](g)\n```\n"
    assert moved(text, page, place, tmp_path) == (
        "[a](../index.md) b [c](../reference/python.md#data) `[d](e)`\n```\n[f](g)\n```\n"
    )
    with pytest.raises(BrokenLinkError, match=r"none\.md"):
        moved("[x](none.md)", page, place, tmp_path)


def test_a_new_page_gets_a_place_and_a_menu_without_a_page_is_refused(build, tmp_path):
    known = pages_in_menus(configuration_for(build.pages))
    (build.pages / "found.md").write_text("# Found\n")
    assert pages_in_menus(configuration_for(build.pages)) == known | {"found.md"}
    with pytest.raises(SiteError, match=r"not there: .*'index.md'"):
        configuration_for(tmp_path)


def test_notebooks_are_shown_with_results_and_can_be_taken_along(build):
    for script in notebooks.notebooks():
        page = (build.site / "notebooks" / f"{script.stem}.html").read_text()
        assert 'class="result of-notebook"' in page and f'href="{script.stem}.ipynb"' in page
        taken = json.loads((build.site / "notebooks" / f"{script.stem}.ipynb").read_text())
        assert (taken["nbformat"], taken["nbformat_minor"]) == (4, 5)
        assert all(cell["outputs"] == [] for cell in taken["cells"] if cell["cell_type"] == "code")
    read = (build.site / "notebooks" / "read-a-release.html").read_text()
    assert re.search(r"\d\d\.\d+ % \(\d\d\.\d+ to \d\d\.\d+ % with 95 % confidence", read)


def test_a_notebook_that_fails_or_warns_ends_the_build(tmp_path):
    def run(code: str) -> list[notebooks.Result]:
        return notebooks.run(notebooks.cells_of(f"# %% [markdown]\n# Words\n# %%\n{code}\n"), tmp_path)

    assert run("print(1)\n2") == [notebooks.Result(), notebooks.Result("1\n", "2")]
    with pytest.raises(ZeroDivisionError):
        run("1 / 0")
    with pytest.raises(UserWarning):
        run("import warnings; warnings.warn('loud')")


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_pictures_are_those_of_the_tables_and_can_be_read(name):
    drawn = (PICTURES / name).read_text()
    assert drawn == pictures.DRAWN[name](), "draw it anew: python -m website.pictures"
    root = ET.fromstring(drawn)
    ids = root.get("aria-labelledby").split()
    told = {element.get("id"): element.text for element in root if element.get("id")}
    assert [bool(told[each]) for each in ids] == [True, True]
    light, dark = (dict(re.findall(r"--picture-(\w+):(#\w{6})", part)) for part in drawn.split("@media"))
    for colors, ground in ((light, "#ffffff"), (light, light["box"]), (dark, "#14181e"), (dark, dark["box"])):
        for kind in ("ink", "faint", "open", "closed", "some"):
            assert contrast(colors[kind], ground) >= 4.5, (kind, ground)  # WCAG 2.2, 1.4.3


def contrast(one: str, other: str) -> float:
    """By the definition of WCAG 2.2."""

    def luminance(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_table_of_epsilons_has_the_bound_of_beliefs_and_the_law_of_the_noise():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \| ±(\d+) p", (DOCS / "how-much-epsilon.md").read_text(), re.M)
    assert len(rows) == 11
    for said_epsilon, said_belief, said_within in rows:
        epsilon, within = float(said_epsilon), int(said_within)
        belief = 100 * math.exp(epsilon) / (1 + math.exp(epsilon))
        assert 0 <= float(said_belief) - belief < 1  # rounded up
        outside = [2 * math.exp(-epsilon) ** (k + 1) / (1 + math.exp(-epsilon)) for k in range(within + 1)]
        assert outside[-1] <= 0.05 and all(each > 0.05 for each in outside[:-1])


def test_lawyers_read_of_each_kind_of_neighbors_what_it_promises():
    page = " ".join((DOCS / "for-lawyers.md").read_text().split())
    for neighbors in ("add-remove", "replace"):
        said = re.search(rf"`neighbors = \"{neighbors}\"`\)[^.]*", page)
        assert epsilon_in_words("1", neighbors)[1:].rstrip(".") in said[0]


WIDE = {"COLUMNS": "200"}
"""A terminal in which help cuts nothing off."""


def test_every_option_that_help_shows_is_in_the_reference():
    page = page_of_commands()
    for command in ("run", "ledger", "plan", "init", "doctor"):
        sections = [part for part in page.split("\n## ") if re.match(rf"`copublish {command}\b", part)]
        shown = set(re.findall(r"--[a-z][a-z-]+", CliRunner().invoke(app, [command, "--help"], env=WIDE).output))
        assert {option for option in shown - {"--help"} if option not in str(sections)} == set()


def test_every_option_of_a_run_is_in_the_reference_with_its_names():
    rows = [line for line in page_of_run_options().splitlines() if line.startswith("| `--")]
    shown = CliRunner().invoke(app, ["run", "--help"], env=WIDE).output
    assert len(rows) == len(RunOptions.__annotations__) >= 16
    for row, name in zip(rows, options_of(RunRequest), strict=True):
        flag = re.search(r"--[a-z-]+", row)[0]
        assert f"`{name}`" in row and flag in shown
    assert sum("| yes |" in row for row in rows) >= 10, "keys of party.toml"


def test_messages_that_users_meet_are_in_the_reference(tmp_path):
    known = [re.escape(said).replace("…", "(?s:.*)") for said in {said for _, said in messages()} | parts_of_messages()]
    broken = tmp_path / "agreement.toml"
    CliRunner().invoke(app, ["init", str(broken)])
    broken.write_text(broken.read_text().replace("epsilon = 1.0", "epsilon = 11"))
    met = [
        CliRunner().invoke(app, words).exception
        for words in (
            ["show", str(tmp_path / "none")],
            ["generalize", str(tmp_path / "none"), "--data", "x.csv", "--out", str(tmp_path / "y.csv")],
            ["check", str(broken)],
            ["check", str(tmp_path / "none.toml")],
        )
    ]
    for error in met:
        for sentence in getattr(error, "problems", (str(error),)):
            rule = sentence.partition(": ")[2] or sentence  # what stands before it is the place in the file
            assert any(re.search(pattern, sentence) or re.fullmatch(pattern, rule) for pattern in known), sentence


def test_a_key_that_nothing_explains_ends_the_build(monkeypatch):
    explained = dict(agreement_keys.explained_keys())
    del explained["records", "expected"]
    monkeypatch.setattr(agreement_keys, "explained_keys", lambda: explained)
    with pytest.raises(UnexplainedKeyError, match="expected"):
        agreement_keys.page_of_agreement_keys()


def test_what_others_wrote_is_theirs_unchanged():
    """The shim of iframe-worker 1.0.4 as its package has it, with its license."""
    shim = THEME / "javascripts" / "iframe-worker.js"
    assert hashlib.sha256(shim.read_bytes()).hexdigest() == (
        "e8e412dbcfea9b7e31b5ffa288d7b6035915e714c542f4176a0cdbe262fc9609"
    )
    assert "Martin Donath" in Path(shim.with_suffix(".LICENSE")).read_text()
    assert "unpkg" not in (ROOT / "mkdocs.yml").read_text()
