"""A party's cells as small integer codes, and counting them locally.

A fragment has its rows here, or leaves them where they lie and asks there for counts (`rows_or_counts.py`). Whoever
needs counts alone asks `histogram` and `pair_histograms`, which both kinds answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from copublish.agreement.axis import Axis, n_cells
from copublish.errors import EngineError
from copublish.kernel.records.identifiers import Identifiers
from copublish.kernel.secrets.placement import Placement
from copublish.types import BoolArray, Codes, IntArray

ROWS_PER_CHUNK = 65_536
"""Records are counted in chunks, so that memory does not grow with their number."""


@dataclass(frozen=True)
class Fragment:
    """The cells one party holds.

    Attributes:
        party: Whose cells they are.
        n_records: How many records this party lists.
        private_codes: For every column of which this party holds cells, one code per record; the code just
            past the domain marks a cell that another party holds and, in the class, a null row.
        sizes: For the same columns, the number of codes in the domain.
        private_numbers: Where the mechanism needs them, for every numerical column one number per record, in steps of
            the last agreed decimal above the lower bound; -1 where it is missing or another party holds it.
        identifiers: The records' identifiers, where the agreement names a column for them.
        class_column: The class, at a party that holds it.
        row_numbers: Where every record is published, each record's row in the source, from 0. It never leaves this
            party.
        present: Where membership is hidden, which rows of the joined table hold one of this party's people; none where
            every row does.

    A null row is a record without a listed class. It stays where it is, so that its identifier does not tell, and has
    weight 0: its owner counts it nowhere.
    """

    party: str
    n_records: int = field(repr=False)
    private_codes: Mapping[str, Codes] = field(repr=False)  # a repr may end up in a log
    sizes: Mapping[str, int]
    identifiers: Identifiers | None = field(default=None, repr=False)
    private_numbers: Mapping[str, IntArray] = field(default_factory=dict, repr=False)
    class_column: str | None = None
    row_numbers: IntArray | None = field(default=None, repr=False)
    present: BoolArray | None = field(default=None, repr=False)

    def take(self, positions: IntArray) -> Fragment:
        """These records in this order."""
        if len(positions) == self.n_records and np.array_equal(positions, np.arange(self.n_records)):
            return self
        return replace(
            self,
            n_records=len(positions),
            private_codes={name: codes[positions] for name, codes in self.private_codes.items()},
            private_numbers={name: numbers[positions] for name, numbers in self.private_numbers.items()},
            identifiers=None if self.identifiers is None else self.identifiers.take(positions),
            row_numbers=None if self.row_numbers is None else self.row_numbers[positions],
        )

    def placed(self, placement: Placement) -> Fragment:
        """The joined table's rows, with this party's people in theirs.

        In all other rows this party holds nothing and is not present, so they count nowhere.
        """

        def spread(values: IntArray | Codes, elsewhere: int) -> Any:
            found = np.full(placement.n_rows, elsewhere, dtype=values.dtype)
            found[placement.rows] = values
            return found

        return replace(
            self,
            n_records=placement.n_rows,
            private_codes={name: spread(codes, self.sizes[name]) for name, codes in self.private_codes.items()},
            private_numbers={name: spread(numbers, -1) for name, numbers in self.private_numbers.items()},
            identifiers=None,
            row_numbers=None,
            present=np.isin(np.arange(placement.n_rows), placement.rows),
        )

    def holds(self, column: str, rows: slice = slice(None)) -> BoolArray:
        """Which cells of a column this party holds."""
        if column not in self.private_codes:
            return np.zeros(len(range(*rows.indices(self.n_records))), dtype=np.bool_)
        return cast(BoolArray, self.private_codes[column][rows] != self.sizes[column])

    def counts(self, rows: slice = slice(None)) -> BoolArray:
        """Which records have weight 1, as far as this party knows; null rows, and people it lacks, have weight 0."""
        if self.class_column is None or self.class_column not in self.private_codes:
            weights = np.ones(len(range(*rows.indices(self.n_records))), dtype=np.bool_)
        else:
            weights = self.holds(self.class_column, rows)
        return weights if self.present is None else weights & self.present[rows]

    def chunks(self) -> Iterator[slice]:
        """Yield row ranges that cover all records."""
        for start in range(0, self.n_records, ROWS_PER_CHUNK):
            yield slice(start, min(start + ROWS_PER_CHUNK, self.n_records))

    def histogram(self, axes: Sequence[Axis]) -> IntArray:
        """Count the records of which this party holds every axis, by cell: shape (n_cells,), last axis fastest."""
        return local_histogram(self, axes)

    def pair_histograms(self, groups: Mapping[int, Sequence[Axis]]) -> dict[tuple[int, int], IntArray]:
        """For every two of some groups of columns, all of which this party holds, the counts by their cells.

        Returns:
            For each pair of keys, the earlier one first, counts of shape (cells of one, cells of the other).
        """
        _refuse_if_hidden(self)
        sizes = {key: n_cells(group) for key, group in groups.items()}
        found = {(a, b): np.zeros((sizes[a], sizes[b]), dtype=np.int64) for a, b in combinations(groups, 2)}
        for rows in self.chunks():
            held = self.counts(rows)
            cells = {key: partial_cells(self, group, rows)[held] for key, group in groups.items()}
            for (a, b), counts in found.items():
                both = np.bincount(cells[a] * sizes[b] + cells[b], minlength=counts.size)
                counts += both.reshape(counts.shape)
        return found


def partial_cells(fragment: Fragment, axes: Sequence[Axis], rows: slice) -> IntArray:
    """This party's part of each record's cell number.

    A cell number is the sum over axes of cell times stride; a party adds the terms of the cells it holds and 0 for
    the others, so the parties' parts add up to the whole number. For null rows the number means nothing.
    """
    part = np.zeros(rows.stop - rows.start, dtype=np.int64)
    stride = 1
    for axis in reversed(axes):
        if axis.n_cells > 1 and axis.column in fragment.private_codes:
            term_of_code = np.append(axis.cell_of_code * stride, 0)  # the last code: held by another party
            part += term_of_code[fragment.private_codes[axis.column][rows]]
        stride *= axis.n_cells
    return part


def local_histogram(fragment: Fragment, axes: Sequence[Axis]) -> IntArray:
    """Count the records of which this party holds every axis, by cell; null rows are not counted.

    Returns:
        Counts, shape (n_cells,), last axis fastest.
    """
    _refuse_if_hidden(fragment)
    counts = np.zeros(n_cells(axes), dtype=np.int64)
    if any(axis.column not in fragment.private_codes for axis in axes):
        return counts
    for rows in fragment.chunks():
        cells = partial_cells(fragment, axes, rows)
        held = fragment.counts(rows)
        for axis in axes:
            held &= fragment.holds(axis.column, rows)
        counts += np.bincount(cells if held.all() else cells[held], minlength=len(counts))
    return counts


def _refuse_if_hidden(fragment: Fragment) -> None:
    """Raise if this party does not know which of its people are common: what it counts alone is no joint count.

    Raises:
        EngineError: It is a mistake in code. Nothing is counted.
    """
    if fragment.present is not None:
        raise EngineError("Membership is hidden, so no party counts its records alone. Nothing is counted.")
