"""Axes of tables: how a table is divided into two whose product it is."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest

from copublish.agreement.axis import evenly_divided


def fewest_cells(sizes: list[int]) -> int:
    """The cells of the two tables together, the best of all ways to choose axes."""
    ways = [set(way) for length in range(1, len(sizes)) for way in combinations(range(len(sizes)), length)]
    return min(prod(sizes[i] for i in way) + prod(s for i, s in enumerate(sizes) if i not in way) for way in ways)


@pytest.mark.parametrize("seed", range(30))
def test_no_other_way_to_divide_a_table_has_fewer_cells_to_mark(seed):
    generator = np.random.default_rng(seed)
    sizes = [int(size) for size in generator.integers(2, 9, int(generator.integers(2, 9)))]
    chosen = evenly_divided(sizes)
    first = prod(sizes[number] for number in chosen)
    second = prod(sizes) // first
    assert 0 < len(chosen) < len(sizes) and list(chosen) == sorted(set(chosen))
    assert first <= second and first + second == fewest_cells(sizes)


def test_a_cut_between_neighbors_would_have_more():
    assert evenly_divided([2, 50, 2]) == (0, 2)
    assert evenly_divided([2, 7]) == (0,) and evenly_divided([7, 2]) == (1,)
