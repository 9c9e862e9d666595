"""Runs that are begun together and played on only if they promise something show no more than there is, and no less.

Coins are seeded (`conftest.py`), so tests pass always or never. With fresh ones a sound sampler would exceed five
deviations in one of 1.7 million tests; verdicts are at a level of 0.001, and what is sound is audited twice if accused.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import copublish as cp
from copublish.kernel.noise.geometric import SystemCoins
from copublish.tools.auditing import openings
from copublish.tools.auditing import workers as players
from copublish.tools.auditing.bounds import StretchedCoins, log_chance
from copublish.tools.auditing.game import Game, fair_coins
from copublish.tools.auditing.openings import best_play, opening_of, play_promising
from copublish.tools.auditing.runs_after_choices import Choices
from copublish.tools.auditing.single_disclosures import parts_of
from copublish.tools.auditing.statistics import claim_of, judged
from copublish.tools.auditing.tables import few_rivals, valid_pairs
from copublish.tools.auditing.workers import Players, least_to_play_on
from support.audits import not_accused
from support.broken_mechanisms import LEAVES, SMALL, laplace, noise_drawn_by

LEVEL, DEVIATIONS = 0.001, 5


def game_of(mechanism: str, people: int = 4, **privacy: object) -> Game:
    mapping = {**SMALL, "mechanism": {"name": mechanism}, "privacy": {**SMALL["privacy"], **privacy}}
    agreement = cp.agreement_from_mapping(mapping)
    pairs = valid_pairs(agreement, "add-remove", SystemCoins())
    return Game(agreement, next(pair for pair in pairs if pair.base == "random records").of_people(people))


@pytest.fixture(scope="module")
def copula() -> Game:
    return game_of("copula")


def test_stretched_coins_are_fair_and_never_the_same():
    words = StretchedCoins().words((3, 20_000)).view(np.uint8)
    ones = int(np.unpackbits(words).sum())
    assert abs(ones - words.size * 4) < DEVIATIONS * math.sqrt(words.size * 8) / 2
    one, other = StretchedCoins(), StretchedCoins()
    drawn = np.concatenate([one.words((500,)), one.words((500,)), other.words((500,))])
    assert len(np.unique(drawn)) == 1500


def shares_of_zero() -> tuple[float, float]:
    """How often openings together have no noise, and the deviation of that; closed form: (1 - p) / (1 + p)."""
    exact = np.arange(3000 * 12, dtype=np.int64).reshape(3000, 12)  # each row has values of its own
    found = (LEAVES.opened_together(exact) == exact).mean()
    p = math.exp(-0.6)
    zero = (1 - p) / (1 + p)
    return found - zero, math.sqrt(zero * (1 - zero) / exact.size)


def test_openings_together_have_the_stated_noise_each_and_less_would_be_seen():
    off, deviation = shares_of_zero()
    assert abs(off) < DEVIATIONS * deviation
    noise = LEAVES.opened_together(np.zeros((2000, 12), dtype=np.int64))
    among = np.corrcoef(np.concatenate([noise[:-1], noise[1:]], axis=1).T)[~np.eye(24, dtype=bool)]
    assert np.abs(among).max() < 6 / math.sqrt(2000)  # 276 pairs at 6 deviations: 5 in 10 million
    with noise_drawn_by(lambda stated, n: laplace(stated, n) * 7 // 10):
        off, deviation = shares_of_zero()
    assert abs(off) > 10 * deviation


def test_what_all_runs_open_first_is_what_does_not_depend_on_answers(copula):
    opening = opening_of(copula)
    assert [part.disclosure.place.column for part in opening.parts] == ["age", "job", "y"] and not opening.is_all
    moments = opening_of(game_of("hpdp"))
    assert len(moments.parts) == 1 and moments.is_all
    assert opening_of(game_of("specialization")).parts == ()  # it begins with a choice


@pytest.mark.parametrize("least", [0.0, 0.7, math.inf])
def test_runs_that_are_played_on_or_not_are_right_as_often_as_their_evidence_says(copula, least):
    opening = opening_of(copula)

    def audit():
        coins = fair_coins(100 if least == 0 else 600)
        law, others = play_promising(copula, opening, least, coins)
        is_begun = np.abs(law) <= 4 * 0.4 * 1.0001  # what three columns have: 4 people, 0.4 of epsilon
        assert is_begun.all() == (least == math.inf)
        right, says = ((law > 0) == coins)[law != 0], 1 / (1 + np.exp(-np.abs(law[law != 0])))
        assert abs((right - says).sum()) < DEVIATIONS * math.sqrt((says * (1 - says)).sum())
        return judged(coins, law, claim_of(copula.plan, copula.pair), others)

    assert not_accused(audit).found < 1.5


def test_noise_that_is_too_small_is_accused_by_runs_that_are_begun_together():
    """Half the noise on hpdp's sums; the sound one in the same number of runs is accused in one of a million tests.

    The largest of 40 p-values of half the noise was 2e-6; with 20,000 runs one of 60 was 8e-4, too near to the level.
    """
    game = game_of("hpdp")
    claim, opening = claim_of(game.plan, game.pair), opening_of(game)

    def audit():
        coins = fair_coins(40_000)
        law, others = play_promising(game, opening, 0.0, coins)
        return judged(coins, law, claim, others)

    assert not_accused(audit).expected > 0.6
    with noise_drawn_by(lambda stated, n: laplace(stated, n) // 2):
        assert audit().p_value < LEVEL


def test_a_run_that_measures_something_else_than_it_was_begun_with_is_an_error(copula):
    opening = opening_of(copula)
    first, second = opening.measured
    begun = opening.begun(np.array([True]))
    answers = [answer[0] for answer in opening.completed(begun, np.array([0]))]
    copula.run(True, answers, (first, second))
    with pytest.raises(RuntimeError, match="A run measured first what other runs of the same tables do not"):
        copula.run(True, answers, (first, second + 1))


def test_runs_are_played_on_by_what_that_costs_and_all_of_them_where_nobody_abstains(copula, monkeypatch):
    claim = claim_of(copula.plan, copula.pair)
    monkeypatch.setattr(openings, "_seconds_of", lambda *given: (1e-6, 1e-2))
    assert best_play(copula, claim, 60).least > 0.5
    # One beginning in seven says all that it can; asking for the rarest must not ask for more than that.
    monkeypatch.setattr(openings, "SHARES_PLAYED", (0.002,))
    largest = np.abs(opening_of(copula).begun(fair_coins(500)).law).max()  # of 500 none does once in 10^33 tests
    assert all(0.5 < best_play(copula, claim, 60).least <= largest for _ in range(3))
    monkeypatch.undo()
    monkeypatch.setattr(openings, "_seconds_of", lambda *given: (1e-6, 1e-2))
    # With no more runs than memory has room for, there is time to play on all of them.
    monkeypatch.setattr(openings, "MOST_RUNS", 6000)
    assert best_play(copula, claim, 60).least == 0
    monkeypatch.undo()
    monkeypatch.setattr(openings, "_seconds_of", lambda *given: (1e-2, 1e-6))
    assert best_play(copula, claim, 60).least == 0
    gaussian = game_of("marginals", delta="1e-6")
    assert least_to_play_on(gaussian.agreement, gaussian.pair, 60) == 0


@pytest.fixture(scope="module")
def choosing() -> Game:
    mapping = {**SMALL, "mechanism": {"name": "specialization", "specializations": 2}}
    agreement = cp.agreement_from_mapping(mapping)
    return Game(agreement, next(few_rivals(agreement, "add-remove")).of_people(3))


def test_choices_together_come_as_often_as_the_exact_law_says_and_less_noise_would_be_seen(choosing):
    part, runs = next(parts_of(choosing)), 20_000
    law = np.exp(
        [log_chance(part.measured[0], i, float(part.disclosure.noise.rate)) for i in range(part.disclosure.candidates)]
    )

    def farthest(rate: Fraction) -> float:
        drawn = replace(part, disclosure=replace(part.disclosure, budget=rate * part.disclosure.budget))
        times = np.bincount(drawn.opened_together(np.tile(part.measured[0], (runs, 1)))[:, 0], minlength=len(law))
        return float((np.abs(times - runs * law) / np.sqrt(runs * law * (1 - law)))[law > 0.01].max())

    assert farthest(Fraction(1)) < DEVIATIONS + 1  # up to 12 candidates
    assert farthest(Fraction(2)) > 2 * DEVIATIONS


def test_runs_that_begin_with_choices_are_right_as_often_as_they_say_and_stop_when_they_cannot_say_enough(choosing):
    claim = claim_of(choosing.plan, choosing.pair)
    for least in (0.0, 2.3):
        tree = Choices(choosing, 3.0, least)

        def audit(tree: Choices = tree, least: float = least):
            coins = fair_coins(6000)
            law, others = tree.play(coins)
            # Three people: no count is as far from one table as from the other: whoever saw counts has more evidence.
            is_stopped = np.isin(law, [place.evidence for place in tree._places.values()])
            assert is_stopped.any() == (least > 0) and np.abs(law[is_stopped]).max(initial=0) < 2.3 - 3 * 0.6
            right, says = ((law > 0) == coins)[law != 0], 1 / (1 + np.exp(-np.abs(law[law != 0])))
            assert abs((right - says).sum()) < DEVIATIONS * math.sqrt((says * (1 - says)).sum())
            return judged(coins, law, claim, others)

        assert not_accused(audit).expected > 0.5
    coins = fair_coins(6000)
    with noise_drawn_by(lambda stated, n: laplace(stated, n) // 4):
        law, others = tree.play(coins)
    assert judged(coins, law, claim, others).p_value < LEVEL


def test_a_run_that_measures_something_else_than_runs_with_its_winners_before_is_an_error(choosing):
    tree = Choices(choosing, 3.0, 0.0)
    tree.play(fair_coins(1))
    step = tree._steps[()]
    tree._steps = {(): replace(step, measured=(step.measured[0] + 1, step.measured[1]))}
    with pytest.raises(RuntimeError, match="something else than a run with the same winners"):
        tree.play(fair_coins(1))


def test_a_view_gets_no_more_runs_when_they_are_enough_and_its_seconds_may_be_a_processor_s(monkeypatch):
    monkeypatch.setattr(players, "SECONDS_AT_ONCE", 0.05)
    game, sizes = game_of("hpdp"), []

    def is_enough(seen: np.ndarray) -> bool:
        sizes.append(len(seen))
        return len(sizes) == 2

    with Players(game.agreement, 0, by_processor=True) as playing:
        begin = time.process_time()
        found = playing.play(game.pair, None, 1000, lambda done, of: None, is_enough)
    assert sizes[0] < sizes[1] == found.runs  # it was asked again with more of them
    assert 0.05 < found.processor_seconds <= time.process_time() - begin
