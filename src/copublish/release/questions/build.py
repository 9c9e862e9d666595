"""Estimates with intervals from noisy numbers: counts, shares, correlations, medians and summaries of columns.

What is possible at all bounds every interval. Correlations and medians come from sums of numbers, of their squares and
of their products. Where cells of numbers were not counted, published records show how a column is spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.errors import ReleaseError
from copublish.release.questions.estimate import (
    CONFIDENCE,
    LARGEST_PART,
    CellSummary,
    ColumnSummary,
    Estimate,
    Reading,
    Unit,
    nothing_to_say,
)
from copublish.release.questions.noisy import SURE, Interval, NoisyNumber, ratio


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
    possible = (max(low, bounds[0]), min(high, bounds[1]))  # mostly a spread, and no noise: bounds make it shorter
    found = Interval(float(np.clip(guess, low, high)), mean.standard_error or 0.0, low, high, usual=possible)
    return estimate_of(found, least=bounds[0], most=bounds[1], confidence=confidence, how=how, unit="own")


@dataclass(frozen=True)
class CorrelatedPair:
    """Two columns and their correlation."""

    one: str
    other: str
    estimate: Estimate


def correlations(reading: Reading, columns: Sequence[str]) -> list[CorrelatedPair]:
    """Every two of some columns: the strongest first, those that noise leaves nothing of last.

    Pairs of which the release tells nothing are left out.
    """
    found = []
    for one, other in combinations(columns, 2):
        try:
            found.append(CorrelatedPair(one, other, reading.correlation(one, other, CONFIDENCE)))
        except ReleaseError:
            continue
    return sorted(found, key=lambda pair: -1.0 if pair.estimate.value is None else abs(pair.estimate.value))[::-1]


PARTS = 24
"""Of a number's range, in a picture of the published records."""


def summary_of_records(
    reading: Reading, domain: Domain, records: pa.Table, confidence: float, *, note: str
) -> ColumnSummary:
    """A column's mean and median beside how published records are spread; of a category the share of every value.

    Args:
        reading: Answers what was measured.
        domain: The column's.
        records: The published ones.
        confidence: Of the intervals.
        note: What the records' spread is worth.
    """
    column = domain.name
    if isinstance(domain, NumericalDomain):
        bounds = float(domain.lower), float(domain.upper)
        values = np.asarray(records.column(column).drop_null().to_numpy(), dtype=np.float64)
        drawn, borders = np.histogram(values, bins=PARTS, range=bounds)
        return ColumnSummary(
            name=column,
            is_number=True,
            mean=reading.mean(column, {}, confidence),
            median=reading.median(column, {}, confidence),
            drawn=tuple((drawn / max(len(values), 1)).tolist()),
            axis=tuple(borders.tolist()),
            note=note,
        )
    return summary_of_category(reading, domain, confidence)


def summary_of_category(reading: Reading, domain: CategoricalDomain, confidence: float) -> ColumnSummary:
    """The share of every value of a category, and how many people have it."""
    column = domain.name
    cells = tuple(
        CellSummary(
            label=value,
            share=reading.share(column, value, {}, confidence),
            people=reading.count({column: value}, confidence),
        )
        for value in domain.values
    )
    return ColumnSummary(name=column, is_number=False, cells=cells)


def estimate_of(
    found: Interval,
    *,
    least: float,
    most: float,
    confidence: float,
    how: str,
    unit: Unit,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """An estimate from an interval of noise.

    Args:
        found: The value and what noise makes of it.
        least: The smallest value that is possible.
        most: The largest.
        confidence: Of the interval.
        how: How it was computed.
        unit: What it counts.
        ends: The interval with what cells hide, if that is more than noise.
    """
    low, high = (min(max(end, least), most) for end in (ends or (found.low, found.high)))
    tells = found.is_bounded and found.is_sure
    if tells and math.isfinite(most - least):
        # By the interval of noise as it is: cut off at what is possible, it is short where noise put it outside, and
        # noise would decide what is told.
        from_, to = found.usual or (found.low, found.high)
        tells = to - from_ < LARGEST_PART * (most - least)
    if not tells:
        return nothing_to_say(low, high, confidence=confidence, how=how, unit=unit)
    value = min(max(found.value, least), most)
    return Estimate(
        value=value,
        standard_error=found.standard_error,
        within=max(found.high - found.value, found.value - found.low),
        low=min(low, value),
        high=max(high, value),
        confidence=confidence,
        how=how,
        unit=unit,
    )


def estimate_count(number: NoisyNumber, confidence: float, how: str, *, stated_within: float | None = None) -> Estimate:
    """A number of people. Its value is unbiased, so it can be negative; its interval is not.

    Args:
        number: What was measured.
        confidence: Of the interval.
        how: How it was computed.
        stated_within: How far noise moves it at most, where the certificate says so.
    """
    within = number.within(confidence) if stated_within is None else stated_within
    return Estimate(
        value=number.value,
        standard_error=number.deviation,
        within=within,
        low=max(number.value - within, 0.0),
        high=max(number.value + within, 0.0),
        confidence=confidence,
        how=how,
        unit="people",
    )


def estimate_share(part: NoisyNumber, whole: NoisyNumber, confidence: float, how: str) -> Estimate:
    """A part of a whole, from 0 to 1."""
    found = ratio(part, whole, confidence)
    return estimate_of(found, least=0.0, most=1.0, confidence=confidence, how=how, unit="share")
