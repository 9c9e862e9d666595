"""Synthetic numbers from the cells of a grid that they lie in. Released values only, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import NumericalDomain
from copublish.mechanisms.shared.arrow import numbers
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
