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
    """Return counts by class of code ranges: (n_ranges, n_classes) from a table (n_codes, n_classes)."""
    zero = xp.zeros((1, table.shape[1]), dtype=np.int64)
    prefix = xp.concatenate([zero, xp.cumsum(table, axis=0)], axis=0)
    return cast(IntArray, prefix[stops] - prefix[starts])


def max_scores(xp: ModuleType, child_counts: IntArray, fan_outs: IntArray) -> IntArray:
    """Return for each candidate the sum over its children of the largest class count (the score Max).

    Args:
        xp: Array module.
        child_counts: Counts by class of all candidates' children, one candidate after the other,
            shape (sum of fan-outs, n_classes).
        fan_outs: Public number of children of each candidate.
    """
    largest = tournament_maximum(xp, child_counts)
    ends = np.cumsum(fan_outs)
    scores = []
    for fan_out in np.unique(fan_outs):  # few different ones, so few operations
        chosen = np.flatnonzero(fan_outs == fan_out)
        children = ends[chosen][:, None] - fan_out + np.arange(fan_out)
        scores.append(largest[children.ravel()].reshape(-1, int(fan_out)).sum(axis=1))
    order = np.argsort(np.concatenate([np.flatnonzero(fan_outs == f) for f in np.unique(fan_outs)]))
    return cast(IntArray, xp.concatenate(scores)[order])


def interleave(xp: ModuleType, *parts: IntArray, order: IntArray) -> IntArray:
    """Join secret vectors and put them into a public order."""
    return cast(IntArray, xp.concatenate(list(parts))[order])


def reshape(xp: ModuleType, values: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Give a secret another public shape."""
    return values.reshape(shape)


def concatenate(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Join secrets along the first axis."""
    return cast(IntArray, xp.concatenate(list(parts)))
