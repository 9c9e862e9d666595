"""Bounds on epsilon from guesses: they hold as often as they say, and laws of evidence are the stated ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from copublish.kernel.accounting.zcdp import epsilon_for
from copublish.tools.auditing.bounds import (
    best_threshold,
    epsilon_of_mu,
    epsilon_of_share,
    log_chance,
    lower_share,
    mu_of_share,
    p_value,
    rho_of_share,
    share_of_mu,
    share_of_rho,
    share_right,
)
from copublish.tools.auditing.statistics import Claim, judged, learned, structure, structures


def test_randomized_response_is_found_and_seldom_more_of_it():
    """400 audits of 500 guesses at epsilon 1: above it in 2.5 % of them; more than 2.5 % and 3 deviations: 1 in 700."""
    generator = np.random.default_rng(1)
    above, found = 0, []
    for _ in range(400):
        coins = generator.random(500) < 0.5
        says = coins ^ (generator.random(500) > 1 / (1 + math.exp(-1)))
        tested = judged(coins, np.where(says, 1.0, -1.0), Claim(1.0))
        above += tested.found > 1
        found.append(tested.found)
    assert above <= 400 * 0.025 + 3 * math.sqrt(400 * 0.025 * 0.975)
    assert 0.7 < np.mean(found) < 1


def test_evidence_in_another_order_finds_nothing():
    generator = np.random.default_rng(2)
    coins = generator.random(4000) < 0.5
    law = generator.permutation(np.where(coins, 0.8, -0.8))
    assert judged(coins, law, Claim(1.0)).found < 0.1


def test_thresholds_do_not_look_at_coins_and_what_a_claim_shows_is_what_is_expected():
    sizes = np.abs(np.random.default_rng(3).laplace(size=3000))
    threshold, shown = best_threshold(sizes, 0.025)
    chosen = sizes >= threshold
    by_hand = epsilon_of_share(lower_share(share_right(sizes[chosen]).sum(), chosen.sum(), 0.025))
    assert shown == pytest.approx(float(by_hand))
    assert best_threshold(np.zeros(5), 0.025) == (math.inf, 0.0)


def test_the_best_threshold_is_found_among_the_rarest_runs_and_more_runs_are_planned_by_those_there_are():
    """All thresholds one by one; evidence of 20 Laplace noises, of which few runs in 10,000 show most."""
    noise = np.random.default_rng(5).laplace(size=(20, 50_000))
    sizes = np.abs((np.abs(noise + 0.3) - np.abs(noise)).sum(axis=0))
    ordered, guesses = np.sort(sizes)[::-1], np.arange(1, 50_001)
    shown = epsilon_of_share(lower_share(np.cumsum(share_right(ordered)), guesses, 0.025))
    threshold, found = best_threshold(sizes, 0.025)
    assert found == pytest.approx(shown.max(), rel=0.005) and (sizes >= threshold).sum() < 1000
    assert best_threshold(sizes, 0.025, runs_each=3) == pytest.approx(best_threshold(np.repeat(sizes, 3), 0.025))


def test_exact_limits():
    assert float(lower_share(0, 10, 0.05)) == 0
    assert float(lower_share(10, 10, 0.05)) == pytest.approx(0.05 ** (1 / 10))  # closed form: all are right
    assert p_value(10, 10, 0.5) == pytest.approx(2**-10)
    assert p_value(0, 0, 0.5) == 1


def test_mu_and_rho_of_guesses():
    for mu in (0.1, 0.5, 2.0):
        assert mu_of_share(float(norm.cdf(mu / 2))) == pytest.approx(mu)
        assert share_of_rho(rho_of_share(float(norm.cdf(mu / 2)))) == pytest.approx(float(norm.cdf(mu / 2)))
        assert rho_of_share(float(norm.cdf(mu / 2))) < mu**2 / 2  # data processing: a guess tells less than all
    assert mu_of_share(0.3) == epsilon_of_mu(0.0, 1e-6) == rho_of_share(0.4) == 0
    epsilon = epsilon_of_mu(0.221, 1e-6)
    assert epsilon == pytest.approx(0.927, abs=2e-3)  # as it is known for hpdp's noise at epsilon 1


@pytest.mark.parametrize("variance", [0.5, 1, 3, 20, 400])
@pytest.mark.parametrize("people", [1, 2, 3, 8, 25])
def test_no_guess_about_gaussian_noise_on_whole_numbers_is_right_more_often_than_its_share(variance, people):
    """Exact sums: the best guess is the nearer table, and half of the ties."""
    noise = np.arange(-400, 401)
    law = np.exp(-(noise**2) / (2 * variance))
    law /= law.sum()
    right = law[2 * noise < people].sum() + law[2 * noise == people].sum() / 2
    allowed = share_of_mu(1 / math.sqrt(variance), people)
    assert right <= allowed + 1e-12
    assert allowed - right < 0.12 / variance  # and the margin is small


def test_what_several_people_show_is_divided_among_them():
    """Closed forms: epsilon adds up over people, rho with their square."""
    assert Claim(0.5, people=4).shown(10**9 * share_right(2.0), 10**9, 0.025) == pytest.approx(0.5, abs=1e-3)
    assert Claim(0.5, people=4).p_value(88, 100) == pytest.approx(p_value(88, 100, float(share_right(2.0))))
    mu = 0.2
    gaussian = Claim(1.0, 1e-6, mu**2 / 2, is_gaussian=True, people=10)
    found = gaussian.shown(10**9 * norm.cdf(10 * mu / 2), 10**9, 0.025)
    assert found == pytest.approx(epsilon_of_mu(mu, 1e-6), abs=1e-3) == pytest.approx(gaussian.reachable, abs=1e-3)


@pytest.mark.parametrize("people", [1, 9])
def test_what_choices_between_gaussian_noise_can_show_is_less_than_their_rho(people):
    """An integral in the place of the closed form: how often the nearer of two normal laws is the right one."""
    mu = 0.22
    mixed = Claim(1.0, 1e-6, mu**2 / 2, people=people)
    seen = np.linspace(-12, 12, 200_001)
    right = float(norm.pdf(seen)[seen < people * mu / 2].sum() * (seen[1] - seen[0]))
    rho = (2 * right - 1) * math.log(right / (1 - right)) / people**2
    assert 0.25 * mu**2 / 2 < rho < 2 / math.pi * mu**2 / 2  # a quarter far away, 2 / pi close by
    assert mixed.reachable == pytest.approx(float(epsilon_for(Fraction(rho), Fraction(1e-6))), rel=1e-3)


def brute_force(scores: list[int], rate: float, most: int) -> np.ndarray:
    """Chances of all places by enumeration of all noises up to a limit."""
    p = math.exp(-rate)
    chances = np.zeros(len(scores))
    for noise in itertools.product(range(most), repeat=len(scores)):
        total = [score + own for score, own in zip(scores, noise, strict=True)]
        chances[int(np.argmax(total))] += (1 - p) ** len(scores) * p ** sum(noise)
    return chances


@pytest.mark.parametrize("scores", [[3, 1, 2], [0, 0, 0], [5, 5], [0, 9, 4]])
def test_the_law_of_a_noisy_maximum_is_that_of_enumeration(scores):
    rate = 0.7
    law = np.exp([log_chance(np.array(scores), place, rate) for place in range(len(scores))])
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert law == pytest.approx(brute_force(scores, rate, 40), abs=1e-6)


def test_numbers_of_many_runs_are_those_of_each_of_them():
    """Naive loops, by their definitions."""
    generator = np.random.default_rng(6)
    answers, first = generator.integers(-3, 4, (40, 9)), generator.integers(0, 2, 9)
    second = first + 1
    found = structures(answers, (first, second))
    for run, answer in enumerate(answers):
        off, on = answer - second, answer - first
        pairs = [sum(a == b for a, b in itertools.permutations(own.tolist(), 2)) for own in (off, on)]
        assert found["equal residuals"][run] == pairs[0] - pairs[1]
        assert found["residuals of zero"][run] == list(off).count(0) - list(on).count(0)
        assert found["largest residual"][run] == max(map(abs, on)) - max(map(abs, off))
        assert structure(answer, (first, second)) == {name: values[run] for name, values in found.items()}


def test_structure_and_learned_law_see_noise_that_the_stated_law_does_not():
    generator = np.random.default_rng(4)
    first, second = np.zeros(6), np.array([1.0, 0, 0, 0, 0, 0])
    same = structure(second + 3, (first, second))  # one draw for all, on table 1
    assert same["equal residuals"] > 0
    coins = generator.random(2000) < 0.5
    noise = generator.integers(-3, 4, (2000, 1))  # cut at 3
    answers = noise + coins[:, None]
    evidence = learned(coins, (answers, answers - 1))
    cut = answers[:, 0] == 4  # only table 1 can show it
    assert (evidence[1000:][cut[1000:]] > 2).all()
