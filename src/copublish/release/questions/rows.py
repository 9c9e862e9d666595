"""Answers from perturbed records, by inverting the noise that each of their values carries. Released values only.

For every record and column there is a number that is unbiased for what is asked, given the record's true value:

- Category: if the true value is published with probability k and each of v - 1 others with q, (1{y = v} - q) / (k - q)
  is unbiased for 1{x = v}.
- Number: discrete Laplace noise leaves y unbiased but where it was clipped. What lies beyond a bound is geometric
  whatever x is, so its mean p / (1 - p), with p = e^(-1/scale), added to a clipped value makes it unbiased again. The
  variance given x is at most that of the noise, because the mean took the place of what was clipped.

Columns have independent noise, so a product of such numbers is unbiased for the product.

Tables that were counted to divide the budget answer where they are surely more exact: noise on every value adds up over
people, and noise on a cell does not. Which of the two answers follows from public numbers, not from the noise of
values: that depends on the tables, and tables that answer because of their own noise would not have the stated law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.errors import ReleaseError
from copublish.kernel.accounting.statements import Noise
from copublish.release.questions.build import (
    Moments,
    correlation,
    estimate_count,
    estimate_of,
    estimate_share,
    median_by_moments,
    summary_of_records,
)
from copublish.release.questions.estimate import (
    CONFIDENCE,
    Among,
    ColumnSummary,
    Estimate,
    Reading,
    Values,
    no_number,
    no_order,
    published_values,
)
from copublish.release.questions.noisy import NoisyNumber, ratio
from copublish.types import FloatArray

if TYPE_CHECKING:
    from copublish.release.questions.reading import MeasuredReading

INVERTED = "by inverting the noise of every value, of which the law is published"
BY_SPREAD = f"{INVERTED}: a median is at most a standard deviation from the mean; the value is the records' own"
STILL_NOISY = "published values: their noise makes them flatter than the people's own"


@dataclass(frozen=True)
class _Unbiased:
    """For every record an unbiased number, and one that is unbiased for the true number's square."""

    of_value: FloatArray
    of_square: FloatArray

    def times(self, other: _Unbiased) -> _Unbiased:
        """The product with another column's."""
        return _Unbiased(self.of_value * other.of_value, self.of_square * other.of_square)


class RowReading(Reading):
    """Questions to perturbed records.

    Args:
        domains: Public domain of each column.
        noise: Of every value, by column.
        records: The published records.
        tables: Questions to tables that were counted besides, if there are some.
        most_epsilon: The most that any column could have got, whatever these tables had told.
    """

    def __init__(
        self,
        domains: Mapping[str, Domain],
        noise: Mapping[str, Noise],
        records: pa.Table,
        tables: MeasuredReading | None = None,
        most_epsilon: float = math.inf,
    ) -> None:
        self._domains, self._noise, self._records, self._tables = domains, noise, records, tables
        self._most_epsilon = most_epsilon

    @property
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""
        return tuple(self._domains)

    @cached_property
    def _published(self) -> dict[str, NDArray[np.object_]]:
        """The published categories."""
        kept = [name for name, domain in self._domains.items() if isinstance(domain, CategoricalDomain)]
        return {name: np.array(self._records.column(name).to_pylist(), dtype=object) for name in kept}

    @property
    def _n(self) -> int:
        return int(self._records.num_rows)

    def _has(self, column: str, values: Values) -> _Unbiased:
        """1 for people with one of some values of a category."""
        domain = self._domains[column]
        if not isinstance(domain, CategoricalDomain):
            raise ReleaseError(
                f"Noise on every number hides how many people have certain values of '{column}'. Ask for its mean."
            )
        wanted = published_values(column, domain.values, values)
        kept = self._noise[column].kept or 0.0
        other = (1 - kept) / (domain.size - 1)
        told = np.isin(self._published[column], wanted).astype(np.float64)
        found = (told - other * len(wanted)) / (kept - other)
        return _Unbiased(found, found)  # the square of 0 or 1 is itself

    def _number(self, column: str, what: str) -> tuple[NumericalDomain, _Unbiased, _Unbiased]:
        """A column of numbers above its lower bound (0 where missing), and 1 where it is there."""
        domain = self._domains[column]
        if isinstance(domain, CategoricalDomain):
            raise no_number(column, what)
        noise = self._noise[column]
        published = self._records.column(column)
        says_missing = np.asarray(published.is_null().to_numpy(), dtype=bool)
        lower, width = float(domain.lower), float(domain.upper - domain.lower)
        values = np.asarray(published.fill_null(0).to_numpy(), dtype=np.float64) - lower
        step, scale = 10.0**-domain.decimals_of_numbers, float(noise.scale_in_own_unit or 0.0)
        at_low, at_high = values <= step / 4, values >= width - step / 4
        p = math.exp(-step / scale)
        beyond, variance = step * p / (1 - p), step**2 * 2 * p / (1 - p) ** 2
        beyond_squared = step**2 * p * (1 + p) / (1 - p) ** 2
        first = values + beyond * at_high - beyond * at_low
        second = values**2 - variance
        second = np.where(at_low, beyond_squared - variance, second)
        second = np.where(at_high, width**2 + 2 * width * beyond + beyond_squared - variance, second)
        if noise.missing_or_not_kept is None:
            ones = np.ones(self._n)
            return domain, _Unbiased(first, second), _Unbiased(ones, ones)
        # A missing number has noise around the middle; what is said of it is true with probability k. So of those that
        # say they are there the sum is k times that of the true ones, and (1 - k) times the middle for each missing.
        k = noise.missing_or_not_kept
        middle = step * (round(width / step) // 2)
        present = (np.where(says_missing, 0.0, 1.0) - (1 - k)) / (2 * k - 1)
        first = (np.where(says_missing, 0.0, first) - (1 - k) * (1 - present) * middle) / k
        second = (np.where(says_missing, 0.0, second) - (1 - k) * (1 - present) * middle**2) / k
        return domain, _Unbiased(first, second), _Unbiased(present, present)

    def _condition(self, among: Among) -> _Unbiased:
        found = _Unbiased(np.ones(self._n), np.ones(self._n))
        for column, values in among.items():
            found = found.times(self._has(column, values))
        return found

    def _pair(self, part: _Unbiased, condition: _Unbiased) -> tuple[NoisyNumber, NoisyNumber]:
        """The sums of a part among some people, and of these people, with their noise given the true table."""
        both = part.times(condition)
        columns = np.stack([both.of_value, condition.of_value])
        # What the noisy numbers vary by, less what the true ones do: the noise's part.
        truth = np.array(
            [
                [both.of_square.sum(), both.of_value.sum()],
                [both.of_value.sum(), condition.of_square.sum()],
            ]
        )
        one, other = _numbers(columns, columns @ columns.T - truth)
        return one, other

    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; everybody if none are named."""
        self.check(*among)
        if (tables := self._more_exact(among)) is not None:
            return tables.count(among, confidence)
        ones = np.ones(self._n)
        number, _ = self._pair(self._condition(among), _Unbiased(ones, ones))
        return estimate_count(number, confidence, INVERTED)

    def share(self, column: str, values: Values, among: Among, confidence: float) -> Estimate:
        """Which share of people has one of some values of a column."""
        self.check(column, *among)
        if (tables := self._more_exact({column: values, **among})) is not None:
            return tables.share(column, values, among, confidence)
        part, whole = self._pair(self._has(column, values), self._condition(among))
        return estimate_share(part, whole, confidence, INVERTED)

    def is_told_by_tables(self, column: str) -> bool:
        """Whether counted tables answer how a category is spread."""
        domain = self._domains[column]
        return isinstance(domain, CategoricalDomain) and self._more_exact({column: domain.values[0]}) is not None

    def _more_exact(self, among: Among) -> MeasuredReading | None:
        """Counted tables, where by law their noise is less than rows could have had; nothing where there are none."""
        if self._tables is None or not among:
            return None
        least = float(self._n)
        for column, values in among.items():
            domain = self._domains[column]
            if not isinstance(domain, CategoricalDomain):
                return None
            # A value is kept with probability e^epsilon / (e^epsilon + v - 1), and becomes each other one with `other`.
            other = 1 / (math.exp(self._most_epsilon) + domain.size - 1)
            kept = 1 - (domain.size - 1) * other
            wanted = len(published_values(column, domain.values, values))
            # The shares of people with another value, and with one of these, who show one of these.
            shown = [other * wanted, kept + other * (wanted - 1)]
            least *= min(part * (1 - part) for part in shown) / (kept - other) ** 2
        variance = self._tables.variance_of_count(among)
        return self._tables if variance is not None and variance < least else None

    def mean(self, column: str, among: Among, confidence: float) -> Estimate:
        """The mean of a column of numbers."""
        self.check(column, *among)
        domain, first, present = self._number(column, "mean")
        condition = self._condition(among)
        if self._noise[column].missing_or_not_kept is None:
            part, whole = self._pair(first, condition)
        else:
            part, whole = _together([first.of_value * condition.of_value, present.times(condition).of_value])
        lower, upper = float(domain.lower), float(domain.upper)
        found = ratio(part + whole.times(lower), whole, confidence)
        return estimate_of(found, least=lower, most=upper, confidence=confidence, how=INVERTED, unit="own")

    def median(self, column: str, among: Among, confidence: float) -> Estimate:
        """Where the median must be: within a standard deviation of the mean."""
        self.check(column, *among)
        domain, first, present = self._number(column, "median")
        if among:
            raise ReleaseError("A median among some people cannot be told apart from noise. Ask for their mean.")
        whole, sum_, square = _together([present.of_value, first.of_value, first.of_square])
        drawn = np.asarray(self._records.column(column).drop_null().to_numpy(), dtype=np.float64)
        return median_by_moments(
            float(np.median(drawn)) if len(drawn) else float(domain.lower),
            self.mean(column, {}, confidence),
            square=square,
            first=sum_,
            whole=whole,
            bounds=(float(domain.lower), float(domain.upper)),
            confidence=confidence,
            how=BY_SPREAD,
        )

    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """Pearson's correlation of two columns of numbers, or of categories with two values."""
        self.check(one, other)
        first, second = self._ordered(one), self._ordered(other)
        parts = [np.ones(self._n), first.of_value * second.of_value, first.of_square, second.of_square]
        whole, product, square, other_square, a, b = _together([*parts, first.of_value, second.of_value])
        moments = Moments(
            whole=whole, product=product, first_square=square, second_square=other_square, first=a, second=b
        )
        how = f"Pearson's, {INVERTED}; the interval is a little too wide, as if people had been sampled as well"
        return correlation(moments, confidence, how)

    def _ordered(self, column: str) -> _Unbiased:
        domain = self._domains[column]
        if isinstance(domain, CategoricalDomain):
            if domain.size == 2:
                return self._has(column, domain.values[1])
            raise no_order(column, domain.size)
        _, found, present = self._number(column, "correlation")
        if not (present.of_value == 1).all():
            raise ReleaseError(f"Numbers of '{column}' may be missing: their correlation is not told.")
        return found

    def summary(self, column: str, confidence: float = CONFIDENCE) -> ColumnSummary:
        """How a column is spread."""
        self.check(column)
        return summary_of_records(self, self._domains[column], self._records, confidence, note=STILL_NOISY)


def _numbers(columns: FloatArray, covariances: FloatArray) -> tuple[NoisyNumber, ...]:
    """The sums of some columns, with noise of these covariances."""
    values, vectors = np.linalg.eigh(covariances)
    loads = vectors * np.sqrt(np.maximum(values, 0.0))
    excess = np.zeros(len(columns))
    return tuple(NoisyNumber(float(c.sum()), own, excess) for c, own in zip(columns, loads, strict=True))


def _together(columns: Sequence[FloatArray]) -> tuple[NoisyNumber, ...]:
    """The same with what the numbers vary by as their noise, which is too much: people differ, too."""
    stacked = np.stack(columns)
    centered = stacked - stacked.sum(axis=1, keepdims=True) / max(stacked.shape[1], 1)
    return _numbers(stacked, centered @ centered.T)
