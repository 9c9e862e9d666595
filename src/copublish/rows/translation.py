"""Translation of one owner's own values into those of the agreement: a recoding, and a unit.

It is as total as all encoding, and comes before it: a value that it does not name stays as it is.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copublish.rows.numbers import LARGEST, finite_number
from copublish.types import BoolArray, IntArray

EXACT = Context(prec=100)
"""A float's shortest spelling has 17 digits and a factor 30, so their product is never rounded."""


@dataclass(frozen=True, kw_only=True)
class Translation:
    """What one owner's own values of a column are in words and units of the agreement.

    Attributes:
        values: Own values, as texts, and the agreed ones. The empty text is an empty cell.
        factor: An agreed number is an own one times this; above 0, so larger numbers stay larger.

    Privacy:
        Stability: 1 for one row. What becomes of a cell follows from that cell and from this object, which its owner
            wrote before anything was read. It is never sent.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    factor: Decimal = Decimal(1)

    def places(self, cells: pa.Array, empty: BoolArray, numbers: NDArray[np.float64] | None = None) -> IntArray:
        """The place in `values` of every cell, or -1.

        Args:
            cells: Texts or numbers.
            empty: Which cells are empty.
            numbers: The same as numbers, where the column is one of numbers: 90 is found however it is written.
        """
        found = np.full(len(cells), -1, dtype=np.int64)
        if not self.values:
            return found
        if not pa.types.is_floating(cells.type):
            by_text = pc.index_in(cells, value_set=pa.array(list(self.values), pa.string()))
            found = pc.fill_null(by_text, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if numbers is not None:
            for number, place in self.numbers.items():
                found[(found < 0) & (numbers == number)] = place
        if "" in self.values:
            found[empty] = list(self.values).index("")
        return found

    @cached_property
    def numbers(self) -> dict[float, int]:
        """Own values that are numbers, and their places in `values`."""
        read = [(finite_number(text), place) for place, text in enumerate(self.values)]
        return {number: place for number, place in reversed(read) if number is not None}

    def agreed_texts(self, cells: pa.Array, places: IntArray) -> pa.Array:
        """Texts with agreed values in the place of own ones."""
        named = pa.array(np.maximum(places, 0), mask=places < 0)
        return pc.coalesce(pa.array([*self.values.values(), None], pa.string()).take(named), cells)

    def agreed_numbers(self, numbers: NDArray[np.float64], places: IntArray) -> NDArray[np.float64]:
        """Numbers in agreed units, with agreed ones in the place of own values."""
        if self.factor != 1:
            different, which = np.unique(numbers, return_inverse=True)
            numbers = np.array([self.in_agreed_units(float(number)) for number in different])[which]
        if not self.values:
            return numbers
        named = np.array([float(text) for text in self.values.values()])
        return cast(NDArray[np.float64], np.where(places < 0, numbers, named[places]))

    def in_agreed_units(self, number: float) -> float:
        """The float nearest to the exact product of the factor and the shortest decimal that is this float.

        So 0.57 times 100 is 57, which it is not in the arithmetic of floats. Never infinite for a finite number.
        """
        if self.factor == 1 or not math.isfinite(number):
            return number
        return min(max(float(EXACT.multiply(Decimal(repr(number)), self.factor)), -LARGEST), LARGEST)

    def first_reaching(self, edge: float) -> float:
        """The smallest own number that is at least this in agreed units; infinity if none is."""
        if self.factor == 1 or self.in_agreed_units(LARGEST) < edge:
            return edge if self.factor == 1 else math.inf
        low, high = _rank(-LARGEST), _rank(LARGEST)
        while low < high:
            middle = (low + high) // 2
            if self.in_agreed_units(_float(middle)) >= edge:
                high = middle
            else:
                low = middle + 1
        return _float(low)


AS_AGREED = Translation()
"""The translation of whoever has the agreed values."""


def _rank(number: float) -> int:
    """The place of a float among all floats in their order; that of 0 is 0."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFF_FFFF_FFFF_FFFF)


def _float(rank: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", abs(rank)))
    return math.copysign(float(number), rank)
