"""Attributes derived from event tables, in fields and back, and in what drafts say has changed."""

from __future__ import annotations

import pytest

from copublish.tools.drafting.differences import differences
from copublish.tools.drafting.files import draft_from_text
from copublish.tools.drafting.form import DraftForm
from copublish.tools.drafting.merge import merge_drafts
from copublish.tools.drafting.text import draft_text

DRAFT = """
format = 1
name = "trial"
dataset = "people"
partition = "vertical"
[parties.hospital]
[records]
identifier = "patient"
expected = 1000
[attributes.diabetes]
kind = "categorical"
values = ["no", "yes"]
held_by = "hospital"
derived = {derived}
[privacy]
epsilon = 1
[mechanism]
name = "marginals"
"""

DERIVATIONS = (
    '{ from = "visits", as = "any" }',
    '{ from = "visits", as = "any", identifier = "nr", where = { column = "icd 10", starts_with = ["E10", "E11"] } }',
    '{ from = "visits", as = "any", where = { column = "age", at_least = 18, below = 64.5 } }',
)


@pytest.mark.parametrize("derived", DERIVATIONS)
def test_a_derivation_comes_back_from_the_form_and_from_the_file(derived: str) -> None:
    draft = draft_from_text(DRAFT.replace("{derived}", derived))
    wanted = draft.content["attributes"]["diabetes"]["derived"]
    form = DraftForm.of(draft)
    assert form.columns[0].more.startswith("derived = ")
    back, problems = form.read()
    assert problems == () and back.content["attributes"]["diabetes"]["derived"] == wanted
    again = draft_from_text(draft_text(back)).content["attributes"]["diabetes"]
    assert again["derived"] == wanted and again["values"] == ["no", "yes"]
    assert merge_drafts({"hospital": draft}).content["attributes"]["diabetes"]["derived"] == wanted


def test_another_derivation_is_a_change() -> None:
    one, other, *_ = (draft_from_text(DRAFT.replace("{derived}", derived)) for derived in DERIVATIONS)
    assert differences(one, one) == [] and "derived" in " ".join(differences(one, other))
