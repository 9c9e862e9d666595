"""The Gaussian copula that fits released marginals and sums of products, with a normal score for every cell.

The model is fitted to released values only. `CopulaResult` is what a run hands over.

Floating point is confined to addition, multiplication, division and square roots of single numbers, which every
machine rounds alike: the parties compare what comes out of it byte by byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

import numpy as np

from copublish.agreement.domain import Domain
from copublish.mechanisms.shared.allocation import Allocation, Gains
from copublish.mechanisms.shared.normal import STEPS, density, pairs_of, quantile, symmetric_eigen
from copublish.mechanisms.shared.post_processing import key_of
from copublish.types import FloatArray, IntArray

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


DEGREE = 40
"""Hermite terms of an expected product. What is left out shrinks like the correlation to this power."""

LARGEST_CORRELATION = 0.98

HALVINGS = 40

LOADING_SCALE = 2**20

LEAST_SLOPE = 1.0
"""Of a score of up to 64: less tells nothing, and a column with one value alone has none."""


def fit_copula(counts: Sequence[IntArray], scores: Sequence[IntArray], noisy_products: IntArray) -> IntArray:
    """The copula under which synthetic records are expected to have the released sums of products.

    Args:
        counts: Released counts of every column's cells, not negative.
        scores: The scores of the same cells.
        noisy_products: Released sums of products for all pairs of columns.

    Returns:
        Loadings: each column's normal variable as a sum of independent ones, in whole numbers of 1/LOADING_SCALE, shape
        (n_columns, n_columns).
    """
    total = int(counts[0].sum())
    hermite = [hermite_coefficients(*column) for column in zip(counts, scores, strict=True)]
    wanted = np.eye(len(counts))
    for (i, j), noisy in zip(pairs_of(len(counts)), noisy_products.tolist(), strict=True):
        if total > 0:
            wanted[i, j] = wanted[j, i] = correlation_for(hermite[i], hermite[j], noisy / total)
    # A score grows with the normal variable behind it as fast as the first coefficient says.
    loadings = _loadings(wanted, [coefficients[1] for coefficients in hermite])
    found: IntArray = np.rint(loadings * LOADING_SCALE).astype(np.int64)
    return found


def hermite_coefficients(counts: IntArray, scores: IntArray) -> list[float]:
    """The coefficients of a column's score as a function of the normal variable behind it.

    The score jumps from one cell's to the next one's at t, the quantile of the share of records below. With normalized
    Hermite polynomials h_k and density f, the integral of h_k f from t on is h_(k-1)(t) f(t) / sqrt(k).
    """
    total = int(counts.sum())
    if total == 0:
        return [0.0] * (DEGREE + 1)
    below = np.cumsum(counts)[:-1].tolist()
    jumps = [
        (step, float(jump))
        for before, jump in zip(below, np.diff(scores).tolist(), strict=True)
        if jump and 0 < before < total
        for step in [quantile(before, total)]
    ]
    found = [math.fsum((scores * counts).tolist()) / total]
    polynomials = [(0.0, 1.0)] * len(jumps)  # of degree k - 2 and k - 1 at every jump
    for k in range(1, DEGREE + 1):
        terms = [jump * latest * density(step) for (step, jump), (_, latest) in zip(jumps, polynomials, strict=True)]
        found.append(math.fsum(terms) / math.sqrt(k))
        polynomials = [
            (latest, (step / STEPS * latest - math.sqrt(k - 1) * former) / math.sqrt(k))
            for (step, _), (former, latest) in zip(jumps, polynomials, strict=True)
        ]
    return found


def correlation_for(one: Sequence[float], other: Sequence[float], expected_product: float) -> float:
    """The correlation at which two scores have an expected product: the sum of one_k other_k r^k (Mehler).

    Scores do not fall from cell to cell, so it grows with r, and halving finds r; what no r reaches gets the nearest.
    """
    terms = [a * b for a, b in zip(one, other, strict=True)]
    if terms[1] == 0:
        return 0.0  # a column whose records are all in one cell
    low, high = -LARGEST_CORRELATION, LARGEST_CORRELATION
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value = 0.0
        for term in reversed(terms):
            value = value * middle + term
        low, high = (middle, high) if value < expected_product else (low, middle)
    return (low + high) / 2


def _loadings(wanted: FloatArray, slopes: Sequence[float]) -> FloatArray:
    """Rows of length 1 whose inner products are near the wanted correlations.

    Noise can leave a matrix that no variables have. Its negative eigenvalues are set to 0 and rows scaled back. That is
    done where noise is one size for all pairs, which it is for sums of products: there a correlation counts times the
    two columns' slopes. Else the noise of columns that scores tell little of would spoil what is known of the others.
    """
    largest = max(LEAST_SLOPE, *slopes)
    scale = np.array([max(slope, LEAST_SLOPE) / largest for slope in slopes])
    values, vectors = symmetric_eigen(wanted * scale[:, None] * scale)
    rows = vectors * np.array([math.sqrt(max(value, 0.0)) for value in values])
    return np.array([row / math.sqrt(math.fsum((row * row).tolist())) for row in rows])


@dataclass(frozen=True, kw_only=True)
class CopulaResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        noisy_counts: Unbiased counts of every column's cells.
        counts: Non-negative integers with one total.
        scores: Score of every cell, within limits that go with the columns' weights.
        noisy_products: Unbiased sums of products of scores for every pair of columns.
        loadings: Those of the copula that the records are drawn from.
        allocation: How the columns' budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    noisy_counts: Mapping[str, IntArray]
    counts: Mapping[str, IntArray]
    scores: Mapping[str, IntArray]
    noisy_products: IntArray
    loadings: IntArray
    allocation: Allocation
    gains: Gains | None = None

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        return key_of([*self.noisy_counts.values(), self.noisy_products])
