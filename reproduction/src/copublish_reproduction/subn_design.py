"""Non-overlapping covering designs: sets of columns such that every two columns are together in exactly one of them.

DP-SUBN3 takes the tables of all pairs of columns from noisy tables of such sets. Few large sets share epsilon among
few tables; small sets have few cells to add up for a pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

LARGEST_BLOCK = 8
"""256 cells of binary columns; beyond, the cells to add up outweigh that there are fewer tables."""

Block = tuple[int, ...]


def covering_design(n_columns: int) -> list[Block]:
    """The design, among those with up to 2, 3, ... columns in a set, whose pair tables have the least noise on average.

    It depends on the number of columns alone.
    """
    sizes = range(2, LARGEST_BLOCK + 1)
    return min((blocks_of(range(n_columns), size) for size in sizes), key=mean_noise)


def blocks_of(columns: Sequence[int], size: int) -> list[Block]:
    """Sets of at most `size` columns that have every pair of the given ones exactly once.

    Columns are put into `size` groups, at most q + 1 for a prime q. Lines through the grid, one column of each group,
    have every pair of different groups once: two points fix a slope and an offset modulo q, and in group q the place is
    the slope itself. Pairs inside a group follow by covering each group in the same way.
    """
    if len(columns) <= size:
        return [tuple(columns)] if len(columns) > 1 else []
    groups = [columns[start::size] for start in range(size)]
    order = _prime_from(max(size - 1, len(groups[0])))
    lines = []
    for slope in range(order):
        for offset in range(order):
            places = [(slope * number + offset) % order if number < order else slope for number in range(size)]
            line = tuple(group[place] for group, place in zip(groups, places, strict=True) if place < len(group))
            if len(line) > 1:
                lines.append(line)
    return lines + [block for group in groups for block in blocks_of(group, size)]


def mean_noise(blocks: Sequence[Block]) -> float:
    """Variance of a cell of a pair's table, mean over all pairs, in units of one table with all of epsilon.

    A person is in every set's table, so each has 1 / number of sets of epsilon; a cell of a pair is the sum of all
    cells that differ in the other columns.
    """
    pairs = [(comb(len(block), 2), 1 << (len(block) - 2)) for block in blocks]
    return len(blocks) ** 2 * sum(number * cells for number, cells in pairs) / sum(number for number, _ in pairs)


def _prime_from(start: int) -> int:
    """The smallest prime that is at least `start`."""
    return next(n for n in range(max(start, 2), 2 * start + 2) if all(n % factor for factor in range(2, n)))
