"""Counting records by cells whose columns several parties hold.

Leakage: none beyond who holds which cell, which is public. The result is secret and NOT safe to open: exact
counts would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine, Secret
from copublish.fragments.fragment import Axis, Fragment, local_histogram, n_cells, partial_cells
from copublish.privacy.coins import IntArray


@dataclass(frozen=True)
class JointTable:
    """One party's view of the joined table: its own aligned cells, and who holds the others."""

    agreement: Agreement
    fragment: Fragment

    def is_additive(self, axes: Sequence[Axis]) -> bool:
        """Whether for every record one party holds all these axes, so that local counts add up to joint ones."""
        if self.agreement.partition == "horizontal":
            return True
        own = [axis for axis in axes if not self._is_shared_class(axis)]
        holders = {self.agreement.holders(axis.column) for axis in own}
        one_holder_each = len(holders) == 1 and len(next(iter(holders))) == 1
        return len(own) <= 1 or one_holder_each

    def _is_shared_class(self, axis: Axis) -> bool:
        return axis.column == self.agreement.class_.name and self.agreement.class_is_shared

    def count_locally(self, axes: Sequence[Axis]) -> IntArray:
        """Return this party's part of additive counts, shape (n_cells,), last axis fastest."""
        counts_here = any(not self._is_shared_class(axis) for axis in axes) or self._is_first_party()
        if not counts_here:
            return np.zeros(n_cells(axes), dtype=np.int64)
        return local_histogram(self.fragment, axes)

    def count_jointly(self, axes: Sequence[Axis], engine: Engine) -> Secret:
        """Return the secret counts of the joined table, shape (n_cells,), last axis fastest."""
        axes = [axis for axis in axes if axis.n_cells > 1]  # an attribute that is not split needs no join
        if self.is_additive(axes):
            return engine.share(self.count_locally(axes))
        total: Secret | None = None
        for rows in self.fragment.chunks():
            counted = engine.joint_histogram(self._partial(axes, rows), n_cells(axes))
            total = counted if total is None else engine.compute(add, total, counted)
        return engine.share(np.zeros(n_cells(axes), dtype=np.int64)) if total is None else total

    def _partial(self, axes: Sequence[Axis], rows: slice) -> IntArray:
        """Return this party's part of each record's cell number; a class that all know is added by one of them."""
        if self._is_first_party():
            return partial_cells(self.fragment, axes, rows)
        muted = [
            replace(axis, cell_of_code=np.zeros_like(axis.cell_of_code)) if self._is_shared_class(axis) else axis
            for axis in axes
        ]
        return partial_cells(self.fragment, muted, rows)

    def _is_first_party(self) -> bool:
        return self.fragment.party == self.agreement.party_names[0]


def add(xp: ModuleType, a: IntArray, b: IntArray) -> IntArray:
    """Add two secrets of one shape."""
    return a + b
