"""Scripts as names and values of an agreement and of a release: pages show them as text, whatever becomes of them."""

from __future__ import annotations

import copy
import html
import json
import os
import re
import shutil
import tomllib

import numpy as np
import pytest

import copublish as cp
from copublish.tools.drafting.demo import example_agreement
from support import fragment_frames, random_table
from support.studio import entered

ATTACK = "</title></textarea><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"
RECORDS = {"identifier": "id", "expected": 500, "membership": "hidden", "at_most": {"bank": 600, "loans": 600}}
EXAMPLE = {**tomllib.loads(example_agreement()), "records": RECORDS}


def places_in(content, at=()):
    """Every key and every text of a mapping, as a path to it."""
    for name, inner in content.items() if isinstance(content, dict) else enumerate(content):
        if isinstance(content, dict):
            yield (*at, name), "key"
        if isinstance(inner, dict | list):
            yield from places_in(inner, (*at, name))
        elif isinstance(inner, str):
            yield (*at, name), "value"


def attacked(content, at, kind, text=ATTACK):
    content = copy.deepcopy(content)
    inner = content
    for name in at[:-1]:
        inner = inner[name]
    if kind == "value":
        inner[at[-1]] = text
    else:
        renamed = {text if name == at[-1] else name: value for name, value in inner.items()}
        inner.clear()
        inner.update(renamed)
    return content


def toml(content) -> str:
    if isinstance(content, dict):
        return "{" + ", ".join(f"{json.dumps(str(name))} = {toml(value)}" for name, value in content.items()) + "}"
    return "[" + ", ".join(map(toml, content)) + "]" if isinstance(content, list) else json.dumps(content)


def written(content) -> str:
    return "".join(f"{json.dumps(name)} = {toml(value)}\n" for name, value in content.items())


def is_accepted(content) -> bool:
    try:
        cp.agreement_from_mapping(content)
    except cp.CopublishError:
        return False
    return True


def raw(answer) -> list[str]:
    """What of an attack stands in a page as it was written."""
    return re.findall(r"</textarea><s|<script>alert|<img src=x", answer.text)


ATTACKS = [(at, kind, attacked(EXAMPLE, at, kind)) for at, kind in places_in(EXAMPLE)]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))


@pytest.mark.slow
def test_no_page_has_a_script_of_an_agreement_that_is_refused_or_accepted(tmp_path):
    assert len(ATTACKS) > 90 and 20 < sum(is_accepted(content) for *_, content in ATTACKS) < len(ATTACKS)
    browser = entered(tmp_path, party="bank")
    shown = 0
    for at, kind, content in ATTACKS:
        (tmp_path / "agreement.toml").write_text(written(content))
        answer = browser.get("/run")
        assert raw(answer) == [], (at, kind)
        shown += ATTACK[:20] in html.unescape(answer.text)
    assert shown > 40, "messages about what is refused quote it"


@pytest.mark.slow
def test_no_page_has_a_script_of_a_release(tmp_path):
    content, number = EXAMPLE, 0
    for at, kind, alone in ATTACKS:
        # Each with a number, since names must differ; deepest first would rename what others are found by.
        if is_accepted(alone) and at[0] in ("description", "attributes") and kind == "value":
            number += 1
            content = attacked(content, at, kind, f"{number}{ATTACK}")
    for name in list(EXAMPLE["attributes"]):
        content = attacked(content, ("attributes", name), "key", f"{name}{ATTACK}")
    required = EXAMPLE["mechanism"]["tables"]["must"]
    named = {"must": [[f"{name}{ATTACK}" for name in table] for table in required], "then": "auto"}
    content = {**content, "mechanism": {**content["mechanism"], "tables": named}}
    agreement = cp.agreement_from_mapping(content)
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    cp.simulate(agreement, frames).write(tmp_path / "release")
    browser = entered(tmp_path)
    path = re.search(r'href="(/\w{64}/read/\w{16})"', browser.get("/read").text)[1]
    first = browser.get(path)
    tables = re.findall(rf'href="({path}/table/[\w-]+)"', first.text)
    assert len(tables) > 1
    pages = [first, *(browser.get(table, params={"column": ATTACK, "text": ATTACK}) for table in tables)]
    pages += [browser.get(table) for table in tables]
    pages += [browser.get(f"{path}/table/{ATTACK}"), browser.get(f"/read/{ATTACK}"), browser.get(f"/{ATTACK}")]
    assert [raw(answer) for answer in pages] == [[]] * len(pages)
    assert ATTACK in html.unescape(first.text) and "{{7*7}}" in first.text


NO_TEXT = os.fsdecode(b"K\xe4ufe")
"""A name as another system wrote it, in Latin-1: a name that is no UTF-8."""


def test_names_that_are_no_text_cost_no_page_and_are_left_out_of_lists(tmp_path):
    agreement = cp.agreement_from_mapping(EXAMPLE)
    (tmp_path / "agreement.toml").write_text(written(EXAMPLE))
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    release = cp.simulate(agreement, frames).write(tmp_path / "release")
    shutil.copytree(release, tmp_path / NO_TEXT / "inside")
    (release / f"{NO_TEXT}.txt").write_text("beside the others")
    for folder in (tmp_path, tmp_path / NO_TEXT):
        for name in ("bought", NO_TEXT):
            (folder / f"{name}.csv").write_text("id\n1\n")
    browser = entered(tmp_path, party="bank")
    for place in ("/draft", "/draft/new", "/plan", "/approve", "/run", "/read"):
        assert browser.get(place).status_code == 200, place
    starts = browser.get("/draft/new").text
    assert str(tmp_path / "bought.csv") in starts and "ufe" not in starts
    assert "1 release<" in browser.get("/read").text
    one = browser.get(re.search(r'href="(/\w{64}/read/\w{16})"', browser.get("/read").text)[1])
    files = re.findall(r"/file/([^\"]+)", one.text)
    assert one.status_code == 200 and "certificate.json" in files and not any("ufe" in name for name in files)


def test_an_agreement_whose_own_name_is_no_text_is_shown_with_marks_for_what_is_no_letter(tmp_path):
    browser = entered(tmp_path, agreement=f"{NO_TEXT}.toml", party="bank")
    (tmp_path / f"{NO_TEXT}.toml").write_text(written(EXAMPLE))
    for place in ("/draft", "/plan", "/approve", "/run", "/read"):
        assert browser.get(place).status_code == 200, place
    assert "K?ufe.toml" in browser.get("/approve").text


def test_the_check_can_fail():
    class Answer:
        text = f"<p>{ATTACK}</p>"

    assert raw(Answer) == ["</textarea><s", "<img src=x"]
