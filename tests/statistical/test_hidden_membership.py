"""Guesses of who is on the other owner's list, where membership is hidden, are no better than epsilon allows.

An owner lists 15 chosen people in 200 comparisons. In each the other owner lists each of them with probability 1/2, and
the number that the first owner learns has the other's noise at epsilon 1. It guesses each person from that number, and
from the other 14, which it is told. Whoever guesses from something that is (epsilon, delta) private is right with
probability at most (e^epsilon + delta) / (e^epsilon + 1): 0.7312 here.

Sampled: 4 * 10^4 draws of the law with 15 guesses of each, and 200 joins by the released code. Guesses of one
comparison share its noise, so draws are compared by the bound for 4 * 10^4 numbers between 0 and 1 (Hoeffding, error
rate 10^-7). Joins have a seed; three standard errors of 200 of them are 0.06.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from copublish.engines.comparing.hidden_join import TwoOwnersJoin
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.secrets.placement import HiddenJoin
from support.hidden import FixedNoise, drawing, outcomes_of, played_by
from support.messages import all_of

CHOSEN, COMPARISONS, DRAWS = 15, 200, 40_000
SIZE = HiddenSize(Fraction(1), Fraction(1, 100))
ALLOWED = (math.e + float(SIZE.delta)) / (math.e + 1)
ERROR_RATE = 1e-7
OWN_NOISE = 3


def slack(independent: int) -> float:
    """By how much a mean of so many numbers between 0 and 1 exceeds its expectation with the stated error rate."""
    return math.sqrt(math.log(1 / ERROR_RATE) / (2 * independent))


def right_guesses(listed: np.ndarray, told: np.ndarray, middle: float) -> float:
    """The part of the guesses that is right.

    Args:
        listed: Whether the other owner lists each of the chosen people, shape (comparisons, CHOSEN).
        told: The number of common people with the other owner's noise.
        middle: Of that noise.
    """
    of_others = listed.sum(axis=1, keepdims=True) - listed
    guessed = told[:, None] - of_others - middle > 0.5
    return float((guessed == listed).mean())


def test_guesses_from_draws_of_the_law_are_as_good_as_epsilon_allows_and_not_better():
    generator = np.random.default_rng(30)
    draw = generator.bytes
    listed = generator.integers(0, 2, (DRAWS, CHOSEN)).astype(bool)
    noise = np.array([SIZE.draw(draw) for _ in range(DRAWS)])
    found = right_guesses(listed, listed.sum(axis=1) + noise, SIZE.pool / 2)
    assert abs(found - ALLOWED) < slack(DRAWS)  # tight: the best guess there is


def told_in_joins(listed: np.ndarray, *, with_noise: bool) -> np.ndarray:
    """What the first owner learns in joins by the released code, its own noise taken off."""
    people, found = [f"person {number}" for number in range(CHOSEN)], []
    for number, row in enumerate(listed):
        lists = {"a": people, "b": [name for name, is_listed in zip(people, row, strict=True) if is_listed]}
        at_most = {"a": CHOSEN, "b": CHOSEN}
        own = HiddenJoin(at_most, FixedNoise(SIZE.epsilon, SIZE.delta, OWN_NOISE))
        theirs = HiddenJoin(at_most, SIZE if with_noise else FixedNoise(SIZE.epsilon, SIZE.delta, SIZE.pool // 2))

        def other(messenger, lists=lists, theirs=theirs, number=number):
            return TwoOwnersJoin(messenger, ("a", "b"), theirs, drawing(number)).place(lists["b"])

        players = {"a": played_by(TwoOwnersJoin, lists, own), "b": other}
        n_rows = all_of(outcomes_of(lists, own, players=players))["a"].n_rows
        found.append(2 * CHOSEN + 4 * SIZE.pool - n_rows - OWN_NOISE)
    return np.array(found)


@pytest.mark.parametrize(("with_noise", "comparisons"), [(True, COMPARISONS), (False, 10)])
def test_guesses_from_joins_are_not_better_and_without_noise_all_are_right(with_noise, comparisons):
    listed = np.random.default_rng(31).integers(0, 2, (comparisons, CHOSEN)).astype(bool)
    found = right_guesses(listed, told_in_joins(listed, with_noise=with_noise), SIZE.pool / 2)
    assert (found < ALLOWED + 0.06) if with_noise else found == 1
