"""What sums of numbers, of their squares and of their products tell: correlations, and where a median must be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copublish.mechanisms.reading.build import estimate_of
from copublish.mechanisms.reading.estimate import Estimate, nothing_to_say
from copublish.mechanisms.reading.noisy import SURE, Interval, NoisyNumber, ratio


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Noisy sums over the people who have both of two numbers.

    Attributes:
        whole: How many people.
        product: Sum of products.
        first_square: Sum of squares of the first number.
        second_square: Of the second.
        first: Sum of the first number.
        second: Of the second.
    """

    whole: NoisyNumber
    product: NoisyNumber
    first_square: NoisyNumber
    second_square: NoisyNumber
    first: NoisyNumber
    second: NoisyNumber


def covariance(product: NoisyNumber, first: NoisyNumber, second: NoisyNumber, whole: NoisyNumber) -> NoisyNumber:
    """A covariance, without the bias that noise gives to the product of two means; noise to its first order."""
    n = whole.value
    a, b = first.value / n, second.value / n
    bias = float(first.loads @ second.loads) / n**2
    # d(P/n - FS/n^2) = dP/n - b dF/n - a dS/n + (2ab - P/n) dn/n
    slope = 2 * a * b - product.value / n
    loads = (product.loads - b * first.loads - a * second.loads + slope * whole.loads) / n
    return NoisyNumber(product.value / n - a * b + bias, loads, product.excess)


def correlation(moments: Moments | None, confidence: float, how: str) -> Estimate:
    """Pearson's correlation: the ratio of a covariance to the root of the product of two variances."""
    unknown = nothing_to_say(-1.0, 1.0, confidence=confidence, how=how, unit="correlation")
    if moments is None or moments.whole.value <= 0:
        return unknown
    together = covariance(moments.product, moments.first, moments.second, moments.whole)
    one = covariance(moments.first_square, moments.first, moments.first, moments.whole)
    other = covariance(moments.second_square, moments.second, moments.second, moments.whole)
    if any(variance.value <= SURE * variance.within(confidence) for variance in (one, other)):
        return unknown  # a spread that noise could be
    root = math.sqrt(one.value * other.value)
    loads = root / 2 * (one.loads / one.value + other.loads / other.value)
    found = ratio(together, NoisyNumber(root, loads, together.excess), confidence)
    return estimate_of(found, least=-1.0, most=1.0, confidence=confidence, how=how, unit="correlation")


def median_by_moments(
    guess: float,
    mean: Estimate,
    *,
    square: NoisyNumber,
    first: NoisyNumber,
    whole: NoisyNumber,
    bounds: tuple[float, float],
    confidence: float,
    how: str,
) -> Estimate:
    """The median of numbers of which mean and spread alone were measured: it is within a deviation of the mean.

    Args:
        guess: The published records' own median.
        mean: Of the same numbers.
        square: Sum of their squares.
        first: Their sum.
        whole: How many they are.
        bounds: Of the numbers.
        confidence: Of the interval.
        how: What the numbers are.
    """
    if mean.value is None:  # perhaps there is nobody, and nothing to divide by
        return nothing_to_say(*bounds, confidence=confidence, how=how, unit="own")
    variance = covariance(square, first, first, whole)
    # A variance is not negative: without that, noise that makes it look so would make the interval short.
    most = math.sqrt(max(variance.value, 0.0) + variance.within(confidence))
    low, high = mean.low - most, mean.high + most
    # Of the guess nothing is known but that the interval holds the median; noise has no part of its own in it.
    found = Interval(float(np.clip(guess, low, high)), mean.standard_error or 0.0, low, high)
    return estimate_of(found, least=bounds[0], most=bounds[1], confidence=confidence, how=how, unit="own")
