"""What one party of the published protocols learns of the other's data (E5, E7, E17)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from copublish_reproduction.arbdistdp import ArbDistDP
from copublish_reproduction.findings_selections import TABLE_1_AGES, TABLE_1_CLASSES, ages_table
from copublish_reproduction.findings_views import (
    delta_of_half_noise,
    epsilon_of_half_noise,
    half_noise,
    half_noise_density,
    share_learned,
)
from copublish_reproduction.leaks import LeakLog, learned_intervals, majorities, merge_transcript


def test_one_record_flips_the_majority_that_both_parties_see():
    """E5: the bit is 0 with probability 1 on one table and 1 with probability 1 on its neighbor."""
    counts = np.array([[5, 5], [3, 1]])  # two children of a cut, by class
    with_one_more = counts + np.array([[0, 1], [0, 0]])
    assert majorities(counts).tolist() == [0, 0]
    assert majorities(with_one_more).tolist() == [1, 0]


def test_a_run_opens_a_majority_for_both_sides_of_every_step_of_the_cursors():
    """E5, E7: counted by the printed loop of Algorithm 4 itself."""
    table = ages_table(TABLE_1_AGES, TABLE_1_CLASSES)
    is_first = np.array([[False], [True], [True], [False], [False], [True], [False], [True], [True], [True]])
    leaks = LeakLog(table, is_first)
    leaks.merge_lists(table.top()[0])
    first, second = (sorted(np.array(TABLE_1_AGES)[mask[:, 0]].tolist()) for mask in (is_first, ~is_first))
    steps = i = j = 0
    while i < len(first) or j < len(second):
        a = first[i] if i < len(first) else 999
        b = second[j] if j < len(second) else 999
        i, j, steps = i + (a <= b), j + (b <= a), steps + 1
    assert (leaks.order_bits, leaks.majority_bits) == (steps, 2 * steps)
    ArbDistDP(1.0, rounds=1).specialize(table, np.random.default_rng(0), leaks)
    assert leaks.majority_bits > 4 * steps


def consistent_lists(first, transcript, n_second, low, high):
    """Every sorted list of the other party with which the comparisons come out the same."""
    for second in itertools.combinations_with_replacement(range(low, high), n_second):
        if merge_transcript(first, second) == transcript:
            yield second


@pytest.mark.parametrize("seed", range(12))
def test_what_is_learned_from_the_merge_is_what_no_other_list_explains(seed):
    """E7: the interval of each value is exactly the range over all lists that give the same transcript."""
    generator = np.random.default_rng(seed)
    first = sorted(generator.integers(0, 7, generator.integers(1, 5)).tolist())
    second = sorted(generator.integers(0, 7, 3).tolist())
    transcript = merge_transcript(first, second)
    learned = learned_intervals(first, transcript, len(second), 0, 7)
    explained = list(consistent_lists(first, transcript, len(second), 0, 7))
    assert tuple(second) in explained
    for place, (low, high) in enumerate(learned):
        assert (low, high - 1) == (min(e[place] for e in explained), max(e[place] for e in explained))


def test_ages_of_many_people_are_learned_almost_all():
    """E7 on made-up ages: 20,000 people between 17 and 90, cells split at random."""
    generator = np.random.default_rng(3)
    table = ages_table(np.clip(generator.normal(38, 13, 20_000).astype(int), 17, 90), np.zeros(20_000, dtype=int))
    assert share_learned(table, 0, generator.random(20_000) < 0.5) > 0.995
    few = ages_table([20, 40, 60, 80], [0, 0, 1, 1])
    assert share_learned(few, 0, np.array([True, False, False, True])) == 0  # and it need not be so


@pytest.mark.parametrize(("epsilon", "delta", "worst"), [(0.1, 0.053, 1.28), (0.5, 0.15, 1.98), (1.0, 0.22, 2.49)])
def test_half_of_the_noise_hides_far_less_than_promised(epsilon, delta, worst):
    """E17: delta at the promised epsilon / 2, and epsilon at delta = 10^-5."""
    assert delta_of_half_noise(epsilon, epsilon / 2) == pytest.approx(delta, abs=0.005)
    assert epsilon_of_half_noise(epsilon, 1e-5) == pytest.approx(worst, abs=0.01)


def test_the_density_of_half_of_the_noise_is_that_of_its_samples():
    """Shares of 10^6 seeded samples in five intervals against the integral; 5 standard errors."""
    samples = half_noise(0.5, (10**6,), np.random.default_rng(4))
    for low, high in ((0.01, 0.1), (0.1, 1), (1, 3), (3, 10), (-2, -0.5)):
        x = np.linspace(low, high, 20_001)
        share = np.trapz(half_noise_density(x, 0.5), x)
        assert abs(((samples > low) & (samples < high)).mean() - share) < 5 * np.sqrt(share / 10**6)
