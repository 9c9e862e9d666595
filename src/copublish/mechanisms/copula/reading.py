"""Answers from noisy counts of columns and noisy sums of products of scores. Released values only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from copublish.errors import ReleaseError
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.base import Publication
from copublish.mechanisms.copula.model import SCORE_LIMIT
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.copula.publish import CopulaDetails
from copublish.mechanisms.reading.build import Moments, correlation
from copublish.mechanisms.reading.estimate import Estimate
from copublish.mechanisms.reading.noisy import NoisyNumber, deviation_of, excess_of
from copublish.mechanisms.reading.of_cells import CellReading, ColumnCells, NoisyTable, OtherTotal

OF_SCORES = (
    "Pearson's, of the published scores of agreed cells (a correlation of ranks), from unbiased sums of products, by "
    "the law of their noise"
)


class CopulaReading(CellReading):
    """Questions to counts of every column alone, and to sums of products of every two."""

    def __init__(self, publication: Publication, details: CopulaDetails) -> None:
        self._details, self._certificate = details, publication.certificate
        (products,) = self._certificate.at(PRODUCTS)
        self._products_noise = products.noise

    @cached_property
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""
        return tuple(self._details.columns)

    @cached_property
    def noise(self) -> dict[str, Noise]:
        """The noise of every column's counts."""
        return {str(marginal.place.column): marginal.noise for marginal in self._certificate.at(MARGINALS)}

    @cached_property
    def _cells(self) -> dict[str, ColumnCells]:
        return {name: ColumnCells.of(domain) for name, domain in self._details.public_columns.domains.items()}

    def _other_total(self, columns: Sequence[str]) -> OtherTotal | None:
        """The number of records: public, or from the counts of all other columns."""
        public = self._certificate.public_facts.number_of_records
        if public is not None:
            return OtherTotal(public, 0.0)
        found = [
            (float(sum(column.noisy_counts)), deviation_of(self.noise[name]) ** 2 * len(column.cells))
            for name, column in self._details.columns.items()
            if name not in columns
        ]
        if not found or any(variance == 0 for _, variance in found):
            return None
        weights = [1 / variance for _, variance in found]
        value = sum(weight * total for weight, (total, _) in zip(weights, found, strict=True)) / sum(weights)
        return OtherTotal(value, math.sqrt(1 / sum(weights)))

    def table(self, columns: Sequence[str]) -> NoisyTable:
        """Counts of one column."""
        if len(columns) > 1:
            raise ReleaseError(
                "This release counted every column alone, so nothing is known with an error about people who have "
                f"values of both '{columns[0]}' and '{columns[1]}'. Ask for one column, or for the correlation of two."
            )
        (name,) = columns
        column, noise = self._details.columns[name], self.noise[name]
        return NoisyTable(
            columns=(self._cells[name],),
            counts=np.array(column.noisy_counts, dtype=np.float64),
            deviation=deviation_of(noise),
            excess=excess_of(noise),
            other_total=self._other_total(columns),
        )

    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """The correlation of two columns' scores, in the joint table as it is."""
        self.check(one, other)
        by_columns = {frozenset(pair.columns): pair for pair in self._details.pairs}
        noisy = float(by_columns[frozenset((one, other))].noisy_sum_of_products)
        first, second = (self._sums(name) for name in (one, other))
        # Sources of noise, one after the other: the sum of products, both columns' counts, the number of records.
        sizes = [1, len(first[0].loads), len(second[0].loads)]
        places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        laws = [np.array([excess_of(self._products_noise)]), first[0].excess, second[0].excess]
        excess = np.concatenate(laws)

        def placed(number: NoisyNumber, part: int) -> NoisyNumber:
            loads = np.zeros(len(excess))
            loads[places[part]] = number.loads
            return NoisyNumber(number.value, loads, excess)

        points = SCORE_LIMIT**2
        deviation = deviation_of(self._products_noise, points_per_person=points) * points
        product = placed(NoisyNumber(noisy, np.array([deviation]), laws[0]), 0)
        total, first_sum, first_square = (placed(number, 1) for number in first)
        other_total, second_sum, second_square = (placed(number, 2) for number in second)
        whole = (total + other_total).times(0.5)
        moments = Moments(
            whole=whole,
            product=product,
            first_square=first_square,
            second_square=second_square,
            first=first_sum,
            second=second_sum,
        )
        return correlation(moments, confidence, OF_SCORES)

    def _sums(self, name: str) -> tuple[NoisyNumber, NoisyNumber, NoisyNumber]:
        """The number of records, and the sums of a column's scores and of their squares."""
        table, scores = self.table([name]), np.array(self._details.columns[name].scores, dtype=np.float64)
        return table.sum(np.ones(len(scores))), table.sum(scores), table.sum(scores * scores)
