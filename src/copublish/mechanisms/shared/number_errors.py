"""What noise on the counts of its cells does to a number, in the number's own unit. From public parameters alone.

How records are spread over the cells is private, so the errors are those of records that are spread over them evenly.
Of numbers that hardly ever reach the far cells they say too much, because what noise puts there is taken off again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from statistics import median

from copublish.agreement.columns import USUAL_CELLS
from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.round_grid import round_split_points
from copublish.kernel.accounting.formatting import NORMAL_95

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
