"""Several counts in one ring element, and how a table of counts lies in memory.

A product on shares costs the same whatever its entries are, so as many counts share an element as fit, each in a lane
of its own. Noise is added lane by lane with a public offset that keeps every lane non-negative, so no lane borrows
from its neighbor; after opening, the lanes are public and are taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np

from copublish.kernel.programs.noise import geometric
from copublish.types import IntArray

ELEMENT_BITS = 63


@dataclass(frozen=True)
class Packing:
    """How a row of counts lies in ring elements.

    Attributes:
        row: Number of counts in a row.
        lanes: How many of them share an element.
    """

    row: int
    lanes: int = 1

    @staticmethod
    def densest(row: int, largest_count: int, noise_bits: int) -> Packing:
        """The packing with most lanes whose counts plus noise plus offset stay inside their lane."""
        needed = (largest_count + 2 ** (noise_bits + 1)).bit_length()
        return Packing(row, max(1, min(row, ELEMENT_BITS // needed)))

    @property
    def lane_bits(self) -> int:
        """Width of a lane."""
        return ELEMENT_BITS // self.lanes

    @property
    def elements(self) -> int:
        """Ring elements in a row."""
        return -(-self.row // self.lanes)

    def weight(self, position: IntArray) -> IntArray:
        """Weight of one record in its element if it counts at this position of the row."""
        return cast(IntArray, np.int64(1) << (self.lane_bits * (position % self.lanes)))

    def pack(self, xp: ModuleType, counts: IntArray) -> IntArray:
        """Pack rows of counts: (n_rows, row) to (n_rows, elements)."""
        missing = self.elements * self.lanes - self.row
        if missing:
            counts = xp.concatenate([counts, xp.zeros((counts.shape[0], missing), dtype=np.int64)], axis=1)
        weights = self.weight(np.arange(self.lanes, dtype=np.int64))
        return cast(IntArray, (counts.reshape(-1, self.elements, self.lanes) * weights).sum(axis=2))

    def unpack(self, opened: IntArray) -> IntArray:
        """Take opened elements apart: (n_rows, elements) to (n_rows, row)."""
        if self.lanes == 1:
            return opened
        lanes = [(opened >> (self.lane_bits * lane)) & ((1 << self.lane_bits) - 1) for lane in range(self.lanes)]
        return cast(IntArray, np.stack(lanes, axis=2).reshape(len(opened), -1)[:, : self.row])


def add_packed_noise(
    xp: ModuleType,
    packed: IntArray,
    words: IntArray,
    planes: IntArray,
    packing: Packing,
    cell_at: IntArray | None,
    offset: int,
) -> IntArray:
    """Add discrete Laplace noise plus a public offset to every count of packed rows, shape (n_rows, elements).

    Words are drawn for twice as many samples as there are counts.
    """
    noise = laplace(xp, words, planes, packed.shape[0] * packing.row)
    return add_drawn_noise(xp, packed, noise[0], packing, cell_at, offset)


def laplace(xp: ModuleType, words: IntArray, planes: IntArray, n: int) -> IntArray:
    """Draw discrete Laplace noise, shape (1, n), from words for twice as many samples."""
    drawn = geometric(xp, words, planes)
    return cast(IntArray, (drawn[:n] - drawn[n : 2 * n]).reshape(1, n))


def add_drawn_noise(
    xp: ModuleType, packed: IntArray, noise: IntArray, packing: Packing, cell_at: IntArray | None, offset: int
) -> IntArray:
    """Add noise, one for each cell, plus a public offset to every count of packed rows.

    Samples belong to cells in agreed order, so the same coins give the same release however the table lies.
    """
    noise = noise + offset
    if cell_at is not None:
        noise = noise[cell_at]
    return cast(IntArray, packed + packing.pack(xp, noise.reshape(packed.shape[0], packing.row)))
