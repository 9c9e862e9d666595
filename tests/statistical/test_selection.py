"""Selections: exact winner probabilities, the exact worst loss over neighbors, and the gate's frequencies.

Samples: 2,000 selections through the gate per case. Test: chi-square of winners against exact probabilities, rare
winners pooled. Error rate: ALPHA = 10^-4 for each of the 6 cases, on seeded coins, so they pass always or never.
The worst losses are exact sums over noise values, not estimates (relative error below 10^-12).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from copublish import agreement_from_mapping
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import EngineError
from copublish.kernel.accounting.disclosures import NEIGHBORS, Neighbors, Select
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.score import MAX_SCORE_RANGE
from copublish.tools.auditing.game import FreeCharge
from support import seeded, small_mapping

SELECTIONS = 2000
ALPHA = 1e-4
SMALLEST_EXPECTED = 10
ROUNDING = 1e-9


def winner_law(scores: Sequence[int], rate: float) -> np.ndarray:
    """Pr[i wins] by summing over candidate i's noise: the others stay below it, earlier ones strictly."""
    spread = max(scores) - min(scores)
    z = np.arange(spread + math.ceil(60 / rate))
    law = []
    for i, score in enumerate(scores):
        mass = -math.expm1(-rate) * np.exp(-rate * z)
        for j, other in enumerate(scores):
            if j != i:
                most = score + z - other - (j < i)  # the largest noise of j with which i still wins
                mass = mass * np.where(most >= 0, -np.expm1(-rate * (np.maximum(most, 0) + 1)), 0.0)
        law.append(mass.sum())
    return np.array(law)


def test_the_reference_agrees_with_plain_enumeration_of_all_noise_values() -> None:
    rate, scores = 1.5, (3, 4, 2)
    law = np.zeros(3)
    for noise in itertools.product(range(26), repeat=3):
        noisy = [u + z for u, z in zip(scores, noise, strict=True)]
        law[noisy.index(max(noisy))] += math.prod((1 - math.exp(-rate)) * math.exp(-rate * z) for z in noise)
    assert winner_law(scores, rate) == pytest.approx(law, rel=1e-9)
    assert winner_law(scores, rate).sum() == pytest.approx(1, abs=1e-12)
    p = math.exp(-rate)
    assert winner_law((5, 5), rate) == pytest.approx([1 / (1 + p), p / (1 + p)])  # ties go to the first


def never_wins(disclosure: Select) -> int:
    """The score that the mechanism gives to places without a candidate."""
    return -(2**disclosure.noise.bits) - 1


def winners(scores: Sequence[int], disclosure: Select, padding: int, seed: int) -> np.ndarray:
    """How often each candidate wins through the gate; the parties hold parts of the scores."""
    parties = ("p0", "p1")
    places = [*scores, *[never_wins(disclosure)] * padding]

    def job(engine: IdealEngine) -> list[int]:
        gate = RevealGate(engine, engine.opener, FreeCharge(), False)
        own = np.array(places) - 7 if engine.party == "p0" else np.full(len(places), 7)
        secret = engine.share(own)
        return [gate.reveal_selection(secret, disclosure) for _ in range(SELECTIONS)]

    opened = Room(parties, seeded(parties, seed)).run(job)
    assert opened["p0"] == opened["p1"]
    assert 0 <= min(opened["p0"]) <= max(opened["p0"]) < len(scores)  # a place without a candidate never wins
    return np.bincount(opened["p0"], minlength=len(scores))


def fit(observed: np.ndarray, law: np.ndarray) -> float:
    """The p-value of winners, rare ones pooled."""
    expected = law * observed.sum()
    rare = expected < SMALLEST_EXPECTED
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1:
        observed, expected = observed[:-1], expected[:-1]
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


MANY = tuple(int(score) for score in np.random.default_rng(2).integers(0, 12, 70))  # more than fit in one word

FREQUENCIES = [
    ((3, 1, 0, 2), Fraction(1, 2), "add-remove", 0),
    ((3, 1, 0, 2), Fraction(1, 2), "add-remove", 70),
    ((8, 4, 0, 6), Fraction(1, 2), "replace", 0),
    ((1000, 1000, 1000), Fraction(2), "add-remove", 0),
    ((0, 0, 0), Fraction(2), "add-remove", 3),
    (MANY, Fraction(1, 2), "add-remove", 0),
]
"""Scores, budget, relation, and how many places without a candidate there are."""


@pytest.mark.parametrize(("scores", "epsilon", "neighbors", "padding"), FREQUENCIES)
def test_winners_come_as_often_as_the_exact_law_says(scores, epsilon, neighbors: Neighbors, padding: int) -> None:
    disclosure = Select(
        label="which", budget=epsilon, calibrated_to=neighbors, score_range=MAX_SCORE_RANGE, candidates=len(scores)
    )
    rate = float(epsilon) / {"add-remove": 1, "replace": 2}[neighbors]
    observed = winners(scores, disclosure, padding, 21)
    assert fit(observed, winner_law(scores, rate)) >= ALPHA
    if len(set(scores)) > 1:  # with equal scores only ties depend on the scale
        for wrong in (1.3, 0.7):
            assert fit(observed, winner_law(scores, rate / wrong)) < ALPHA
    assert fit(observed[::-1], winner_law(scores, rate)) < ALPHA  # so does the order of candidates


class ChosenCoins:
    """Coins with which the first candidates get no noise and all other places the largest there is."""

    def __init__(self, candidates: int) -> None:
        self._word = np.int64((1 << candidates) - 1)

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, self._word)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(2)])
def test_a_place_without_a_candidate_loses_with_the_largest_noise_against_scores_of_zero_without(epsilon) -> None:
    disclosure = Select(
        label="which", budget=epsilon, calibrated_to="add-remove", score_range=MAX_SCORE_RANGE, candidates=3
    )
    parties = ("p0", "p1")

    def winner(lowest: int) -> int:
        def job(engine: IdealEngine) -> int:
            scores = np.array([0, 0, 0, lowest, lowest]) * (engine.party == "p0")
            return RevealGate(engine, engine.opener, FreeCharge(), False).reveal_selection(
                engine.share(scores), disclosure
            )

        (index,) = set(Room(parties, {"p0": ChosenCoins(3), "p1": ChosenCoins(0)}).run(job).values())
        return index

    assert winner(never_wins(disclosure)) == 0
    with pytest.raises(EngineError, match="A place without a candidate won"):  # so the noise is the largest
        winner(never_wins(disclosure) + 3)


def test_the_mechanism_gives_places_without_a_candidate_the_score_that_never_wins() -> None:
    for neighbors in NEIGHBORS:
        plan = SpecializationPlan.of(agreement_from_mapping(small_mapping(**{"privacy.neighbors": neighbors})))
        assert -plan.largest_selection_noise - 1 == never_wins(plan.selection(0, 10))


def worst_loss(scores: Sequence[int], changes: Sequence[int], rate: float) -> float:
    """The largest log ratio between neighbors, over all winners and both directions."""
    moved = [score + change for score, change in zip(scores, changes, strict=True)]
    return float(np.abs(np.log(winner_law(scores, rate)) - np.log(winner_law(moved, rate))).max())


CHANGES = {"add-remove": (0, 1), "replace": (-1, 0, 1)}


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(2)])
def test_no_neighbor_changes_a_winners_probability_by_more_than_epsilon(neighbors: Neighbors, epsilon) -> None:
    generator = np.random.default_rng(3)
    for candidates in (2, 2, 2, 3, 3, 4):
        disclosure = Select(
            label="which", budget=epsilon, calibrated_to=neighbors, score_range=MAX_SCORE_RANGE, candidates=candidates
        )
        rate = float(disclosure.noise.rate)
        scores = generator.integers(0, 15, candidates).tolist()
        for changes in itertools.product(CHANGES[neighbors], repeat=candidates):
            assert worst_loss(scores, changes, rate) <= float(disclosure.epsilon(neighbors)) + ROUNDING
            assert disclosure.epsilon(neighbors) == epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(2)])
def test_the_budget_is_used_up_by_a_pair_of_neighbors(epsilon: Fraction) -> None:
    added = Select(label="which", budget=epsilon, calibrated_to="add-remove", score_range=MAX_SCORE_RANGE, candidates=2)
    assert worst_loss((30, 0), (0, 1), float(added.noise.rate)) >= 0.99 * float(epsilon)
    replaced = Select(label="which", budget=epsilon, calibrated_to="replace", score_range=MAX_SCORE_RANGE, candidates=2)
    assert worst_loss((30, 0), (-1, 1), float(replaced.noise.rate)) >= 0.99 * float(epsilon)


def test_the_scan_notices_noise_calibrated_to_the_sensitivity_instead_of_the_range() -> None:
    """Max changes by at most 1 under replace too, but in both directions at once: its range is 2."""
    epsilon = Fraction(1, 2)
    too_little = Select(
        label="which",
        budget=epsilon,
        calibrated_to="replace",
        score_range={"add-remove": 1, "replace": 1},
        candidates=2,
    )
    losses = [
        worst_loss((30, 0), changes, float(too_little.noise.rate))
        for changes in itertools.product(CHANGES["replace"], repeat=2)
    ]
    assert max(losses) > 1.9 * float(epsilon)
    thirty_percent_off = float(epsilon) * 1.3
    assert worst_loss((30, 0), (0, 1), thirty_percent_off) > 1.25 * float(epsilon)


def test_twice_the_noise_that_is_needed_would_show_too() -> None:
    """The published algorithms use exp(epsilon u / 2) where Max is monotone: half the budget goes unused."""
    assert worst_loss((30, 0), (0, 1), 0.25) < 0.51 * 0.5
