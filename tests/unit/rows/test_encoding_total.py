"""Encoding is total: whatever is in a cell, it becomes a code of the domain, and one row moves one record.

Before it was, each of these cells ended a run, and the other parties were told that the data do not fit: with
probability 1 on one table and 0 on its neighbor, at no charge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.axis import Axis
from copublish.kernel.records.fragment import Fragment, local_histogram
from copublish.rows.reading import read_and_look, read_fragment
from support import mapping_by_default, small_mapping
from support.profiles import examples

pytestmark = pytest.mark.slow  # many tables in every format

FEW = examples(30)
N_ROWS = 15

CATEGORIES = ["cook", "clerk", "north", "?", "NA", "", " ", "(missing)", "other", "ANY", "Worker", "no", "yes"]

CELLS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "floats": (pa.float64(), st.floats(allow_nan=True, allow_infinity=True)),
    "short floats": (pa.float32(), st.floats(width=32)),
    "whole numbers": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "numbers without a sign": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "long decimals": (pa.decimal128(38, 9), st.decimals(-(10**28), 10**28, places=9)),
    "texts": (pa.string(), st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(CATEGORIES)),
    "numbers as text": (
        pa.string(),
        st.floats().map(str) | st.integers(-(10**400), 10**400).map(str) | st.sampled_from(["1e999", "0x1F", "1_0"]),
    ),
    "bytes": (pa.binary(), st.binary(max_size=8)),
    "booleans": (pa.bool_(), st.booleans()),
    "days": (pa.date32(), st.dates()),
    "moments": (pa.timestamp("us"), st.datetimes()),
    "lists": (pa.list_(pa.int64()), st.lists(st.integers(-5, 5), max_size=3)),
    "nothing": (pa.null(), st.none()),
}


def agreed(mapping_of: Callable[..., dict[str, Any]] = mapping_by_default, /, **changes: Any) -> cp.Agreement:
    """Party 'bank' holds a job, an income and the class."""
    return cp.agreement_from_mapping(mapping_of(**changes))


either_way = pytest.mark.parametrize("mapping_of", [mapping_by_default, small_mapping])
"""Missing and unlisted values have categories, or take the place of listed ones."""


def within(agreement: cp.Agreement, fragment: Fragment) -> None:
    """Assert that every code and number is of the public domain, or marks a null row."""
    for name, codes in fragment.private_codes.items():
        size = agreement.columns[name].size
        assert codes.max(initial=0) <= (size if name == agreement.class_.name else size - 1)
    for name, numbers in fragment.private_numbers.items():
        domain = agreement.domains[name]
        assert numbers.min(initial=0) >= (-1 if domain.missing else 0) and numbers.max(initial=0) <= domain.steps


@pytest.mark.parametrize("kind", CELLS)
def test_any_cell_becomes_a_code_of_the_domain(kind: str) -> None:
    """Fails before encoding was total: nearly every such cell was refused. All columns have them in one table, because
    each is encoded by itself; identifiers in every second one, because rows without any are left out. Few tables of
    many rows have as many cells as many of few, and opening a table takes longer than encoding it."""
    type_, cells = CELLS[kind]
    agreements = [
        agreed(),
        agreed(small_mapping),
        numbers_agreement(mapping_by_default),
        numbers_agreement(small_mapping),
    ]
    column = st.lists(st.none() | cells, min_size=N_ROWS, max_size=N_ROWS)

    @given(column, column, column, column, st.booleans())
    @examples(4)
    def check(job: list[Any], income: list[Any], default: list[Any], people: list[Any], odd_people: bool) -> None:
        odd = {"job": job, "income": income, "default": default} | ({"id": people} if odd_people else {})
        columns: dict[str, Any] = {"id": [str(i) for i in range(N_ROWS)]}
        table = pa.table(columns | {name: pa.array(values, type_) for name, values in odd.items()})
        for agreement in agreements:
            fragment = read_fragment(agreement, agreement.party_names[0], whole_rows(agreement, table))
            within(agreement, fragment)
            assert fragment.n_records == N_ROWS or odd_people

    check()


def numbers_agreement(mapping_of: Callable[..., dict[str, Any]]) -> cp.Agreement:
    """A horizontal agreement whose mechanism reads numbers as such."""
    mapping = mapping_of(partition="horizontal", mechanism={"name": "hpdp"})
    for attribute in mapping["attributes"].values():
        del attribute["held_by"]
    return cp.agreement_from_mapping(mapping)


def whole_rows(agreement: cp.Agreement, table: pa.Table) -> pa.Table:
    if agreement.partition != "horizontal":
        return table
    n = table.num_rows
    return table.append_column("region", pa.array(["north"] * n)).append_column("age", pa.array([20] * n))


@pytest.mark.parametrize("kind", [kind for kind in CELLS if kind not in ("bytes", "lists", "nothing", "texts")])
def test_what_a_cell_becomes_does_not_depend_on_the_source(tmp_path: Path, kind: str) -> None:
    type_, cells = CELLS[kind]
    agreement = agreed()

    @given(st.lists(cells, min_size=1, max_size=5))
    @examples(6)
    def check(values: list[Any]) -> None:
        n = len(values)
        table = pa.table(
            {
                "id": [str(i) for i in range(n)],
                "job": ["cook"] * n,
                "income": pa.array(values, type_),
                "default": ["no"] * n,
            }
        )
        import pyarrow.parquet as pq

        pq.write_table(table, tmp_path / "rows.parquet")
        here = read_fragment(agreement, "bank", table)
        there = read_fragment(agreement, "bank", tmp_path / "rows.parquet")
        assert {k: v.tolist() for k, v in here.private_codes.items()} == {
            k: v.tolist() for k, v in there.private_codes.items()
        }

    check()


# --- Which code ------------------------------------------------------------------------------------------------------


def rows(**columns: Any) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    fine = {"id": [str(i) for i in range(n)], "job": ["cook"] * n, "income": [5.0] * n, "default": ["no"] * n}
    return pd.DataFrame({**fine, **columns})


def codes(agreement: cp.Agreement, column: str, cells: list[Any]) -> list[int]:
    return read_fragment(agreement, "bank", rows(**{column: cells})).private_codes[column].tolist()


def test_numbers_are_clamped_and_agreed_values_take_the_place_of_the_rest() -> None:
    agreement = agreed(small_mapping)
    assert codes(agreement, "income", [-7.0, 0.0, 100.0, 1e300, np.inf, np.nan]) == [0, 0, 3, 3, 0, 0]
    assert codes(agreement, "income", ["-7", "what", "NA", "60"]) == [0, 0, 0, 3]
    assert codes(agreement, "job", ["clerk", "pilot", None, "?", "COOK"]) == [1, 0, 0, 0, 0]
    numbers = numbers_agreement(small_mapping)
    frame = rows(income=["-7", "what", "NA", "1e9"]).assign(region="north", age=[17, 18, 200, None])
    fragment = read_fragment(numbers, "bank", frame)
    assert fragment.private_numbers["income"].tolist() == [0, 0, 0, 100]
    assert fragment.private_numbers["age"].tolist() == [0, 0, 81, 0]


def test_by_default_there_is_a_category_for_other_values_and_one_for_missing_ones() -> None:
    agreement = agreed()
    assert agreement.domains["job"].values[-2:] == ("other", "(missing)")
    assert agreement.domains["region"].values == ("north", "south", "east", "other", "(missing)")
    assert codes(agreement, "job", ["clerk", "pilot", None, "?", "other"]) == [1, 5, 6, 6, 5]
    assert codes(agreement, "income", ["-7", "what", "NA", "60"]) == [0, 4, 4, 3]


def test_values_of_a_list_and_numbers_may_take_the_place_of_others() -> None:
    changes = {"attributes.job.unlisted": "vet", "attributes.job.missing": "clerk", "attributes.income.missing": 10}
    agreement = agreed(**changes)
    assert agreement.domains["job"].size == 5 and agreement.domains["income"].size == 4
    assert codes(agreement, "job", ["pilot", None, "cook"]) == [4, 1, 0]
    assert codes(agreement, "income", ["what", None, "0", "9.99"]) == [2, 2, 0, 1]


def test_other_is_the_listed_value_if_there_is_one() -> None:
    changes = {"attributes.job": {"kind": "categorical", "values": ["a", "other", "b"], "held_by": "bank"}}
    agreement = agreed(**changes)
    assert agreement.domains["job"].values == ("a", "other", "b", "(missing)")
    assert codes(agreement, "job", ["b", "z", "other"]) == [2, 1, 1]


def test_a_column_s_own_spellings_of_missing_are_for_that_column_alone() -> None:
    agreement = agreed(**{"attributes.income.missing_spellings": ["-1"], "attributes.income.bounds": [-5, 100]})
    assert codes(agreement, "income", [-1.0, -2.0, 5.0]) == [4, 0, 1]
    assert codes(agreement, "job", ["-1", "?"]) == [5, 6]
    assert codes(agreed(**{"records.missing_spellings": ["none"]}), "job", ["none", "?"]) == [6, 5]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"attributes.job.missing": "refuse"}, "'refuse' is neither 'category' nor a listed value"),
        ({"attributes.income.missing": "refuse"}, "'refuse' is neither 'category' nor a number"),
        ({"attributes.job.missing": "pilot"}, "'pilot' is neither 'category' nor a listed value"),
        ({"attributes.job.unlisted": "pilot"}, "'pilot' is neither 'other' nor a listed value"),
        ({"attributes.job.unlisted": "Worker"}, "'Worker' is neither 'other' nor a listed value"),
        ({"attributes.income.missing": 101}, r"101 is not within bounds = \[0, 100\]"),
        ({"attributes.income.missing": "zero"}, "'zero' is neither 'category' nor a number"),
        ({"attributes.income.out_of_bounds": "refuse"}, "attributes.income.out_of_bounds: 'refuse' is not one of"),
        ({"attributes.job.missing_spellings": ["cook"]}, "'cook' is listed as a value and in attributes.job.missing_s"),
        ({"class.missing_spellings": ["no"]}, "class: 'no' is listed as a value and in class.missing_spellings"),
        (
            {"attributes.region": {"kind": "categorical", "taxonomy": {"ANY": {"other": {"a": {}, "b": {}}, "c": {}}}}},
            "'other' is a group in the taxonomy",
        ),
        ({"records.alignment": "row-order"}, "not told apart by an identifier"),
    ],
)
def test_rules_that_cannot_be_are_refused_with_the_agreement(changes: dict[str, Any], problem: str) -> None:
    mapping = mapping_by_default(**changes)
    mapping["attributes"]["region"]["held_by"] = "loans"
    if mapping["attributes"]["job"].get("missing_spellings"):
        mapping["attributes"]["job"] = {"kind": "categorical", "values": ["cook", "b"], "held_by": "bank"} | {
            "missing_spellings": ["cook"]
        }
    with pytest.raises(cp.AgreementError, match=problem):
        cp.agreement_from_mapping(mapping)


def test_defaults_are_hashed_like_what_is_said() -> None:
    said = {"attributes.job.unlisted": "other", "attributes.income.out_of_bounds": "clamp"}
    assert agreed(**said, **{"attributes.age.missing": "category"}).hash == agreed().hash
    assert agreed(**{"attributes.age.missing": "40"}).hash == agreed(**{"attributes.age.missing": 40}).hash
    others = [{"attributes.job.unlisted": "vet"}, {"attributes.age.missing": 40}, {"class.missing_spellings": ["-"]}]
    assert len({agreed().hash, agreed(small_mapping).hash, *(agreed(**other).hash for other in others)}) == 5


# --- Null rows -------------------------------------------------------------------------------------------------------


@either_way
def test_a_record_without_a_listed_class_stays_and_counts_nowhere(mapping_of: Any) -> None:
    agreement = agreed(mapping_of)
    fragment = read_fragment(agreement, "bank", rows(default=["no", "maybe", None, "yes"]))
    assert fragment.n_records == 4 and list(fragment.identifiers or []) == ["0", "1", "2", "3"]
    assert fragment.counts().tolist() == [True, False, False, True]
    for column in ("job", "income", "default"):
        assert local_histogram(fragment, [Axis.of(agreement.columns[column])]).sum() == 2
    assert fragment.take(np.array([3, 1])).counts().tolist() == [True, False]


def test_where_every_record_is_published_the_class_is_the_first_one() -> None:
    mapping = small_mapping(mechanism={"name": "vhdp"})
    mapping["privacy"]["neighbors"], mapping["records"]["public"] = "replace", True
    mapping["class"]["held_by"] = "bank"
    agreement = cp.agreement_from_mapping(mapping)
    fragment = read_fragment(agreement, "bank", rows(default=["yes", "maybe", None]))
    assert fragment.private_codes["default"].tolist() == [1, 0, 0] and fragment.counts().all()


# --- One row for each identifier -------------------------------------------------------------------------------------


def test_of_several_rows_of_a_person_the_smallest_stays_whatever_their_order() -> None:
    """Fails before encoding was total: duplicate identifiers were refused."""
    frame = rows(id=["a", "b", "a", "a", "c"], job=["vet", "cook", "clerk", "clerk", "vet"], income=[1, 2, 60, 5, 7])
    agreement, generator = agreed(), np.random.default_rng(1)
    for _ in range(8):
        shuffled = frame.iloc[generator.permutation(len(frame))]
        fragment = read_fragment(agreement, "bank", shuffled)
        found = sorted(zip(fragment.identifiers or [], *fragment.private_codes.values(), strict=True))
        assert found == [("a", 1, 1, 0), ("b", 0, 1, 0), ("c", 4, 1, 0)]
    _, overview = read_and_look(agreement, "bank", frame, with_rows=True)
    told = {change.rule: change for change in overview.changes}
    assert told["doubled"].row_numbers == (1, 3)


def test_rows_without_an_identifier_are_left_out_by_their_owner() -> None:
    frame = rows(id=["a", None, " ", "b"])
    fragment, overview = read_and_look(agreed(), "bank", frame, with_rows=True)
    assert list(fragment.identifiers or []) == ["a", "b"]
    assert [(change.rule, change.row_numbers) for change in overview.changes] == [("no identifier", (2, 3))]


def test_where_the_order_of_rows_joins_them_none_is_left_out() -> None:
    agreement = agreed(**{"records.alignment": "row-order", "records.identifier": None})
    fragment, overview = read_and_look(agreement, "bank", rows(id=["a", "a", ""]))
    assert fragment.n_records == 3 and overview.changes == ()


# --- Stability -------------------------------------------------------------------------------------------------------

people = st.sampled_from(["1", "2", "3", "4", "", None])
any_row = st.tuples(
    people,
    st.sampled_from(["cook", "clerk", "pilot", "?", None]),
    st.floats() | st.sampled_from([0.0, 5.0, 60.0]),
    st.sampled_from(["no", "yes", "maybe", None]),
)


def encoded(agreement: cp.Agreement, table: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """The multiset of encoded records, with their identifiers."""
    frame = pd.DataFrame(table, columns=["id", "job", "income", "default"], dtype=object)
    frame["income"] = frame["income"].astype(float)
    for text in ("id", "job", "default"):
        frame[text] = frame[text].astype("string")
    fragment = read_fragment(agreement, "bank", frame)
    return Counter(zip(fragment.identifiers or [], *(c.tolist() for c in fragment.private_codes.values()), strict=True))


def distance(one: Counter[Any], other: Counter[Any]) -> int:
    return sum(((one - other) + (other - one)).values())


@either_way
def test_a_person_more_is_one_record_more_and_other_values_are_one_record_with_other_codes(mapping_of: Any) -> None:
    agreement = agreed(mapping_of)

    @given(st.lists(any_row, max_size=8), st.lists(any_row, min_size=1, max_size=3), st.lists(any_row, max_size=3))
    @FEW
    def check(table: list[Any], one: list[Any], other: list[Any]) -> None:
        before = encoded(agreement, [row for row in table if row[0] != "new"])
        added = encoded(agreement, [*table, *(("new", *row[1:]) for row in one)])
        assert distance(before, added) == 1
        if other:
            replaced = encoded(agreement, [*table, *(("new", *row[1:]) for row in other)])
            assert distance(added, replaced) in (0, 2) and len(added - before) == len(replaced - before) == 1

    check()


@either_way
def test_a_single_row_more_is_one_record_at_most_or_replaces_one(mapping_of: Any) -> None:
    agreement = agreed(mapping_of)

    @given(st.lists(any_row, max_size=8), any_row, st.randoms(use_true_random=False))
    @FEW
    def check(table: list[Any], row: Any, random: Any) -> None:
        before, after = encoded(agreement, table), encoded(agreement, [*table, row])
        is_new = row[0] not in ("", None) and row[0] not in [own[0] for own in table]
        assert distance(before, after) == 1 if is_new else distance(before, after) in (0, 2)
        assert after.total() - before.total() == is_new
        shuffled = list(table)
        random.shuffle(shuffled)
        assert encoded(agreement, shuffled) == before

    check()


# --- What the owner is told ------------------------------------------------------------------------------------------


def test_check_lists_what_the_rules_changed_and_strict_makes_problems_of_it() -> None:
    frame = rows(
        id=["a", "b", "b", "d"],
        job=["pilot", "cook", "cook", None],
        income=["1000", "-3", "what", "NA"],
        default=["no", "no", "maybe", None],
    )
    agreement = agreed()
    checked = cp.check(agreement, "bank", frame, accept=True, rows=True)
    found = {(change.column, change.rule, change.row_numbers) for change in checked.rules}
    assert checked.ok and found == {
        ("job", "unlisted", (1,)),
        ("income", "clamped", (1, 2)),
        ("income", "unreadable", (3,)),
        ("default", "null class", (3,)),
        ("default", "null class", (4,)),
        ("id", "doubled", (3,)),
    }
    assert "taken as 'other'" in str(checked) and "1000" not in str(checked)
    strict = cp.check(agreement, "bank", frame, strict=True)
    assert not strict.ok and len(strict.problems) == 6
    assert all(change.row_numbers is None for change in strict.rules)
    assert cp.check(agreement, "bank", rows(job=["cook", None]), strict=True).ok  # missing is a category


@given(st.decimals(0, 100, places=3))
@FEW
def test_an_agreed_number_has_the_code_of_that_number(number: Decimal) -> None:
    agreement = agreed(**{"attributes.income.missing": number})
    assert codes(agreement, "income", [None, float(number)]) == [codes(agreement, "income", [float(number)])[0]] * 2
