"""Covariances between coordinates as far as they are believed, from noisy ones. Released values only.

Floating point is confined to single additions, multiplications, divisions and square roots, which every machine rounds
alike.
"""

from __future__ import annotations

import math

import numpy as np

from copublish.mechanisms.hpdp.coordinates import Coordinates
from copublish.mechanisms.shared.normal import symmetric_eigen
from copublish.types import FloatArray

TYPICAL_CORRELATION = 0.15
"""Of two coordinates: how strong a dependence is expected to be before anything is measured."""

SHARED_PART = 0.3
"""Of a column's own variance: how much of it factors may explain. They are there for what columns have in common; if
they made up a category's whole variance, the chances of its values would often fall below 0, which cuts shares off."""

LARGEST_PART = 0.98
"""The same of a number, if another one goes with it that closely."""

SMALLEST_SQUARE, SMALLEST_RATIO = 1e-30, 1 / 400


def shrunk_covariances(
    coordinates: Coordinates, covariances: FloatArray, variances: FloatArray, noise: FloatArray, means: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Covariances as far as they are believed, and how much of the noise is left in them.

    What must hold is imposed first: a group's coordinates add up to 1, so covariances with them add up to 0; within a
    group they follow from the shares. Then each is shrunk by what it is expected to be beside its noise. The second
    value is the deviation of every row's noise that is left.
    """
    found = covariances.copy()
    for place in coordinates.groups.values():
        for _ in range(2):  # rows, then columns
            mean = np.zeros(coordinates.n_linked)
            for row in found[place]:
                mean = mean + row
            found[place] -= mean / (place.stop - place.start)
            found = found.T.copy()
    expected = _expected_squares(coordinates, found, variances, noise)
    factors = expected / np.maximum(expected + noise * noise, SMALLEST_SQUARE)
    np.fill_diagonal(factors, 0.0)
    for place in coordinates.groups.values():
        factors[place, place] = 0.0
    found *= factors
    for name, place in coordinates.groups.items():
        part = 1.0 if name == coordinates.class_name else SHARED_PART
        own = -np.multiply.outer(means[place], means[place])
        np.fill_diagonal(own, variances[place])
        found[place, place] = part * own
    for i in range(coordinates.n_centered):
        is_class = coordinates.class_place == slice(i, i + 1)
        found[i, i] = (1.0 if is_class else SHARED_PART) * variances[i]
    _share_more(coordinates, found, variances)
    left = np.array([math.sqrt(math.fsum((row * row).tolist())) for row in factors * noise])
    return found, left


def _expected_squares(
    coordinates: Coordinates, covariances: FloatArray, variances: FloatArray, noise: FloatArray
) -> FloatArray:
    """How large squared covariances are expected to be: those of numbers as they are on average.

    One number goes with another as closely as bills of one card do, or not at all. What was measured tells, because the
    squares of many noisy covariances are off by the squares of their noise together.
    """
    found = TYPICAL_CORRELATION**2 * np.multiply.outer(variances, variances)
    places = [coordinates.centered[name] for name in coordinates.cells]
    pairs = [(i, j) for i in places for j in places if i < j]
    beyond = math.fsum(float(covariances[pair]) ** 2 - float(noise[pair]) ** 2 for pair in pairs)
    possible = math.fsum(float(variances[i] * variances[j]) for i, j in pairs)
    if possible > 0:
        typical = min(max(beyond / possible, TYPICAL_CORRELATION**2), 1.0)
        for i in places:
            for j in places:
                found[i, j] = typical * variances[i] * variances[j]
    return found


def _share_more(coordinates: Coordinates, found: FloatArray, variances: FloatArray) -> None:
    """Let factors explain as much of a number as its strongest correlation with another one asks for.

    A variable behind a number has no chances that could fall below 0, so nothing speaks against it.
    """
    places = [coordinates.centered[name] for name in coordinates.cells]
    for i in places:
        correlations = [
            abs(float(found[i, j])) / math.sqrt(max(float(variances[i] * variances[j]), SMALLEST_SQUARE))
            for j in places
            if j != i
        ]
        part = min(max(SHARED_PART, *correlations, 0.0), LARGEST_PART)
        found[i, i] = part * variances[i]


def components_above(matrix: FloatArray, noise_of_rows: FloatArray) -> tuple[FloatArray, int, float]:
    """What is left of a matrix without the components that noise could be, how many there are, and the floor.

    Noise has eigenvalues of up to twice the largest deviation of a row. By probabilistic principal components: the mean
    of the other positive eigenvalues is what every direction has alone, and is taken off the ones that stay.

    Rows with little noise are made larger before: what numbers with a small variance have in common would drown in the
    noise of others.

    Args:
        matrix: The covariances.
        noise_of_rows: The deviation of every row's noise.
    """
    largest = float(noise_of_rows.max(initial=0.0))
    scale = np.ones_like(noise_of_rows)
    if largest > 0:
        scale = np.sqrt(np.maximum(noise_of_rows / largest, SMALLEST_RATIO))
    scales = np.multiply.outer(scale, scale)
    floor = 2 * largest
    values, vectors = symmetric_eigen(matrix / scales)
    is_kept = [value > max(floor, 1e-12) for value in values]
    others = [max(value, 0.0) for value, kept in zip(values, is_kept, strict=True) if not kept]
    alone = math.fsum(others) / len(others) if others else 0.0
    found = np.zeros_like(matrix)
    for number, (value, kept) in enumerate(zip(values, is_kept, strict=True)):
        if kept:
            found += max(value - alone, 0.0) * np.multiply.outer(vectors[:, number], vectors[:, number])
    return found * scales, sum(is_kept), floor
