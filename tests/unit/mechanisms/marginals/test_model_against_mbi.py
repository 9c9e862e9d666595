"""Our model beside `mbi`, the library of AIM and MST, on graphs whose joint table nobody writes down.

It computes in 32-bit floating point, so answers are compared up to a hundredth of a record in ten thousand.
"""

from __future__ import annotations

from itertools import combinations

import mbi
import numpy as np
import pytest
from mbi.marginal_oracles import message_passing_stable

from copublish.mechanisms.marginals.junction_tree import Columns, marginals
from copublish.mechanisms.marginals.model import FittingProblem, MeasuredTable

pytestmark = pytest.mark.slow  # another library

SIZES = (4, 3, 5, 2, 6, 3, 4, 5, 3, 2)
TOTAL = 10_000
WITH_CYCLES: tuple[Columns, ...] = (
    *((column, 9) for column in range(9)),
    *((column, column + 1) for column in range(8)),
    *((0, 4), (2, 6), (1, 5, 8)),
)
"""Every column with the last one, neighbors, and tables that close cycles: 259,200 cells in all."""

DOMAIN = mbi.Domain([str(column) for column in range(len(SIZES))], SIZES)


def names(columns: Columns) -> tuple[str, ...]:
    return tuple(str(column) for column in columns)


def shape(columns: Columns) -> list[int]:
    return [SIZES[column] for column in columns]


def measured(records: np.ndarray, columns: Columns) -> MeasuredTable:
    codes = np.ravel_multi_index([records[:, column] for column in columns], shape(columns))
    return MeasuredTable(columns, np.bincount(codes, minlength=np.prod(shape(columns))), 1e-3, 1e-3)


def records_of_a_chain(n: int) -> np.ndarray:
    """Records in which each column follows the one before, and most follow the last."""
    generator = np.random.default_rng(3)
    found = [generator.integers(0, size, n) for size in SIZES]
    for column in range(1, len(SIZES)):
        follows = generator.random(n) < 0.6
        found[column] = np.where(follows, found[column - 1] % SIZES[column], found[column])
    return np.stack(found, axis=1)


def test_beliefs_are_those_of_mbi_for_the_same_factors() -> None:
    generator = np.random.default_rng(2)
    tables = tuple(MeasuredTable(c, np.zeros(np.prod(shape(c)), dtype=np.int64), 1.0, 1.96) for c in WITH_CYCLES)
    problem = FittingProblem(SIZES, tables, TOTAL)
    factors = generator.normal(0, 1, len(problem.wanted))
    parts = np.split(factors, np.cumsum([len(table.values) for table in tables])[:-1])
    arrays = {
        names(c): mbi.Factor(DOMAIN.project(names(c)), part.reshape(shape(c)))
        for c, part in zip(WITH_CYCLES, parts, strict=True)
    }
    potentials = mbi.CliqueVector(DOMAIN, list(arrays), arrays)
    expected = message_passing_stable(potentials, total=TOTAL)
    found = problem.state(factors).answers
    assert found == pytest.approx(np.concatenate([expected[clique].datavector() for clique in arrays]), abs=0.01)
    other = problem.state(factors + generator.normal(0, 0.001, len(factors))).answers
    assert np.abs(found - other).max() > 0.01  # the comparison sees a change in the third decimal of the factors


def test_what_no_table_shows_follows_as_in_mbi() -> None:
    """Exact tables have one distribution of most entropy, whoever fits it: pairs that were not measured agree."""
    chain = tuple((column, column + 1) for column in range(len(SIZES) - 1))
    tables = tuple(measured(records_of_a_chain(TOTAL), columns) for columns in chain)
    problem = FittingProblem(SIZES, tables, TOTAL)
    state = problem.fit(np.zeros(len(problem.wanted)))
    others = [pair for pair in combinations(range(len(SIZES)), 2) if pair not in chain][::12]  # each takes mbi a while
    found = [TOTAL * answer for answer in marginals(problem.tree, state.beliefs, others)]
    wanted = [mbi.LinearMeasurement(table.values, names(table.columns), stddev=1.0) for table in tables]
    reference = mbi.estimation.mirror_descent(DOMAIN, wanted, known_total=TOTAL, iters=400)
    for pair, own in zip(others, found, strict=True):
        expected = np.asarray(reference.project(names(pair)).datavector()).reshape(own.shape)
        assert np.abs(own - expected).max() < TOTAL / 1000, pair
    independent = np.outer(found[0].sum(axis=1), found[0].sum(axis=0)) / TOTAL
    assert np.abs(found[0] - independent).max() > TOTAL / 100  # columns two steps apart still go together
