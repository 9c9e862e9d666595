"""Answers from noisy sums of coordinates and of their products. Released values only.

A number, the indicator of a category's value, and whether a number is there are all affine functions of a record's
coordinates. So the sum over records of one of them, or of the product of two, is a weighted sum of what was released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.base import Publication
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.publish import CountedNumbers, HpdpDetails, coordinates_of
from copublish.mechanisms.reading.build import (
    Moments,
    correlation,
    estimate_count,
    estimate_of,
    estimate_share,
    summary_of_category,
)
from copublish.mechanisms.reading.estimate import (
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
from copublish.mechanisms.reading.noisy import NoisyNumber, deviation_of, excess_of, ratio
from copublish.mechanisms.reading.of_cells import CELLS_HIDE, ColumnCells
from copublish.types import FloatArray

BY_SUMS = "from unbiased noisy sums, by the law of their noise"


@dataclass(frozen=True)
class _Affine:
    """A function of a record: a constant, and a factor for some coordinates."""

    constant: float
    factors: Mapping[int, float]


class HpdpReading(Reading):
    """Questions to sums over records."""

    def __init__(self, publication: Publication, details: HpdpDetails) -> None:
        self._details = details
        (moments,) = publication.certificate.at(MOMENTS)
        self._noise = moments.noise

    @cached_property
    def _domains(self) -> Mapping[str, Domain]:
        return self._details.public_columns.domains

    @cached_property
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""
        return tuple(self._details.columns)

    @cached_property
    def _coordinates(self) -> Coordinates:
        return coordinates_of(self._details, self._domains)

    @cached_property
    def _column_of(self) -> dict[int, str]:
        """The column of every coordinate."""
        found = self._coordinates
        groups = {**found.groups, **found.cells}
        places = {place: name for name, group in groups.items() for place in range(group.start, group.stop)}
        return {**{place: name for name, place in found.centered.items()}, **places}

    @cached_property
    def _by_cells(self) -> CountedNumbers:
        """Numbers by the counts of their cells."""
        return CountedNumbers(self._details, self._coordinates, self._noise)

    @cached_property
    def _sources(self) -> tuple[FloatArray, FloatArray]:
        """Every released sum divided by its weight, in people, and the deviation of its noise."""
        sums = self._details.noisy_sums
        values = [noisy / weight for _, _, noisy, weight in sums.products]
        values += [noisy / w for noisy, w in zip(sums.coordinates, sums.weights_of_coordinates, strict=True)]
        weights = [weight for *_, weight in sums.products] + list(sums.weights_of_coordinates)
        total = [float(noisy) for noisy in sums.records]
        deviation = deviation_of(self._noise, points_per_person=UNIT**2)
        return (
            np.array([*values, *total]) / UNIT**2,
            deviation / np.array([*weights, *[1] * len(total)], dtype=np.float64),
        )

    @cached_property
    def _place_of_product(self) -> dict[tuple[int, int], int]:
        return {(i, j): number for number, (i, j, _, _) in enumerate(self._details.noisy_sums.products)}

    def _linear(self, terms: Mapping[int, float], constant: float) -> NoisyNumber:
        """A weighted sum of released sums; under -1 stands the number of records."""
        values, deviations = self._sources
        factors = np.zeros(len(values))
        for place, factor in terms.items():
            if place >= 0:
                factors[place] += factor
        records = terms.get(-1, 0.0)
        if self._details.noisy_sums.records:
            factors[-1] += records
        else:
            constant += records * self._details.estimated_records  # it is public
        excess = np.full(len(values), excess_of(self._noise))
        return NoisyNumber(float(factors @ values) + constant, factors * deviations, excess)

    def _sum(self, one: _Affine, other: _Affine | None = None) -> NoisyNumber:
        """The sum over records of a function, or of the product of two of different columns."""
        second = other or _Affine(1.0, {})
        terms: dict[int, float] = {-1: one.constant * second.constant}
        for place, factor in one.factors.items():
            self._add(terms, place, factor * second.constant)
        for place, factor in second.factors.items():
            self._add(terms, place, factor * one.constant)
        for i, a in one.factors.items():
            for j, b in second.factors.items():
                number = self._place_of_product.get((min(i, j), max(i, j)))
                if number is not None:
                    terms[number] = terms.get(number, 0.0) + a * b
                elif self._column_of[i] != self._column_of[j]:  # different values of one never meet: 0
                    raise self._not_counted_together(self._column_of[max(i, j)])
        return self._linear(terms, 0.0)

    def _not_counted_together(self, number: str) -> ReleaseError:
        if self._coordinates.class_name is None:
            return ReleaseError(f"Cells of '{number}' were counted alone. Ask for the correlation of two columns.")
        return ReleaseError(
            f"Cells of '{number}' were counted among the classes of '{self._coordinates.class_name}' alone. Ask for "
            "that, or for the correlation of two columns."
        )

    def _add(self, terms: dict[int, float], place: int, factor: float) -> None:
        """Add the sum of one coordinate: of a 0 or 1 it is the sum of squares."""
        n_centered = self._coordinates.n_centered
        number = len(self._place_of_product) + place if place < n_centered else self._place_of_product[place, place]
        terms[number] = terms.get(number, 0.0) + factor

    def _has(self, column: str, values: Values) -> _Affine:
        """1 for records with one of some values of a category."""
        domain = self._domains[column]
        if isinstance(domain, NumericalDomain):
            start = self._coordinates.cells[column].start
            chosen = ColumnCells.of(domain).chosen(values)
            return _Affine(0.0, {start + int(code): 1.0 for code in np.flatnonzero(chosen)})
        codes = [domain.values.index(value) for value in published_values(column, domain.values, values)]
        if column in self._coordinates.groups:
            start = self._coordinates.groups[column].start
            return _Affine(0.0, {start + code: 1.0 for code in codes})
        place = self._coordinates.centered[column]  # -1/2 for the first value and 1/2 for the second
        signs = [-1.0 if code == 0 else 1.0 for code in codes]
        return _Affine(0.5 * len(codes), {place: sum(signs)})

    def _one_condition(self, among: Among) -> _Affine | None:
        if len(among) > 1:
            raise ReleaseError(
                "This release has sums of products of two columns. Name one other column at most in 'among'."
            )
        return next((self._has(column, values) for column, values in among.items()), None)

    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; everybody if none are named."""
        self.check(*among)
        if len(among) > 2:
            raise ReleaseError("This release has sums of products of two columns. Name two at most.")
        functions = [self._has(column, values) for column, values in among.items()]
        return estimate_count(self._sum(*(functions or [_Affine(1.0, {})])), confidence, BY_SUMS)

    def share(self, column: str, values: Values, among: Among, confidence: float) -> Estimate:
        """Which share of people has one of some values of a column."""
        self.check(column, *among)
        has, condition = self._has(column, values), self._one_condition(among)
        whole = self._sum(condition or _Affine(1.0, {}))
        return estimate_share(self._sum(has, condition), whole, confidence, BY_SUMS)

    def mean(self, column: str, among: Among, confidence: float) -> Estimate:
        """The mean of a column of numbers: what cells hide is in the ends of the interval."""
        self.check(column, *among)
        if column not in self._coordinates.cells:
            raise no_number(column, "mean")
        condition = self._one_condition(among)
        cells, start = ColumnCells.of(self._domains[column]), self._coordinates.cells[column].start

        def total(at: FloatArray) -> NoisyNumber:
            factors = {start + code: float(value) for code, value in enumerate(cells.holds_numbers * at) if value}
            return self._sum(_Affine(0.0, factors), condition)

        whole = total(np.ones(len(cells.labels)))
        middle, low, high = (ratio(total(at), whole, confidence) for at in (cells.middle, cells.low, cells.high))
        least, most = cells.bounds
        ends = (low.low, high.high)
        return estimate_of(middle, least=least, most=most, confidence=confidence, how=CELLS_HIDE, unit="own", ends=ends)

    def median(self, column: str, among: Among, confidence: float) -> Estimate:
        """The median of a column of numbers, by the counts of its cells."""
        self.check(column, *among)
        if among:
            raise ReleaseError("A median among some people was not measured; their mean was.")
        if column not in self._coordinates.cells:
            raise no_number(column, "median")
        return self._by_cells.median(column, {}, confidence)

    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """Pearson's correlation of two columns of numbers, or of categories with two values."""
        self.check(one, other)
        first, second = self._ordered(one), self._ordered(other)
        moments = Moments(
            whole=self._sum(_Affine(1.0, {})),
            product=self._sum(first, second),
            first_square=self._square(one, first),
            second_square=self._square(other, second),
            first=self._sum(first),
            second=self._sum(second),
        )
        by_grid = any(column in self._coordinates.cells for column in (one, other))
        return correlation(moments, confidence, f"Pearson's, {'of places in grids, ' if by_grid else ''}{BY_SUMS}")

    def _square(self, column: str, function: _Affine) -> NoisyNumber:
        """The sum of squares: of -1/2 and 1/2 a quarter of the number of records, of numbers it was measured."""
        if isinstance(self._domains[column], CategoricalDomain):
            return self._sum(_Affine(0.25, {}))
        return self._sum(function, function)

    def _ordered(self, column: str) -> _Affine:
        if column in self._coordinates.groups:
            raise no_order(column, self._coordinates.columns[column].size)
        domain = self._domains[column]
        if isinstance(domain, NumericalDomain) and domain.missing:
            raise ReleaseError(
                f"Numbers of '{column}' may be missing, and products of those that are there were not summed apart. "
                "Its mean can be asked for."
            )
        return _Affine(0.0, {self._coordinates.centered[column]: 1.0})

    def summary(self, column: str, confidence: float = CONFIDENCE) -> ColumnSummary:
        """How a column is spread."""
        self.check(column)
        domain = self._domains[column]
        if isinstance(domain, CategoricalDomain):
            return summary_of_category(self, domain, confidence)
        return self._by_cells.summary(column, confidence)
