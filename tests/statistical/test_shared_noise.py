"""Shares of noise have the laws that the accounting assumes, and so has what is left of them against colluders.

Samples: 6 * 10^4 per law, 2 * 10^4 opened values per variance. Test: chi-square against a closed form, cells with an
expected count below 25 pooled.
Error rate: a correct sampler fails one check with probability ALPHA = 10^-4; there are 16 such checks. Variances and
error bars are within 5 standard errors (6 * 10^-7, 12 checks). All on seeded coins, so they pass always or never.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from copublish.engines.masked_sums import MaskedSumEngine
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.laplace_shares import (
    bernoulli,
    bernoulli_exp,
    bernoulli_of_parts,
    draw_share,
    negative_binomial,
    poisson,
)
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from support import SeededCoins
from support.messages import Post, all_of

SAMPLES, OPENED = 60_000, 20_000
ALPHA, SMALLEST_EXPECTED = 1e-4, 25


def p_value(values: np.ndarray, law: Callable[[np.ndarray], np.ndarray], reach: int) -> float:
    """Chi-square of integers against a law on -reach .. reach; what is rare, or beyond, is pooled."""
    places = np.arange(-reach, reach + 1)
    expected = len(values) * law(places)
    inside = values[np.abs(values) <= reach]
    seen = np.bincount(inside + reach, minlength=len(places))
    often = expected >= SMALLEST_EXPECTED
    seen = np.append(seen[often], len(values) - seen[often].sum())
    expected = np.append(expected[often], len(values) - expected[often].sum())
    if expected[-1] < SMALLEST_EXPECTED:
        seen, expected = (np.append(x[:-2], x[-2:].sum()) for x in (seen, expected))
    return float(stats.chisquare(seen, expected).pvalue)


def negative_binomial_law(shape: float, rate: float) -> Callable[[np.ndarray], np.ndarray]:
    return stats.nbinom(shape, 1 - math.exp(-rate)).pmf


def discrete_laplace_law(rate: float) -> Callable[[np.ndarray], np.ndarray]:
    p = math.exp(-rate)
    return lambda x: (1 - p) / (1 + p) * p ** np.abs(x)


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(10**30 + 7, 4 * 10**30), Fraction(1, 2**70)])
def test_events_happen_as_often_as_their_rational_probability_says(probability):
    happened = int(bernoulli(probability, SAMPLES, SeededCoins(1)).sum())
    assert stats.binomtest(happened, SAMPLES, float(probability)).pvalue > ALPHA


@pytest.mark.parametrize("exponent", [Fraction(1, 50), Fraction(1), Fraction(7, 3)])
def test_events_with_an_exponential_probability_happen_as_often_as_it_says(exponent):
    happened = int(bernoulli_exp(exponent, SAMPLES, SeededCoins(2)).sum())
    assert stats.binomtest(happened, SAMPLES, math.exp(-exponent)).pvalue > ALPHA


def test_events_given_by_parts_of_wholes_happen_as_often():
    wholes = np.array([3, 2**61 - 1, 1, 7] * (SAMPLES // 4))
    parts = np.array([1, 2**60, 1, 5] * (SAMPLES // 4))
    happened = bernoulli_of_parts(parts, wholes, SeededCoins(3)).reshape(-1, 4).sum(axis=0)
    assert happened[2] == SAMPLES // 4
    for i in (0, 1, 3):
        assert stats.binomtest(int(happened[i]), SAMPLES // 4, parts[i] / wholes[i]).pvalue > ALPHA / 3


@pytest.mark.parametrize("mean", [Fraction(1), Fraction(1, 9), Fraction(5, 2)])
def test_poisson_variables_have_their_law(mean):
    drawn = poisson(mean, SAMPLES, SeededCoins(4))
    assert p_value(drawn, stats.poisson(float(mean)).pmf, 40) > ALPHA
    assert p_value(drawn, stats.poisson(float(mean) * 1.15).pmf, 40) < ALPHA


CASES = [(Fraction(1), Fraction(1, 3)), (Fraction(1, 2), Fraction(1, 20)), (Fraction(1, 9), Fraction(7, 5))]


@pytest.mark.parametrize(("shape", "rate"), CASES, ids=str)
def test_negative_binomial_variables_have_their_law_and_a_wrong_shape_is_found(shape, rate):
    blocks = SharedLaplace(rate, NoiseShares(("a", "b"), 1)).bits
    law = negative_binomial_law(float(shape), float(rate))
    assert p_value(negative_binomial(shape, rate, blocks, SAMPLES, SeededCoins(5)), law, 2000) > ALPHA
    wrong = negative_binomial(shape * Fraction(5, 4), rate, blocks, SAMPLES, SeededCoins(6))
    assert p_value(wrong, law, 2000) < ALPHA
    cut_short = negative_binomial(shape, rate, blocks - 5, SAMPLES, SeededCoins(7))
    assert p_value(cut_short, law, 2000) < ALPHA


@pytest.mark.parametrize(("owners", "colluders"), [(2, 1), (3, 1), (5, 2)])
def test_the_shares_of_all_but_the_colluders_are_the_full_noise_and_one_fewer_is_not(owners, colluders):
    noise = SharedLaplace(Fraction(1, 4), NoiseShares(tuple(map(str, range(owners))), colluders))
    drawn = [draw_share(noise, SAMPLES, SeededCoins(10 * owners + i)) for i in range(noise.shares.enough)]
    law = discrete_laplace_law(0.25)
    assert p_value(np.sum(drawn, axis=0), law, 200) > ALPHA
    assert p_value(np.sum([np.zeros(SAMPLES, dtype=np.int64), *drawn[1:]], axis=0), law, 200) < ALPHA


@pytest.mark.parametrize(("owners", "colluders"), [(2, 1), (3, 1), (3, 2), (10, 1)])
def test_what_is_opened_varies_as_much_more_as_the_certificate_says(owners, colluders):
    """Through the gate, the masks and the aggregator: the variance is M / (M - t) times that of the noise."""
    names = tuple(f"p{number}" for number in range(owners))
    entries, rate = OPENED, Fraction(1, 5)
    both = {"add-remove": 1, "replace": 2}
    disclosure = Measure(
        label="counts",
        budget=rate,
        calibrated_to="add-remove",
        l1_sensitivity=both,
        changed_entries=both,
        entries=entries,
        shares=NoiseShares(names, colluders),
    )

    def job(messenger):
        engine = MaskedSumEngine(messenger, names, names[-1], SeededCoins(100 * owners + names.index(messenger.party)))
        ledger = Ledger(":memory:")
        ledger.set_limit("d", Limit(Fraction(100), "replace", delta=Fraction(1)))
        with ledger.reserve(
            "d", "r", "h", Cost(add_remove=Fraction(50), replace=Fraction(50), delta=Fraction(1))
        ) as charge:
            counts = SecretCounts(engine.share(np.full((entries, 1), 7)), Packing(1))
            return RevealGate(engine, engine.opener, charge, False).reveal_measurement(counts, disclosure) - 7 * owners

    noise = all_of(Post(names).run(job))[names[0]]
    p = math.exp(-rate)
    plain_variance = 2 * p / (1 - p) ** 2
    wanted = plain_variance * owners / (owners - colluders)
    squares = noise.astype(float) ** 2
    assert abs(squares.mean() - wanted) < 5 * squares.std() / math.sqrt(entries)
    assert abs(squares.mean() - plain_variance) > 5 * squares.std() / math.sqrt(entries)
    within = disclosure.within(0.95)
    assert np.mean(np.abs(noise) <= within) >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / entries)
    assert np.mean(np.abs(noise) < within) <= 0.95 + 5 * math.sqrt(0.05 * 0.95 / entries)
