"""Counts packed several to a ring element, and the bounded sums of secrets that they are made of.

A party's integer enters as bits, of which the program takes as many as the range has, so no integer can be out of
range, whoever puts it in. Numbers that are compared afterwards stay in the middle of the ring, where comparing by the
sign of a difference is right.

A product on shares costs the same whatever its entries are, so as many counts share an element as fit, each in a lane
of its own. Noise is added lane by lane with a public offset that keeps every lane non-negative, so no lane borrows
from its neighbor; after opening, the lanes are public and are taken apart.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np

from copublish.kernel.programs.noise import geometric
from copublish.types import IntArray


def bits_within(most: int, summands: int) -> int:
    """The bits of integers of which so many add up to no more than `most`, in size."""
    return (most // summands).bit_length()


def as_bits(local: IntArray, bits: int) -> IntArray:
    """Integers as `sum_within` takes them, those out of range cut to it."""
    half = 2 ** (bits - 1)
    return cast(IntArray, np.clip(local, -half, half - 1) + half)


def sum_within(xp: ModuleType, *words: IntArray, bits: int) -> IntArray:
    """Add integers that were put in as words of bits; bits above those of the range are not looked at."""
    half, mask = 2 ** (bits - 1), 2**bits - 1
    return cast(IntArray, sum((own & mask for own in words[1:]), start=words[0] & mask) - len(words) * half)


def in_agreed_order(
    xp: ModuleType, counts: IntArray, place_of_cell: IntArray | None, shape: tuple[int, ...]
) -> IntArray:
    """Bring unpacked counts into the agreed order of cells and give them a public shape."""
    flat = counts.reshape(-1)
    return (flat if place_of_cell is None else flat[place_of_cell]).reshape(shape)


def lanes_within(largest_count: int) -> int:
    """How many counts without noise share a ring element."""
    return max(1, ELEMENT_BITS // largest_count.bit_length())


def add_chosen(xp: ModuleType, counts: IntArray, chosen: IntArray) -> IntArray:
    """Add up the counts that a public array of zeros and ones chooses: shape (n, 1) to (1, 1)."""
    return cast(IntArray, (counts * chosen).sum(axis=0, keepdims=True))


def add(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Add secrets of one shape."""
    return sum(parts[1:], start=parts[0])


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

    Privacy:
        Draws: one sample of noise for each count from joint coins that no party knows. The result is secret.
    """
    noise = laplace(xp, words, planes, packed.shape[0] * packing.row)
    return add_drawn_noise(xp, packed, noise[0], packing, cell_at, offset)


def laplace(xp: ModuleType, words: IntArray, planes: IntArray, n: int) -> IntArray:
    """Draw discrete Laplace noise, shape (1, n), from words for twice as many samples.

    Privacy:
        Draws: the difference of two geometric samples for each entry, from joint coins that no party knows.
    """
    drawn = geometric(xp, words, planes)
    return cast(IntArray, (drawn[:n] - drawn[n : 2 * n]).reshape(1, n))


def add_drawn_noise(
    xp: ModuleType, packed: IntArray, noise: IntArray, packing: Packing, cell_at: IntArray | None, offset: int
) -> IntArray:
    """Add noise, one for each cell, plus a public offset to every count of packed rows.

    Samples belong to cells in agreed order, so the same coins give the same release however the table lies.

    Privacy:
        Assumes: the noise was drawn for these counts and is used for nothing else. The gate takes it out for good.
    """
    noise = noise + offset
    if cell_at is not None:
        noise = noise[cell_at]
    return cast(IntArray, packed + packing.pack(xp, noise.reshape(packed.shape[0], packing.row)))
