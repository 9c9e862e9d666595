"""Normal scores: from an attribute's released counts to one whole number for each of its cells."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt

import numpy as np

from copublish.mechanisms.shared.normal import STEPS, quantile
from copublish.types import IntArray

SCORE_LIMIT = 64
"""Scores are whole numbers from -64 to 64 at most."""

LEAST_LIMIT = 8
"""A column of little weight has a smaller range of scores, but one that still tells its cells apart."""

CLIP = 3 * STEPS // 2
"""Values beyond one and a half standard deviations score the same. Rare ones must not decide how much noise all need:
clipped at two, noise would move correlations half as far again."""


def score_limits(weights: Mapping[str, Fraction]) -> dict[str, int]:
    """How large each column's scores may be: in proportion to the root of its weight.

    Noise on sums of products is one size for all pairs of columns, so a pair with larger scores is more exact; roots
    make what two columns have in common go with the product of their weights' roots. Equal weights mean equal limits.
    """
    largest = max(weights.values())
    roots = {name: isqrt(int(SCORE_LIMIT**2 * weight / largest)) for name, weight in weights.items()}
    return {name: max(LEAST_LIMIT, root) for name, root in roots.items()}


def normal_scores(counts: IntArray, limit: int = SCORE_LIMIT) -> IntArray:
    """The score of each cell: the normal quantile of its middle rank, clipped and scaled to the limit.

    Scores do not fall from one cell to the next, and the largest of a cell that has records is the limit in size, so
    that an attribute with few values uses the whole range, too. Cells that have no released record get a score as well:
    a private record may be in them. An attribute with all records in one cell scores 0 everywhere.

    Args:
        counts: Released counts of the cells in agreed order, not negative.
        limit: The largest score.
    """
    total = int(counts.sum())
    if total == 0:
        return np.zeros(len(counts), dtype=np.int64)
    middle_ranks = 2 * np.cumsum(counts) - counts  # of 2 * total
    steps = np.array([quantile(int(rank), 2 * total) for rank in middle_ranks], dtype=np.int64)
    steps = np.clip(steps, -CLIP, CLIP)
    largest = int(np.abs(steps[counts > 0]).max())
    if largest == 0:
        return np.zeros(len(counts), dtype=np.int64)
    # Rounded to the nearest.
    return (2 * limit * np.clip(steps, -largest, largest) + largest) // (2 * largest)
