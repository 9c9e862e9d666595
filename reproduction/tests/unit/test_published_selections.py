"""Selections as published: the papers' own examples, naive draws, and what flooring costs (E1, E2, E8, E23)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from copublish_reproduction.arbdistdp import split_scores
from copublish_reproduction.distdiffgen import draw_split_point, split_intervals
from copublish_reproduction.findings_selections import (
    TABLE_1_AGES,
    TABLE_1_CLASSES,
    ages_table,
    example_5,
    split_point_law,
    worst_loss_of_flooring,
)
from copublish_reproduction.selection import draw, floored, literal_law, log_weights, segment_law


def test_example_5_as_printed_leaves_nobody_to_win_in_38_percent_of_draws():
    """E1. Weights 567 and 912 of 1,479: R below 567 first, R from 567 to 911 second, nobody above."""
    printed, by_running_sums = example_5()
    assert printed == pytest.approx([567 / 1479, (912 - 567) / 1479])
    assert 1 - printed.sum() == pytest.approx(0.383, abs=5e-4)
    assert by_running_sums == pytest.approx([567 / 1479, 912 / 1479])


def test_the_printed_law_is_that_of_the_printed_loop():
    """Every R below the sum of all weights, one after the other: the first cut whose own weight is above R."""
    weights = [5, 3, 8, 8, 20, 1]
    wins = [0] * len(weights)
    for r in range(sum(weights)):
        winner = next((i for i, weight in enumerate(weights) if weight > r), None)
        if winner is not None:
            wins[winner] += 1
    assert literal_law(np.log(weights)) == pytest.approx(np.array(wins) / sum(weights))


def test_one_record_gives_an_impossible_cut_a_chance():
    """E1: no finite epsilon bounds a ratio to zero."""
    assert literal_law(log_weights(np.array([10, 10]), 0.5))[1] == 0
    assert literal_law(log_weights(np.array([10, 11]), 0.5))[1] > 0.1


@pytest.mark.parametrize("winner", ["segment", "literal"])
def test_draws_follow_their_law(winner):
    """20,000 draws, 5 standard errors: a right sampler fails with probability below 10^-5. Seeded."""
    weights, generator = np.log([1.0, 4.0, 2.0, 6.0]), np.random.default_rng(1)
    law = segment_law(weights) if winner == "segment" else literal_law(weights)
    law = law / law.sum()  # the literal reading redraws while nobody wins
    drawn = np.bincount([draw(weights, generator, winner) for _ in range(20_000)], minlength=4) / 20_000
    assert np.abs(drawn - law).max() < 5 * math.sqrt(0.25 / 20_000)


@pytest.mark.parametrize(("digits", "whole"), [(1, 27), (2, 271), (3, 2718), (4, 27182)])
def test_floored_weights_are_those_of_distdiffgens_table_3(digits, whole):
    assert np.exp(floored(np.array([1.0]), digits))[0] == pytest.approx(whole)


def test_floored_weights_are_those_of_distdiffgens_example_2_and_of_exact_integers():
    scores = np.array([8, 12, 4])  # exp(4), exp(6), exp(2) at epsilon 1
    assert np.exp(log_weights(scores, 1.0, 1)) == pytest.approx([545, 4034, 73])
    assert np.exp(log_weights(scores, 1.0, 2)) == pytest.approx([5459, 40342, 738])
    assert np.exp(floored(np.zeros(1), 3))[0] == pytest.approx(1000)  # not 999
    huge = log_weights(np.array([60_000]), 1.0, 10)
    assert huge[0] == pytest.approx(30_000 + 10 * math.log(10))  # far beyond doubles, still finite


def exact_loss_of_flooring(scores: tuple[int, int], epsilon: float, digits: int) -> float:
    """Return the loss of one selection between two candidates, by their exact probabilities before and after."""
    before = segment_law(log_weights(np.array(scores), epsilon, digits))
    after = segment_law(log_weights(np.array([scores[0] + 1, scores[1] - 1]), epsilon, digits))
    return float(np.abs(np.log(after) - np.log(before)).max())


@pytest.mark.parametrize(("digits", "loss"), [(1, 0.104), (2, 0.0276)])
def test_flooring_costs_more_than_the_step_may_spend(digits, loss):
    """E23: epsilon' = 1/52 = 0.0192 for epsilon 1 on Adult; the numbers are those of an independent search."""
    epsilon = 1 / 52
    assert worst_loss_of_flooring(epsilon, digits) == pytest.approx(loss, abs=0.001)
    worst = max(exact_loss_of_flooring((score, 2000), epsilon, digits) for score in range(300))
    assert worst > 1.4 * epsilon  # by exact probabilities of two candidates, too
    assert worst <= worst_loss_of_flooring(epsilon, digits) + 1e-9


def test_flooring_is_harmless_from_four_digits_on():
    epsilon = 1 / 52
    assert worst_loss_of_flooring(epsilon, 4) < 1.01 * epsilon
    assert max(exact_loss_of_flooring((score, 2000), epsilon, 10) for score in range(300)) <= epsilon * (1 + 1e-6)


def test_split_scores_are_those_of_a_naive_loop_and_of_example_3():
    table = ages_table(TABLE_1_AGES, TABLE_1_CLASSES)
    places, scores = split_scores(table, table.top()[0])
    found = dict(zip(table.columns[0].values[places].tolist(), scores.tolist(), strict=True))
    pairs = list(zip(TABLE_1_AGES, TABLE_1_CLASSES, strict=True))
    for at in sorted(set(TABLE_1_AGES)):
        sides = ([c for a, c in pairs if a < at], [c for a, c in pairs if a >= at])
        assert found[at] == sum(max(side.count(0), side.count(1)) for side in sides)
    assert found[26] == 9  # Example 3: [1, 26) and [26, 99)


def test_a_value_that_does_not_occur_is_never_a_split_point_until_one_person_has_it():
    """E8: probability 0 against 0.11 to 0.15, whatever epsilon promises."""
    assert 30 not in split_point_law(TABLE_1_AGES, TABLE_1_CLASSES, 0.5)
    for label in (0, 1):
        law = split_point_law((*TABLE_1_AGES, 30), (*TABLE_1_CLASSES, label), 0.5)
        assert 0.10 < law[30] < 0.16
        assert sum(law.values()) == pytest.approx(1)


def test_diffgens_intervals_are_the_exponential_mechanism_on_all_whole_numbers():
    """E26: every number inside the domain, one by one, with its own score."""
    table, epsilon = ages_table(TABLE_1_AGES, TABLE_1_CLASSES), 0.7
    pairs = list(zip(TABLE_1_AGES, TABLE_1_CLASSES, strict=True))
    naive = {}
    for at in range(2, 99):
        sides = ([c for a, c in pairs if a < at], [c for a, c in pairs if a >= at])
        naive[at] = math.exp(epsilon * sum(max(s.count(0), s.count(1)) for s in sides) / 2)
    lowest, highest, scores = split_intervals(table, table.top()[0])
    ours = {
        at: math.exp(epsilon * score / 2)
        for low, high, score in zip(lowest, highest, scores, strict=True)
        for at in range(low + 1, high + 1)
    }
    assert ours == pytest.approx(naive)
    generator = np.random.default_rng(2)
    drawn = np.array([draw_split_point(table, table.top()[0], epsilon, generator)[0].high for _ in range(20_000)])
    for at in (2, 30, 98):  # 20,000 draws, 5 standard errors
        share = naive[at] / sum(naive.values())
        assert abs((drawn == at).mean() - share) < 5 * math.sqrt(share / 20_000)
