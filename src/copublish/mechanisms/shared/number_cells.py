"""Numbers in cells of a grid: synthetic values, ends that hold only noise, and errors from noise. Released values only.

Synthetic numbers are made in whole numbers. Errors are in a number's own unit, from public parameters alone. How
records are spread over the cells is private, so the errors are those of records that are spread over them evenly. Of
numbers that hardly ever reach the far cells they say too much, because what noise puts there is taken off again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from statistics import median

import numpy as np
import pyarrow as pa

from copublish.agreement.attributes import USUAL_CELLS
from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.round_grid import round_split_points
from copublish.kernel.accounting.formatting import NORMAL_95
from copublish.mechanisms.shared.post_processing import consistent_counts, numbers
from copublish.types import BoolArray, IntArray

LARGEST_EXACT = 2**53
"""Whole numbers up to this size are floating-point numbers, too."""


@dataclass(frozen=True, kw_only=True)
class InCells:
    """The cell of every record, and where in it the record lies.

    Attributes:
        cells: The code of its cell.
        places: Its place among the records that are spread over the cell together, from 0 on.
        counts: How many those are.
    """

    cells: IntArray
    places: IntArray
    counts: IntArray


def numbers_in_cells(domain: NumericalDomain, found: InCells, is_missing: BoolArray | None) -> pa.Array:
    """Numbers that are spread evenly over their cells.

    Args:
        domain: The column's public domain.
        found: Where records lie.
        is_missing: Which of them miss the number.
    """
    edges, decimals = grid_in_units(domain)
    cells = found.cells.clip(max=domain.number_codes - 1)
    start, width, parts, odd = edges[:-1][cells], np.diff(edges)[cells], 2 * found.counts, 2 * found.places + 1
    whole, rest = np.divmod(width, np.maximum(parts, 1))
    units = start + odd * whole + odd * rest // np.maximum(parts, 1)  # start + width * odd / parts, without overflow
    return numbers(domain, units, is_missing, decimals=decimals)


def mean_and_deviation(domain: NumericalDomain, counts: Sequence[int]) -> tuple[float, float]:
    """Mean and standard deviation of numbers that are spread evenly over their cells."""
    edges, decimals = grid_in_units(domain)
    total, unit = max(sum(counts), 1), float(10**decimals)
    middles = [(float(start) + float(stop) - 1) / 2 for start, stop in pairwise(edges.tolist())]
    mean = math.fsum(count * middle for count, middle in zip(counts, middles, strict=True)) / total
    squares = [
        count * ((middle - mean) ** 2 + (width**2 - 1) / 12)
        for count, middle, width in zip(counts, middles, np.diff(edges).astype(float).tolist(), strict=True)
    ]
    return mean / unit, math.sqrt(math.fsum(squares) / total) / unit


def grid_in_units(domain: NumericalDomain) -> tuple[IntArray, int]:
    """A grid's edges as whole numbers of the unit that synthetic numbers are written in, and its decimals.

    Without agreed decimals the unit is the grid's own. The last cell includes the upper bound.
    """
    edges = [domain.lower, *domain.thresholds, domain.upper]
    decimals = domain.decimals_of_numbers
    while decimals > 0 and max(abs(edge) for edge in edges) * 10**decimals >= LARGEST_EXACT:
        decimals -= 1
    units = [int((edge * Decimal(10) ** decimals).to_integral_value("ROUND_CEILING")) for edge in edges]
    return np.array([*units[:-1], units[-1] + 1], dtype=np.int64), decimals


CERTAIN_TAIL = 0.5
"""How many deviations of their noise the cells at an end of a grid have to hold together to be taken as held at all.
Large amounts are rare: noise in cells far out moves means farther than what is true there."""


def cells_between_empty_ends(noisy_counts: IntArray, deviation: float) -> BoolArray:
    """Which cells of a number stay: all but those at either end that hold no more together than noise could have made.

    Args:
        noisy_counts: Released counts of the cells in the order of the grid.
        deviation: Standard deviation of their noise.
    """
    ends = []
    for outside_in in (noisy_counts, noisy_counts[::-1]):
        held = np.cumsum(outside_in).tolist()
        ends.append(
            max((m for m, sum_ in enumerate(held, 1) if sum_ <= CERTAIN_TAIL * deviation * math.sqrt(m)), default=0)
        )
    stay = np.ones(len(noisy_counts), dtype=bool)
    if sum(ends) < len(stay):
        stay[: ends[0]] = False
        stay[len(stay) - ends[1] :] = False
    return stay


def consistent_counts_within(noisy_counts: IntArray, total: int, stay: BoolArray) -> IntArray:
    """The non-negative integers nearest to noisy counts that add up to `total`, 0 where cells do not stay."""
    found = np.zeros_like(noisy_counts)
    found[stay] = consistent_counts(noisy_counts[stay], total)
    return found


def counts_of_records(domain: Domain, noisy_counts: IntArray, total: int, *, noise: float) -> IntArray:
    """Counts that can be records, from a column's released ones.

    Args:
        domain: The column's.
        noisy_counts: Of its cells.
        total: What they shall add up to.
        noise: Its standard deviation. The ends of a number's grid stay empty where noise could have made what is there.
    """
    stay = np.ones(len(noisy_counts), dtype=bool)
    if isinstance(domain, NumericalDomain):
        numbers = slice(0, domain.number_codes)
        stay[numbers] = cells_between_empty_ends(noisy_counts[numbers], noise)
    return consistent_counts_within(noisy_counts, total, stay)


LARGE_MEAN_ERROR = 0.25
"""Of the usual distance from 0: from here on people are warned."""

LARGE_MISPLACED_SHARE = 0.1
"""Of the records, those that noise puts into another cell: from here on people are warned."""

MOST_NAMED = 6
"""Columns that a warning names."""


@dataclass(frozen=True, kw_only=True)
class NumberError:
    """What noise does to one number.

    Attributes:
        mean_within_95_percent: How far the mean is off at most in 95 of 100 cases, in the number's unit.
        usual_distance: How far half of its split points, or of those of a grid at round numbers, are from 0 or from the
            bound that is nearest to 0: what is taken for usual.
        misplaced_share: About which share of the records noise puts into another cell.
    """

    mean_within_95_percent: float
    usual_distance: float
    misplaced_share: float

    @staticmethod
    def of(domain: NumericalDomain, *, deviation: float, records: int) -> NumberError:
        """What noise of this deviation on the count of every cell does, among so many records."""
        edges = [float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)]
        middles = [(start + stop) / 2 for start, stop in pairwise(edges)]
        center = math.fsum(middles) / len(middles)
        lever = math.sqrt(math.fsum((middle - center) ** 2 for middle in middles))
        anchor = min(max(0.0, edges[0]), edges[-1])
        usual = round_split_points(domain.lower, domain.upper, cells=USUAL_CELLS, decimals=domain.decimals)
        # An agreed grid that is too coarse says nothing about what is usual.
        grids = [points for points in (domain.thresholds, usual) if points]
        return NumberError(
            mean_within_95_percent=NORMAL_95 * deviation / records * lever,
            usual_distance=min(median(abs(float(point) - anchor) for point in points) for points in grids),
            # Noise moves a count by 0.7 to 0.8 deviations on average, and every record that moves is counted twice.
            misplaced_share=0.75 * deviation / records * domain.size / 2,
        )

    @property
    def is_large(self) -> bool:
        """Whether the mean may be off by a good part of what is usual."""
        return self.mean_within_95_percent > LARGE_MEAN_ERROR * self.usual_distance


def number_errors(
    columns: Mapping[str, Domain], deviations: Mapping[str, float], *, records: int
) -> dict[str, NumberError]:
    """What noise does to every number.

    Args:
        columns: The columns' public domains.
        deviations: Standard deviation of the noise on the count of every cell, in people.
        records: About how many there are.
    """
    return {
        name: NumberError.of(domain, deviation=deviations[name], records=records)
        for name, domain in columns.items()
        if isinstance(domain, NumericalDomain)
    }


def rounded_means(errors: Mapping[str, NumberError]) -> dict[str, float]:
    """How far every mean is off at most in 95 of 100 cases, with three digits that count."""
    return {name: float(f"{error.mean_within_95_percent:.3g}") for name, error in errors.items()}


def number_warnings(errors: Mapping[str, NumberError], *, records: int) -> Iterator[str]:
    """Yield a sentence about the numbers whose mean, or whose spread, noise makes meaningless."""
    large = {name: error for name, error in errors.items() if error.is_large}
    if large:
        named = [
            f"{name} {shown(error.mean_within_95_percent)} (usual: {shown(error.usual_distance)})"
            for name, error in _largest(large)
        ]
        yield (
            f"With about {records:,} records and this epsilon, noise moves the means of these numbers by up to, in 95 "
            f"of 100 cases: {', '.join(named)}{_and_more(large)}. Usual is how far half of the split points of a grid "
            "at round numbers, or of the agreed one, are from 0 or from the bound next to it. Raise epsilon, narrow "
            "the bounds, take fewer cells or columns, or do not use these means."
        )
    misplaced = {name: error for name, error in errors.items() if error.misplaced_share > LARGE_MISPLACED_SHARE}
    if misplaced:
        named = [f"{name} {min(error.misplaced_share, 1.0):.0%}" for name, error in _largest(misplaced)]
        yield (
            f"With about {records:,} records and this epsilon, noise puts a part of the records into other cells of "
            f"these numbers: {', '.join(named)}{_and_more(misplaced)}. Raise epsilon, take coarser grids, or leave "
            "columns out."
        )


def _largest(errors: Mapping[str, NumberError]) -> list[tuple[str, NumberError]]:
    return sorted(errors.items(), key=lambda item: -item[1].misplaced_share)[:MOST_NAMED]


def _and_more(errors: Mapping[str, NumberError]) -> str:
    return f", and {len(errors) - MOST_NAMED} more" if len(errors) > MOST_NAMED else ""


def shown(number: float) -> str:
    """A number with two digits that count, without an exponent: 930, 1,200, 0.034."""
    return f"{Decimal(f'{number:.2g}'):,f}"
