"""Counting records by cells whose columns several parties hold.

Leakage: none beyond who holds which cell, which is public between the parties. The result is secret and NOT safe
to open: exact counts would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine, Secret
from copublish.fragments.fragment import Axis, Codes, Fragment, local_histogram, n_cells, partial_cells
from copublish.privacy.coins import IntArray
from copublish.secure.packing import Packing, SecretCounts
from copublish.secure.scores import add


@dataclass(frozen=True)
class JointTable:
    """One party's view of the joined table: its own aligned cells, and who holds the others.

    Attributes:
        agreement: What was agreed.
        fragment: This party's aligned cells.
        holder_of: For every column whose cells are spread, the number of each record's holder. Public between
            the parties.
    """

    agreement: Agreement
    fragment: Fragment
    holder_of: Mapping[str, Codes] = field(default_factory=dict)

    def is_additive(self, axes: Sequence[Axis]) -> bool:
        """Whether for every record one party holds all these axes, so that local counts add up to joint ones."""
        if self.agreement.partition == "horizontal":
            return True
        own = [axis for axis in axes if not self._is_shared_class(axis)]
        holders = {self.agreement.holders(axis.column) for axis in own}
        one_holder_each = len(holders) == 1 and len(next(iter(holders))) == 1
        return len(own) <= 1 or one_holder_each

    def count_locally(self, axes: Sequence[Axis]) -> IntArray:
        """Return this party's part of additive counts, shape (n_cells,), last axis fastest."""
        is_counted_here = any(not self._is_shared_class(axis) for axis in axes) or self._number() == 0
        if not is_counted_here:
            return np.zeros(n_cells(axes), dtype=np.int64)
        return local_histogram(self.fragment, axes)

    def count_jointly(self, axes: Sequence[Axis], engine: Engine, *, noise_bits: int | None) -> SecretCounts:
        """Return the secret counts of the joined table.

        Args:
            axes: The columns of the table and the cells their codes fall into.
            engine: This party's end of the engine.
            noise_bits: Bits of the noise that will be added; counts share ring elements so that it fits. None if the
                counts are for computing: packed ones can be measured and nothing else.
        """
        split = [axis for axis in axes if axis.n_cells > 1]  # an attribute that is not split needs no join
        if self.is_additive(split):
            return SecretCounts(engine.share(self.count_locally(split).reshape(-1, 1)), Packing(1))
        # The last party's own columns and a class that all know make up the rows; the others number the rows.
        across = [axis for axis in split if self._is_in_every_row(axis)]
        down = [axis for axis in split if axis not in across]
        row = n_cells(across)
        largest = self.fragment.n_records
        packing = Packing(row) if noise_bits is None else Packing.densest(row, largest, noise_bits)
        parts = list(self._products(down, across, packing, engine))
        zeros = np.zeros((n_cells(down), packing.elements), dtype=np.int64)
        secret = engine.compute(add, *parts) if parts else engine.share(zeros)
        return SecretCounts(secret, packing, _order([*down, *across], split))

    def _products(
        self, down: Sequence[Axis], across: Sequence[Axis], packing: Packing, engine: Engine
    ) -> Iterator[Secret]:
        """Yield one table for every group of records with the same holders and every chunk of it."""
        for holders, positions in self._groups(down):
            own = [axis for axis, holder in zip(down, holders, strict=True) if holder == self._number()]
            sizes = tuple(
                n_cells([axis for axis, holder in zip(down, holders, strict=True) if holder == number])
                for number in range(len(self.agreement.parties))
            )
            by_party = [
                axis for number in range(len(sizes)) for axis, h in zip(down, holders, strict=True) if h == number
            ]
            order = _order(down, by_party)
            n_rows = self.fragment.n_records if positions is None else len(positions)
            step = engine.rows_per_product(sizes, packing)
            for start in range(0, n_rows, step):
                rows = slice(start, min(start + step, n_rows))
                chunk = rows if positions is None else positions[rows]
                cells = partial_cells(self.fragment, own, chunk)
                places = partial_cells(self.fragment, across, chunk) if self._is_last() else None
                counted = engine.joint_histogram(cells, places, sizes, packing)
                yield counted if order is None else engine.compute(take_rows, counted, order=order)

    def _groups(self, axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], IntArray | None]]:
        """Yield who holds these axes and for which records (none: for all of them)."""
        numbers = {party: number for number, party in enumerate(self.agreement.party_names)}
        spread = [axis.column for axis in axes if axis.column in self.holder_of]
        fixed = {axis.column: numbers[self.agreement.holders(axis.column)[0]] for axis in axes}
        if not spread:
            yield tuple(fixed[axis.column] for axis in axes), None
            return
        pattern = np.zeros(self.fragment.n_records, dtype=np.int64)
        for column in spread:
            pattern = pattern * len(numbers) + self.holder_of[column]
        by_pattern = np.argsort(pattern, kind="stable")
        patterns, starts = np.unique(pattern[by_pattern], return_index=True)
        for positions in np.split(by_pattern, starts[1:]) if len(patterns) else []:
            first = positions[0]
            held = {column: int(self.holder_of[column][first]) for column in spread}
            yield tuple(held.get(axis.column, fixed[axis.column]) for axis in axes), positions

    def _is_shared_class(self, axis: Axis) -> bool:
        return axis.column == self.agreement.class_.name and self.agreement.class_is_shared

    def _is_in_every_row(self, axis: Axis) -> bool:
        return self._is_shared_class(axis) or self.agreement.holders(axis.column) == self.agreement.party_names[-1:]

    def _is_last(self) -> bool:
        return self._number() == len(self.agreement.parties) - 1

    def _number(self) -> int:
        return self.agreement.party_names.index(self.fragment.party)


def take_rows(xp: ModuleType, table: IntArray, order: IntArray) -> IntArray:
    """Put the rows of a secret table into a public order."""
    return table[order]


def _order(wanted: Sequence[Axis], present: Sequence[Axis]) -> IntArray | None:
    """Return for each cell in the wanted order of axes its place in the present one; none if they are the same."""
    if list(wanted) == list(present):
        return None
    numbers = np.arange(n_cells(present), dtype=np.int64).reshape([axis.n_cells for axis in present])
    axes = [next(i for i, axis in enumerate(present) if axis is target) for target in wanted]
    return numbers.transpose(axes).ravel()
