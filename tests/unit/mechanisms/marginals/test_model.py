"""The fitted distribution against one that is found by minimizing over the whole joint table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from copublish.mechanisms.marginals.model import (
    FITTED,
    SHRINKAGE,
    FittingProblem,
    MeasuredTable,
    estimated_total,
    from_units,
    in_units,
)

SIZES = (2, 3, 2)
TOTAL = 400


def noisy_tables(deviation: float, seed: int) -> tuple[MeasuredTable, ...]:
    generator = np.random.default_rng(seed)
    whole = generator.multinomial(TOTAL, generator.dirichlet(np.ones(12))).reshape(SIZES)
    found = []
    for columns in ((0, 1), (1, 2), (0, 2)):
        away = tuple(column for column in range(3) if column not in columns)
        counts = whole.sum(axis=away).ravel()
        values = np.rint(counts + generator.normal(0, deviation, counts.shape)).astype(np.int64)
        found.append(MeasuredTable(columns, values, deviation, 1.96 * deviation))
    return tuple(found)


def by_brute_force(tables: tuple[MeasuredTable, ...], total: int) -> np.ndarray:
    """Minimize the primal over all cells of the joint table, as logarithms that are normalized."""

    def cost(logs: np.ndarray) -> float:
        shares = np.exp(logs - logs.max())
        shares = (shares / shares.sum()).reshape(SIZES)
        found = total * float((shares * np.log(shares * shares.size)).sum())
        for table in tables:
            away = tuple(column for column in range(3) if column not in table.columns)
            misfit = total * shares.sum(axis=away).ravel() - table.values
            found += float(misfit @ misfit) / (2 * SHRINKAGE * table.deviation)
        return found

    best = minimize(cost, np.zeros(12), method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})
    shares = np.exp(best.x - best.x.max())
    return (shares / shares.sum()).reshape(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize(("deviation", "seed"), [(1.0, 0), (5.0, 1), (40.0, 2), (300.0, 3)])
def test_the_fit_is_the_distribution_that_minimizes_over_the_whole_table(deviation, seed) -> None:
    tables = noisy_tables(deviation, seed)
    problem = FittingProblem(SIZES, tables, TOTAL)
    state = problem.fit(np.zeros(len(problem.wanted)))
    assert problem.misfit(state) <= FITTED
    (fitted,) = state.beliefs  # three tables of three columns make one clique
    assert TOTAL * np.abs(fitted - by_brute_force(tables, TOTAL)).max() < 0.5 * deviation


def test_without_noise_the_tables_are_met() -> None:
    tables = noisy_tables(1e-3, 4)
    problem = FittingProblem(SIZES, tables, TOTAL)
    state = problem.fit(np.zeros(len(problem.wanted)))
    assert np.abs(state.answers - problem.wanted).max() < 0.1


def test_the_gradient_is_that_of_the_cost() -> None:
    problem = FittingProblem(SIZES, noisy_tables(5.0, 5), TOTAL)
    factors = np.random.default_rng(6).normal(0, 0.3, len(problem.wanted))
    state, step = problem.state(factors), 1e-5
    for place in range(len(factors)):
        moved = factors.copy()
        moved[place] += step
        slope = (problem.state(moved).cost - problem.state(2 * factors - moved).cost) / (2 * step)
        assert slope == pytest.approx(state.gradient[place], rel=1e-4, abs=1e-3)


def test_factors_in_whole_units_say_what_was_fitted() -> None:
    problem = FittingProblem(SIZES, noisy_tables(5.0, 7), TOTAL)
    fitted = problem.fit(np.zeros(len(problem.wanted)))
    assert problem.misfit(fitted) <= FITTED
    rounded = problem.state(from_units(in_units(fitted.factors)))
    assert np.abs(rounded.answers - fitted.answers).max() < 1e-3


@pytest.mark.parametrize("deviation", [1e3, 1e6])
def test_noise_that_is_larger_than_all_counts_is_fitted_as_well(deviation) -> None:
    problem = FittingProblem(SIZES, noisy_tables(deviation, 8), 1)
    assert problem.misfit(problem.fit(np.zeros(len(problem.wanted)))) <= FITTED


def test_the_total_is_the_inverse_variance_mean_of_sums_and_guess() -> None:
    first = MeasuredTable((0,), np.array([90, 30]), 10.0, 0)  # 120, variance 200
    second = MeasuredTable((1,), np.array([60, 30, 50, 0]), 5.0, 0)  # 140, variance 100
    weights = np.array([1 / 200, 1 / 100, 1 / 50**2])
    assert abs(estimated_total([first, second], 50) - weights @ [120, 140, 50] / weights.sum()) <= 1
    huge = MeasuredTable((0,), np.array([-(10**6), 0]), 1e6, 0)
    assert 40 <= estimated_total([huge], 50) <= 50  # the public guess is all that is known then
