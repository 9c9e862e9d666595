"""How a number is spread over the cells of its grid in every class, from released sums. Released values only.

Floating point is confined to single additions, multiplications, divisions and square roots, which every machine rounds
alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates, quantized
from copublish.mechanisms.shared.normal import density, quantile
from copublish.mechanisms.shared.number_cells import cells_between_empty_ends, consistent_counts_within
from copublish.types import FloatArray, IntArray

SMALLEST_SQUARE = 1e-30

LARGEST_INFLATION = 2.0
"""Of what factors do to a number: beyond it nearly all records are in one cell, and tell nothing of factors."""


@dataclass(frozen=True)
class Spread:
    """A number's records.

    Attributes:
        by_class: In every class and cell, as far as it is not missing, shape (n_classes, n_cells); without a class all
            records are one class.
        missing: In every class, as far as it is; with the cells they add up to the class's records.
    """

    by_class: IntArray
    missing: IntArray

    @property
    def scores(self) -> FloatArray:
        """Where the cells lie, from -1/2 to 1/2."""
        n_cells = self.by_class.shape[1]
        return quantized(np.arange(n_cells, dtype=np.int64), n_cells - 1) / float(UNIT)

    @property
    def present_share(self) -> float:
        """Of the records, those that do not miss it; never 0."""
        present = int(self.by_class.sum())
        return max(present, 1) / max(present + int(self.missing.sum()), 1)

    @property
    def mean(self) -> float:
        """The expected place."""
        return _mean(self.by_class.sum(axis=0), self.scores)

    @property
    def variance(self) -> float:
        """Of the place."""
        return _mean(self.by_class.sum(axis=0), (self.scores - self.mean) * (self.scores - self.mean))

    @property
    def class_effects(self) -> list[float]:
        """How far every class moves the expected place."""
        return [_mean(own, self.scores) - self.mean if own.sum() > 0 else 0.0 for own in self.by_class]

    @property
    def slope(self) -> float:
        """How fast the place grows, within classes, with the normal variable behind it.

        The place jumps from one cell's to the next one's at the quantile of the share of records below (the integral of
        x f(x) from t on is f(t), with f the normal density).
        """
        jumps, terms = np.diff(self.scores).tolist(), []
        for own in self.by_class:
            total = int(own.sum())
            for below, jump in zip(np.cumsum(own)[:-1].tolist(), jumps, strict=True):
                if 0 < below < total:
                    terms.append(total * jump * density(quantile(below, total)))
        return math.fsum(terms) / max(int(self.by_class.sum()), 1)

    def inflation(self, within_class: float) -> float:
        """What has to be multiplied to a factor's part so that places, not the variables behind them, go with it."""
        slope = self.slope
        deviation = math.sqrt(max(within_class, 0.0))
        return min(max(deviation / slope, 1.0), LARGEST_INFLATION) if slope > 0 else 1.0


def fit_spreads(
    coordinates: Coordinates, products: FloatArray, class_counts: IntArray, *, noise: float, typical_correlation: float
) -> dict[str, Spread]:
    """How every number is spread.

    A class's own cells differ from those of all records by a covariance, which is shrunk by what it is expected to be
    beside its noise: of a rare class the counts alone would mostly be noise.

    Args:
        coordinates: Where columns lie.
        products: Noisy sums of products, in people, shape (size, size).
        class_counts: Records of every class; without one, of all records.
        noise: Standard deviation of a share's noise, where the weight is 1.
        typical_correlation: How strong a dependence is expected to be.
    """
    total = max(int(class_counts.sum()), 1)
    shares = class_counts / total
    found = {}
    for name, place in coordinates.cells.items():
        noisy = np.rint(np.diag(products)[place]).astype(np.int64)
        numbers = slice(0, len(noisy) - coordinates.columns[name].missing)
        own_noise = noise * total / float(coordinates.weights[place.start, place.start])
        stay = np.ones(len(noisy), dtype=bool)
        stay[numbers] = cells_between_empty_ends(noisy[numbers], own_noise)
        cell_shares = consistent_counts_within(noisy, total, stay) / total
        together = np.zeros((1, len(noisy)))
        if coordinates.class_name is not None:
            together = _covariances_with_classes(coordinates, products, place, shares, cell_shares, total)
            variances = np.multiply.outer(shares * (1 - shares), cell_shares * (1 - cell_shares))
            expected = variances * typical_correlation**2
            own_noise = noise / float(coordinates.weights[coordinates.class_place.start, place.start])
            together *= expected / np.maximum(expected + own_noise * own_noise, SMALLEST_SQUARE)
        by_class = []
        for number, count in enumerate(class_counts.tolist()):
            wanted = (shares[number] * cell_shares + together[number]) * float(total)
            by_class.append(consistent_counts_within(np.rint(wanted).astype(np.int64), count, stay))
        counted = np.stack(by_class)
        found[name] = Spread(counted[:, numbers], counted[:, numbers.stop :].sum(axis=1))
    return found


def _covariances_with_classes(
    coordinates: Coordinates,
    products: FloatArray,
    place: slice,
    shares: FloatArray,
    cell_shares: FloatArray,
    total: int,
) -> FloatArray:
    """Of being in a class and in a cell: shape (n_classes, n_cells)."""
    measured: FloatArray = products[coordinates.class_place, place] / float(total)
    if coordinates.class_name in coordinates.groups:
        by_chance: FloatArray = np.multiply.outer(shares, cell_shares)
        return measured - by_chance
    second = measured[0] - (shares[1] - 0.5) * cell_shares  # -1/2 for the first class and 1/2 for the second
    return np.stack([-second, second])


def _mean(counts: IntArray, values: FloatArray) -> float:
    return math.fsum((counts * values).tolist()) / max(int(counts.sum()), 1)
