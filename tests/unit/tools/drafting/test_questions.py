"""Questions become required tables and cut points of a draft, with a comment that says why, and nothing is lost."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.attributes import Grid
from copublish.agreement.encoding_rules import codes_of_numbers
from copublish.agreement.loading import FILL_IN
from copublish.mechanisms.marginals.settings import fixed_tables
from copublish.tools.drafting.questions import ASKED

TEXT = """
format = 1
name = "costs"
dataset = "people"
partition = "vertical"
[parties.clinic]
[parties.registry]
[records]
identifier = "id"
expected = 1000
[attributes.age]
kind = "numerical"
bounds = [0, 120]
grid = { round = 20 }
held_by = "clinic"
[attributes.cost]
kind = "numerical"
bounds = [0, 50000]
decimals = 2
held_by = "clinic"
[attributes.visits]
kind = "FILL IN"
held_by = "registry"
[attributes.stage]
kind = "categorical"
values = ["I", "II", "III", "IV"]
held_by = "registry"
[privacy]
epsilon = 1
[mechanism]
name = "marginals"
"""


def drafted(*questions: str, text: str = TEXT, whole=()) -> cp.drafts.Draft:
    return cp.drafts.with_questions(cp.drafts.draft_from_text(text), questions, whole=whole)


def refusals(*questions: str, text: str = TEXT) -> list[str]:
    with pytest.raises(cp.AgreementError) as refused:
        drafted(*questions, text=text)
    return list(refused.value.problems)


def edges(draft: cp.drafts.Draft, column: str) -> set[Decimal]:
    section = draft.content["attributes"][column]
    return set(Grid(**section["grid"]).thresholds(*map(Decimal, section["bounds"]), section.get("decimals")))


def test_tables_are_required_in_the_form_that_the_agreement_has():
    draft = drafted("mean cost by stage", "cost by age")
    assert draft.content["mechanism"]["tables"] == {"must": [["cost", "stage"], ["cost", "age"]], "then": "auto"}


def test_a_single_column_is_measured_anyway_and_a_table_that_another_one_holds_is_not_asked_for_twice():
    draft = drafted("cost", "stage by cost", "cost by stage", "cost, stage, age", "age by stage")
    assert draft.content["mechanism"]["tables"]["must"] == [["cost", "stage", "age"]]
    assert "tables" not in drafted("age under 30").content["mechanism"]


def test_tables_that_are_listed_already_stay():
    listed = TEXT + 'tables = [["age", "cost"]]\n'
    assert drafted("cost by stage", text=listed).content["mechanism"]["tables"] == [["age", "cost"], ["cost", "stage"]]
    asked = TEXT + 'tables = { must = [["age", "cost"]], then = "auto" }\n'
    assert drafted("cost by stage", text=asked).content["mechanism"]["tables"]["must"] == [
        ["age", "cost"],
        ["cost", "stage"],
    ]


@pytest.mark.parametrize(
    ("said", "then"), [("", "auto"), ('tables = "pairs"', "auto"), ('tables = "class-triples"', "class-triples")]
)
def test_an_agreement_with_questions_loads_and_its_tables_are_measured_for_sure(said, then):
    label = '[class]\nname = "smoker"\nvalues = ["no", "yes"]\nheld_by = "clinic"\n[privacy]'
    text = TEXT.replace('kind = "FILL IN"', 'kind = "numerical"\nbounds = [0, 40]').replace("[privacy]", label) + said
    draft = drafted("mean cost by stage", "visits over 11 by age and stage", "share of smoker by stage", text=text)
    agreement = cp.agreement_from_mapping(draft.content)
    assert agreement.mechanism.tables.then == then
    required = [{"cost", "stage"}, {"visits", "age", "stage"}, {"smoker", "stage"}]
    measured = [set(table) for table in fixed_tables(agreement)]
    assert all(table in measured for table in required)
    before = [set(table) for table in fixed_tables(cp.agreement_from_mapping(cp.drafts.draft_from_text(text).content))]
    assert [table for table in required if table not in before], "without a question they are left to chance"
    assert {Decimal(11), Decimal(12)} <= set(agreement.domains["visits"].thresholds)


@pytest.mark.parametrize(
    ("words", "is_in"),
    [
        ("under 33", lambda number: number < 33),
        ("at least 33", lambda number: number >= 33),
        ("over 33", lambda number: number > 33),
        ("at most 33", lambda number: number <= 33),
        ("between 33 and 41", lambda number: 33 <= number <= 41),
        ("exactly 33", lambda number: number == 33),
        ("33 to 120", lambda number: number >= 33),
        ("over 33.5", lambda number: number > 33.5),
    ],
)
@pytest.mark.parametrize("is_known_whole", [True, False])
def test_every_cell_lies_on_one_side_of_a_cut_for_every_whole_number(words, is_in, is_known_whole):
    draft = drafted(f"age {words}", whole={"age"} if is_known_whole else ())
    columns = {"age": draft.content["attributes"]["age"], "stage": draft.content["attributes"]["stage"]}
    domain = cp.agreement_from_mapping({**draft.content, "attributes": columns}).domains["age"]
    numbers = np.arange(0, 121, dtype=float)
    codes = codes_of_numbers(domain, numbers)
    for code in set(codes):
        answers = {bool(is_in(number)) for number in numbers[codes == code]}
        assert len(answers) == 1, f"a cell has numbers on both sides: {domain.label((code, code + 1))}"


def test_a_grid_without_a_cut_has_a_cell_with_both_sides():
    """The check above can fail: no question was asked here."""
    thresholds = edges(cp.drafts.draft_from_text(TEXT), "age")
    assert not {Decimal(33), Decimal(34)} <= thresholds


def test_numbers_with_decimals_are_cut_behind_the_last_of_them():
    assert Decimal("10000.01") in edges(drafted("cost over 10000"), "cost")
    assert Decimal(10000) not in edges(drafted("cost over 10000"), "cost") - edges(drafted("cost at least 1"), "cost")


def test_where_it_is_open_whether_numbers_are_whole_the_number_itself_has_a_cell_of_its_own():
    assert {Decimal(33), Decimal(34)} <= edges(drafted("age over 33"), "age")
    assert Decimal(33) not in edges(drafted("age over 33", whole={"age"}), "age")


def test_a_cut_says_that_an_open_column_is_a_number_and_leaves_its_bounds_open():
    section = drafted("visits over 3", whole={"visits"}).content["attributes"]["visits"]
    assert (section["kind"], section["bounds"]) == ("numerical", FILL_IN)
    assert section["grid"] == {"round": 20, "also": [4]} and section["held_by"] == "registry"


def test_a_question_stays_as_a_comment_beside_what_it_is_the_reason_for():
    text = cp.drafts.draft_text(drafted("mean cost by stage", "age under 33", "cost"))
    lines = text.splitlines()
    assert lines[lines.index(f"{ASKED}mean cost by stage") + 1].startswith("tables = { must = ")
    assert lines[lines.index(f"{ASKED}age under 33") + 1].startswith("grid = { round = 20, also = [33] }")
    assert lines[lines.index(f"{ASKED}cost") + 1] == "[attributes.cost]"


def test_asking_again_changes_nothing_also_after_the_file_was_read_again():
    questions = ("mean cost by stage", "age under 33 by stage", "cost over 10000")
    text = cp.drafts.draft_text(drafted(*questions))
    assert cp.drafts.draft_text(drafted(*questions, text=text)) == text


def test_every_question_that_cannot_be_met_is_named_and_the_draft_stays():
    draft = cp.drafts.draft_from_text(TEXT)
    before = cp.drafts.draft_text(draft)
    problems = refusals("cost by stage", "cost by stge", "age over 120", "age under 0", "stage over 2")
    assert len(problems) == 4
    assert problems[0].startswith("'cost by stge': ") and "Did you mean 'stage'?" in problems[0]
    assert "'age over 120': a cut at 120 leaves nothing on one side: 'age' has the bounds [0, 120]" in problems[1]
    with pytest.raises(cp.AgreementError):
        cp.drafts.with_questions(draft, ["cost by stage", "nonsense"])
    assert cp.drafts.draft_text(draft) == before


def test_a_range_may_reach_to_a_bound():
    assert Decimal(13) in edges(drafted("age 0 to 12", whole={"age"}), "age")


def test_a_mechanism_that_measures_no_tables_is_named():
    for name, words in (("copula", "names the mechanism 'copula'"), (FILL_IN, "names no mechanism")):
        (problem,) = refusals("cost by stage", text=TEXT.replace('"marginals"', f'"{name}"'))
        assert words in problem and "questions need the mechanism 'marginals'" in problem


def test_a_column_of_a_party_that_is_not_here_is_asked_for_when_drafts_are_merged():
    alone = TEXT.replace("[parties.registry]\n", "").replace("[attributes.stage]", "[attributes.other]")
    (problem,) = refusals("cost by stage", text=alone)
    assert "when the drafts are merged: copublish merge MINE THEIRS --question" in problem
    assert "when the drafts are merged" not in refusals("cost by nothing")[0]


def test_drafts_that_ask_for_different_tables_and_cuts_are_merged_with_all_of_them():
    mine = drafted("mean cost by stage", "age under 33", "age by stage")
    theirs = drafted("stage by cost", "age over 71", "visits by stage", whole={"age"})
    merged = cp.drafts.merge_drafts({"mine": mine, "theirs": theirs})
    assert merged.content["mechanism"]["tables"] == {
        "must": [["cost", "stage"], ["age", "stage"], ["visits", "stage"]],
        "then": "auto",
    }
    assert merged.content["attributes"]["age"]["grid"] == {"round": 20, "also": [33, 72]}
    text = cp.drafts.draft_text(merged)
    for question in ("mean cost by stage", "stage by cost", "age over 71", "age under 33"):
        assert f"{ASKED}{question}" in text
    other = TEXT.replace("round = 20", "step = 5")
    with pytest.raises(cp.AgreementError, match="grid"):  # what else grids say is no matter of questions
        cp.drafts.merge_drafts({"mine": mine, "theirs": cp.drafts.draft_from_text(other)})


def test_fields_take_questions_show_those_that_were_asked_and_keep_what_cannot_be_read():
    form = cp.drafts.DraftForm.of(drafted("mean cost by stage"))
    assert form.asked == ["mean cost by stage"] and form.questions == ""
    form.questions = "age under 33\n\nage by stage"
    draft, problems = form.read()
    assert problems == ()
    assert draft.content["mechanism"]["tables"]["must"] == [["cost", "stage"], ["age", "stage"]]
    again = cp.drafts.DraftForm.of(draft)
    assert [row.also for row in again.columns if row.name == "age"] == ["33"]
    assert again.asked == ["mean cost by stage", "age under 33", "age by stage"]
    form.questions = "age under 33\nage by nothing"
    draft, problems = form.read()
    assert [problem.place for problem in problems] == ["questions"]
    assert "'age by nothing'" in problems[0].sentence and "'nothing' is neither" in problems[0].sentence
