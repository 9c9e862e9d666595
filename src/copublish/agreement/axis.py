"""The columns of a table of counts, from public domains alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
