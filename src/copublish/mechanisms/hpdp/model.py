"""The model behind `hpdp`'s synthetic records, from released moments. Released values only.

A record has a class, some independent normal factors, and given both its columns are independent: the chance of a
category, and the expected value of a number, are sums of a part for the class and one for each factor. Such records
have the released covariances between columns whatever the columns' own laws are, so categories are drawn as such and
never by rounding.

Floating point is confined to single additions, multiplications, divisions and square roots, which every machine rounds
alike: the parties compare what comes out of it byte by byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import NumericalDomain
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.shared.eigen import symmetric_eigen
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.types import FloatArray, IntArray

TYPICAL_CORRELATION = 0.15
"""Of two coordinates: how strong a dependence is expected to be before anything is measured."""

CERTAIN_VARIANCE = 2.0
"""A number's variance is taken to be at least so many deviations of its noise: too small a one would make small
differences look large, too large a one hides them."""

SHARED_PART = 0.3
"""Of a column's own variance: how much of it factors may explain. They are there for what columns have in common; if
they made up a category's whole variance, the chances of its values would often fall below 0, which cuts shares off."""

LARGEST_MARGIN, SMALLEST_MARGIN, SMALLEST_SQUARE = 0.01, 1e-9, 1e-30


@dataclass(frozen=True, kw_only=True)
class MomentModel:
    """What the synthetic records are drawn from.

    Attributes:
        total: Number of records, public or estimated.
        class_counts: Records of every class, adding up to the total.
        means: Expected value of every coordinate, shape (size,).
        variances: Of every coordinate, the class's part included, shape (size,).
        covariances: Between coordinates, as the model has them, shape (size, size).
        class_effects: How far a class moves every coordinate, shape (n_classes, size).
        loadings: How far each factor moves every coordinate, shape (n_factors, size).
        within_class: Variance of every coordinate that classes leave, shape (size,).
        components: How many principal components stood out of the noise.
        noise_floor: What they had to exceed.
        margin: How near to a bound an expected value may be.
    """

    total: int
    class_counts: IntArray
    means: FloatArray
    variances: FloatArray
    covariances: FloatArray
    class_effects: FloatArray
    loadings: FloatArray
    within_class: FloatArray
    components: int
    noise_floor: float
    margin: float


def fit_moments(
    coordinates: Coordinates, noisy_sums: IntArray, *, deviation: float, public_total: int | None
) -> MomentModel:
    """The model that fits noisy sums.

    Args:
        coordinates: Where columns lie.
        noisy_sums: What was opened, weighted, in units of 1/UNIT^2.
        deviation: Standard deviation of the noise, in people; where the weight is 1.
        public_total: The number of records, if it is public; else it is the last noisy sum.
    """
    total = public_total if public_total is not None else max(1, round(int(noisy_sums[-1]) / UNIT**2))
    products, sums = _unpacked(coordinates, noisy_sums)
    noise = deviation / max(total, 1)
    margin = min(LARGEST_MARGIN, max(SMALLEST_MARGIN, noise))
    means = _means(coordinates, products, sums, total=total, margin=margin)
    second, means = _of_present_numbers(coordinates, products / max(total, 1), means, margin)
    covariances = second - np.multiply.outer(means, means)
    variances = _variances(coordinates, covariances, means, noise)
    shrunk, left = _shrunk(coordinates, covariances, variances, noise / coordinates.weights, means)
    floor = 2 * left
    kept, components = _above(shrunk, floor)
    counts, effects = _class_effects(coordinates, kept, means, total)
    between = np.zeros_like(kept)
    for share, effect in zip((counts / max(total, 1)).tolist(), effects, strict=True):
        between += share * np.multiply.outer(effect, effect)
    loadings = _cholesky(_without_class(coordinates, kept - between))
    within = np.maximum(variances - np.diag(between), 0.0)
    return MomentModel(
        total=total,
        class_counts=counts,
        means=means,
        variances=variances,
        covariances=kept,
        class_effects=effects,
        loadings=loadings,
        within_class=within,
        components=components,
        noise_floor=floor,
        margin=margin,
    )


def _unpacked(coordinates: Coordinates, noisy_sums: IntArray) -> tuple[FloatArray, FloatArray]:
    """The symmetric matrix of sums of products and the sums of centered coordinates, in people."""
    first, second = coordinates.pairs
    products = np.zeros((coordinates.size, coordinates.size))
    sums = noisy_sums[len(first) : len(first) + coordinates.n_centered] / float(UNIT**2)
    products[first, second] = products[second, first] = noisy_sums[: len(first)] / float(UNIT**2)
    return products / coordinates.weights, sums / coordinates.centered_weights


def _means(
    coordinates: Coordinates, products: FloatArray, sums: FloatArray, *, total: int, margin: float
) -> FloatArray:
    """Every coordinate's mean: centered ones within their bounds, shares of a group's values adding up to 1."""
    means = np.zeros(coordinates.size)
    means[: coordinates.n_centered] = np.clip(sums / max(total, 1), margin - 0.5, 0.5 - margin)
    for place in coordinates.groups.values():
        noisy = np.rint(np.diag(products)[place]).astype(np.int64)
        means[place] = consistent_counts(noisy, total) / max(total, 1)
    return means


def _of_present_numbers(
    coordinates: Coordinates, second: FloatArray, means: FloatArray, margin: float
) -> tuple[FloatArray, FloatArray]:
    """Second moments and means of numbers where they are not missing: there they count as 0."""
    second, means = second.copy(), means.copy()
    for name, says_missing in coordinates.missing.items():
        number, share = coordinates.centered[name], max(0.5 - float(means[says_missing]), LARGEST_MARGIN)
        diagonal = second[number, number]
        second[number] /= share
        second[:, number] /= share
        second[number, number] = diagonal / share
        means[number] = min(max(means[number] / share, margin - 0.5), 0.5 - margin)
        second[number, says_missing] = second[says_missing, number] = means[number] * means[says_missing]
    return second, means


def _variances(coordinates: Coordinates, covariances: FloatArray, means: FloatArray, noise: float) -> FloatArray:
    """Variances: of 0 and 1, or of -1/2 and 1/2, they follow from the mean; of numbers they were measured."""
    variances = means * (1 - means)
    centered = means[: coordinates.n_centered]
    variances[: coordinates.n_centered] = 0.25 - centered * centered
    for name, place in coordinates.centered.items():
        if is_number(coordinates, name):
            measured = max(float(covariances[place, place]), CERTAIN_VARIANCE * noise)
            variances[place] = min(measured, float(variances[place]))
    return variances


def _shrunk(
    coordinates: Coordinates, covariances: FloatArray, variances: FloatArray, noise: FloatArray, means: FloatArray
) -> tuple[FloatArray, float]:
    """Covariances as far as they are believed, and how much of the noise is left in them.

    What must hold is imposed first: a group's coordinates add up to 1, so covariances with them add up to 0; within a
    group they follow from the shares. Then each is shrunk by what it is expected to be beside its noise. The second
    value is the largest deviation of a row's noise that is left: noise of that matrix has eigenvalues up to twice it.
    """
    found = covariances.copy()
    for place in coordinates.groups.values():
        for _ in range(2):  # rows, then columns
            mean = np.zeros(coordinates.size)
            for row in found[place]:
                mean = mean + row
            found[place] -= mean / (place.stop - place.start)
            found = found.T.copy()
    expected = TYPICAL_CORRELATION**2 * np.multiply.outer(variances, variances)
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
        is_class = i == coordinates.centered.get(coordinates.class_name)
        found[i, i] = (1.0 if is_class else SHARED_PART) * variances[i]
    left = max((math.fsum((row * row).tolist()) for row in factors * noise), default=0.0)
    return found, math.sqrt(left)


def _above(matrix: FloatArray, floor: float) -> tuple[FloatArray, int]:
    """What is left of a matrix without the components that noise could be, and how many there are.

    By probabilistic principal components: the mean of the other positive eigenvalues is what every direction has alone,
    and is taken off the ones that stay.
    """
    values, vectors = symmetric_eigen(matrix)
    is_kept = [value > max(floor, 1e-12) for value in values]
    others = [max(value, 0.0) for value, kept in zip(values, is_kept, strict=True) if not kept]
    alone = math.fsum(others) / len(others) if others else 0.0
    found = np.zeros_like(matrix)
    for number, (value, kept) in enumerate(zip(values, is_kept, strict=True)):
        if kept:
            found += max(value - alone, 0.0) * np.multiply.outer(vectors[:, number], vectors[:, number])
    return found, sum(is_kept)


def is_number(coordinates: Coordinates, name: str) -> bool:
    """Whether a column holds numbers."""
    return isinstance(coordinates.columns[name], NumericalDomain)


def _class_effects(
    coordinates: Coordinates, kept: FloatArray, means: FloatArray, total: int
) -> tuple[IntArray, FloatArray]:
    """The classes' counts, and how far each class moves the mean of every coordinate."""
    name = coordinates.class_name
    if name in coordinates.centered:
        place = coordinates.centered[name]
        second = round((0.5 + float(means[place])) * total)
        counts, together = np.array([total - second, second], dtype=np.int64), np.stack([-kept[place], kept[place]])
    else:
        group = coordinates.groups[name]
        counts, together = np.rint(means[group] * total).astype(np.int64), kept[group]
    effects = together / np.maximum(counts / max(total, 1), 1 / max(total, 1))[:, None]
    return counts, _without_class_columns(coordinates, effects)


def _without_class_columns(coordinates: Coordinates, effects: FloatArray) -> FloatArray:
    found = effects.copy()
    found[:, coordinates.class_place] = 0.0
    return found


def _without_class(coordinates: Coordinates, matrix: FloatArray) -> FloatArray:
    found, place = matrix.copy(), coordinates.class_place
    found[place] = 0.0
    found[:, place] = 0.0
    return found


def _cholesky(matrix: FloatArray) -> FloatArray:
    """Factors whose products add up to a matrix, the largest first; what would be negative is left out."""
    left, found = matrix.copy(), []
    limit = 1e-9 * max(float(np.diag(matrix).max(initial=0.0)), 1e-12)
    for _ in range(len(matrix)):
        pivot = int(np.argmax(np.diag(left)))
        if left[pivot, pivot] <= limit:
            break
        factor = left[pivot] / math.sqrt(float(left[pivot, pivot]))
        left = left - np.multiply.outer(factor, factor)
        left[pivot] = 0.0
        left[:, pivot] = 0.0
        found.append(factor)
    return np.array(found) if found else np.zeros((0, len(matrix)))
