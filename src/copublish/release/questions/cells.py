"""Published cells of columns, and tables of noisy counts over them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.errors import ReleaseError
from copublish.release.questions.estimate import published_values
from copublish.release.questions.noisy import NoisyNumber
from copublish.types import FloatArray

CUT = re.compile(r"\s*(?P<sign><=|>=|<|>)\s*(?P<number>[+-]?\d+(\.\d+)?)\s*")
"""A condition on numbers, as in "< 33"."""


@dataclass(frozen=True)
class ColumnPart:
    """Which part of a column's cells has some values.

    Attributes:
        likely: Of each cell, if its people are spread evenly over its numbers.
        least: The least that is possible.
        most: The most.
        cut: The cells of which it is not known.
    """

    likely: FloatArray
    least: FloatArray
    most: FloatArray
    cut: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnCells:
    """The published cells of a column, in agreed order.

    Attributes:
        name: The column.
        labels: How every cell is named.
        is_number: Whether cells are intervals of numbers.
        low: The smallest number that may be in each; nothing sensible for categories and missing numbers.
        high: The largest. With agreed decimals a cell of one number has it at both ends, else cells are intervals.
        middle: The mean of the numbers in each that have the column's decimals, those agreed or those of its grid.
        holds_numbers: Which of them are intervals; no cell of a category is one.
        mixes_missing: Whether a cell holds numbers and missing ones alike.
        unit: One of the last decimal that numbers have.
        is_exact: Whether the agreement says that they have no more decimals.
    """

    name: str
    labels: tuple[str, ...]
    is_number: bool
    low: FloatArray
    high: FloatArray
    middle: FloatArray
    holds_numbers: FloatArray
    mixes_missing: bool = False
    unit: float = 1.0
    is_exact: bool = False

    @staticmethod
    def of(domain: Domain, parts: Sequence[CodeRange] | None = None) -> ColumnCells:
        """The cells of a domain: every code, or the published runs of codes."""
        runs = [(code, code + 1) for code in range(domain.size)] if parts is None else list(parts)
        labels = tuple(domain.label(run) for run in runs)
        if isinstance(domain, CategoricalDomain):
            zeros = np.zeros(len(runs))
            return ColumnCells(domain.name, labels, False, zeros, zeros, zeros, zeros)
        numbers = [start < domain.number_codes for start, _ in runs]
        inside = [run if there else (0, 1) for run, there in zip(runs, numbers, strict=True)]
        written = [domain.first_and_last(run) for run in inside]
        low, high = _columns(written if domain.decimals is not None else [domain.bounds(run) for run in inside])
        (middle,) = _columns([((first + last) / 2,) for first, last in written])
        mixes = any(there and stop > domain.number_codes for (_, stop), there in zip(runs, numbers, strict=True))
        unit = 10.0**-domain.decimals_of_numbers
        there = np.array(numbers, dtype=np.float64)
        is_exact = domain.decimals is not None
        return ColumnCells(domain.name, labels, True, low, high, middle, there, mixes, unit, is_exact)

    @property
    def width(self) -> FloatArray:
        """How many numbers with the column's decimals are in each cell, times their unit."""
        return 2 * (self.middle - self.low) + self.unit

    def spread_inside(self, cell: int, part: float) -> float:
        """The number that a part of a cell's people have at most, if they are spread evenly over its numbers."""
        steps = int(part * self.width[cell] / self.unit + 1e-9)
        return float(self.low[cell] + min(steps * self.unit, self.width[cell] - self.unit))

    @property
    def tells_numbers(self) -> bool:
        """Whether cells say anything about single numbers: there are several intervals, and none hides missing ones."""
        return self.is_number and not self.mixes_missing and int(self.holds_numbers.sum()) > 1

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers lie."""
        there = self.holds_numbers > 0
        return float(self.low[there].min()), float(self.high[there].max())

    def part(self, values: str | Sequence[str]) -> ColumnPart:
        """The part of every cell that has some values, or fulfils a condition such as "< 33".

        Raises:
            ReleaseError: If a value was not published.
        """
        condition = CUT.fullmatch(values) if isinstance(values, str) and self.is_number else None
        if condition is None or values in self.labels:
            whole = self.chosen(values)
            return ColumnPart(whole, whole, whole)
        at, sign = float(condition["number"]), condition["sign"]
        # Where numbers below the cut end: with "<" and ">=" the number itself is not among them.
        below = np.array([self._share_below(cell, at, with_it=sign in ("<=", ">")) for cell in range(len(self.labels))])
        shares = below if sign in ("<", "<=") else 1 - below[:, [0, 2, 1]]
        likely, least, most = (own * self.holds_numbers for own in shares.T)
        cut = tuple(label for label, low, high in zip(self.labels, least, most, strict=True) if low < high)
        return ColumnPart(likely, least, most, cut)

    def _share_below(self, cell: int, at: float, *, with_it: bool) -> tuple[float, float, float]:
        """The share of a cell's numbers below a cut: if they are spread evenly, at least, and at most."""
        low, high, n = float(self.low[cell]), float(self.high[cell]), round(self.width[cell] / self.unit)
        steps = (at - low) / self.unit
        numbers = math.floor(steps + 1e-9) + 1 if with_it else math.ceil(steps - 1e-9)
        share = min(max(numbers / n, 0.0), 1.0)
        if self.is_exact:
            return share, float(share == 1), float(share > 0)
        # An interval reaches up to the next one and does not have its upper end, but for the last.
        ends_below = at >= high if with_it or high < self.bounds[1] else at > high
        begins_above = at < low if with_it else at <= low
        return share, float(ends_below), float(not begins_above)

    def condition(self, values: str | Sequence[str]) -> FloatArray:
        """1 for every cell of some values, or of a condition such as "< 30" that ends where a cell does.

        Raises:
            ReleaseError: If a value was not published, or a condition ends inside a cell.
        """
        part = self.part(values)
        if part.cut:
            raise ReleaseError(
                f"'{self.name} {values}' ends inside the cell {part.cut[0]}, and within a cell nobody was counted. "
                "Take a number at which a cell begins."
            )
        return part.least

    def chosen(self, values: str | Sequence[str]) -> FloatArray:
        """1 for every cell of some values, 0 for the others.

        Raises:
            ReleaseError: If a value was not published.
        """
        wanted = published_values(self.name, self.labels, values)
        return np.array([float(label in wanted) for label in self.labels])


def _columns(rows: Sequence[Sequence[Decimal]]) -> list[FloatArray]:
    """Decimals, a column at a time."""
    return [np.array([float(number) for number in column]) for column in zip(*rows, strict=True)]


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
