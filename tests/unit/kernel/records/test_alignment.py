"""Bringing the parties' records together: the common ones, in one order, each cell held once, and no word of anyone."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish import Agreement, FragmentError, agreement_from_mapping, check
from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.records.alignment import align_records, compared, too_few_common
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.rows.reading import read_fragment
from support import repartition, small_mapping
from support.profiles import examples

FEW = examples(15)

SECRETS = ("vet", "surgeon", "secretperson", "77.125")
"""Values of cells and identifiers in the tables below; none may be in a message."""


def align(agreement: Agreement, frames: Mapping[str, pd.DataFrame]) -> dict[str, JointTable]:
    fragments = {party: read_fragment(agreement, party, frame) for party, frame in frames.items()}
    return Room(agreement.party_names).run(lambda engine: align_records(agreement, fragments[engine.party], engine))


def refusal(agreement: Agreement, frames: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """The problems, after checking that nothing of a person is in what is shown of them."""
    with pytest.raises(FragmentError) as caught:
        align(agreement, frames)
    shown = str(caught.value) + repr(caught.value) + "".join(traceback.format_exception(caught.value))
    assert [secret for secret in SECRETS if secret in shown] == []
    assert caught.value.party in agreement.parties
    return caught.value.problems


def mapping_of(partition: str, parties: int, columns: tuple[str, ...] = ("job", "region", "income")) -> dict[str, Any]:
    attributes = {name: small_mapping()["attributes"][name] for name in columns}
    return repartition(small_mapping(attributes=attributes), partition, parties)


def agreed(partition: str, parties: int = 3, **changes: Any) -> Agreement:
    mapping = mapping_of(partition, parties)
    for dotted, value in changes.items():
        table, key = dotted.split("__")
        mapping[table][key] = value
    return agreement_from_mapping(mapping)


def identifiers(table: JointTable) -> list[str]:
    return list(table.fragment.identifiers or [])


# --- Vertical: the common records, in one order ----------------------------------------------------------------------

JOBS = ["cook", "clerk", "driver", "surgeon", "vet"]
REGIONS = ["north", "south", "east"]


def job_of(person: int) -> str:
    return JOBS[person * 7 % 5]


def region_of(person: int) -> str:
    return REGIONS[person * 5 % 3]


def income_of(person: int) -> float:
    return person * 37 % 100 + 0.125


def vertical_frame(party: int, people: list[int]) -> pd.DataFrame:
    """What party number `party` of three knows about these people."""
    name, value_of = [("job", job_of), ("region", region_of), ("income", income_of)][party]
    columns: dict[str, Any] = {"id": [f"secretperson{person}" for person in people]}
    columns[name] = pd.Series([value_of(person) for person in people], dtype=float if name == "income" else object)
    columns["default"] = ["yes" if person % 2 else "no" for person in people]
    return pd.DataFrame(columns)


people_lists = st.lists(st.integers(0, 12), unique=True, max_size=13)


@pytest.mark.slow
@given(st.lists(people_lists, min_size=3, max_size=3))
@FEW
def test_three_parties_keep_the_people_they_all_have_in_one_order(lists: list[list[int]]) -> None:
    agreement = agreed("vertical")
    aligned = align(agreement, {f"p{i}": vertical_frame(i, people) for i, people in enumerate(lists)})
    common = {f"secretperson{person}" for person in set(lists[0]) & set(lists[1]) & set(lists[2])}
    orders = [identifiers(table) for table in aligned.values()]
    assert orders[0] == orders[1] == orders[2]
    assert sorted(orders[0]) == sorted(common)
    assert all(table.fragment.n_records == len(common) for table in aligned.values())


@given(people_lists, people_lists)
@FEW
def test_cells_stay_with_their_person(first: list[int], second: list[int]) -> None:
    frames = {"p0": vertical_frame(0, first), "p1": vertical_frame(1, second)}
    agreement = agreement_from_mapping(
        repartition(
            small_mapping(attributes={n: small_mapping()["attributes"][n] for n in ("job", "region")}), "vertical"
        )
    )
    aligned = align(agreement, frames)
    order = [int(name.removeprefix("secretperson")) for name in identifiers(aligned["p0"])]
    codes_of = {party: table.fragment.private_codes for party, table in aligned.items()}
    assert list(codes_of["p0"]["job"]) == [JOBS.index(job_of(person)) for person in order]
    assert list(codes_of["p1"]["region"]) == [REGIONS.index(region_of(person)) for person in order]
    for codes in codes_of.values():
        assert list(codes["default"]) == [person % 2 for person in order]


def test_records_in_the_same_order_everywhere_are_left_as_they_are() -> None:
    people = [5, 3, 9, 1]
    aligned = align(agreed("vertical"), {f"p{i}": vertical_frame(i, people) for i in range(3)})
    assert identifiers(aligned["p2"]) == [f"secretperson{person}" for person in people]


def test_parties_without_a_common_person_have_an_empty_table() -> None:
    lists = [[1, 2], [3, 4], [1, 4]]
    aligned = align(agreed("vertical"), {f"p{i}": vertical_frame(i, people) for i, people in enumerate(lists)})
    assert [table.fragment.n_records for table in aligned.values()] == [0, 0, 0]


def test_far_fewer_common_records_than_expected_are_told_to_the_parties_people_where_they_know_them() -> None:
    vertical, horizontal = agreed("vertical"), agreed("horizontal")
    expected = vertical.records.expected
    said = too_few_common(vertical, (expected - 1) // 2)
    assert said is not None and f"{expected:,}" in said and "differently" in said
    assert too_few_common(vertical, (expected + 1) // 2) is None
    assert too_few_common(horizontal, 0) is None, "each party knows its own number only"


def test_number_of_common_records_is_told_only_where_the_agreement_makes_it_public() -> None:
    frames = {f"p{i}": vertical_frame(i, people) for i, people in enumerate([[1, 2, 3], [3, 2], [2, 3, 9]])}
    assert {table.public_total for table in align(agreed("vertical"), frames).values()} == {None}
    public = agreed("vertical", records__public=True, privacy__neighbors="replace")
    assert {table.public_total for table in align(public, frames).values()} == {2}


# --- Classes that all parties know -----------------------------------------------------------------------------------


def flip_one_class(frame: pd.DataFrame) -> pd.DataFrame:
    flipped = frame.copy()
    flipped.loc[1, "default"] = {"no": "yes", "yes": "no"}[flipped.loc[1, "default"]]
    return flipped


def test_nothing_about_class_columns_is_compared(monkeypatch) -> None:
    """Before, owners exchanged an unsalted hash: of one listed person it gave the label away, before any charge."""
    frames = {f"p{i}": vertical_frame(i, [1, 2, 3]) for i in range(3)}
    told, exchange = [], IdealEngine.exchange

    def note(engine: IdealEngine, message: Any, said: object) -> object:
        told.append((message.topic, str(said)))
        return exchange(engine, message, said)

    monkeypatch.setattr(IdealEngine, "exchange", note)
    align(agreed("vertical"), frames)
    before = list(told)
    told.clear()
    aligned = align(agreed("vertical"), {**frames, "p2": flip_one_class(frames["p2"])})
    assert told == before and not any("class" in topic for topic, _ in told)
    assert len(identifiers(aligned["p2"])) == 3


def test_classes_may_differ_for_records_that_are_not_common() -> None:
    lists = [[1, 2, 3], [3, 1], [1, 3]]
    frames = {f"p{i}": vertical_frame(i, people) for i, people in enumerate(lists)}
    aligned = align(agreed("vertical"), {**frames, "p0": flip_one_class(frames["p0"])})
    assert len(identifiers(aligned["p0"])) == 2


def test_class_of_one_party_is_not_compared() -> None:
    frames = {f"p{i}": vertical_frame(i, [1, 2, 3]) for i in range(3)}
    aligned = align(agreed("vertical", class__held_by="p0"), {**frames, "p2": flip_one_class(frames["p2"])})
    assert "default" not in aligned["p2"].fragment.private_codes


# --- Row order -------------------------------------------------------------------------------------------------------


def test_row_order_takes_the_records_as_they_come() -> None:
    agreement = agreed("vertical", records__alignment="row-order", records__identifier=None)
    people = [4, 2, 8]
    aligned = align(agreement, {f"p{i}": vertical_frame(i, people).drop(columns="id") for i in range(3)})
    assert list(aligned["p0"].fragment.private_codes["job"]) == [JOBS.index(job_of(p)) for p in people]
    assert aligned["p1"].fragment.n_records == 3


def test_row_order_with_different_numbers_of_rows_is_refused_without_saying_how_many() -> None:
    agreement = agreed("vertical", records__alignment="row-order", records__identifier=None)
    frames = {f"p{i}": vertical_frame(i, list(range(11 + 2 * (i == 1)))) for i in range(3)}
    (problem,) = refusal(agreement, frames)
    assert "different numbers of rows" in problem
    assert "row-order" in problem
    assert "11" not in problem
    assert "13" not in problem


# --- Horizontal: every person at one party ---------------------------------------------------------------------------


def horizontal_frame(people: list[int]) -> pd.DataFrame:
    columns = {
        "id": [f"secretperson{person}" for person in people],
        "job": [job_of(person) for person in people],
        "region": [region_of(person) for person in people],
        "income": [income_of(person) for person in people],
        "default": ["no"] * len(people),
    }
    return pd.DataFrame(columns)


def test_horizontal_parties_keep_their_rows_as_they_are() -> None:
    aligned = align(agreed("horizontal"), {f"p{i}": horizontal_frame([3 * i + 2, 3 * i, 3 * i + 1]) for i in range(3)})
    assert identifiers(aligned["p1"]) == ["secretperson5", "secretperson3", "secretperson4"]
    assert {table.public_total for table in aligned.values()} == {None}


def test_horizontal_total_is_the_sum_where_it_is_public() -> None:
    agreement = agreed("horizontal", records__public=True, privacy__neighbors="replace")
    frames = {"p0": horizontal_frame([1]), "p1": horizontal_frame([]), "p2": horizontal_frame([2, 3])}
    assert {table.public_total for table in align(agreement, frames).values()} == {3}


@pytest.mark.parametrize("where", [("p0", "p1"), ("p0", "p2"), ("p1", "p2")])
def test_person_at_two_horizontal_parties_is_refused(where: tuple[str, str]) -> None:
    frames = {f"p{i}": horizontal_frame([10 * i, 10 * i + 1] + [99] * (f"p{i}" in where)) for i in range(3)}
    (problem,) = refusal(agreed("horizontal"), frames)
    assert "Column 'id': some person is listed by two parties" in problem
    for words in (
        "no budget was spent",
        "a comparison",
        "No party was told who",
        "leave those rows out",
        "identifier'",
    ):
        assert words in problem
    assert "secretperson" not in problem and not any(character.isdigit() for character in problem)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_more_rows_than_the_public_length_that_hides_their_number_end_nothing_and_are_not_cut(where) -> None:
    """Fails before encoding was total: row 15 ended the run at all parties, and row 14 did not."""
    agreement = agreed("horizontal", records__expected=7)

    def frames(rows: int) -> dict[str, pd.DataFrame]:
        return {
            f"p{i}": horizontal_frame(list(range(100 * i, 100 * i + (rows if i == where else 2)))) for i in range(3)
        }

    for rows in (14, 15, 40):
        assert align(agreement, frames(rows))[f"p{where}"].fragment.n_records == rows
    (told,) = check(agreement, f"p{where}", frames(17)[f"p{where}"]).rules
    assert (told.rule, told.rows) == ("not compared", 3)
    assert "more people than twice records.expected" in told.problem


def test_no_more_identifiers_are_compared_than_the_public_length_and_all_parties_take_the_same_people() -> None:
    agreement = agreed("horizontal", records__expected=7)
    longer = {f"p{i}": read_fragment(agreement, f"p{i}", horizontal_frame(list(range(40 + i)))) for i in range(2)}
    first, second = (compared(fragment, 14) for fragment in longer.values())
    assert len(first) == len(second) == 14
    assert len(set(first) & set(second)) >= 13
    assert compared(longer["p0"], 40) == longer["p0"].identifiers
    with pytest.raises(FragmentError, match="some person is listed by two parties"):
        align(agreement, {f"p{i}": horizontal_frame(list(range(40 + i))) for i in range(3)})


def test_horizontal_release_without_identifiers_cannot_and_does_not_compare_people() -> None:
    agreement = agreed("horizontal", 2, records__identifier=None)
    frame = horizontal_frame([1, 2]).drop(columns="id")
    assert align(agreement, {"p0": frame, "p1": frame})["p0"].fragment.n_records == 2


# --- Spellings that the agreement makes equal ------------------------------------------------------------------------


def respelled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(id=[f" SECRET-person {name.removeprefix('secretperson')}" for name in frame["id"]])


def test_parties_that_spell_identifiers_differently_find_their_common_people_if_the_rules_say_so() -> None:
    rules = ["ignore-case", "ignore-spaces", "ignore-punctuation"]
    frames = {"p0": vertical_frame(0, [1, 2, 3]), "p1": respelled(vertical_frame(1, [3, 1, 7]))}
    frames["p2"] = vertical_frame(2, [3, 2, 1])
    aligned = align(agreed("vertical", records__identifier_rules=rules), frames)
    assert {tuple(identifiers(table)) for table in aligned.values()} == {("secretperson1", "secretperson3")}
    assert align(agreed("vertical"), frames)["p0"].fragment.n_records == 0


def test_a_person_at_two_horizontal_parties_is_refused_in_another_spelling_if_the_rules_say_so() -> None:
    rules = ["ignore-case", "ignore-spaces", "ignore-punctuation"]
    frames = {"p0": horizontal_frame([1, 2]), "p1": respelled(horizontal_frame([2, 3])), "p2": horizontal_frame([4])}
    (problem,) = refusal(agreed("horizontal", records__identifier_rules=rules), frames)
    assert "some person is listed by two parties" in problem
    assert align(agreed("horizontal"), frames)["p0"].fragment.n_records == 2


# --- Arbitrary: every cell at one party ------------------------------------------------------------------------------


def arbitrary_frames(owner_of: Callable[[str, int], tuple[int, ...]], people: list[int]) -> dict[str, pd.DataFrame]:
    """Frames of three parties in which `owner_of(column, person)` says who holds which cell."""
    whole = horizontal_frame(people)
    frames = {}
    for party in range(3):
        frame = whole.astype(object)
        for column in ("job", "region", "income"):
            held = [party in owner_of(column, person) for person in people]
            frame[column] = frame[column].where(held, None)
        frame["income"] = frame["income"].astype(float)
        frames[f"p{party}"] = frame.sample(frac=1, random_state=party)
    return frames


def round_robin(column: str, person: int) -> tuple[int, ...]:
    return ((person + len(column)) % 3,)


def test_cells_that_are_each_held_once_are_accepted() -> None:
    people = list(range(12))
    aligned = align(agreed("arbitrary"), arbitrary_frames(round_robin, people))
    fragments: list[Fragment] = [table.fragment for table in aligned.values()]
    order = [int(name.removeprefix("secretperson")) for name in identifiers(aligned["p0"])]
    assert sorted(order) == people
    for column in ("job", "region", "income"):
        holders = [[n for n, f in enumerate(fragments) if f.holds(column)[row]] for row in range(12)]
        assert holders == [list(round_robin(column, person)) for person in order]


def joined_cells(aligned: Mapping[str, JointTable], column: str) -> dict[int, list[tuple[int, int]]]:
    """For every person who holds the cell of a column, by number, and with which code."""
    fragments = [table.fragment for table in aligned.values()]
    order = [int(name.removeprefix("secretperson")) for name in identifiers(aligned["p0"])]
    return {
        person: [
            (number, int(fragment.private_codes[column][row]))
            for number, fragment in enumerate(fragments)
            if fragment.holds(column)[row]
        ]
        for row, person in enumerate(order)
    }


def test_cell_that_two_parties_hold_is_the_lowest_numbered_ones() -> None:
    """Fails before encoding was total: the run ended, and all parties were told."""
    frames = arbitrary_frames(
        lambda column, person: (0, 2) if (column, person) == ("job", 3) else round_robin(column, person), list(range(9))
    )
    frames["p2"].loc[frames["p2"]["id"] == "secretperson3", "job"] = "clerk"
    assert joined_cells(align(agreed("arbitrary"), frames), "job")[3] == [(0, JOBS.index(job_of(3)))]
    swapped = {**frames, "p0": frames["p2"], "p2": frames["p0"]}
    assert joined_cells(align(agreed("arbitrary"), swapped), "job")[3] == [(0, JOBS.index("clerk"))]


@pytest.mark.parametrize(("missing", "code"), [(0, 0), ("category", 4)])
def test_cell_that_no_party_holds_is_missing_and_its_first_holder_says_so(missing: str | int, code: int) -> None:
    """Fails before encoding was total: the run ended, and all parties were told."""
    frames = arbitrary_frames(
        lambda column, person: () if (column, person) == ("income", 8) else round_robin(column, person), list(range(9))
    )
    mapping = mapping_of("arbitrary", 3)
    mapping["attributes"]["income"]["missing"] = missing
    aligned = align(agreement_from_mapping(mapping), frames)
    assert joined_cells(aligned, "income")[8] == [(0, code)]


@pytest.mark.slow
@given(st.lists(st.integers(0, 7), min_size=1, max_size=20))
@FEW
def test_every_cell_has_one_holder_after_alignment(owners: list[int]) -> None:
    """A number from 0 to 7 says which of three parties hold the job of a person."""
    holders = {person: tuple(party for party in range(3) if bits >> party & 1) for person, bits in enumerate(owners)}
    frames = arbitrary_frames(
        lambda column, person: holders[person] if column == "job" else round_robin(column, person),
        list(range(len(owners))),
    )
    found = joined_cells(align(agreed("arbitrary"), frames), "job")
    assert found == {
        person: [(min(who), JOBS.index(job_of(person)))] if who else [(0, 0)] for person, who in holders.items()
    }


def test_column_that_one_party_holds_needs_no_check() -> None:
    mapping = repartition(small_mapping(), "arbitrary", 3)
    mapping["attributes"] = {name: mapping["attributes"][name] for name in ("job", "region", "income")}
    mapping["attributes"]["job"]["held_by"] = "p1"
    frames = arbitrary_frames(
        lambda column, person: (1,) if column == "job" else round_robin(column, person), [1, 2, 3]
    )
    frames = {party: frame if party == "p1" else frame.drop(columns="job") for party, frame in frames.items()}
    aligned = align(agreement_from_mapping(mapping), frames)
    assert [bool(a.fragment.holds("job").all()) for a in aligned.values()] == [False, True, False]


def test_empty_arbitrary_release_is_accepted() -> None:
    frames = arbitrary_frames(round_robin, [])
    assert align(agreed("arbitrary"), frames)["p0"].fragment.n_records == 0
