"""The columns of a table of counts, from public domains alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from copublish.agreement.domain import Domain
from copublish.types import IntArray


@dataclass(frozen=True)
class Axis:
    """One column of a table of counts: which cell each code of the column falls into.

    Attributes:
        column: An attribute or the class.
        cell_of_code: For each code of the public domain its cell, shape (n_codes,).
        n_cells: Number of cells.
    """

    column: str
    cell_of_code: IntArray
    n_cells: int

    @staticmethod
    def of(domain: Domain) -> Axis:
        """The axis on which every code of a domain is a cell of its own."""
        return Axis(domain.name, np.arange(domain.size, dtype=np.int64), domain.size)


def n_cells(axes: Sequence[Axis]) -> int:
    """The number of cells of the whole table."""
    return int(np.prod([axis.n_cells for axis in axes], dtype=object))


def evenly_divided(sizes: Sequence[int]) -> tuple[int, ...]:
    """Which axes to put into a table of their own, so that it and that of all others have fewest cells together.

    Args:
        sizes: Cells of each axis, at least two axes with at least two each.

    Returns:
        The numbers of the axes of the table that has no more cells than the other.
    """
    whole, reached = prod(sizes), dict[int, tuple[int, ...]]({1: ()})
    for number, size in enumerate(sizes):
        # Products of cells are few, however many ways there are to choose axes; the first way to reach one is kept.
        for cells, chosen in list(reached.items()):
            reached.setdefault(cells * size, (*chosen, number))
    smaller = [cells for cells in reached if cells > 1 and cells * cells <= whole]
    best = min(smaller, key=lambda cells: cells + whole // cells)
    return reached[best]
