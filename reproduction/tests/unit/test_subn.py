"""DP-SUBN3: its covering designs, sensitivities against all small neighbors, and what it publishes without noise."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from copublish.errors import AgreementError
from copublish_reproduction.hpdp import split_at_random
from copublish_reproduction.subn import (
    FRONTIER,
    SCORE_SENSITIVITY,
    Node,
    Subn,
    dependence,
    frontier,
    mutual_information,
    table_of,
    updates,
)
from copublish_reproduction.subn_design import blocks_of, covering_design, mean_noise


@pytest.mark.parametrize("n_columns", [2, 3, 16, 17, 45, 49, 52, 57, 60])
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_every_pair_of_columns_is_in_exactly_one_set(n_columns, size):
    blocks = blocks_of(range(n_columns), size)
    pairs = sorted(tuple(sorted(pair)) for block in blocks for pair in combinations(block, 2))
    assert pairs == list(combinations(range(n_columns), 2))
    assert max(len(block) for block in blocks) <= size


def test_56_columns_are_the_lines_of_a_projective_plane_of_order_7_without_a_point():
    """The plane has 57 lines of 8 points; without one point the eight through it have 7."""
    assert sorted(len(block) for block in blocks_of(range(56), 8)) == [7] * 8 + [8] * 49


def test_the_chosen_design_has_less_noise_than_one_table_for_each_pair():
    pairs = blocks_of(range(52), 2)
    assert mean_noise(pairs) == len(pairs) ** 2 == 1_326**2
    assert mean_noise(covering_design(52)) < mean_noise(pairs) / 10


def test_mutual_information_is_that_of_scikit_learn():
    generator = np.random.default_rng(1)
    first = generator.integers(0, 2, 500)
    second = np.where(generator.random(500) < 0.7, first, generator.integers(0, 2, 500))
    table = table_of(np.column_stack([first, second]), (0, 1)).reshape(2, 2)
    assert mutual_information(table) == pytest.approx(mutual_info_score(first, second) / math.log(2))
    assert mutual_information(np.zeros((2, 2))) == 0


def test_without_noise_correlations_are_those_of_all_owners_records():
    generator = np.random.default_rng(2)
    values = generator.integers(0, 2, (300, 9))
    found = Subn(math.inf).correlations([values[:100], values[100:]], generator)
    expected = [[0 if i == j else mutual_info_score(values[:, i], values[:, j]) for j in range(9)] for i in range(9)]
    assert found == pytest.approx(np.array(expected) / math.log(2), abs=1e-12)


def largest_change(most: int, denominator: int) -> float:
    """The largest change of the score by adding a record, over all tables of an attribute and one parent."""
    kinds = np.array(list(product([0, 1], repeat=2)))
    largest = 0.0
    for counts in product(range(most), repeat=4):
        if sum(counts) >= most:
            continue
        values = np.repeat(kinds, counts, axis=0)
        before = dependence(values, Node(1, (0,)), denominator)
        for record in kinds:
            after = dependence(np.vstack([values, record]), Node(1, (0,)), denominator)
            largest = max(largest, abs(after - before))
    return largest


def test_no_added_record_changes_a_score_by_more_than_its_sensitivity():
    assert 1 < largest_change(9, 9) <= SCORE_SENSITIVITY


def test_it_would_with_more_records_than_the_public_number():
    assert largest_change(9, 3) > SCORE_SENSITIVITY


def test_an_owner_with_more_records_than_its_part_is_refused():
    values = np.zeros((10, 3))
    with pytest.raises(AgreementError, match="more than 10 records"):
        Subn(1.0).publish([values, np.zeros((11, 3))], 20, np.random.default_rng(0))
    with pytest.raises(AgreementError, match="epsilon must be positive"):
        Subn(0.0)


class Recorder:
    """A generator that notes the scale and shape of its Laplace noise."""

    def __init__(self):
        self.real, self.asked = np.random.default_rng(0), []

    def laplace(self, center, scale, shape):
        self.asked.append((scale, math.prod(shape)))
        return self.real.laplace(center, scale, shape)


@pytest.mark.parametrize(("noise", "times"), [("every owner", 3), ("once", 1)])
def test_tables_of_one_stage_cost_no_more_than_its_share_of_epsilon(noise, times):
    """A record is in one cell of each table, so a table with noise of scale b costs 1 / b."""
    values = np.random.default_rng(3).integers(0, 2, (30, 5))
    owners, mechanism = [values[:10], values[10:20], values[20:]], Subn(0.8, noise)
    recorder = Recorder()
    mechanism.correlations(owners, recorder)
    assert sum(1 / scale for scale, _ in recorder.asked) == pytest.approx(times * 0.15 * 0.8)
    recorder = Recorder()
    network = [Node(0, ()), *(Node(column, (column - 1,)) for column in range(1, 5))]
    mechanism.parameters(owners, network, recorder)
    assert sum(1 / scale for scale, _ in recorder.asked) == pytest.approx(times * 0.7 * 0.8)
    assert [cells for _, cells in recorder.asked] == [2] * times + [4] * 4 * times


def test_frontiers_have_the_most_correlated_and_parents_that_come_before():
    correlations = np.zeros((5, 5))
    for strength, (first, second) in enumerate([(0, 1), (0, 2), (1, 2), (3, 4), (0, 3)]):
        correlations[first, second] = correlations[second, first] = 5 - strength
    network = [Node(0, ()), Node(1, (0,))]
    candidates = frontier(network, correlations, 2)
    assert candidates[0] == Node(2, (0, 1))
    assert len(candidates) <= FRONTIER
    assert all(set(node.parents) <= {0, 1} and node.column in {2, 3, 4} for node in candidates)
    later = [*network, Node(2, (1,)), Node(3, (2,)), Node(4, (0,))]
    changed = updates(later, 4, correlations, 1)
    assert changed[0] == later[4]
    assert Node(4, (3,)) in changed
    assert len({node.parents for node in changed}) == len(changed)


def test_without_noise_records_keep_what_goes_together():
    """A chain of columns. How often two are 1 is within 0.07 for 3,000 records (5 deviations, 1 in 10^6 a pair)."""
    generator = np.random.default_rng(4)
    values = generator.integers(0, 2, (3_000, 6)).astype(float)
    for column in range(1, 6):
        values[:, column] = np.where(generator.random(3_000) < 0.8, values[:, column - 1], values[:, column])
    owners = split_at_random(values, 3, generator)

    def off(epsilon: float) -> float:
        published = Subn(epsilon).publish(owners, 3_000, generator)
        assert published.shape == values.shape
        return float(np.abs(published.T @ published - values.T @ values).max() / 3_000)

    assert off(math.inf) < 0.07 < off(0.01)
