"""From noisy counts to counts that can be records. Works on released values only, in exact integers."""

from __future__ import annotations

import numpy as np

from copublish.types import IntArray


def consistent_counts(noisy_counts: IntArray, total: int) -> IntArray:
    """The non-negative integers nearest to noisy counts that add up to `total`.

    First the Euclidean projection on {x >= 0, sum x = total}: the same shift is taken from all counts that stay
    positive. Clamping at zero instead would keep all positive noise and drop all negative noise, which blows up
    sparse tables. Then the largest remainder method rounds; ties go to the lower index. No floating point is
    involved, so all parties get the same bytes.

    Args:
        noisy_counts: Released counts, shape (n,).
        total: What they shall add up to, at least 0.
    """
    if total < 0 or len(noisy_counts) == 0:
        raise ValueError("a total must be at least 0 and there must be a count")
    descending = np.sort(noisy_counts)[::-1]
    kept = np.arange(1, len(descending) + 1, dtype=np.int64)
    excess = np.cumsum(descending) - total  # shift times number kept, if the first `kept` stay positive
    # The largest k with descending[k-1] > excess[k-1] / k; with total 0 there may be none: keep one.
    possible = np.flatnonzero(descending * kept > excess)
    k = int(possible[-1]) + 1 if len(possible) else 1
    scaled = np.maximum(noisy_counts * k - int(excess[k - 1]), 0)  # k times the projection, exactly
    counts, remainders = np.divmod(scaled, k)
    short = total - int(counts.sum())
    largest_first = np.argsort(-remainders, kind="stable")[:short]
    counts[largest_first] += 1
    return counts


def consistent_counts_by_class(noisy_counts: IntArray, total: int) -> IntArray:
    """Non-negative integers that add up to `total` and, class by class, to the nearest totals of the classes.

    First the classes' noisy totals are made consistent, then each class's counts with its total. A rare class keeps its
    share, where one shift for all counts would take from it what noise adds to the empty cells of the others.

    Args:
        noisy_counts: Released counts, shape (n_leaves, n_classes).
        total: What they shall add up to, at least 0.
    """
    totals = consistent_counts(noisy_counts.sum(axis=0), total)
    columns = [consistent_counts(noisy_counts[:, k], int(totals[k])) for k in range(len(totals))]
    return np.stack(columns, axis=1)
