"""Noise drawn through the engine and the gate has the law that the accounting assumes.

Samples: 10^6 per accepted law, 10^5 per rejected one (10^6 where a single threshold is 1 % off).
Test: chi-square of values against the closed form, cells with an expected count below 25 pooled into the tails; for
geometric samples also chi-square of the bits; opendp: chi-square of homogeneity, 10^5 samples on each side.
Error rate: a correct sampler fails one check with probability ALPHA = 10^-4. There are 10 such checks and 4 of means
(5 standard errors, 6 * 10^-7), all on seeded coins, so they pass always or never. opendp has no seed: its two checks
fail with probability 10^-7 each per run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure, Neighbors
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.geometric import Geometric
from copublish.kernel.programs.noise import geometric
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from support import seeded

SAMPLES, FEW_SAMPLES = 10**6, 10**5
ALPHA, UNSEEDED_ALPHA = 1e-4, 1e-7
SMALLEST_EXPECTED = 25
HISTOGRAM = {"add-remove": 1, "replace": 2}
PARTIES = ("p0", "p1")
ONE_BY_ONE = Packing(1)


def in_a_room(job: Callable[[IdealEngine], Any], seed: int) -> Any:
    return Room(PARTIES, seeded(PARTIES, seed)).run(job)["p0"]


def measured(
    epsilon: Fraction,
    neighbors: Neighbors,
    counts: np.ndarray,
    seed: int,
    packing: Packing = ONE_BY_ONE,
    cell_at: np.ndarray | None = None,
    *,
    ahead: bool = False,
    times: int = 1,
) -> np.ndarray:
    """Open counts through the gate against a real charge, and return the noise alone: of the last time."""
    places = counts if cell_at is None else counts[cell_at]
    packed = packing.pack(np, places.reshape(-1, packing.row))

    def job(engine: IdealEngine) -> np.ndarray:
        ledger = Ledger(":memory:")
        ledger.set_limit("d", Limit(Fraction(100), "replace", delta=Fraction(1)))
        with ledger.reserve(
            "d", "r", "h", Cost(add_remove=Fraction(50), replace=Fraction(50), delta=Fraction(1))
        ) as charge:
            disclosure = Measure(
                label="counts",
                budget=epsilon,
                calibrated_to=neighbors,
                l1_sensitivity=HISTOGRAM,
                changed_entries=HISTOGRAM,
                entries=len(counts),
            )
            own = packed if engine.party == "p0" else np.zeros_like(packed)
            secret = SecretCounts(engine.share(own), packing, cell_at)
            gate = RevealGate(engine, engine.opener, charge, False)
            if ahead:
                gate.draw_measurement_noise(disclosure)
            return [gate.reveal_measurement(secret, disclosure) for _ in range(times)][-1]

    return in_a_room(job, seed) - counts


def drawn(noise: Geometric, n: int, seed: int) -> np.ndarray:
    """Geometric samples from the engine's coins. The ideal engine keeps them in the clear; only tests look."""

    def job(engine: IdealEngine) -> np.ndarray:
        words = engine.coins(noise.coin_shape(n))
        return engine.compute(geometric, words, planes=noise.threshold_planes)._handle

    return in_a_room(job, seed)[:n]


def fit(values: np.ndarray, law: Callable[[np.ndarray], np.ndarray], lowest: int, highest: int) -> float:
    """The p-value of values against a law on the integers, with both tails pooled."""
    support = np.arange(lowest, highest + 1)
    expected = law(support) * len(values)
    kept = expected >= SMALLEST_EXPECTED
    low, high = support[kept][0], support[kept][-1]
    observed = np.bincount(np.clip(values, low - 1, high + 1) - (low - 1), minlength=high - low + 3)
    tails = [expected[support < low].sum(), expected[support > high].sum()]
    rest = len(values) - expected.sum()  # beyond the support: negligible, and none of it is lost
    expected = np.concatenate([[tails[0] + rest / 2], expected[kept], [tails[1] + rest / 2]])
    if expected[0] < 1:  # a one-sided law has no lower tail
        assert observed[0] == 0
        observed, expected = observed[1:], expected[1:]
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def laplace_fit(values: np.ndarray, scale: float) -> float:
    p = math.exp(-1 / scale)
    far = math.ceil(40 * scale)
    return fit(values, lambda x: (1 - p) / (1 + p) * p ** np.abs(x), -far, far)


def geometric_fit(values: np.ndarray, rate: Fraction) -> float:
    """The smaller p-value, times two, of values and of bits: a single biased bit shows best in the bits."""
    p = math.exp(-rate)
    by_value = fit(values, lambda x: (1 - p) * p**x, 0, math.ceil(40 / rate))
    squares = []
    for i in range(63):
        q = p ** (2**i) / (1 + p ** (2**i))
        if q * len(values) < SMALLEST_EXPECTED:
            break
        ones = int((values >> i & 1).sum())
        squares.append((ones - q * len(values)) ** 2 / (len(values) * q * (1 - q)))
    by_bit = stats.chi2.sf(sum(squares), len(squares))
    return 2 * min(by_value, by_bit)


RATES = [Fraction(1), Fraction(1, 2), Fraction(1, 20)]


@pytest.mark.parametrize("rate", RATES)
def test_geometric_samples_of_the_engine_have_the_closed_form(rate: Fraction) -> None:
    samples = drawn(Geometric(rate), SAMPLES, 11)
    assert geometric_fit(samples, rate) >= ALPHA
    assert samples.min() == 0


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("wrong", [Fraction(13, 10), Fraction(7, 10)])
def test_geometric_samples_with_a_scale_30_percent_off_are_rejected(rate: Fraction, wrong: Fraction) -> None:
    assert geometric_fit(drawn(Geometric(rate / wrong), FEW_SAMPLES, 12), rate) < ALPHA


@pytest.mark.parametrize(("rate", "bit"), [(Fraction(1, 2), 0), *((Fraction(1, 20), bit) for bit in range(4))])
@pytest.mark.parametrize("percent", [101, 99])
def test_a_single_threshold_one_percent_off_is_rejected(rate: Fraction, bit: int, percent: int) -> None:
    noise = Geometric(rate)
    wrong = list(noise.thresholds)
    wrong[bit] = wrong[bit] * percent // 100
    noise.__dict__["thresholds"] = tuple(wrong)  # where the cached property keeps it
    assert geometric_fit(drawn(noise, SAMPLES, 13), rate) < ALPHA


COUNTS = np.random.default_rng(5).integers(-5, 30_000, SAMPLES)
CASES = [
    (Fraction(1), "add-remove", np.zeros(SAMPLES, dtype=np.int64), 1.0),
    (Fraction(1, 2), "add-remove", COUNTS, 2.0),
    (Fraction(1, 2), "replace", COUNTS, 4.0),
    (Fraction(6, 100), "add-remove", np.zeros(SAMPLES, dtype=np.int64), 100 / 6),
]


@pytest.mark.parametrize(("epsilon", "neighbors", "counts", "scale"), CASES)
def test_what_the_gate_opens_is_the_count_plus_discrete_laplace_noise(epsilon, neighbors, counts, scale) -> None:
    noise = measured(epsilon, neighbors, counts, 14)
    assert laplace_fit(noise, scale) >= ALPHA
    assert abs(noise.mean()) < 5 * math.sqrt(2) * scale / math.sqrt(SAMPLES)


@pytest.mark.parametrize(("epsilon", "neighbors", "counts", "scale"), CASES)
@pytest.mark.parametrize("wrong", [Fraction(13, 10), Fraction(7, 10)])
def test_opened_counts_with_a_scale_30_percent_off_are_rejected(epsilon, neighbors, counts, scale, wrong) -> None:
    noise = measured(epsilon / wrong, neighbors, counts[:FEW_SAMPLES], 15)
    assert laplace_fit(noise, scale) < ALPHA


def test_noise_is_independent_of_the_count_and_of_its_neighbors() -> None:
    noise = measured(Fraction(1, 2), "add-remove", COUNTS, 16)
    # A correlation of independent samples is normal with standard deviation 1 / sqrt(n).
    bound = stats.norm.isf(ALPHA / 2) / math.sqrt(SAMPLES)
    assert abs(np.corrcoef(noise, COUNTS)[0, 1]) < bound
    for lag in (1, 64):  # 64 samples share a word of coins
        assert abs(np.corrcoef(noise[:-lag], noise[lag:])[0, 1]) < bound
    assert abs(np.corrcoef(noise[:-1] + noise[1:], noise[1:])[0, 1]) > bound  # and the check can fail


@pytest.mark.parametrize("packing", [Packing(4), Packing(4, 2), Packing(4, 3), Packing(10, 3)], ids=str)
@pytest.mark.parametrize("is_moved", [False, True])
def test_counts_that_share_elements_get_the_very_noise_that_they_get_alone(packing: Packing, is_moved: bool) -> None:
    """With the same coins, value by value: so it has the same law and is as independent."""
    counts = np.maximum(COUNTS[:FEW_SAMPLES], 0)
    order = np.random.default_rng(6).permutation(FEW_SAMPLES) if is_moved else None
    alone = measured(Fraction(1, 2), "add-remove", counts, 20)
    assert (measured(Fraction(1, 2), "add-remove", counts, 20, packing, order) == alone).all()
    assert (measured(Fraction(1, 2), "add-remove", counts, 20, packing, order, ahead=True) == alone).all()
    assert (measured(Fraction(1, 2), "add-remove", counts, 21, packing, order) != alone).any()


def test_noise_that_was_drawn_ahead_is_used_once() -> None:
    """Counts that are measured a second time get noise of their own."""
    first, second = (
        measured(Fraction(1, 2), "add-remove", COUNTS[:FEW_SAMPLES], 22, ahead=True, times=times) for times in (1, 2)
    )
    assert laplace_fit(second, 2) > 1e-6
    # At scale 2 independent values agree with a probability of 0.13, the sum of the squares of their law.
    assert np.mean(first == second) < 0.5


def opendp_samples(scale: float) -> np.ndarray:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    return np.array(dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)([0] * FEW_SAMPLES))


def same_law(a: np.ndarray, b: np.ndarray) -> float:
    """The p-value of chi-square for homogeneity, rare values pooled into the tails."""
    values, counts = np.unique(np.concatenate([a, b]), return_counts=True)
    common = values[counts >= 2 * SMALLEST_EXPECTED]
    low, high = common.min() - 1, common.max() + 1
    table = [np.bincount(np.clip(x, low, high) - low, minlength=high - low + 1) for x in (a, b)]
    table = np.array(table)[:, np.sum(table, axis=0) > 0]
    return stats.chi2_contingency(table).pvalue


@pytest.mark.parametrize("scale", [2, 20])
def test_the_noise_has_the_law_of_opendps_discrete_laplace(scale: int) -> None:
    theirs = opendp_samples(float(scale))
    zeros = np.zeros(FEW_SAMPLES, dtype=np.int64)
    assert same_law(measured(Fraction(1, scale), "add-remove", zeros, 17), theirs) >= UNSEEDED_ALPHA
    assert same_law(measured(Fraction(10, 13 * scale), "add-remove", zeros, 18), theirs) < UNSEEDED_ALPHA
    assert same_law(measured(Fraction(10, 7 * scale), "add-remove", zeros, 19), theirs) < UNSEEDED_ALPHA
