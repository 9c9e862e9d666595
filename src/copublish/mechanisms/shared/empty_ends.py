"""Cells at the ends of a grid that hold nothing but noise. Released values only."""

from __future__ import annotations

import math

import numpy as np

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.types import BoolArray, IntArray

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
