"""Scores of candidate splits on secret counts.

Leakage: none, the cost depends on shapes alone; no comparison is opened. The result is secret and NOT safe to open.
How far one person moves each score is derived in mechanisms/score.py.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.kernel.programs.noise import tournament_maximum
from copublish.types import IntArray


def range_counts(xp: ModuleType, table: IntArray, starts: IntArray, stops: IntArray) -> IntArray:
    """Counts by class of code ranges.

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
    """For each candidate the sum over its children of the largest class count (the score Max).

    Args:
        xp: Array module.
        child_counts: Counts by class of each candidate's children, shape (n_candidates, most_children, n_classes);
            children that a candidate does not have count 0.
    """
    return cast(IntArray, tournament_maximum(xp, child_counts).sum(axis=1))


def balanced_gains(xp: ModuleType, child_counts: IntArray, weights: IntArray) -> IntArray:
    """For each candidate how much the largest weighted class counts of its children exceed the parent's.

    Args:
        xp: Array module.
        child_counts: As for `max_scores`; a candidate's children make up its parent.
        weights: Public weight of each class, at least 1.
    """
    return _gain(tournament_maximum(xp, _with_parent(xp, child_counts) * weights))


def tv_gains(xp: ModuleType, child_counts: IntArray, shares: IntArray) -> IntArray:
    """For each candidate how much farther its children's classes are from public shares than the parent's.

    The distance of a node with n records, n_k of class k, from shares a_k / q is the sum over classes of the positive
    part of q n_k - a_k n: q times n times the total variation distance.

    Args:
        xp: Array module.
        child_counts: As for `max_scores`; a candidate's children make up its parent.
        shares: Public share of each class, whole numbers that add up to q.
    """
    counts = _with_parent(xp, child_counts)
    excess = counts * int(shares.sum()) - counts.sum(axis=2, keepdims=True) * shares
    positive = excess - (excess < 0) * excess
    return _gain(positive.sum(axis=2))


def _with_parent(xp: ModuleType, child_counts: IntArray) -> IntArray:
    """Append the parent after its children, so that one batch of comparisons serves both."""
    return cast(IntArray, xp.concatenate([child_counts, child_counts.sum(axis=1, keepdims=True)], axis=1))


def _gain(values: IntArray) -> IntArray:
    """Surplus of the children over the parent, which is last: shape (n, children + 1) to (n,)."""
    return cast(IntArray, values[:, :-1].sum(axis=1) - values[:, -1])
