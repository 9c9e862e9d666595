"""Sums of secrets, and tables of them in another order.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

from copublish.types import IntArray


def in_agreed_order(
    xp: ModuleType, counts: IntArray, place_of_cell: IntArray | None, shape: tuple[int, ...]
) -> IntArray:
    """Bring unpacked counts into the agreed order of cells and give them a public shape."""
    flat = counts.reshape(-1)
    return (flat if place_of_cell is None else flat[place_of_cell]).reshape(shape)


def add_chosen(xp: ModuleType, counts: IntArray, chosen: IntArray) -> IntArray:
    """Add up the counts that a public array of zeros and ones chooses: shape (n, 1) to (1, 1)."""
    return cast(IntArray, (counts * chosen).sum(axis=0, keepdims=True))


def add(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Add secrets of one shape."""
    return sum(parts[1:], start=parts[0])
