"""Answers from tables of noisy counts over the cells of some columns, whatever mechanism measured them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.errors import ReleaseError
from copublish.mechanisms.reading.build import Moments, correlation, estimate_count, estimate_of, estimate_share
from copublish.mechanisms.reading.estimate import (
    CONFIDENCE,
    Among,
    CellSummary,
    ColumnSummary,
    Estimate,
    Reading,
    Values,
    exactly,
    no_number,
    no_order,
    published_values,
)
from copublish.mechanisms.reading.noisy import Interval, NoisyNumber, ratio
from copublish.types import FloatArray, IntArray


@dataclass(frozen=True)
class ColumnCells:
    """The published cells of a column, in agreed order.

    Attributes:
        name: The column.
        labels: How every cell is named.
        is_number: Whether cells are intervals of numbers.
        low: Where each begins; nothing sensible for categories and missing numbers.
        high: Where each ends.
        holds_numbers: Which of them are intervals; no cell of a category is one.
        mixes_missing: Whether a cell holds numbers and missing ones alike.
    """

    name: str
    labels: tuple[str, ...]
    is_number: bool
    low: FloatArray
    high: FloatArray
    holds_numbers: FloatArray
    mixes_missing: bool = False

    @staticmethod
    def of(domain: Domain, parts: Sequence[CodeRange] | None = None) -> ColumnCells:
        """The cells of a domain: every code, or the published runs of codes."""
        runs = [(code, code + 1) for code in range(domain.size)] if parts is None else list(parts)
        labels = tuple(domain.label(run) for run in runs)
        if isinstance(domain, CategoricalDomain):
            zeros = np.zeros(len(runs))
            return ColumnCells(domain.name, labels, False, zeros, zeros, zeros)
        numbers = [start < domain.number_codes for start, _ in runs]
        ends = [domain.bounds(run) if there else (domain.lower,) * 2 for run, there in zip(runs, numbers, strict=True)]
        low, high = (np.array([float(end[side]) for end in ends]) for side in (0, 1))
        mixes = any(there and stop > domain.number_codes for (_, stop), there in zip(runs, numbers, strict=True))
        return ColumnCells(domain.name, labels, True, low, high, np.array(numbers, dtype=np.float64), mixes)

    @property
    def middle(self) -> FloatArray:
        """The middle of every interval."""
        return (self.low + self.high) / 2

    @property
    def tells_numbers(self) -> bool:
        """Whether cells say anything about single numbers: there are several intervals, and none hides missing ones."""
        return self.is_number and not self.mixes_missing and int(self.holds_numbers.sum()) > 1

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers lie."""
        there = self.holds_numbers > 0
        return float(self.low[there].min()), float(self.high[there].max())

    def chosen(self, values: str | Sequence[str]) -> FloatArray:
        """1 for every cell of some values, 0 for the others.

        Raises:
            ReleaseError: If a value was not published.
        """
        wanted = published_values(self.name, self.labels, values)
        return np.array([float(label in wanted) for label in self.labels])


@dataclass(frozen=True)
class OtherTotal:
    """The number of records as something else tells it than the table at hand: public, or measured apart."""

    value: float
    deviation: float


@dataclass(frozen=True)
class NoisyTable:
    """Unbiased counts over the cells of some columns, each with independent noise of one law.

    Attributes:
        columns: The columns.
        counts: Shape of the columns' numbers of cells.
        deviation: Of each count's noise.
        excess: Its excess kurtosis.
        other_total: The number of records by another source, if there is one.
        single_within: How far one count is off at most in 95 of 100 cases, where its own law says it exactly.
    """

    columns: tuple[ColumnCells, ...]
    counts: FloatArray
    deviation: float
    excess: float
    other_total: OtherTotal | None = None
    single_within: float | None = None

    @cached_property
    def _shift(self) -> float:
        """Part of (the other total - the own one) that every count takes over: the best unbiased combination."""
        if self.other_total is None:
            return 0.0
        if self.deviation == 0:
            return 0.0
        return 1 / (self.counts.size + (self.other_total.deviation / self.deviation) ** 2)

    @cached_property
    def adjusted(self) -> FloatArray:
        """The counts, brought nearer to the other total; unbiased as well."""
        if self.other_total is None:
            return self.counts
        adjusted: FloatArray = self.counts + self._shift * (self.other_total.value - float(self.counts.sum()))
        return adjusted

    def sum(self, *weights: FloatArray) -> NoisyNumber:
        """The sum of all counts times one weight for each column's cell."""
        product = np.ones(())
        for weight in weights:
            product = np.multiply.outer(product, weight)
        flat = product.ravel()
        spread = self._shift * float(flat.sum())
        other = 0.0 if self.other_total is None else self.other_total.deviation
        loads = np.append(self.deviation * (flat - spread), other * spread)
        excess = np.append(np.full(flat.size, self.excess), 0.0)
        return NoisyNumber(float(flat @ self.adjusted.ravel()), loads, excess)

    @property
    def all_cells(self) -> list[FloatArray]:
        """The weights that count everybody."""
        return [np.ones(len(column.labels)) for column in self.columns]


BY_COUNTS = "from unbiased noisy counts, by the law of their noise"
CELLS_HIDE = f"{BY_COUNTS}; numbers are known up to their cell, which the interval covers"
OF_MIDDLES = f"Pearson's, of the middles of agreed cells, {BY_COUNTS}"


class CellReading(Reading):
    """Questions to a release that counted cells."""

    @abstractmethod
    def table(self, columns: Sequence[str]) -> NoisyTable:
        """The unbiased joint counts of some columns, at least one.

        Raises:
            ReleaseError: If nothing was measured that has all of them.
        """

    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; everybody if none are named."""
        self.check(*among)
        table = self.table(list(among) or [self.columns[-1]])
        number = table.sum(*(_chosen(table, among) if among else table.all_cells))
        if not among and number.deviation == 0:
            return exactly(round(number.value), confidence)
        return _count(table, number, confidence)

    def share(self, column: str, values: Values, among: Among, confidence: float) -> Estimate:
        """Which share of people has one of some values of a column."""
        self.check(column, *among)
        table = self.table([column, *among])
        chosen, others = table.columns[0].chosen(values), _chosen(table, among, skip=1)
        part, whole = table.sum(chosen, *others), table.sum(np.ones(len(chosen)), *others)
        return estimate_share(part, whole, confidence, BY_COUNTS)

    def mean(self, column: str, among: Among, confidence: float) -> Estimate:
        """The mean of a column of numbers: cells as a whole, what they hide in the ends of the interval."""
        self.check(column, *among)
        table = self.table([column, *among])
        cells, others = _numbers(table.columns[0], "mean"), _chosen(table, among, skip=1)
        whole = table.sum(cells.holds_numbers, *others)
        middle, low, high = (
            ratio(table.sum(cells.holds_numbers * at, *others), whole, confidence)
            for at in (cells.middle, cells.low, cells.high)
        )
        least, most = cells.bounds
        ends = (low.low, high.high)
        return estimate_of(middle, least=least, most=most, confidence=confidence, how=CELLS_HIDE, unit="own", ends=ends)

    def median(self, column: str, among: Among, confidence: float) -> Estimate:
        """The median of a column of numbers.

        For every border of a cell it is asked whether more than half could lie below it. From either end on, borders
        are left out for as long as noise cannot explain the answer; so only an error at the true median's own border
        loses it, however many borders there are.
        """
        self.check(column, *among)
        table = self.table([column, *among])
        cells, others = _numbers(table.columns[0], "median"), _chosen(table, among, skip=1)
        places = np.flatnonzero(cells.holds_numbers > 0).astype(np.int64)
        excess = [
            table.sum(_side(cells, places, border), *others) for border in range(1, len(places))
        ]  # people below a border minus people above it
        signs = [_sign(number, confidence) for number in excess]
        first = next((i for i, sign in enumerate(signs) if sign >= 0), len(signs))
        last = next((i for i, sign in reversed(list(enumerate(signs))) if sign <= 0), -1)
        low, high = float(cells.low[places[first]]), float(cells.high[places[last + 1]])
        if low >= high:  # noise contradicts itself: the borders crossed
            low, high = min(low, high), max(low, high)
        value, error = _middle(cells, places, table, others)
        value = min(max(value, low), high)
        found = Interval(value, error, low, high)
        least, most = cells.bounds
        how = f"{BY_COUNTS}; where half of the people lie below, to the agreed cell"
        return estimate_of(found, least=least, most=most, confidence=confidence, how=how, unit="own")

    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """Pearson's correlation of two columns of numbers, or of categories with two values, by cells."""
        self.check(one, other)
        table = self.table([one, other])
        x, y = (_ordered(cells) for cells in table.columns)
        present = [_present(cells) for cells in table.columns]
        whole = table.sum(*present)
        if whole.value <= 0:
            return correlation(None, confidence, OF_MIDDLES)
        centers = [
            table.sum(present[0] * x, present[1]).value / whole.value,
            table.sum(present[0], present[1] * y).value / whole.value,
        ]
        dx, dy = x - centers[0], y - centers[1]
        moments = Moments(
            whole=whole,
            product=table.sum(present[0] * dx, present[1] * dy),
            first_square=table.sum(present[0] * dx * dx, present[1]),
            second_square=table.sum(present[0], present[1] * dy * dy),
            first=table.sum(present[0] * dx, present[1]),
            second=table.sum(present[0], present[1] * dy),
        )
        return correlation(moments, confidence, OF_MIDDLES)

    def summary(self, column: str, confidence: float = CONFIDENCE) -> ColumnSummary:
        """How a column is spread."""
        self.check(column)
        table = self.table([column])
        cells = table.columns[0]
        whole = table.sum(*table.all_cells)
        found = []
        for place, label in enumerate(cells.labels):
            part = table.sum(np.eye(len(cells.labels))[place])
            share = estimate_share(part, whole, confidence, BY_COUNTS)
            found.append(CellSummary(label=label, share=share, people=_count(table, part, confidence)))
        return ColumnSummary(
            name=column,
            is_number=cells.is_number,
            mean=self.mean(column, {}, confidence) if cells.tells_numbers else None,
            median=self.median(column, {}, confidence) if cells.tells_numbers else None,
            cells=tuple(found),
            axis=_axis(cells) if cells.tells_numbers else (),
        )


def _count(table: NoisyTable, number: NoisyNumber, confidence: float) -> Estimate:
    is_single = confidence == CONFIDENCE and np.count_nonzero(number.loads) == 1
    return estimate_count(number, confidence, BY_COUNTS, stated_within=table.single_within if is_single else None)


def _chosen(table: NoisyTable, among: Among, *, skip: int = 0) -> list[FloatArray]:
    return [column.chosen(among[column.name]) for column in table.columns[skip:]]


def _numbers(cells: ColumnCells, what: str) -> ColumnCells:
    """Refuse cells that tell nothing about single numbers."""
    if not cells.is_number:
        raise no_number(cells.name, what)
    if not cells.tells_numbers:
        low, high = cells.bounds
        raise ReleaseError(
            f"Column '{cells.name}' was published as one value, from {low:g} to {high:g}: the release tells nothing "
            f"about its {what}."
        )
    return cells


def _side(cells: ColumnCells, places: IntArray, border: int) -> FloatArray:
    """1 for cells of numbers below a border, -1 for those above it."""
    found = np.zeros(len(cells.labels))
    found[places[:border]], found[places[border:]] = 1.0, -1.0
    return found


def _sign(number: NoisyNumber, confidence: float) -> int:
    """Whether a number is surely above 0, surely below it, or neither."""
    return 0 if abs(number.value) <= number.within(confidence) else int(np.sign(number.value))


def _middle(
    cells: ColumnCells, places: IntArray, table: NoisyTable, others: Sequence[FloatArray]
) -> tuple[float, float]:
    """The median of people spread evenly over their cells, and its error by how dense they are there."""
    unit = np.eye(len(cells.labels))
    parts = [table.sum(unit[place], *others) for place in places]
    counts = np.maximum([part.value for part in parts], 0.0)
    half = counts.sum() / 2
    place = min(int(np.searchsorted(np.cumsum(counts), half)), len(counts) - 1)
    before = float(counts[:place].sum())
    low, high = float(cells.low[places[place]]), float(cells.high[places[place]])
    here = max(float(counts[place]), 1e-9)
    value = low + (high - low) * min(max((half - before) / here, 0.0), 1.0)
    border = table.sum(_side(cells, places, place + 1), *others)
    return value, border.deviation / 2 / here * (high - low)


def _present(cells: ColumnCells) -> FloatArray:
    return cells.holds_numbers if cells.is_number else np.ones(len(cells.labels))


def _ordered(cells: ColumnCells) -> FloatArray:
    """A number for every cell: its middle, or 0 and 1 for the two values of a category."""
    if cells.is_number:
        return _numbers(cells, "correlation").middle
    if len(cells.labels) != 2:
        raise no_order(cells.name, len(cells.labels))
    return np.array([0.0, 1.0])


def _axis(cells: ColumnCells) -> tuple[tuple[float, float], ...]:
    """Where borders of cells lie among equally wide bars."""
    n, places = len(cells.labels), np.flatnonzero(cells.holds_numbers > 0)
    starts = [(float(cells.low[place]), place / n) for place in places.tolist()]
    return (*starts, (float(cells.high[places[-1]]), (int(places[-1]) + 1) / n))
