"""Individual-ranking microaggregation of one column, and how far one person can move its centroids.

Sorted values are cut into clusters of k consecutive ones, the last of which takes the rest; every value is replaced
by the mean of its cluster. A neighbor is the same table with one value replaced: with a record more or less even the
number of clusters would differ.

Numbers may be floats, or whole numbers of one unit; then `weights` keeps everything exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.idp_ir.plan import Sensitivity
from copublish.types import IntArray

Numbers = NDArray[Any]
"""Floats or whole numbers."""


def cluster_sizes(n: int, *, k: int) -> IntArray:
    """How many of n values each cluster has: k, and the rest in the last one."""
    sizes = np.full(n // k, k, dtype=np.int64)
    sizes[-1] += n % k
    return sizes


def ranks(values: Numbers) -> IntArray:
    """The records in ascending order of their values, equal ones as they stand."""
    return np.argsort(values, kind="stable")


def by_frequency(places: IntArray, n_categories: int) -> IntArray:
    """The categories' places in schema order, the most frequent first; the order is data."""
    return np.argsort(-np.bincount(places, minlength=n_categories), kind="stable")


def cluster_sums(ranked: Numbers, sizes: IntArray) -> Numbers:
    """The sum of every cluster of sorted values."""
    return np.add.reduceat(ranked, _starts(sizes))


def centroids(ranked: Numbers, sizes: IntArray) -> NDArray[np.float64]:
    """The mean of every cluster of sorted values."""
    means: NDArray[np.float64] = cluster_sums(ranked, sizes) / sizes
    return means


def sensitivities(
    kind: Sensitivity,
    ranked: Numbers,
    sizes: IntArray,
    *,
    low: float,
    high: float,
    weights: Numbers | None = None,
) -> Numbers:
    """How far a neighbor can move the centroids, one number for each cluster.

    Args:
        kind: Which reading.
        ranked: Sorted values, within the bounds.
        sizes: Of the clusters.
        low: Lower bound of the domain.
        high: Upper bound of the domain.
        weights: What one value counts in its cluster: 1 / sizes; or u / sizes in whole numbers, for a result in parts
            of which u make one.
    """
    found = _READINGS[kind](ranked, sizes, low, high, 1 / sizes if weights is None else weights)
    return np.broadcast_to(np.asarray(found), sizes.shape)


def steps_up(ranked: Numbers, sizes: IntArray, high: float) -> Numbers:
    """How far the sum of each cluster moves up if the lowest value becomes `high`.

    A cluster then loses its lowest value and takes the lowest of the next cluster.
    """
    firsts = ranked[_starts(sizes)]
    moved: Numbers = np.append(firsts[1:], np.asarray(high, dtype=ranked.dtype)) - firsts
    return moved


def steps_down(ranked: Numbers, sizes: IntArray, low: float) -> Numbers:
    """How far the sum of each cluster moves down if the highest value becomes `low`."""
    lasts = ranked[_starts(sizes) + sizes - 1]
    moved: Numbers = lasts - np.append(np.asarray(low, dtype=ranked.dtype), lasts[:-1])
    return moved


def _starts(sizes: IntArray) -> IntArray:
    starts: IntArray = np.cumsum(sizes) - sizes
    return starts


def _vector(ranked: Numbers, sizes: IntArray, low: float, high: float, weights: Numbers) -> Any:
    # The worst neighbor takes the record at one end to the other end of the domain. Then every sorted value moves to
    # the next one, all in one direction, so that the changes of the centroids add up without cancelling.
    up, down = steps_up(ranked, sizes, high) * weights, steps_down(ranked, sizes, low) * weights
    return max(up.sum(), down.sum())


def _fixed(ranked: Numbers, sizes: IntArray, low: float, high: float, weights: Numbers) -> Any:
    starts = _starts(sizes)
    first, last = ranked[starts], ranked[starts + sizes - 1]
    return np.maximum(last - low, high - first) * weights


def _gap(ranked: Numbers, sizes: IntArray, low: float, high: float, weights: Numbers) -> Any:
    return np.maximum(steps_up(ranked, sizes, high), steps_down(ranked, sizes, low)) * weights


def _global(ranked: Numbers, sizes: IntArray, low: float, high: float, weights: Numbers) -> Any:
    # All steps of the worst neighbor of the worst table fall into a smallest cluster, which has k values.
    return (high - low) * weights.max()


_READINGS: dict[Sensitivity, Callable[[Numbers, IntArray, float, float, Numbers], Any]] = {
    "vector": _vector,
    "fixed": _fixed,
    "gap": _gap,
    "global": _global,
}
