"""A value that no party sees, and secret tables of counts with their layout in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from copublish.errors import SecretCannotBeReadError
from copublish.kernel.programs.packing import Packing
from copublish.types import IntArray


class Secret:
    """A handle on integers that no party sees. Its shape is public, its values cannot be read."""

    __slots__ = ("_handle", "shape")

    def __init__(self, handle: object, shape: tuple[int, ...]) -> None:
        self._handle = handle
        self.shape = shape

    def __repr__(self) -> str:
        return f"Secret(shape={self.shape})"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise SecretCannotBeReadError("A secret cannot be read, compared or pickled; use the reveal gate.")

    __array__ = __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = __getitem__ = _refuse
    __reduce_ex__ = _refuse

    def __eq__(self, other: object) -> bool:
        self._refuse()

    __hash__ = None  # type: ignore[assignment]  # a secret is no key


@dataclass(frozen=True)
class SecretCounts:
    """A secret table of counts and how it lies: rows of `packing.row` counts, axes in an order of its own.

    Attributes:
        secret: Packed counts, shape (n_rows, packing.elements).
        packing: How a row lies in ring elements.
        cell_at: For each place in the rows the cell that is counted there, in agreed order with the last axis
            fastest; none if they lie in that order.
    """

    secret: Secret
    packing: Packing
    cell_at: IntArray | None = None

    def __post_init__(self) -> None:
        """Refuse a layout under which two counts would get the same noise."""
        if len(self.secret.shape) != 2 or self.secret.shape[1] != self.packing.elements:
            raise ValueError(f"counts of shape {self.secret.shape} do not lie as {self.packing} says")
        if self.cell_at is not None and not np.array_equal(np.sort(self.cell_at), np.arange(self.n_cells)):
            raise ValueError("every cell needs a place of its own")

    @property
    def n_cells(self) -> int:
        """Number of counts."""
        return self.secret.shape[0] * self.packing.row

    def place_of_cell(self) -> IntArray | None:
        """For each cell in agreed order its place in the rows; none if they lie in that order."""
        return None if self.cell_at is None else np.argsort(self.cell_at)

    def in_order(self, opened: IntArray) -> IntArray:
        """Take opened elements apart and return one number for each cell in agreed order."""
        places, order = self.packing.unpack(opened).ravel(), self.place_of_cell()
        return places if order is None else places[order]
