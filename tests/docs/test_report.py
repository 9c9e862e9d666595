"""The report in a real browser: self-contained, accessible, escaped; its numbers and its code are right."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from copublish import agreement_from_mapping
from copublish.errors import EvaluationError
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.describe import grouped
from copublish.release.render.parts import generalized_values
from copublish.release.render.snippets import snippets
from copublish.release.render.tree import partition_trees
from copublish.release.report.glance import belief_bound, budget_shares
from copublish.release.report.page import report_page
from copublish.tools.evaluation.scorecard import evaluate
from support import random_table, repartition, seeded, simulate_with, small_mapping
from support.browser import AUDIT, COVERED, browser, open_page
from support.packages import install
from support.releases import small_release

HOSTILE = {
    "description": "</p><script>alert('description')</script>",
    "attributes.region.values": ["<img src=//example.org/x onerror=alert(1)>", "</svg><b>south", "{{ 7 * 7 }} & 'é"],
    "class.values": ['no "quotes"', "yes\\<i>"],
}


@pytest.fixture(scope="module")
def plain():
    return small_release(2000)


@pytest.fixture(scope="module")
def hostile():
    release, table = small_release(2000, **HOSTILE)
    assert len(release.generalization.values["region"]) == 3, "the values of interest must be published"
    return release, table


@pytest.fixture(scope="module")
def reports(plain, hostile, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    perturbed = small_release(300, mechanism={"name": "vhdp"}, **PUBLIC)
    pages = {
        "plain": report_page(plain[0]),
        "hostile": report_page(hostile[0], evaluate(*hostile, raw=hostile[1], classifiers=["decision-tree"])),
        "nothing split": report_page(small_release(50, **{"mechanism.specializations": 0})[0]),
        "horizontal": report_page(small_release(500, **HORIZONTAL)[0]),
        "perturbed": report_page(perturbed[0], evaluate(*perturbed, classifiers=["decision-tree"])),
        "by gains": report_page(small_release(300, mechanism={"name": "copula"}, budget=GAINS, **PUBLIC)[0]),
        "by rounds": report_page(small_release(2000, mechanism={"name": "marginals"}, **ROUNDS)[0]),
        "moments": report_page(small_release(500, mechanism={"name": "hpdp"}, **HORIZONTAL)[0]),
        "public size": report_page(small_release(500, **{"records.public": True, "privacy.neighbors": "replace"})[0]),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


PUBLIC = {"records.public": True, "privacy.neighbors": "replace"}

GAINS = {"allocation": "use-informative"}

ROUNDS = {"privacy.delta": "1e-6", "class.name": "<b>default"}

HORIZONTAL = {
    "partition": "horizontal",
    **{f"attributes.{name}.held_by": None for name in ("job", "region", "age", "income")},
}


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


LOST_NUMBERS = """() => [...document.querySelectorAll("td.n")].filter(cell => {
  const box = cell.getBoundingClientRect();
  return box.width === 0 || box.right > innerWidth + 1;
}).map(cell => cell.textContent)"""
"""Numbers of tables that lie beyond the window's edge, or nowhere."""


OVER_ALL = re.compile(r"\b(100\.0*[1-9]|10[1-9]|1[1-9]\d|[2-9]\d\d|\d[\d,]{3,})[\d.]*\s?%")
"""A share of more than all."""


@pytest.mark.parametrize("width", [1280, 390])
def test_every_report_is_self_contained_accessible_and_drawn(chromium, reports, width):
    for name, path in reports.items():
        page, complaints = open_page(chromium, path, width)
        assert complaints == [], name
        assert page.evaluate(AUDIT) == [], name
        assert page.evaluate(COVERED) == [], name
        assert page.evaluate(LOST_NUMBERS) == [], name
        assert OVER_ALL.search(page.inner_text("body")) is None, name
        assert page.locator("svg").count() >= 1
        assert page.locator(".card").count() >= 3
        page.close()


def test_the_checks_of_the_browser_can_fail(chromium, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<h2>Skipped</h2><h4>x</h4><table><tr><td>1</td></tr></table><svg viewBox='0 0 9 9'></svg>"
        "<img src='http://127.0.0.1:9/x.png'><script>console.log('loud'); alert(1); nothing()</script>"
        "<p style='width:3000px'>wide</p>"
    )
    page, complaints = open_page(chromium, bad, 1280)
    assert {complaint.split(":")[0] for complaint in complaints} == {"console", "dialog", "error", "request"}
    assert len(page.evaluate(AUDIT)) >= 8
    page.set_content("<table><tr><td class='n' style='position:absolute;left:2000px'>7</td></tr></table>")
    assert page.evaluate(LOST_NUMBERS) == ["7"]
    page.close()


AS_IT_WAS = """<svg viewBox="0 0 300 18" width="300" style="font:13px monospace"><text x="0" y="13">young</text>
<rect x="88" y="3" width="100" height="12"></rect><text x="300" y="13" text-anchor="end">61.85 % ± 10.42</text></svg>
<table><tr><td style="position:relative">7 of 8
<span class="track" style="position:absolute;inset:0"></span></td></tr></table>"""
"""A bar beside its number, which had a fixed room: once "61.85 %" read "1.85 %"; and a bar over a number of a table."""


def test_the_look_for_text_under_bars_can_fail(chromium):
    page = chromium.new_page()
    page.set_content(AS_IT_WAS)
    assert all(map(OVER_ALL.search, ("101 %", "100.2 %", "1,200 %", "340\xa0%")))
    assert not any(map(OVER_ALL.search, ("100 %", "100.0 %", "99.9 %", "2026, 4 %")))
    assert page.evaluate(COVERED) == ['a bar meets "61.85 % ± 10.42"', 'a bar meets "7 of 8"']
    page.close()


def test_it_prints_on_a_few_pages_in_light_colors(chromium, reports):
    page, _ = open_page(chromium, reports["hostile"], 1280, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    pdf = page.pdf(prefer_css_page_size=True)
    assert pdf.startswith(b"%PDF")
    assert 3 <= pdf.count(b"/Type /Page\n") <= 12
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_text_from_the_release_stays_text(chromium, reports):
    page, complaints = open_page(chromium, reports["hostile"], 1280)
    assert complaints == []
    text = page.inner_text("body")
    for words in (HOSTILE["description"], *HOSTILE["attributes.region.values"], *HOSTILE["class.values"]):
        assert words in text
    assert page.locator("script, img, iframe, object, header b, main b, i").count() == 0
    page.close()


def test_what_the_report_must_say_is_there(chromium, reports, plain):
    page, _ = open_page(chromium, reports["plain"], 1280)
    text, certificate = page.inner_text("body"), plain[0].certificate.to_json()
    for sentence in (*certificate["protected"], *certificate["not_protected"], *certificate["assumptions"]):
        assert sentence in text
    for seen in certificate["views"]["bank"]:
        assert seen in text
    groups = grouped(plain[0].certificate.disclosures, "add-remove")
    assert sum(group.times for group in groups) == len(certificate["disclosures"]) > len(groups)
    for group in groups:
        assert f"{group.what}\t{group.times}\t" in text
    assert "real records" not in text
    page.close()
    page, _ = open_page(chromium, reports["hostile"], 1280)
    text = page.inner_text("body")
    assert "computed from real records without noise" in text
    assert "not part of the release" in text
    page.close()


def test_the_same_release_gives_the_same_page(plain):
    assert report_page(plain[0]) == report_page(plain[0])


def test_scores_of_another_release_are_refused(plain, hostile):
    scores = evaluate(*hostile, classifiers=["decision-tree"])
    with pytest.raises(EvaluationError, match="another release"):
        report_page(plain[0], scores)
    with pytest.raises(EvaluationError, match="no file of scores"):
        report_page(plain[0], {"release_digest": plain[0].digest()})


# --- Numbers ---------------------------------------------------------------------------------------------------------


def test_the_deviation_of_the_noise_is_that_of_the_discrete_laplace_law(plain):
    (counts,) = plain[0].certificate.at("leaf counts")
    deviation = deviation_of(counts.noise)
    scale = plain[0].certificate.to_json()["disclosures"][-1]["noise"]["scale_in_people"]
    values = np.arange(-400, 401)
    law = np.exp(-np.abs(values) / scale)
    law /= law.sum()
    assert deviation == pytest.approx(math.sqrt((law * values**2).sum()))
    # The folder's README and the page say one number.
    assert f"{deviation:.3g} times the square root of r" in plain[0].files()["README.md"].decode()
    assert f"{deviation:.3g} \N{MULTIPLICATION SIGN} √r people" in report_page(plain[0])


def test_budget_shares_add_up_and_belief_is_the_closed_form_rounded_up(plain):
    shares = budget_shares(plain[0].certificate)
    assert sum(shares) == pytest.approx(1)
    assert shares[-1] == pytest.approx(0.6)
    assert belief_bound(Fraction(1)) == 0.74  # of 0.7311: "cannot become more certain than" must not be rounded down
    assert belief_bound(Fraction(2, 3)) == 0.67
    for epsilon in map(Fraction, ("0.01", "1/3", "2", "5", "6", "10")):
        exact = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert exact <= belief_bound(epsilon) <= min(exact + 0.01, 1)
    assert belief_bound(None) is None


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_with_gaussian_noise_the_bound_on_belief_is_said_to_have_rare_exceptions(noise):
    mapping = repartition(small_mapping(mechanism={"name": "hpdp", "noise": noise}), "horizontal")
    mapping["privacy"] |= {"delta": "1e-6"} if noise == "gaussian" else {}
    agreement = agreement_from_mapping(mapping)
    table = random_table(agreement, 50, np.random.default_rng(1))
    release = simulate_with(agreement, {"p0": table[:20], "p1": table[20:]}, seeded(agreement.party_names, 1))
    page = report_page(release)
    assert "cannot become more certain than 74&nbsp;%" in page
    assert ("but for outcomes of the noise that are rare" in page) == (noise == "gaussian")


def test_the_tree_ends_in_the_published_values_in_their_order(plain):
    def leaves(node):
        return [leaf for child in node.children for leaf in leaves(child)] or [node.label]

    trees = partition_trees(plain[0], generalized_values(plain[0]))
    assert len(trees) >= 2
    for name, tree in trees.items():
        assert leaves(tree) == [value.label for value in plain[0].generalization.values[name]]


# --- Code ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["python", "r"])
@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_the_examples_run_and_print_the_numbers_of_the_report(chromium, reports, request, tmp_path, language, which):
    """The text a reader copies from the page runs in the release folder."""
    release = request.getfixturevalue(which)[0]
    folder = release.write(tmp_path / "release")
    page, _ = open_page(chromium, reports[which], 1280)
    code = page.text_content(f"#{language} code")
    page.close()
    if language == "r" and not shutil.which("Rscript") and not install("r-base-core"):
        pytest.skip("needs R, and may not install it")
    command = [sys.executable] if language == "python" else ["Rscript"]
    (folder / "example").write_text(code, encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*command, "example"], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    rows = next(iter(generalized_values(release).values()))
    told = [row.of_all.value for row in rows if row.of_all.tells and 0 < row.of_all.value < 1]
    assert len(told) >= 2
    printed = [float(number) for number in re.findall(r"\d\.\d+", done.stdout)]
    for share in told:
        assert min(abs(number - share) for number in printed) < 1e-5
    assert len([line for line in code.splitlines() if line]) <= 12


def test_examples_quote_what_is_in_a_release(hostile):
    assert '"yes\\\\<i>"' in snippets(hostile[0]).copublish
    perturbed = snippets(small_release(300, mechanism={"name": "vhdp"}, **PUBLIC, **HOSTILE)[0])
    for code in (perturbed.python, perturbed.r, perturbed.copublish):
        assert '"yes\\\\<i>"' in code
