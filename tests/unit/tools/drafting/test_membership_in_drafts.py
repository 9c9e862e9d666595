"""Drafts hide whom owners of columns share where that can be hidden, with lengths that no data decided."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import copublish as cp
from copublish.agreement.loading import FILL_IN
from copublish.agreement.model import MAX_LISTED
from copublish.tools.drafting.draft import Content, Decided, Draft, Essentials, PartyColumns, draft_agreement
from copublish.tools.drafting.files import draft_from_text
from copublish.tools.drafting.form import DraftForm
from copublish.tools.drafting.merge import compare_drafts, merge_drafts
from copublish.tools.drafting.text import draft_text, toml_value


def drafted(*parties: str, rows: int | None = None, **said: Any) -> Draft:
    """A draft of owners with a column each; what is known beside it can be changed."""
    known = {"name": "r", "dataset": "d", "partition": "vertical", "identifier": "id", "epsilon": Decimal(1)}
    essentials = Essentials(**{**known, "expected": 500, **said}, has_class=False)
    parts = [PartyColumns(party, {"id": "text", f"of_{party}": "text"}) for party in parties]
    values = {f"of_{party}": ["no", "yes"] for party in parties}
    return draft_agreement(essentials, parts, {}, Decided(values=values))


def keys_of(draft: Draft) -> Content:
    """What a draft says about membership, and nothing else."""
    both = {**draft.content["records"], **draft.content["privacy"]}
    return {key: both[key] for key in ("membership", "at_most", "membership_epsilon") if key in both}


HIDDEN = {"membership": "hidden", "at_most": {"a": 1000, "b": 1000}, "membership_epsilon": Decimal("0.05")}


def test_two_owners_of_columns_hide_whom_they_share_and_the_draft_is_an_agreement():
    draft = drafted("a", "b")
    assert keys_of(draft) == HIDDEN
    agreement = cp.agreement_from_mapping(draft.content)
    assert agreement.hides_membership and agreement.records.at_most == {"a": 1000, "b": 1000}
    assert draft.notes == []


def test_lengths_are_open_while_the_number_of_people_is():
    draft = drafted("a", "b", expected=FILL_IN)
    assert keys_of(draft)["at_most"] == {"a": FILL_IN, "b": FILL_IN}
    assert {"records.at_most.a", "records.at_most.b"} <= set(draft.open_places)
    assert keys_of(drafted(expected=500))["at_most"] == FILL_IN  # nobody is known who could have one


def test_no_number_of_rows_changes_a_draft(tmp_path: Path):
    """The agreement is public: what a draft proposes follows from the public estimate, whatever the data are."""
    texts = set()
    for rows in (3, 700, 5000):
        for party in ("a", "b"):
            lines = ["id,of_" + party, *(f"{number},yes" for number in range(rows))]
            (tmp_path / f"{party}.csv").write_text("\n".join(lines), encoding="utf-8")
        files = {party: tmp_path / f"{party}.csv" for party in ("a", "b")}
        draft = cp.drafts.draft(files, partition="vertical", expected="500", has_class=False, keep=["id"])
        texts.add(cp.drafts.draft_text(draft))
    assert len(texts) == 1 and "at_most = { a = 1000, b = 1000 }" in texts.pop()


@pytest.mark.parametrize(
    ("parties", "said", "why"),
    [
        (("a", "b", "c"), {}, "only by a party without data"),
        (("a", "b"), {"mechanism": "vhdp"}, "'vhdp' publishes a row for each of them"),
        (("a", "b"), {"mechanism": "idp-ir"}, "'idp-ir' publishes a row for each of them"),
        (("a", "b"), {"expected": MAX_LISTED}, "at most 100,000,000 people"),
    ],
)
def test_where_it_cannot_be_hidden_nothing_is_written_and_who_drafts_is_told(parties, said, why):
    draft = drafted(*parties, **said)
    assert keys_of(draft) == {}
    assert any("learn which of their people are common" in note and why in note for note in draft.notes)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary", FILL_IN])
def test_other_data_and_an_open_partition_have_no_such_keys(partition):
    draft = drafted("a", "b", partition=partition)
    assert keys_of(draft) == {} and draft.notes == []


def test_a_person_can_choose_shared_and_is_told_what_it_means():
    draft = drafted("a", "b", membership="shared")
    assert keys_of(draft) == {"membership": "shared"}
    assert not cp.agreement_from_mapping(draft.content).hides_membership
    (line,) = [line for line in draft_text(draft).splitlines() if line.startswith("membership")]
    assert '"shared": all learn it' in line
    for text in ("hidden", "shared"):
        assert (
            cp.drafts.draft(party="a", partition="vertical", membership=text).content["records"]["membership"] == text
        )
    with pytest.raises(cp.AgreementError, match="membership: please answer hidden or shared"):
        cp.drafts.draft(party="a", membership="secret")


def test_what_a_person_asks_for_is_left_to_check():
    assert keys_of(drafted("a", "b", "c", membership="hidden"))["membership"] == "hidden"


def test_each_key_has_a_comment_of_one_sentence():
    text = draft_text(drafted("a", "b"))
    for key in ("membership", "at_most", "membership_epsilon"):
        (line,) = [line for line in text.splitlines() if line.startswith(f"{key} = ")]
        assert line.partition("# ")[2] and ". " not in line.partition("# ")[2]
    assert tomllib.loads(text)["records"]["at_most"] == {"a": 1000, "b": 1000}


def test_drafts_of_two_parties_become_what_one_draft_of_both_is():
    alone = {party: drafted(party) for party in ("a", "b")}
    assert keys_of(alone["a"])["at_most"] == {"a": 1000}
    assert keys_of(merge_drafts(alone)) == HIDDEN


def test_a_merge_proposes_lengths_where_one_draft_knows_how_many_people_there_are():
    merged = merge_drafts({"a": drafted("a", expected=FILL_IN), "b": drafted("b")})
    assert keys_of(merged) == HIDDEN
    open_draft = merge_drafts({"a": drafted("a", partition=FILL_IN), "b": drafted("b")})
    assert keys_of(open_draft) == HIDDEN  # who left the partition open had nothing to say about it
    unknown = merge_drafts({party: drafted(party, expected=FILL_IN) for party in ("a", "b")})
    assert keys_of(unknown)["at_most"] == {"a": FILL_IN, "b": FILL_IN}


def test_a_merge_keeps_lengths_that_people_wrote():
    sides = {party: drafted(party) for party in ("a", "b")}
    sides["a"].content["records"]["at_most"] = {"a": 40_000}
    assert keys_of(merge_drafts(sides))["at_most"] == {"a": 40_000, "b": 1000}


def test_hidden_and_shared_are_a_conflict_that_a_merge_does_not_decide():
    sides = {"a": drafted("a"), "b": drafted("b", membership="shared")}
    (conflict,) = compare_drafts(sides).conflicts
    assert conflict.sentence == "records.membership: 'a' says \"hidden\"; 'b' says \"shared\""


def test_three_owners_stay_hidden_in_a_merge_and_check_says_what_they_need():
    merged = merge_drafts({party: drafted(party) for party in ("a", "b", "c")})
    problems = [problem.sentence for problem in cp.drafts.draft_problems(merged)]
    assert len(problems) == 1 and "needs a party without data that puts people into rows" in problems[0]
    merged.content["parties"]["helper"] = {"data": False}
    merged.content["records"]["compared_by"] = "helper"
    with_helper = merge_drafts({"all": merged, "again": merged})
    assert cp.drafts.draft_problems(with_helper) == ()
    assert "membership_epsilon" not in with_helper.content["privacy"]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"membership": "shared"},
        {"membership": "hidden", "at_most": {"a": 700, "b": 900}, "membership_epsilon": Decimal("0.1")},
        {"membership": "hidden", "at_most": {"a": 700, "b": FILL_IN}, "membership_epsilon": FILL_IN},
        {"membership": "hidden", "at_most": {"a": 700, "b": 900, "stranger": 5}, "membership_epsilon": Decimal("0.1")},
        {"membership": "hidden", "at_most": "many"},
        {"membership": 5, "at_most": {"a": "x"}},
        {"at_most": {"a": 700}, "membership_epsilon": Decimal("0.1")},
    ],
    ids=toml_value,
)
def test_fields_say_what_the_file_said(keys):
    """Also what is wrong about it, so that the rules can say so."""
    draft = drafted("a", "b", membership="shared")
    del draft.content["records"]["membership"]
    draft.content["records"] |= {key: value for key, value in keys.items() if key != "membership_epsilon"}
    draft.content["privacy"] |= {key: value for key, value in keys.items() if key == "membership_epsilon"}
    again, problems = DraftForm.of(draft_from_text(draft_text(draft))).read()
    lost = {key for key, value in keys.items() if value == FILL_IN}  # an empty field, whose rule asks for it
    assert problems == () and keys_of(again) == {key: value for key, value in keys.items() if key not in lost}


def test_choosing_shared_in_the_form_leaves_out_what_only_hiding_needs():
    form = DraftForm.of(drafted("a", "b"))
    assert [(row.name, row.at_most) for row in form.parties] == [("a", "1000"), ("b", "1000")]
    assert (form.membership, form.membership_epsilon) == ("hidden", "0.05")
    form.membership = "shared"
    again, _ = form.read()
    assert keys_of(again) == {"membership": "shared"} and cp.drafts.draft_problems(again) == ()


def test_choosing_hidden_in_the_form_leaves_lengths_open_for_owners_alone():
    form = DraftForm.of(drafted("a", "b", membership="shared"))
    form.membership = "hidden"
    form.add("parties")
    form.parties[2].name, form.parties[2].data = "helper", False
    again, _ = form.read()
    assert keys_of(again) == {"membership": "hidden", "at_most": {"a": FILL_IN, "b": FILL_IN}}


def test_each_sentence_of_the_rules_finds_its_field():
    form = DraftForm.of(drafted("a", "b"))
    assert form.field_of("records.at_most.b") == "parties-1-at_most"
    assert form.field_of("records.at_most.stranger") == form.field_of("records.membership") == "membership"
    assert form.field_of("privacy.membership_epsilon") == "membership_epsilon"
    form.parties[1].at_most = "0"
    draft, _ = form.read()
    (problem,) = cp.drafts.draft_problems(draft)
    assert form.field_of(problem.place) == "parties-1-at_most" and "must be above 0" in problem.sentence
