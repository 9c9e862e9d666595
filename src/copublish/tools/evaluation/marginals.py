"""How far the marginals of a release are from those of data: total variation over all sets of columns of one size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LARGEST_DENSE_TABLE = 2**20
"""Larger tables of counts are kept as lists of the cells that occur."""

WAYS = (1, 2, 3)


@dataclass(frozen=True)
class MarginalErrors:
    """Total variation distances of the marginals of one size.

    Attributes:
        marginals: How many were compared.
        mean: Their mean distance: 0 is equal, 1 is nothing in common.
        largest: The largest of them.
        worst: The columns that have it.
    """

    marginals: int
    mean: float
    largest: float
    worst: tuple[str, ...]


def marginal_errors(
    one: pd.DataFrame, other: pd.DataFrame, sizes: Mapping[str, int], ways: int, most: int | None = None
) -> MarginalErrors | None:
    """Compare marginals over `ways` columns of two frames of codes.

    Args:
        one: Codes, one row per record.
        other: The same columns of other records; neither may be empty.
        sizes: The columns to use and how many codes each has.
        ways: How many columns a marginal has.
        most: Of more than so many marginals only so many are compared, at equal steps through all of them.

    Returns:
        The errors, or nothing if there are fewer columns than `ways`.
    """
    both = {name: np.concatenate([one[name], other[name]]) for name in sizes}
    sets = list(combinations(sizes, ways))
    if most is not None and len(sets) > most:
        sets = [sets[number * len(sets) // most] for number in range(most)]
    distances = {
        names: _distance([both[name] for name in names], [sizes[name] for name in names], len(one)) for names in sets
    }
    if not distances:
        return None
    worst = max(distances, key=lambda names: distances[names])
    return MarginalErrors(len(distances), float(np.mean(list(distances.values()))), distances[worst], worst)


def _distance(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int], n_one: int) -> float:
    cells = np.ravel_multi_index(tuple(columns), tuple(sizes))
    n_cells = math.prod(sizes)
    if n_cells > LARGEST_DENSE_TABLE:
        found, cells = np.unique(cells, return_inverse=True)
        n_cells = len(found)
    shares = [np.bincount(part, minlength=n_cells) / len(part) for part in (cells[:n_one], cells[n_one:])]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
