"""Two parties in two Chromium windows, each at its own server and home: from two headers and a dictionary to a verified
release, by clicks and keys. Every place is looked at wide, narrow and dark, with axe-core.

`COPUBLISH_PICTURES=docs/images` keeps pictures there.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_studio_walk import STORED, WIDTHS, Watched, studio

import copublish as cp
from support.axe import axe_source, serious_findings
from support.browser import AUDIT, browser
from support.node import free_port

NAMES = ("north", "south")
REFUSED_FORM = "console: Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
"""What Chromium itself says of a form that was read and not accepted."""

WHOLE = "COPUBLISH_WHOLE_PICTURES" in os.environ
"""Whether pictures are of whole pages; else of what a window shows."""

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


class Person(Watched):
    """Somebody of one party at that party's page."""

    def __init__(self, opened, name: str, folder: Path, axe: str) -> None:
        super().__init__(opened, accept_downloads=True)
        self.page.set_default_timeout(30_000)
        self.name, self.folder, self.axe = name, folder, axe
        self.pictures = Path(os.environ["COPUBLISH_PICTURES"]) if "COPUBLISH_PICTURES" in os.environ else None

    def look(self, name: str, *, with_picture: bool = True) -> None:
        """Look at the place wide, narrow and dark; nothing serious may be found."""
        page = self.page
        for width, scheme in ((WIDTHS[0], "light"), (WIDTHS[0], "dark"), (WIDTHS[1], "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(AUDIT) == [], (name, width)
            assert serious_findings(page, self.axe) == [], (name, width, scheme)
            how = "dark" if scheme == "dark" else str(width)
            if with_picture and self.pictures is not None:
                page.evaluate("() => { scrollTo(0, 0); document.activeElement.blur(); }")
                page.screenshot(path=self.pictures / f"studio-{name}-{how}.png", full_page=WHOLE)
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        assert page.evaluate(STORED) == 0

    def kept(self, link: str) -> Path:
        """Click on a download, and keep the file."""
        with self.page.expect_download() as download:
            self.page.click(f"text={link}")
        path = self.folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def begin(self, port: int) -> None:
        """From a header and a dictionary to this party's draft, with its key and where it is."""
        page = self.page
        page.fill("#party", self.name)
        page.select_option("#data", label=f"{self.name}.csv")
        page.set_input_files("#dictionary", self.folder.parent / "dictionary.csv")
        for field, text in (("name", "outcomes"), ("dataset", "patients-2026"), ("expected", "600"), ("epsilon", "1")):
            page.fill(f"#{field}", text)
        page.select_option("#partition", "horizontal")
        if self.name == NAMES[0]:
            self.look("draft-start")
        page.click("button:text-is('Draft')")
        page.wait_for_selector("text=Saved as agreement.toml")
        page.fill("#identity-party", self.name)
        page.click("text=Make a key for this party")
        page.click(f"text=Take the fingerprint of this machine's {self.name}")
        page.fill("#parties-0-host", f"127.0.0.1:{port}")
        page.fill("#parties-0-approvals", "1")

    def approve(self) -> Path:
        """Set a limit, approve, and keep the bundle of this party's approvals."""
        page = self.page
        page.click("nav >> text=Approve")
        page.fill("#limit_epsilon", "3")
        page.click("text=Set this limit for patients-2026")
        page.fill("#name", f"Officer of {self.name}")
        page.fill("#role", "privacy officer")
        page.click("text=Approve epsilon 1 for patients-2026")
        page.wait_for_selector(f"text=Officer of {self.name}, privacy officer")
        return self.kept("Export your approvals")

    def add(self, bundle: Path) -> None:
        """Add what the other party sent."""
        self.page.set_input_files("#approvals_file", bundle)
        self.page.click("button:text-is('Add')")
        self.page.wait_for_selector("nav >> text=Approve: 2 of 2")

    def start(self) -> None:
        """Start this party's run."""
        page = self.page
        page.click("nav >> text=Run")
        page.select_option("#data", label=f"{self.name}.csv")
        page.click("text=Look at what the rules do to them")
        page.wait_for_selector("text=For your eyes, on this machine")
        if self.name == NAMES[0]:
            self.look("run")
        page.click("text=Start the run of outcomes")


@pytest.fixture
def folders(tmp_path):
    (tmp_path / "dictionary.csv").write_text(DICTIONARY)
    for name in NAMES:
        (tmp_path / name).mkdir()
        people(name).to_csv(tmp_path / name / f"{name}.csv", index=False)
    return {name: tmp_path / name for name in NAMES}


def draft_together(north: Person, south: Person) -> None:
    """Both draft; the sentence of `check` comes while typing; values as a tree by keys; then one agreement of two."""
    page = north.page
    page.fill("#epsilon", "99")
    page.wait_for_selector("#said-epsilon >> text=privacy.epsilon: must be at most 10, got 99")
    page.fill("#epsilon", "1")
    page.wait_for_selector("#said-epsilon >> text=must be at most", state="detached")
    page.focus("[role=treeitem] >> text=coast")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.fill(".tree-box input", "island")
    page.click("text=Add beside")
    assert page.input_value("#columns-1-values").split("\n") == ["coast", "hills", "plain", "island"]
    page.select_option("#mechanism", "hpdp")
    page.fill("#mechanism_more", "")
    page.click("summary:has-text('More keys of the agreement')")
    page.fill("#more", "no TOML")
    page.click("button:text-is('Save')")
    page.wait_for_selector("#problems:focus >> text=not valid TOML")
    page.fill("#more", '[engine]\nname = "masked-sum"')
    page.wait_for_selector("#said-more >> text=not valid TOML", state="detached")
    assert page.evaluate("document.activeElement.id") == "more", "who types keeps the focus"
    page.click("button:text-is('Save')")
    page.wait_for_selector("text=Saved as agreement.toml")
    north.look("draft")
    south.page.select_option("#mechanism", "hpdp")
    south.page.fill("#mechanism_more", "")
    south.page.click("button:text-is('Save')")
    south.page.wait_for_selector("text=Saved as agreement.toml")
    page.click("text=Merge with...")
    page.set_input_files("#theirs", south.folder / "agreement.toml")
    page.click("button:text-is('Compare')")
    page.wait_for_selector("text=1 thing is said differently")
    north.look("draft-merge")
    page.click("td[data-label=mine] input")
    page.click("text=Take these choices")
    page.click("text=Save the result")
    page.wait_for_selector("text=No open points")


def plan(north: Person) -> None:
    """The slider by keys, and one mechanism on made-up data."""
    page = north.page
    page.click("nav >> text=Plan")
    page.wait_for_selector("text=at most 74 % sure")
    page.focus("#step")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=at most 67 % sure")  # 1 / (1 + exp(-0.7)) is 0.668
    assert page.input_value("#epsilon") == "0.7"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=at most 74 % sure")
    page.uncheck("#mechanism-1")
    page.fill("#runs", "1")
    page.click("text=Try them")
    page.wait_for_selector("#table >> text=raw data", timeout=120_000)  # by itself: nobody loads the page again
    north.look("plan")


def test_from_two_headers_and_a_dictionary_to_a_verified_release_by_clicks(folders, tmp_path):
    axe = axe_source()
    ports = {name: free_port() for name in NAMES}
    with browser() as opened, studio(folders["north"]) as (first, _), studio(folders["south"]) as (second, _):
        north, south = (Person(opened, name, folders[name], axe) for name in NAMES)
        for person, address in ((north, first), (south, second)):
            person.enter(address, tmp_path)
            person.begin(ports[person.name])
        draft_together(north, south)
        plan(north)
        of_north = north.approve()
        north.look("approve")
        proposal = north.kept("Export bundle")
        zipfile.ZipFile(proposal).extract("agreement.toml", tmp_path)
        south.page.click("text=Open or start anew")
        south.page.set_input_files("#draft", tmp_path / "agreement.toml")
        south.page.click("button:text-is('Open')")
        south.page.click("button:text-is('Save')")
        south.page.wait_for_selector("text=No open points")
        of_south = south.approve()
        south.add(of_north)
        north.add(of_south)
        north.start()
        north.page.wait_for_selector("text=Waiting for 'south'")
        north.look("run-waiting", with_picture=False)  # it names the file of the data by its path
        south.start()
        for person in (north, south):
            person.page.wait_for_selector("text=The release is made.", timeout=120_000)
            person.page.click("text=Read it")
            person.page.wait_for_selector("text=Verified: 2 of 2 signatures, files unchanged")
        north.look("read")
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
