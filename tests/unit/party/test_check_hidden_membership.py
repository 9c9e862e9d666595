"""`check` says how long lists are for others where owners hide whom they share."""

from __future__ import annotations

import json

import pytest

import copublish as cp
from support import repartition, small_mapping
from support.commands import run


def agreement_of(*, hidden: bool) -> dict:
    content = repartition(small_mapping(), "vertical", 2)
    content["records"] = {"identifier": "id", "expected": 100}
    if hidden:
        content["records"] |= {"membership": "hidden", "at_most": {"p1": 40_000, "p0": 30_000}}
        content["privacy"]["membership_epsilon"] = "0.05"
    return content


SENTENCE = (
    "Nobody learns how many people an owner lists: lists are padded to a public length ('p0' 30,000, 'p1' 40,000). An "
    "owner with more people takes part with so many of them."
)


def test_lengths_are_said_in_words_and_as_numbers_in_agreed_order():
    checked = cp.check(cp.agreement_from_mapping(agreement_of(hidden=True)))
    assert SENTENCE in str(checked)
    assert list(checked.to_dict()["at_most"].items()) == [("p0", 30_000), ("p1", 40_000)]


def test_nothing_is_said_where_owners_learn_whom_they_share():
    checked = cp.check(cp.agreement_from_mapping(agreement_of(hidden=False)))
    assert "padded" not in str(checked) and "at_most" not in checked.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("output", ["text", "json"])
def test_the_command_prints_them(tmp_path, output):
    file = tmp_path / "agreement.toml"
    draft = cp.drafts.Draft(agreement_of(hidden=True))
    file.write_text(cp.drafts.draft_text(draft), encoding="utf-8")
    printed = run("check", file, "--format", output).stdout
    if output == "json":
        assert json.loads(printed)["at_most"] == {"p0": 30_000, "p1": 40_000}
    else:
        assert SENTENCE in printed
