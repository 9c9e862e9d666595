"""Two parties in two Chromium windows, each at its own server and home: from two headers and a dictionary to a verified
release. The north has a keyboard alone, and sees the focus wherever it stops; the south clicks. Every place is looked
at wide and narrow, light and dark, with axe-core.

`COPUBLISH_PICTURES=docs/images` keeps pictures there.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from support.audits import audit_of
from support.axe import axe_source, serious_findings
from support.browser import browser
from support.hands import Hands, Keys, Mouse
from support.node import free_port
from support.watched import WIDTHS, Watched, studio

NAMES = ("north", "south")
REFUSED_FORM = "console: Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
"""What Chromium itself says of a form that was read and not accepted."""

DICTIONARY = """name,kind,values,bounds,unit,description
patient,identifier,,,,
age,number,,0..100,years,at the first visit
region,category,coast|hills|plain,,,of the health service
outcome,class,well|ill,,,after a year
"""


def people(party: str, n: int = 300) -> pd.DataFrame:
    """Made-up people of one party."""
    draws = np.random.default_rng(len(party) + ord(party[0]))
    age = draws.integers(20, 90, n)
    return pd.DataFrame(
        {
            "patient": [f"{party}-{number}" for number in range(n)],
            "age": age,
            "region": draws.choice(["coast", "hills", "plain"], n),
            "outcome": np.where(age + draws.normal(0, 15, n) > 60, "ill", "well"),
        }
    )


OFFICER = Path(__file__).parents[2] / "docs" / "tutorials" / "privacy-officer.md"
"""What a privacy officer does at the south. Every word in bold is used, in this order, and no other."""

LABEL = "element => element.labels[0].firstChild.textContent.trim()"


class Noting(Mouse):
    """Clicks, and a note of the label of everything that was used."""

    def __init__(self, page) -> None:
        super().__init__(page)
        self.used: list[str] = []

    def _note(self, selector: str) -> None:
        named = re.search(r"text=(.*)|text-is\('(.*)'\)", selector)
        self.used.append(named[1] or named[2] if named else self.page.locator(selector).evaluate(LABEL))

    def press(self, selector: str) -> None:
        self._note(selector)
        super().press(selector)

    def fill(self, selector: str, text: str) -> None:
        self._note(selector)
        super().fill(selector, text)

    def choose(self, selector: str, label: str) -> None:
        self._note(selector)
        super().choose(selector, label)

    def attach(self, selector: str, file: Path) -> None:
        self._note(selector)
        super().attach(selector, file)


class Person(Watched):
    """Somebody of one party at that party's page."""

    def __init__(self, opened, name: str, folder: Path, axe: str) -> None:
        super().__init__(opened, axe=axe, accept_downloads=True)
        self.page.set_default_timeout(180_000)
        self.name, self.folder = name, folder
        self.hands: Hands = Keys(self.page) if name == NAMES[0] else Noting(self.page)

    def kept(self, link: str) -> Path:
        """Click on a download, and keep the file."""
        with self.page.expect_download() as download:
            self.hands.press(f"text={link}")
        path = self.folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def begin(self, port: int) -> None:
        """From a header and a dictionary to this party's draft, with its key and where it is."""
        page, hands = self.page, self.hands
        hands.fill("#party", self.name)
        hands.choose("#data", f"{self.name}.csv")
        hands.attach("#dictionary", self.folder.parent / "dictionary.csv")
        hands.choose("#partition", "other people at each party")
        for field, text in (("name", "outcomes"), ("dataset", "patients-2026"), ("expected", "600"), ("epsilon", "1")):
            hands.fill(f"#{field}", text)
        if self.name == NAMES[0]:
            self.look("draft-start")
        hands.press("button:text-is('Draft')")
        page.wait_for_selector("text=Saved as agreement.toml")
        hands.fill("#identity-party", self.name)
        hands.press("text=Make a key for this party")
        hands.press(f"text=Take the fingerprint of this machine's {self.name}")
        hands.fill("#parties-0-host", f"127.0.0.1:{port}")
        hands.fill("#parties-0-approvals", "1")

    def approve(self) -> Path:
        """Set a limit, approve, and keep the bundle of this party's approvals."""
        hands = self.hands
        hands.press("nav >> text=Approve")
        hands.fill("#limit_epsilon", "3")
        hands.press("text=Set this limit for patients-2026")
        hands.fill("#name", f"Officer of {self.name}")
        hands.fill("#role", "privacy officer")
        hands.press("text=Approve epsilon 1 for patients-2026")
        self.page.wait_for_selector(f"text=Officer of {self.name}, privacy officer")
        return self.kept("Export your approvals")

    def add(self, bundle: Path) -> None:
        """Add what the other party sent."""
        self.hands.attach("#approvals_file", bundle)
        self.hands.press("button:text-is('Add')")
        self.page.wait_for_selector("nav >> text=Approve: 2 of 2")

    def start(self) -> None:
        """Start this party's run."""
        self.hands.press("nav >> text=Run")
        self.hands.choose("#data", f"{self.name}.csv")
        self.hands.press("text=Look at what the rules do to them")
        self.page.wait_for_selector("text=For your eyes, on this machine")
        if self.name == NAMES[0]:
            self.look("run")
        self.hands.press("text=Start the run of outcomes")


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "dictionary.csv").write_text(DICTIONARY)
    for name in NAMES:
        (tmp_path / name).mkdir()
        people(name).to_csv(tmp_path / name / f"{name}.csv", index=False)
    return {name: tmp_path / name for name in NAMES}


def draft_together(north: Person, south: Person) -> None:
    """Both draft; the sentence of `check` comes while typing; values as a tree by keys; then one agreement of two."""
    page, hands = north.page, north.hands
    hands.fill("#epsilon", "99")
    page.wait_for_selector("#said-epsilon >> text=privacy.epsilon: must be at most 10, got 99")
    hands.fill("#epsilon", "1")
    page.wait_for_selector("#said-epsilon >> text=must be at most", state="detached")
    hands.press("#columns-1 > summary")  # complete, and so folded
    hands.go("[role=treeitem] >> text=coast")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    hands.fill(".tree-box input", "island")
    hands.press("text=Add beside")
    assert page.input_value("#columns-1-values").split("\n") == ["coast", "hills", "plain", "island"]
    hands.choose("#mechanism", "hpdp")
    hands.fill("#delta", "")
    hands.press("summary:has-text('More keys of the agreement')")
    hands.fill("#more", "no TOML")
    hands.press("button:text-is('Save')")
    page.wait_for_selector("#problems:focus >> text=not valid TOML")
    hands.fill("#more", '[engine]\nname = "masked-sum"')
    page.wait_for_selector("#said-more >> text=not valid TOML", state="detached")
    assert page.evaluate("document.activeElement.id") == "more", "who types keeps the focus"
    hands.press("button:text-is('Save')")
    page.wait_for_selector("text=Saved as agreement.toml")
    north.look("draft")
    assert page.locator("details.file[open]").count() == 1
    page.set_viewport_size({"width": WIDTHS[1], "height": 900})
    page.reload()
    assert page.locator("details.file").count() == 1 and page.locator("details.file[open]").count() == 0
    assert page.evaluate("document.getElementById('name').getBoundingClientRect().top") < 900, "fields come first"
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    south.hands.choose("#mechanism", "hpdp")
    south.hands.fill("#delta", "")
    south.hands.press("button:text-is('Save')")
    south.page.wait_for_selector("text=Saved as agreement.toml")
    hands.press("text=Merge with...")
    hands.attach("#theirs", south.folder / "agreement.toml")
    hands.press("button:text-is('Compare')")
    page.wait_for_selector("text=1 thing is said differently")
    north.look("draft-merge")
    hands.press("td[data-label=mine] input")
    hands.press("text=Take these choices")
    hands.press("text=Save the result")
    page.wait_for_selector("text=No open points")


def plan(north: Person) -> None:
    """The slider by keys, and one mechanism on made-up data."""
    page, hands = north.page, north.hands
    hands.press("nav >> text=Plan")
    page.wait_for_selector("text=at most 74 % sure")
    hands.go("#step")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=at most 67 % sure")  # 1 / (1 + exp(-0.7)) is 0.668
    assert page.input_value("#epsilon") == "0.7"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=at most 74 % sure")
    hands.press("#mechanism-1")
    hands.fill("#runs", "1")
    hands.press("text=Try them")
    page.wait_for_selector("#table >> text=raw data", timeout=300_000)  # by itself: nobody loads the page again
    north.look("plan")


def audit(north: Person) -> None:
    """An audit begins, says how far it is, and is canceled; then what is shown of one that was let go on."""
    north.hands.press("nav >> text=Approve")
    north.hands.press("summary:has-text('Audit this agreement')")
    north.hands.press("text=Start the audit")
    north.page.wait_for_selector("text=/An audit runs: .* of /")  # by itself
    north.hands.press("text=Cancel the audit")
    north.page.wait_for_selector("text=The audit was canceled. It found nothing.")
    (end,) = (path for path in north.folder.glob("jobs/*/end.json") if '"stopped"' in path.read_text())
    found = audit_of(cp.load_agreement(north.folder / "agreement.toml"))
    end.with_name("result.json").write_text(json.dumps(found))
    end.write_text('{"state": "complete"}')
    north.page.reload()
    north.page.wait_for_selector("text=Consistent with what is stated.")


def used_by_the_officer() -> list[str]:
    """What the page for privacy officers says to press, to choose and to fill in."""
    steps = OFFICER.read_text().partition("## 1.")[2]
    return re.findall(r"\*\*(.+?)\*\*", steps)


def told_beside_truth(south: Person) -> None:
    """What the page reads of the release, beside the truth that the tutorial has of the people made up here.

    Coins are the operating systems'. With ten standard errors besides, an interval holds the truth in all but one of
    ten million runs.
    """
    everyone = pd.concat(map(people, NAMES))
    truths = {"mean age": everyone["age"].mean(), "share of people who were ill": (everyone["outcome"] == "ill").mean()}
    shown = re.findall(r"^\| (mean age|share .*?) \| ([\d.]+( %)?) \|", OFFICER.read_text(), re.M)
    said = {
        question: f"{100 * truth:.1f} %" if "share" in question else f"{truth:.1f}"
        for question, truth in truths.items()
    }
    assert {question: truth for question, truth, _ in shown} == said
    release = cp.load_release(next(south.folder.rglob("certificate.json")).parent)
    text = south.page.inner_text("main")
    mean, share = release.mean("age"), release.share("outcome", "ill")
    assert mean.with_range in text and share.words in text
    for told, truth in zip((mean, share), truths.values(), strict=True):
        room = 10 * told.standard_error
        assert told.low - room <= truth <= told.high + room


def test_from_two_headers_and_a_dictionary_to_a_verified_release_by_keys_and_by_clicks(folders, tmp_path):
    axe = axe_source()
    ports = {name: free_port() for name in NAMES}
    with browser() as opened, studio(folders["north"]) as (first, _), studio(folders["south"]) as (second, _):
        north, south = (Person(opened, name, folders[name], axe) for name in NAMES)
        for person, address in ((north, first), (south, second)):
            person.enter(address, tmp_path)
            person.begin(ports[person.name])
        draft_together(north, south)
        plan(north)
        audit(north)
        of_north = north.approve()
        north.look("approve")
        proposal = north.kept("Export bundle")
        zipfile.ZipFile(proposal).extract("agreement.toml", tmp_path)
        south.hands.used.clear()
        south.hands.press("text=Open or start anew")
        south.hands.attach("#draft", tmp_path / "agreement.toml")
        south.hands.press("button:text-is('Open')")
        south.hands.press("button:text-is('Save')")
        south.page.wait_for_selector("text=No open points")
        of_south = south.approve()
        south.add(of_north)
        north.add(of_south)
        north.start()
        north.page.wait_for_selector("text=Waiting for 'south'")
        north.look("run-waiting", with_picture=False)  # it names the file of the data by its path
        south.start()
        for person in (north, south):
            person.page.wait_for_selector("text=The release is made.", timeout=300_000)
            person.hands.press("text=Read it")
            person.page.wait_for_selector("text=Verified: 2 of 2 signatures, files unchanged")
        north.look("read")
        assert south.hands.used == used_by_the_officer()
        told_beside_truth(south)
        complaints = [one for one in (*north.complaints, *south.complaints) if one != REFUSED_FORM]
        assert complaints == [] and north.complaints.count(REFUSED_FORM) == 1
    releases = [next(folder.rglob("certificate.json")).parent for folder in folders.values()]
    for folder in releases:
        assert cp.verify_release(folder).is_well


def test_the_check_for_people_can_fail(tmp_path):
    bad = '<html lang="en"><title>a</title><main><h1>a</h1><img src="x.png"><input></main></html>'
    (tmp_path / "page.html").write_text(bad)
    source = axe_source()
    with browser() as opened:
        page = opened.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        assert {finding.partition(":")[0] for finding in serious_findings(page, source)} == {"image-alt", "label"}
