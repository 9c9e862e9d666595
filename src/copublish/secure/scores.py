"""Scores of candidate splits on secret counts.

Leakage: none, the cost depends on shapes alone; no comparison is opened. The result is secret and NOT safe to open.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.privacy.coins import IntArray
from copublish.secure.noise import tournament_maximum


def range_counts(xp: ModuleType, table: IntArray, starts: IntArray, stops: IntArray) -> IntArray:
    """Return counts by class of code ranges.

    Args:
        xp: Array module.
        table: Counts by code and class, shape (n_codes, n_classes).
        starts: First code of each range, any shape; where it equals `stops` the counts are 0.
        stops: The code after the last one of each range, same shape.

    Returns:
        Counts, shape (*starts.shape, n_classes).
    """
    # A public 0/1 matrix instead of a prefix sum: on shares it costs nothing, and it is a plain product.
    codes = np.arange(table.shape[0])
    inside = (codes >= starts.reshape(-1, 1)) & (codes < stops.reshape(-1, 1))
    return cast(IntArray, xp.matmul(inside.astype(np.int64), table).reshape(*starts.shape, table.shape[1]))


def max_scores(xp: ModuleType, child_counts: IntArray) -> IntArray:
    """Return for each candidate the sum over its children of the largest class count (the score Max).

    Args:
        xp: Array module.
        child_counts: Counts by class of each candidate's children, shape (n_candidates, most_children, n_classes);
            children that a candidate does not have count 0.
    """
    return cast(IntArray, tournament_maximum(xp, child_counts).sum(axis=1))


def in_agreed_order(
    xp: ModuleType, counts: IntArray, place_of_cell: IntArray | None, shape: tuple[int, ...]
) -> IntArray:
    """Bring unpacked counts into the agreed order of cells and give them a public shape."""
    flat = counts.reshape(-1)
    return (flat if place_of_cell is None else flat[place_of_cell]).reshape(shape)


def add(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Add secrets of one shape."""
    return sum(parts[1:], start=parts[0])
