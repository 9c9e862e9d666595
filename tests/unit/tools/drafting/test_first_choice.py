"""The mechanism of a draft: the first choice, what works where its rules do not allow it, and its delta."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

import copublish as cp
from copublish.agreement.loading import FILL_IN
from copublish.agreement.model import MAX_EXPECTED, MIN_DELTA
from copublish.mechanisms.marginals.settings import MAX_CANDIDATE_CELLS
from copublish.mechanisms.registry import FIRST_CHOICE, mechanism_named, mechanisms
from copublish.rows.agreed_columns import ColumnType
from copublish.tools.drafting.answers import Bounds
from copublish.tools.drafting.draft import Decided, Draft, Essentials, PartyColumns, draft_agreement
from copublish.tools.drafting.files import draft_from_text
from copublish.tools.drafting.form import DraftForm
from copublish.tools.drafting.merge import compare_drafts
from copublish.tools.drafting.text import draft_text

BOUNDS: Bounds = (Decimal(0), Decimal(100_000))


def drafted(
    *,
    numbers: int = 0,
    categories: Mapping[str, int] | None = None,
    class_values: int | None = None,
    known: bool = True,
    **said: Any,
) -> Draft:
    """A draft of two owners of whole rows.

    Args:
        numbers: How many columns of numbers there are.
        categories: Columns with as many values.
        class_values: How many values the class has; there is none if nothing is said.
        known: Whether bounds and values are.
        said: What else is.
    """
    types: dict[str, ColumnType] = {f"n{number}": "number" for number in range(numbers)}
    values = {name: [f"v{number}" for number in range(size)] for name, size in (categories or {}).items()}
    types |= dict.fromkeys(values, "text")
    if class_values is not None:
        types["ill"], values["ill"] = "text", [f"c{number}" for number in range(class_values)]
        said["class_name"] = "ill"
    bounds = {f"n{number}": BOUNDS for number in range(numbers)}
    essentials = Essentials(
        **{"name": "r", "dataset": "d", "partition": "horizontal", "epsilon": Decimal(1), "expected": 5000, **said},
        has_class=class_values is not None,
    )
    parts = [PartyColumns("one", types), PartyColumns("other", types)]
    decided = Decided(values=values, bounds=bounds) if known else Decided()
    return draft_agreement(essentials, parts, {}, decided)


def agreement_of(draft: Draft) -> cp.Agreement:
    return cp.agreement_from_mapping({**draft.content, "records": {"expected": 5000}})


def reason(draft: Draft) -> str:
    """The sentences that a draft gives for what is not as usual."""
    return " ".join(comment.text.removeprefix("# ") for comment in draft.comments)


def test_the_first_choice_needs_no_class_and_draws_records():
    settings = mechanism_named(FIRST_CHOICE).settings
    assert settings.draws_records and not settings.needs_class and mechanism_named(FIRST_CHOICE).promises


@pytest.mark.parametrize("class_values", [None, 2], ids=["no class", "class"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "open"])
def test_with_and_without_a_class_the_first_choice_is_drafted(class_values, known):
    draft = drafted(numbers=2, class_values=class_values, known=known)
    assert draft.content["mechanism"] == {"name": FIRST_CHOICE} and reason(draft) == ""
    if known:
        assert cp.describe(agreement_of(draft)).mechanism == FIRST_CHOICE


@pytest.mark.parametrize("columns", [21, 64])
def test_a_wide_table_has_grids_whose_pairs_fit(columns):
    draft = drafted(numbers=columns)
    agreement = agreement_of(draft)
    sizes = [domain.size for domain in agreement.columns.values()]
    assert sum(one * other for one, other in combinations(sizes, 2)) <= MAX_CANDIDATE_CELLS
    grids = {section["grid"]["round"] for section in draft.content["attributes"].values()}
    assert grids == ({20} if columns == 21 else {10})
    assert reason(draft).startswith("Grids are coarser than usual: attributes: ") == (columns == 64)
    cp.describe(agreement)


def test_with_the_usual_grids_64_columns_of_numbers_would_be_refused():
    content = drafted(numbers=64).content
    for section in content["attributes"].values():
        section["grid"] = {"round": 20}
    with pytest.raises(cp.AgreementError, match="fit the engine"):
        cp.agreement_from_mapping({**content, "records": {"expected": 5000}})


def test_a_class_of_many_values_is_measured_like_every_other_column():
    assert drafted(numbers=2, class_values=32).content["mechanism"] == {"name": FIRST_CHOICE}
    draft = drafted(numbers=2, class_values=33)
    assert draft.content["mechanism"] == {"name": FIRST_CHOICE, "first": "columns"}
    assert "at most 32 values, and these are 33" in reason(draft)
    cp.describe(agreement_of(draft))


@pytest.mark.parametrize("class_values", [None, 2], ids=["no class", "class"])
def test_of_65_columns_and_more_another_mechanism_is_drafted_with_the_reason(class_values):
    assert drafted(numbers=63, class_values=2).content["mechanism"]["name"] == FIRST_CHOICE
    draft = drafted(numbers=65, class_values=class_values)
    known = mechanism_named(draft.content["mechanism"]["name"])
    assert known.name != FIRST_CHOICE and known.promises and not known.settings.drafted
    assert reason(draft).startswith(f"Not '{FIRST_CHOICE}', the first choice: attributes: ")
    columns = 65 if class_values is None else 66
    assert f"at most 64 columns, the class included, and these are {columns}" in reason(draft)
    assert ("delta" in draft.content["privacy"]) == known.settings.noise_follows_delta
    cp.describe(agreement_of(draft))


def test_where_no_mechanism_works_the_first_choice_is_drafted_and_its_rules_say_what_to_change():
    draft = drafted(numbers=65, partition="vertical")
    assert draft.content["mechanism"] == {"name": FIRST_CHOICE} and reason(draft) == ""
    with pytest.raises(cp.AgreementError, match="at most 64 columns"):
        cp.agreement_from_mapping(
            {
                **draft.content,
                "records": {"expected": 5000, "identifier": "id"},
                "attributes": {name: {**said, "held_by": "one"} for name, said in draft.content["attributes"].items()},
                "parties": {"one": {}, "other": {}},
                "class": {"name": "ill", "values": ["no", "yes"], "held_by": "other"},
            }
        )


def test_where_a_table_by_the_class_would_be_too_large_columns_are_measured_alone():
    draft = drafted(categories={"postcode": 5000, "sex": 2}, class_values=2)
    assert draft.content["mechanism"] == {"name": FIRST_CHOICE, "first": "columns"}
    assert "the table of 'postcode' by 'ill' has 10,004 cells" in reason(draft)
    cp.describe(agreement_of(draft))


def test_where_a_column_alone_would_be_too_large_another_mechanism_is_drafted():
    draft = drafted(categories={"postcode": 8191, "sex": 2}, class_values=2)
    assert draft.content["mechanism"]["name"] != FIRST_CHOICE and reason(draft).startswith("Not ")
    cp.describe(agreement_of(draft))


def test_of_open_questions_only_the_number_of_columns_decides():
    assert drafted(numbers=64, known=False).content["mechanism"]["name"] == FIRST_CHOICE
    assert reason(drafted(numbers=65, class_values=2, known=False)).startswith("Not ")


def test_who_asks_for_a_mechanism_gets_it():
    for known in mechanisms():
        assert drafted(numbers=65, class_values=2, mechanism=known.name).content["mechanism"]["name"] == known.name


def test_the_reason_stands_in_the_file_and_stays_when_it_is_written_anew():
    text = draft_text(drafted(numbers=2, class_values=33))
    lines = text.splitlines()
    assert lines[lines.index("[mechanism]") + 1].startswith("# Settings are not the usual ones: class.values: ")
    again = draft_from_text(text)
    assert draft_text(again) == text and draft_text(DraftForm.of(again).read()[0]) == text


# --- delta ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "delta"),
    [
        *((FILL_IN, "1e-6"), (100, "1e-6"), (99_999, "1e-6"), (100_000, "1e-6"), (100_001, "1e-7")),
        *((1_000_000, "1e-7"), (3_000_000, "1e-8"), (10**11, "1e-12"), (10**11 + 1, None), (MAX_EXPECTED, None)),
    ],
)
def test_delta_is_one_in_a_million_or_a_power_of_ten_below_one_in_ten_times_the_records(expected, delta):
    draft = drafted(numbers=2, expected=expected)
    assert draft.content["privacy"].get("delta") == delta
    if delta is not None and expected != FILL_IN:
        assert Fraction(delta) <= Fraction(1, 10 * expected)
        assert delta == "1e-6" or 10 * Fraction(delta) > Fraction(1, 10 * expected)
    if delta is None:  # nothing that an agreement may say is so small
        assert Fraction(1, 10 * expected) < MIN_DELTA
        assert cp.describe(agreement_of(draft)).delta_is.startswith("the sampler's")


def test_a_draft_says_what_delta_means_and_goes_without_it():
    draft = drafted(numbers=2)
    (line,) = [line for line in draft_text(draft).splitlines() if line.startswith("delta = ")]
    assert line.startswith('delta = "1e-6" ') and line.endswith(
        "# by how much a probability may exceed what epsilon allows; at most 1 / (10 * expected)"
    )
    assert cp.describe(agreement_of(draft)).delta_bound == "1.0e-06"
    del draft.content["privacy"]["delta"]
    assert Fraction(cp.describe(agreement_of(draft)).delta_bound) < Fraction(1, 10**9)


def test_the_page_keeps_delta_as_it_is_written():
    draft = drafted(numbers=2)
    assert DraftForm.of(draft).read()[0].content["privacy"] == draft.content["privacy"]


def test_the_delta_of_who_knows_the_number_of_records_is_taken():
    knows, open_ = drafted(numbers=2, expected=2_000_000), drafted(numbers=2, expected=FILL_IN)
    assert open_.content["privacy"]["delta"] == "1e-6"
    for drafts in ({"a": knows, "b": open_}, {"b": open_, "a": knows}):
        merged = compare_drafts(drafts)
        assert not merged.conflicts and merged.draft.content["privacy"]["delta"] == "1e-8"
    merged = compare_drafts({"a": knows, "b": drafted(numbers=2, expected=2000)})
    assert {("records", "expected"), ("privacy", "delta")} == {one.path for one in merged.conflicts}


@pytest.mark.parametrize(("expected", "warns"), [(100_000, False), (100_001, True)])
def test_describe_warns_of_a_delta_that_is_large_beside_the_number_of_records(expected, warns):
    content = {**drafted(numbers=2).content, "records": {"expected": expected}}
    warnings = cp.describe(cp.agreement_from_mapping(content)).warnings
    assert any("delta" in warning and "is much for about" in warning for warning in warnings) == warns
