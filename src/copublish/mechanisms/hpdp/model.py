"""The model behind `hpdp`'s synthetic records, fitted to released moments, and its result. Released values only.

A record has a class, some independent normal factors, and given both its columns are independent: the chance of a
category, and the expected value of a number, are sums of a part for the class and one for each factor. Such records
have the released covariances between columns whatever the columns' own laws are, so categories are drawn as such and
never by rounding. Covariances enter the model as far as noise lets them be believed.

Floating point is confined to single additions, multiplications, divisions and square roots, which every machine rounds
alike: the parties compare what comes out of it byte by byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.mechanisms.hpdp.cells import Spread, fit_spreads
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.shared.normal import symmetric_eigen
from copublish.mechanisms.shared.post_processing import consistent_counts, key_of
from copublish.types import FloatArray, IntArray

LARGEST_MARGIN, SMALLEST_MARGIN = 0.01, 1e-9


@dataclass(frozen=True, kw_only=True)
class MomentModel:
    """What the synthetic records are drawn from.

    Attributes:
        total: Number of records, public or estimated.
        class_counts: Records of every class, adding up to the total.
        means: Expected value of every coordinate, shape (size,).
        class_effects: How far a class moves every coordinate, shape (n_classes, size).
        loadings: How far each factor moves every coordinate, shape (n_factors, size).
        within_class: Variance of every coordinate that classes leave, shape (size,).
        components: How many principal components stood out of the noise.
        noise_floor: What they had to exceed.
        spreads: How every number is spread over its cells.
    """

    total: int
    class_counts: IntArray
    means: FloatArray
    class_effects: FloatArray
    loadings: FloatArray
    within_class: FloatArray
    components: int
    noise_floor: float
    spreads: Mapping[str, Spread]


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
    counts = _class_counts(coordinates, means, total)
    spreads = fit_spreads(coordinates, products, counts, noise=noise, typical_correlation=TYPICAL_CORRELATION)
    linked = slice(0, coordinates.n_linked)
    second, means = _of_present_numbers(coordinates, products[linked, linked] / max(total, 1), means, spreads)
    covariances = second - np.multiply.outer(means, means)
    variances = _variances(coordinates, means, noise, spreads)
    own_noise = noise / coordinates.weights[linked, linked]
    shrunk, noise_left = shrunk_covariances(coordinates, covariances, variances, own_noise, means)
    kept, components, floor = components_above(shrunk, noise_left)
    effects = _class_effects(coordinates, kept, counts, spreads)
    between = np.zeros_like(kept)
    for share, effect in zip((counts / max(total, 1)).tolist(), effects, strict=True):
        between += share * np.multiply.outer(effect, effect)
    within = np.maximum(variances - np.diag(between), 0.0)
    loadings = _cholesky(_without_class(coordinates, kept - between))
    for name, spread in spreads.items():
        place = coordinates.centered[name]
        loadings[:, place] *= spread.inflation(float(within[place]))
    return MomentModel(
        total=total,
        class_counts=counts,
        means=means,
        class_effects=effects,
        loadings=loadings,
        within_class=within,
        components=components,
        noise_floor=floor,
        spreads=spreads,
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
    means = np.zeros(coordinates.n_linked)
    means[: coordinates.n_centered] = np.clip(sums / max(total, 1), margin - 0.5, 0.5 - margin)
    for place in coordinates.groups.values():
        noisy = np.rint(np.diag(products)[place]).astype(np.int64)
        means[place] = consistent_counts(noisy, total) / max(total, 1)
    return means


def _of_present_numbers(
    coordinates: Coordinates, second: FloatArray, means: FloatArray, spreads: Mapping[str, Spread]
) -> tuple[FloatArray, FloatArray]:
    """Second moments and means of numbers where they are not missing: there they count as 0.

    Means follow from the counts of cells.
    """
    second, means = second.copy(), means.copy()
    for name, spread in spreads.items():
        number, share = coordinates.centered[name], max(spread.present_share, LARGEST_MARGIN)
        diagonal = second[number, number]
        second[number] /= share
        second[:, number] /= share
        second[number, number] = diagonal / share
        means[number] = spread.mean
    return second, means


def _variances(coordinates: Coordinates, means: FloatArray, noise: float, spreads: Mapping[str, Spread]) -> FloatArray:
    """Variances: of 0 and 1, or of -1/2 and 1/2, they follow from the mean; of numbers from the counts of cells."""
    variances = means * (1 - means)
    centered = means[: coordinates.n_centered]
    variances[: coordinates.n_centered] = 0.25 - centered * centered
    for name, spread in spreads.items():
        variances[coordinates.centered[name]] = max(spread.variance, noise)
    return variances


def _class_counts(coordinates: Coordinates, means: FloatArray, total: int) -> IntArray:
    """Records of every class; without one, of all records."""
    if coordinates.class_name is None:
        return np.array([total], dtype=np.int64)
    if coordinates.class_name in coordinates.centered:
        second = round((0.5 + float(means[coordinates.class_place][0])) * total)
        return np.array([total - second, second], dtype=np.int64)
    found: IntArray = np.rint(means[coordinates.class_place] * total).astype(np.int64)
    return found


def _class_effects(
    coordinates: Coordinates, kept: FloatArray, counts: IntArray, spreads: Mapping[str, Spread]
) -> FloatArray:
    """How far each class moves the mean of every coordinate."""
    if coordinates.class_name is None:
        return np.zeros((1, coordinates.n_linked))
    total = max(int(counts.sum()), 1)
    together = kept[coordinates.class_place]
    if coordinates.class_name in coordinates.centered:
        together = np.concatenate([-together, together])
    effects = _without_class_columns(coordinates, together / np.maximum(counts / total, 1 / total)[:, None])
    for name, spread in spreads.items():
        effects[:, coordinates.centered[name]] = spread.class_effects
    return effects


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


@dataclass(frozen=True, kw_only=True)
class HpdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        coordinates: Where columns lie.
        noisy_sums: Weighted and unbiased, in units of 1/UNIT^2.
        total_is_public: Whether the number of records is, so that it is none of the sums.
        deviation: Standard deviation of their noise, in people; where the weight is 1.
        model: What the records are drawn from.
        n_records: How many.
    """

    coordinates: Coordinates
    noisy_sums: IntArray
    total_is_public: bool
    deviation: float
    model: MomentModel
    n_records: int

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        return key_of([self.noisy_sums])


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
