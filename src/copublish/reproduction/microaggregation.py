"""Individual-ranking microaggregation of one column, and how far one person can move its centroids.

Sorted values are cut into clusters of k consecutive ones, the last of which takes the rest; every value is replaced
by the mean of its cluster. A neighbour is the same table with one value replaced: with a record more or less even the
number of clusters would differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from copublish.reproduction.plain_table import Floats, Ints

Sensitivity = Literal["vector", "fixed", "gap", "global"]
"""How the noise of a centroid is scaled; iDP-IR does not say, and each of these is a reading.

`vector`: the exact local sensitivity of all sorted centroids together, in L1. The only one of the local readings that
    keeps iDP's own definition for the centroids.
`fixed`: the members of a cluster stay, and one value goes to an end of the domain.
`gap`: the exact local sensitivity of each centroid by itself: its cluster moves by one record. It forgets that one
    person can move all clusters at once.
`global`: the largest sensitivity of any table, which makes it DP-IR.
"""


def cluster_sizes(n: int, k: int) -> Ints:
    """Return how many values each cluster has: k, and the rest in the last one."""
    sizes = np.full(n // k, k, dtype=np.int64)
    sizes[-1] += n % k
    return sizes


def ranks(values: Floats | Ints) -> Ints:
    """Return the records in ascending order of their values, equal ones as they stand."""
    return np.argsort(values, kind="stable")


def centroids(ranked: Floats, sizes: Ints) -> Floats:
    """Return the mean of every cluster of sorted values."""
    means: Floats = np.add.reduceat(ranked, _starts(sizes)) / sizes
    return means


def sensitivities(kind: Sensitivity, ranked: Floats, sizes: Ints, low: float, high: float) -> Floats:
    """Return how far a neighbour can move the centroids, one number for each cluster.

    Args:
        kind: Which reading.
        ranked: Sorted values, within the bounds.
        sizes: Of the clusters.
        low: Lower bound of the domain.
        high: Upper bound of the domain.
    """
    found = _READINGS[kind](ranked, sizes, low, high)
    return np.broadcast_to(np.asarray(found, dtype=np.float64), sizes.shape)


def _starts(sizes: Ints) -> Ints:
    starts: Ints = np.cumsum(sizes) - sizes
    return starts


def _vector(ranked: Floats, sizes: Ints, low: float, high: float) -> float:
    # The worst neighbour takes the record at one end to the other end of the domain. Then every sorted value moves to
    # the next one, all in one direction, so that the changes of the centroids add up without cancelling.
    up, down = shifts(ranked, sizes, low, high)
    return float(max(up.sum(), down.sum()))


def _fixed(ranked: Floats, sizes: Ints, low: float, high: float) -> Floats:
    starts = _starts(sizes)
    first, last = ranked[starts], ranked[starts + sizes - 1]
    furthest: Floats = np.maximum(last - low, high - first) / sizes
    return furthest


def _gap(ranked: Floats, sizes: Ints, low: float, high: float) -> Floats:
    up, down = shifts(ranked, sizes, low, high)
    return np.maximum(up, down)


def _global(ranked: Floats, sizes: Ints, low: float, high: float) -> float:
    # All steps of the worst neighbour of the worst table fall into a smallest cluster, which has k values.
    return float((high - low) / sizes.min())


_READINGS: dict[Sensitivity, Callable[[Floats, Ints, float, float], float | Floats]] = {
    "vector": _vector,
    "fixed": _fixed,
    "gap": _gap,
    "global": _global,
}


def shifts(ranked: Floats, sizes: Ints, low: float, high: float) -> tuple[Floats, Floats]:
    """Return how far each centroid moves up if the lowest value becomes `high`, and down if the highest becomes `low`.

    A cluster then loses its lowest value and takes the lowest of the next cluster, or the other way round.
    """
    starts = _starts(sizes)
    ends = starts + sizes - 1
    after, before = np.append(ranked[starts[1:]], high), np.append(low, ranked[ends[:-1]])
    up: Floats = (after - ranked[starts]) / sizes
    down: Floats = (ranked[ends] - before) / sizes
    return up, down
