"""Junction trees against sums over the whole joint table, which small domains allow."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.mechanisms.marginals.junction_tree import Columns, JunctionTree, cliques_of, marginals, most_cells


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[Columns]]:
    """A few columns with few cells each, and tables of one to three of them."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    columns = st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=3, unique=True)
    tables = draw(st.lists(columns.map(lambda table: tuple(sorted(table))), min_size=1, max_size=7))
    return sizes, tables


def whole_table(sizes: list[int], tables: list[Columns], factors: list[np.ndarray]) -> np.ndarray:
    """The product of all factors, cell by cell."""
    found = np.ones(sizes)
    for cell in np.ndindex(*sizes):
        for table, factor in zip(tables, factors, strict=True):
            found[cell] *= factor[tuple(cell[column] for column in table)]
    return found


def calibrated(
    sizes: list[int], tables: list[Columns], factors: list[np.ndarray]
) -> tuple[JunctionTree, list[np.ndarray], float]:
    tree = JunctionTree.of(sizes, tables)
    potentials = [np.ones([sizes[column] for column in clique]) for clique in tree.cliques]
    for table, factor in zip(tables, factors, strict=True):
        home = tree.home(table)
        assert home is not None
        potentials[home] = potentials[home] * factor.reshape(tree.shape_in(table, tree.cliques[home]))
    return tree, *tree.calibrated(potentials)


@given(graphs())
def test_cliques_hold_every_table_and_hang_together(graph) -> None:
    sizes, tables = graph
    tree = JunctionTree.of(sizes, tables)
    assert all(any(set(table) <= set(clique) for clique in tree.cliques) for table in tables)
    assert set().union(*tree.cliques) == set(range(len(sizes)))
    assert not any(set(a) <= set(b) for a, b in combinations(tree.cliques, 2))
    for column in range(len(sizes)):  # those that hold a column are one subtree: all but one hang on another of them
        holders = {number for number, clique in enumerate(tree.cliques) if column in clique}
        assert sum(tree.parents[number] not in holders for number in holders) == 1


@given(graphs(), st.integers(0, 2**32 - 1))
def test_marginals_of_any_columns_are_those_of_the_whole_table(graph, seed) -> None:
    sizes, tables = graph
    generator = np.random.default_rng(seed)
    factors = [generator.uniform(0.01, 2, [sizes[column] for column in table]) for table in tables]
    tree, beliefs, log_sum = calibrated(sizes, tables, factors)
    whole = whole_table(sizes, tables, factors)
    assert log_sum == pytest.approx(np.log(whole.sum()), abs=1e-9)
    asked = [columns for n in (1, 2, 3) for columns in combinations(range(len(sizes)), n)]
    for columns, found in zip(asked, marginals(tree, beliefs, asked), strict=True):
        away = tuple(column for column in range(len(sizes)) if column not in columns)
        assert found == pytest.approx((whole / whole.sum()).sum(axis=away), abs=1e-12)


def test_cells_that_cannot_be_reached_are_zero_and_not_nan() -> None:
    factors = [np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [3.0, 1.0]])]
    tree, beliefs, _ = calibrated([2, 2, 2], [(0, 1), (1, 2)], factors)
    (found,) = marginals(tree, beliefs, [(0, 2)])
    assert found.tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_a_model_of_which_nothing_is_left_is_refused() -> None:
    with pytest.raises(FloatingPointError):
        calibrated([2, 2], [(0, 1)], [np.zeros((2, 2))])


def test_numbers_of_cells_do_not_overflow_so_the_class_goes_last() -> None:
    """40 columns of 1,000 cells with a class: their product has 120 digits, and 64 bits would pick the class first."""
    sizes = [1000] * 40 + [2]
    cliques = cliques_of(sizes, [(column, 40) for column in range(40)])
    assert sorted(cliques) == [(column, 40) for column in range(40)]


@pytest.mark.parametrize("n", [4, 7])
def test_a_ring_is_triangulated(n) -> None:
    sizes = [3] * n
    tree = JunctionTree.of(sizes, [tuple(sorted((i, (i + 1) % n))) for i in range(n)])
    assert most_cells(sizes, list(tree.cliques)) == 27 and len(tree.cliques) == n - 2
    assert sum(prod(sizes[column] for column in clique) for clique in tree.cliques) == 27 * (n - 2)
