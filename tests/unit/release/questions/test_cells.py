"""Published cells and tables of noisy counts, against loops over records and over simulated noise.

Noise is simulated 5,000 times with a fixed seed. Variances and covariances are compared within 6 standard errors: with
another seed a comparison would fail by chance less often than once in 10^8 times, and there are about 30.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from copublish.agreement.domain import CategoricalDomain, TaxonomyNode
from copublish.errors import ReleaseError
from copublish.release.questions.cells import ColumnCells, NoisyTable, OtherTotal
from support.published import category, numbers

JOB = CategoricalDomain(
    "job",
    TaxonomyNode("any", (TaxonomyNode("worker", (TaxonomyNode("cook"), TaxonomyNode("clerk"))), TaxonomyNode("vet"))),
)
AGE = numbers("age", 18, 30, 60, 99, missing=True)

SIMULATED, FAR = 5_000, 6.0


def test_each_code_is_a_cell_unless_values_were_generalized() -> None:
    cells = ColumnCells.of(AGE)
    assert cells.labels == ("[18, 30)", "[30, 60)", "[60, 99]", "(missing)")
    assert cells.low[:3].tolist() == [18, 30, 60] and cells.high[:3].tolist() == [30, 60, 99]
    assert cells.middle[:3].tolist() == [np.arange(18, 30).mean(), np.arange(30, 60).mean(), np.arange(60, 100).mean()]
    assert cells.holds_numbers.tolist() == [1, 1, 1, 0] and cells.bounds == (18, 99)
    assert cells.tells_numbers and not cells.mixes_missing
    generalized = ColumnCells.of(AGE, [(0, 2), (2, 3), (3, 4)])
    assert generalized.labels == ("[18, 60)", "[60, 99]", "(missing)")
    assert generalized.middle[:2].tolist() == [38.5, 79.5] and generalized.bounds == (18, 99)


def test_a_cell_of_whole_numbers_begins_and_ends_with_one_if_the_agreement_says_so() -> None:
    cells = ColumnCells.of(replace(AGE, decimals=0))
    assert cells.low[:3].tolist() == [18, 30, 60] and cells.high[:3].tolist() == [29, 59, 99]
    assert cells.bounds == (18, 99) and cells.middle[:3].tolist() == ColumnCells.of(AGE).middle[:3].tolist()
    visits = ColumnCells.of(numbers("visits", 0, 1, 2, 3, 9, decimals=0))
    assert visits.low.tolist() == [0, 1, 2, 3] and visits.high.tolist() == [*visits.middle.tolist()[:3], 9]
    assert visits.middle.tolist() == [0, 1, 2, 6]
    halves = ColumnCells.of(numbers("x", 0, "0.5", 2, decimals=1), [(0, 1), (1, 2)])
    assert halves.middle.tolist() == pytest.approx([0.2, np.arange(5, 21).mean() / 10])
    assert halves.high.tolist() == [0.4, 2]


def test_people_are_spread_evenly_over_the_numbers_of_a_cell() -> None:
    cells = ColumnCells.of(numbers("x", 0, 4, 9, decimals=0))
    people = sorted([0, 1, 2, 3] * 25)
    for part in (0.0, 0.1, 0.26, 0.5, 0.74, 0.99):
        assert cells.spread_inside(0, part) == people[int(part * 100)]
    assert cells.spread_inside(0, 1.0) == 3 and cells.spread_inside(1, 1.0) == 9


def test_cells_of_categories_are_named_as_the_taxonomy_does_and_hold_no_numbers() -> None:
    cells = ColumnCells.of(JOB, [(0, 2), (2, 3)])
    assert cells.labels == ("worker", "vet")
    assert not cells.is_number and not cells.tells_numbers and not cells.holds_numbers.any()


@pytest.mark.parametrize(
    ("parts", "tells"),
    [([(0, 3), (3, 4)], False), ([(0, 1), (1, 4)], False), ([(0, 1), (1, 3), (3, 4)], True), ([(0, 4)], False)],
)
def test_numbers_are_told_by_several_intervals_without_missing_ones(parts: list[tuple[int, int]], tells: bool) -> None:
    assert ColumnCells.of(AGE, parts).tells_numbers == tells


def test_chosen_cells_are_those_of_the_named_values() -> None:
    cells = ColumnCells.of(AGE)
    assert cells.chosen("[30, 60)").tolist() == [0, 1, 0, 0]
    assert cells.chosen(["(missing)", "[18, 30)", "(missing)"]).tolist() == [1, 0, 0, 1]
    with pytest.raises(ReleaseError, match=r"no published value '45'. It has '\[18, 30\)'"):
        cells.chosen("45")


# --- Tables ----------------------------------------------------------------------------------------------------------

COLUMNS = (ColumnCells.of(category("a", "x", "y", "z")), ColumnCells.of(category("b", "p", "q")))


def counted(people: np.ndarray) -> np.ndarray:
    """How many people are in every cell, one after the other."""
    counts = np.zeros((3, 2))
    for a, b in people:
        counts[a, b] += 1
    return counts


def test_a_sum_of_cells_is_a_sum_over_people() -> None:
    generator = np.random.default_rng(2)
    people = np.stack([generator.integers(0, 3, 90), generator.integers(0, 2, 90)], axis=1)
    table = NoisyTable(COLUMNS, counted(people), 1.0, 0.0)
    for _ in range(20):
        f, g = generator.normal(size=3), generator.normal(size=2)
        assert table.sum(f, g).value == pytest.approx(sum(f[a] * g[b] for a, b in people))
    assert table.sum(*table.all_cells).value == 90


def simulated(other: OtherTotal | None, weights: list[list[np.ndarray]], generator: np.random.Generator) -> np.ndarray:
    """Sums of a table of which every count, and the other total, has fresh noise, shape (n_sums, SIMULATED)."""
    truth, deviation, found = np.array([[40.0, 3], [0, 25], [12, 20]]), 4.0, []
    noise = generator.laplace(0, deviation / np.sqrt(2), (SIMULATED, 3, 2))
    noise_of_total = generator.normal(0, 0.0 if other is None else other.deviation, SIMULATED)
    for own, of_total in zip(noise, noise_of_total, strict=True):
        total = None if other is None else OtherTotal(100 + of_total, other.deviation)
        table = NoisyTable(COLUMNS, truth + own, deviation, 3.0, total)
        found.append([table.sum(*pair).value for pair in weights])
    return np.array(found).T


@pytest.mark.parametrize(
    "other", [None, OtherTotal(100.0, 0.0), OtherTotal(100.0, 3.0)], ids=["none", "public", "noisy"]
)
def test_the_stated_noise_of_sums_is_that_of_simulated_noise(other: OtherTotal | None) -> None:
    """Means are the table's own, variances and covariances those of the loads, with another total and without."""
    generator = np.random.default_rng(4)
    weights = [
        [np.array([1.0, 0, 0]), np.array([1.0, 0])],
        [np.array([1.0, 0, 0]), np.ones(2)],
        [np.array([0.5, 2, -1]), np.array([3.0, 1])],
        [np.ones(3), np.ones(2)],
    ]
    found = simulated(other, weights, generator)
    table = NoisyTable(COLUMNS, np.array([[40.0, 3], [0, 25], [12, 20]]), 4.0, 3.0, other)
    stated = [table.sum(*pair) for pair in weights]
    covariances = np.array([[float(one.loads @ two.loads) for two in stated] for one in stated])
    variances = np.diag(covariances)
    errors = np.sqrt(variances / SIMULATED) + 1e-9
    assert (np.abs(found.mean(axis=1) - [number.value for number in stated]) <= FAR * errors).all()
    # A sample covariance of normal noise varies by this; Laplace noise has at most 2.5 times its fourth moments.
    spread = np.sqrt((np.outer(variances, variances) + covariances**2) * 2.5 / SIMULATED) + 1e-9
    assert (np.abs(np.cov(found) - covariances) <= FAR * spread).all()
    # The comparison can fail: noise of a deviation that is off by 30 % is noticed.
    assert not (np.abs(np.cov(found) * 1.3**2 - covariances) <= FAR * spread).all()


def test_another_total_is_weighted_by_how_exact_it_is() -> None:
    """Everybody is then the mean of two independent totals: 6 cells of variance 16, and one of variance 9."""
    table = NoisyTable(COLUMNS, np.full((3, 2), 20.0), 4.0, 3.0, OtherTotal(100.0, 3.0))
    everybody, weights = table.sum(*table.all_cells), np.array([1 / (6 * 16), 1 / 9])
    assert everybody.variance == pytest.approx(1 / weights.sum())
    assert everybody.value == pytest.approx(weights @ [120, 100] / weights.sum())


def test_the_excess_of_a_sum_is_that_of_simulated_noise() -> None:
    """Kurtosis of Laplace noise on two cells is half of that on one: 1.5 within 6 standard errors of a simulation."""
    generator = np.random.default_rng(5)
    pair = [np.array([1.0, 1, 0]), np.array([1.0, 0])]
    (found,) = simulated(None, [pair], generator)
    z = (found - found.mean()) / found.std()
    table = NoisyTable(COLUMNS, np.zeros((3, 2)), 4.0, 3.0)
    assert table.sum(*pair).own_excess == pytest.approx(1.5)
    assert abs((z**4).mean() - 3 - 1.5) <= FAR * np.std(z**4) / np.sqrt(SIMULATED)
