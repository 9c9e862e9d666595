"""Counting a party's own cells: what the arrays give is what a loop over the records gives, chunk by chunk."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from copublish.agreement.axis import Axis, n_cells
from copublish.kernel.records import fragment as fragment_module
from copublish.kernel.records.fragment import Fragment, local_histogram, partial_cells
from copublish.rows.identifiers import IdentifierColumn
from support.profiles import examples

UNHURRIED = examples(unchecked=[HealthCheck.function_scoped_fixture])
"""A busy machine is no failure, nor is a monkeypatch that stays for all examples."""


def fragment_of(columns: dict[str, list[int]], sizes: dict[str, int], n: int) -> Fragment:
    codes = {name: np.array(column, dtype=np.uint8) for name, column in columns.items()}
    identifiers = IdentifierColumn([pa.array([f"p{i}" for i in range(n)], pa.string())])
    return Fragment("bank", n, codes, {name: sizes[name] for name in columns}, identifiers)


@st.composite
def fragments_and_axes(draw: st.DrawFn) -> tuple[Fragment, list[Axis]]:
    """Records with cells that others hold among them, and axes in any order, some of columns not held at all."""
    n = draw(st.integers(0, 25))
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1))
    sizes = {name: draw(st.integers(1, 5)) for name in names}
    held = [name for name in names if draw(st.integers(0, 4))]
    columns = {name: draw(st.lists(st.integers(0, sizes[name]), min_size=n, max_size=n)) for name in held}
    axes = []
    for name in draw(st.permutations(names)):
        cells = draw(st.integers(1, 4))
        cell_of_code = draw(st.lists(st.integers(0, cells - 1), min_size=sizes[name], max_size=sizes[name]))
        axes.append(Axis(name, np.array(cell_of_code, dtype=np.int64), cells))
    return fragment_of(columns, sizes, n), axes


def cells_of(fragment: Fragment, axes: list[Axis], record: int) -> list[int | None]:
    """The cell of a record on every axis, None where this party does not hold it."""
    cells: list[int | None] = []
    for axis in axes:
        code = int(fragment.private_codes[axis.column][record]) if axis.column in fragment.private_codes else None
        is_held = code is not None and code < fragment.sizes[axis.column]
        cells.append(int(axis.cell_of_code[code]) if is_held else None)
    return cells


def number_of(axes: list[Axis], cells: tuple[int, ...]) -> int:
    """The place of a combination of cells when all combinations are listed, the last axis fastest."""
    return list(itertools.product(*(range(axis.n_cells) for axis in axes))).index(cells)


@UNHURRIED
@given(case=fragments_and_axes(), rows_per_chunk=st.integers(1, 7))
def test_local_histogram_counts_what_a_loop_counts(
    monkeypatch: pytest.MonkeyPatch, case: tuple[Fragment, list[Axis]], rows_per_chunk: int
) -> None:
    monkeypatch.setattr(fragment_module, "ROWS_PER_CHUNK", rows_per_chunk)
    fragment, axes = case
    found = Counter(tuple(cells_of(fragment, axes, record)) for record in range(fragment.n_records))
    every_cell = itertools.product(*(range(axis.n_cells) for axis in axes))
    assert list(local_histogram(fragment, axes)) == [found[cells] for cells in every_cell]


@UNHURRIED
@given(fragments_and_axes())
def test_partial_cells_are_the_cell_numbers_with_nought_for_what_others_hold(
    case: tuple[Fragment, list[Axis]],
) -> None:
    fragment, axes = case
    expected = [
        number_of(axes, tuple(cell or 0 for cell in cells_of(fragment, axes, record)))
        for record in range(fragment.n_records)
    ]
    assert list(partial_cells(fragment, axes, slice(0, fragment.n_records))) == expected


@UNHURRIED
@given(fragments_and_axes(), st.data())
def test_partial_cells_of_some_rows_are_that_piece_of_the_whole(
    case: tuple[Fragment, list[Axis]], data: st.DataObject
) -> None:
    fragment, axes = case
    start = data.draw(st.integers(0, fragment.n_records))
    stop = data.draw(st.integers(start, fragment.n_records))
    whole = list(partial_cells(fragment, axes, slice(0, fragment.n_records)))
    assert list(partial_cells(fragment, axes, slice(start, stop))) == whole[start:stop]


@UNHURRIED
@given(st.data())
def test_parts_of_parties_that_share_out_the_cells_add_up_to_the_whole_number(data: st.DataObject) -> None:
    n, sizes = data.draw(st.integers(1, 20)), {"a": 4, "b": 3, "c": 5}
    axes = [
        Axis("a", np.array([0, 1, 1, 2]), 3),
        Axis("b", np.array([0, 0, 0]), 1),  # not split: it adds nothing
        Axis("c", np.array([0, 0, 1, 1, 1]), 2),
    ]
    whole = {
        name: data.draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for name, size in sizes.items()
    }
    owner = {name: data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)) for name in sizes}
    total = np.zeros(n, dtype=np.int64)
    for party in range(3):
        own = {
            name: [code if who == party else sizes[name] for code, who in zip(whole[name], owner[name], strict=True)]
            for name in sizes
        }
        total += partial_cells(fragment_of(own, sizes, n), axes, slice(0, n))
    assert list(total) == [
        number_of(axes, tuple(int(axis.cell_of_code[whole[axis.column][record]]) for axis in axes))
        for record in range(n)
    ]


def test_histogram_of_more_records_than_one_chunk_counts_them_all() -> None:
    n, generator = 2 * fragment_module.ROWS_PER_CHUNK + 17, np.random.default_rng(3)
    a, b = generator.integers(0, 4, n), generator.integers(0, 3, n)  # code 3 of a: held elsewhere
    fragment = Fragment("bank", n, {"a": a.astype(np.uint8), "b": b.astype(np.uint8)}, {"a": 3, "b": 3})
    axes = [Axis("a", np.array([0, 1, 2]), 3), Axis("b", np.array([0, 0, 1]), 2)]
    expected = Counter((x, y // 2) for x, y in zip(a.tolist(), b.tolist(), strict=True) if x < 3)
    assert list(local_histogram(fragment, axes)) == [expected[x, y] for x in range(3) for y in range(2)]


@pytest.mark.parametrize(("n", "per_chunk", "lengths"), [(0, 3, []), (3, 3, [3]), (7, 3, [3, 3, 1]), (2, 3, [2])])
def test_chunks_cover_all_records_once(
    monkeypatch: pytest.MonkeyPatch, n: int, per_chunk: int, lengths: list[int]
) -> None:
    monkeypatch.setattr(fragment_module, "ROWS_PER_CHUNK", per_chunk)
    pieces = [range(n)[rows] for rows in fragment_of({"a": [0] * n}, {"a": 1}, n).chunks()]
    assert [len(piece) for piece in pieces] == lengths
    assert list(itertools.chain(*pieces)) == list(range(n))


def test_number_of_cells_is_exact_however_large() -> None:
    axes = [Axis(str(i), np.arange(100), 100) for i in range(12)]
    assert n_cells(axes) == 100**12
    assert n_cells([]) == 1


def test_histogram_without_axes_is_the_number_of_records() -> None:
    assert list(local_histogram(fragment_of({"a": [0, 1, 2]}, {"a": 2}, 3), [])) == [3]


def test_histogram_of_a_column_held_by_others_is_all_nought() -> None:
    fragment = fragment_of({"a": [0, 1]}, {"a": 2}, 2)
    axes = [Axis("a", np.array([0, 1]), 2), Axis("b", np.array([0, 1, 2]), 3)]
    assert list(local_histogram(fragment, axes)) == [0] * 6


@UNHURRIED
@given(st.lists(st.integers(0, 9), max_size=15))
def test_take_gives_the_records_asked_for_in_that_order(positions: list[int]) -> None:
    fragment = fragment_of({"a": list(range(10)), "b": [3] * 10}, {"a": 10, "b": 5}, 10)
    taken = fragment.take(np.array(positions, dtype=np.int64))
    assert taken.n_records == len(positions)
    assert list(taken.private_codes["a"]) == positions
    assert taken.identifiers is not None
    assert list(taken.identifiers) == [f"p{i}" for i in positions]
    assert taken.sizes == fragment.sizes


def test_take_keeps_identifiers_away_where_there_are_none() -> None:
    fragment = Fragment("bank", 2, {"a": np.array([0, 1], dtype=np.uint8)}, {"a": 2})
    assert fragment.take(np.array([1])).identifiers is None


def test_holds_is_false_for_cells_of_others_and_for_columns_of_others() -> None:
    fragment = fragment_of({"a": [0, 2, 1, 2]}, {"a": 2}, 4)
    assert list(fragment.holds("a")) == [True, False, True, False]
    assert list(fragment.holds("a", slice(1, 3))) == [False, True]
    assert list(fragment.holds("b")) == [False] * 4
    assert list(fragment.holds("b", slice(1, 3))) == [False] * 2


def test_printing_a_fragment_shows_no_codes_and_no_identifiers() -> None:
    shown: Any = repr(fragment_of({"a": [7, 7, 7]}, {"a": 9}, 3))
    assert "7" not in shown
    assert "p0" not in shown
