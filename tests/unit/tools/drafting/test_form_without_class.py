"""Drafts without a class, in fields and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

import copublish as cp
from copublish.agreement.loading import FILL_IN
from copublish.tools.drafting.files import draft_from_text
from copublish.tools.drafting.form import DraftForm
from copublish.tools.drafting.headers import draft
from copublish.tools.drafting.merge import merge_drafts
from copublish.tools.drafting.text import draft_text


def without_class(party: str = "bank") -> str:
    return f"""
format = 1
name = "trial"
dataset = "people"
partition = "horizontal"
[parties.{party}]
[records]
expected = 1000
[attributes.age]
kind = "numerical"
bounds = [0, 100]
grid = {{ step = 10 }}
missing = 0
[attributes.job]
kind = "categorical"
values = ["cook", "clerk"]
[privacy]
epsilon = 1
[mechanism]
name = "marginals"
"""


def test_a_draft_without_a_class_has_a_ticked_box_and_comes_back_without_one():
    form = DraftForm.of(draft_from_text(without_class()))
    assert form.no_class and form.class_name == ""
    back, problems = form.read()
    assert problems == () and "class" not in back.content
    assert "[class]" not in draft_text(back)


def test_a_name_of_a_class_counts_whatever_the_box_says_and_so_do_its_values():
    form = DraftForm.of(draft_from_text(without_class()))
    for said in (replace(form, class_name="job"), replace(form, class_values="no\nyes")):
        assert "class" in said.read()[0].content
    open_ = replace(form, no_class=False).read()[0]
    assert open_.content["class"] == {"name": FILL_IN, "values": FILL_IN}


def test_a_draft_with_a_class_has_no_ticked_box():
    assert not DraftForm.of(draft_from_text(without_class() + '[class]\nname = "x"\nvalues = ["a", "b"]\n')).no_class


def test_two_drafts_without_a_class_are_merged_into_an_agreement_without_one():
    drafts = {party: draft_from_text(without_class(party)) for party in ("bank", "loans")}
    merged = merge_drafts(drafts)
    assert "class" not in merged.content
    assert cp.agreement_from_mapping(merged.content).class_ is None


@pytest.mark.parametrize("has_class", [True, False])
def test_a_draft_says_whether_a_column_is_to_be_predicted(has_class, tmp_path):
    described = tmp_path / "dictionary.csv"
    described.write_text("name,kind,values\nage,number,\nill,class,no|yes\n")
    content = draft(dictionary=described, party="clinic", has_class=has_class).content
    assert content.get("class", {}).get("name") == ("ill" if has_class else None)
    assert ("ill" in content["attributes"]) == (not has_class)
    if not has_class:
        assert content["attributes"]["ill"]["values"] == ["no", "yes"]
    assert content["mechanism"]["name"] == "marginals"
