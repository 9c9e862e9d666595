"""The law of discrete Gaussian noise, coin by coin, and what it costs.

Expected values come from the formula of the law, from every outcome of all coins put through the real program, from
`dp-accounting` and from the closed form rho + 2 sqrt(rho log(1/delta)).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from scipy.stats import chi2, norm

from copublish.kernel.accounting.disclosures import NEIGHBORS, GaussianMeasure
from copublish.kernel.accounting.formatting import state_disclosure
from copublish.kernel.accounting.zcdp import delta_of, epsilon_for, rho_for
from copublish.kernel.noise.discrete_gaussian import MAX_SIZE_BITS, DiscreteGaussian, gaussian_noise
from copublish.kernel.noise.geometric import COIN_BITS
from copublish.kernel.programs.gaussian_noise import gaussian_candidates

ERROR_RATE = 1e-6
"""Of each statistical test here."""


def law(variance: float, reach: int) -> dict[int, float]:
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def candidates(noise: DiscreteGaussian, n_words: int, words) -> tuple[np.ndarray, np.ndarray]:
    kept, values = gaussian_candidates(
        np,
        words((COIN_BITS, noise.bits, n_words)),
        words((COIN_BITS, noise.square_bits, n_words)),
        words((n_words,)),
        size_planes=noise.sizes.threshold_planes,
        pass_planes=noise.threshold_planes,
        center=noise.center,
    )
    return kept, values


@pytest.mark.parametrize("scale, center", [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_every_outcome_of_all_coins_gives_the_discrete_gaussian_law(scale, center, monkeypatch):
    """The program on all combinations of coins, each weighted by its chance; sizes cut to 4 bits to have few enough."""
    monkeypatch.setattr(DiscreteGaussian, "bits", property(lambda self: 4))
    noise = DiscreteGaussian(scale, center)
    chance_of_size = [t / 2**COIN_BITS for t in noise.sizes.whole.thresholds_for(noise.bits)]
    chance_to_pass = [t / 2**COIN_BITS for t in noise.thresholds]
    outcomes = np.array(list(itertools.product([0, 1], repeat=noise.bits + noise.square_bits + 1)), dtype=np.int64)
    n_words = len(outcomes) // 64

    def lanes(bits: np.ndarray) -> np.ndarray:
        weights = (np.uint64(1) << np.arange(64, dtype=np.uint64))[None, :]
        return (bits.reshape(n_words, 64).astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64).view(np.int64)

    # A coin whose fair bits are all 0 is below every threshold but 0; one whose bits are all 1 is below none.
    coins = [lanes(outcomes[:, i]) for i in range(outcomes.shape[1])]
    given = iter(
        [
            np.stack([np.stack([~c for c in coins[: noise.bits]])] * COIN_BITS),
            np.stack([np.stack([~c for c in coins[noise.bits : -1]])] * COIN_BITS),
            coins[-1],
        ]
    )
    kept, values = candidates(noise, n_words, lambda shape: next(given))
    chances = np.array([*chance_of_size, *chance_to_pass, 0.5])
    weights = np.prod(np.where(outcomes == 1, chances, 1 - chances), axis=1)
    found: dict[int, float] = {}
    for value, weight in zip(values[kept == 1].tolist(), weights[kept == 1].tolist(), strict=True):
        found[value] = found.get(value, 0.0) + weight
    total = math.fsum(found.values())
    expected = law(noise.variance, 15)
    for x, chance in expected.items():
        assert found.get(x, 0.0) / total == pytest.approx(chance, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("least", [Fraction(1), Fraction(37, 5), Fraction(10**13)])
def test_noise_is_never_smaller_than_asked_for_and_hardly_larger(least):
    noise = gaussian_noise(least)
    assert least <= noise.variance <= least + math.isqrt(math.floor(least)) + 1
    assert 2**noise.bits > 10 * noise.deviation
    assert noise.square_bits <= 62


def test_noise_that_does_not_fit_the_engine_is_refused():
    largest = Fraction(4**MAX_SIZE_BITS, 101)
    gaussian_noise(largest)
    with pytest.raises(ValueError, match="fit"):
        gaussian_noise(4 * largest)


def p_value(sample: np.ndarray, variance: float) -> float:
    """Chi-square of a sample against the law, on cells that expect at least 20."""
    expected = {x: chance * len(sample) for x, chance in law(variance, 200).items()}
    inner = [x for x, n in expected.items() if n >= 20]
    low, high = min(inner), max(inner)
    counts = np.bincount(np.clip(sample, low, high) - low, minlength=high - low + 1)
    wanted = np.array([expected[x] for x in range(low, high + 1)])
    wanted[0] += sum(n for x, n in expected.items() if x < low)
    wanted[-1] += sum(n for x, n in expected.items() if x > high)
    return float(chi2.sf(((counts - wanted) ** 2 / wanted).sum(), len(counts) - 1))


def test_100_000_samples_have_the_law_and_a_deviation_off_by_5_percent_is_noticed():
    noise, generator = gaussian_noise(Fraction(50)), np.random.default_rng(3)
    kept, values = candidates(
        noise, 2300, lambda shape: generator.integers(-(2**63), 2**63, size=shape, dtype=np.int64)
    )
    sample = values[kept == 1][:100_000]
    assert len(sample) == 100_000
    assert p_value(sample, noise.variance) > ERROR_RATE
    assert p_value(sample, noise.variance * 1.05**2) < ERROR_RATE
    assert p_value(sample, noise.variance / 1.05**2) < ERROR_RATE


@pytest.mark.parametrize("least", [Fraction(1), Fraction(3), Fraction(50), Fraction(10**6), Fraction(10**15)])
def test_one_draw_keeps_enough_candidates(least):
    """The chance to keep a candidate, from the laws; 12 deviations below it are still enough."""
    noise = gaussian_noise(least)
    if noise.variance < 10**7:
        sizes = range(2**noise.bits)
        rate = (1 - math.exp(-1 / noise.scale)) / (1 - math.exp(-(2**noise.bits) / noise.scale))
        chance = rate * math.fsum(
            (0.5 if y == 0 else 1.0) * math.exp(-y / noise.scale - (y - noise.center) ** 2 / (2 * noise.variance))
            for y in sizes
        )
    else:
        chance = math.exp(-0.5) * math.sqrt(math.pi / 2)
    for entries in (1, 10, 100, 1431, 33_000):
        drawn = noise.candidates(entries)
        assert drawn * chance - 7 * math.sqrt(drawn * chance * (1 - chance)) > entries


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "4"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
def test_rho_agrees_with_dp_accounting_and_is_between_it_and_the_closed_form(epsilon, delta):
    rho = rho_for(Fraction(epsilon), Fraction(delta))
    closed = (math.sqrt(math.log(1 / float(delta)) + float(epsilon)) - math.sqrt(math.log(1 / float(delta)))) ** 2
    assert rho > closed  # epsilon = rho + 2 sqrt(rho log(1/delta)), the looser one
    accountant = rdp.RdpAccountant(orders=[1 + x / 40 for x in range(1, 40 * 1500)])
    accountant.compose(dp_accounting.ZCDpEvent(float(rho)))
    assert accountant.get_epsilon(float(delta)) == pytest.approx(float(epsilon), rel=2e-3)
    # Never below the exact delta of Gaussian noise with the same rho.
    mean = math.sqrt(2 * float(rho))  # of the privacy loss's normal variable (Balle and Wang, Theorem 8)
    exact = norm.cdf(mean / 2 - float(epsilon) / mean) - math.exp(float(epsilon)) * norm.cdf(
        -mean / 2 - float(epsilon) / mean
    )
    assert float(delta_of(rho, Fraction(epsilon))) >= exact > 0


def test_epsilon_for_turns_rho_for_around():
    rho, delta = rho_for(Fraction(1, 2), Fraction(1, 10**6)), Fraction(1, 10**6)
    assert float(epsilon_for(rho, delta)) == pytest.approx(0.5, rel=1e-5)
    assert delta_of(rho, epsilon_for(rho, delta)) <= delta


def measure(**changes: object) -> GaussianMeasure:
    given = {
        "label": "sums",
        "budget": Fraction(1),
        "agreed_delta": Fraction(1, 10**6),
        "calibrated_to": "add-remove",
        "squared_l2_sensitivity": {"add-remove": 100, "replace": 250},
        "entries": 30,
    }
    return GaussianMeasure(**{**given, **changes})


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_a_gaussian_measurement_keeps_the_agreed_epsilon_and_delta_and_states_the_other_relation(relation):
    disclosure = measure(calibrated_to=relation)
    assert disclosure.epsilon(relation) == 1
    assert disclosure.delta(relation) == Fraction(1, 10**6)
    # What exact noise costs, and the sampler on top, stay within what is charged.
    for neighbors in NEIGHBORS:
        exact = delta_of(disclosure.rho(neighbors), disclosure.epsilon(neighbors))
        assert exact <= disclosure.agreed_delta * Fraction(63, 64)
    assert (disclosure.epsilon("replace") > disclosure.epsilon("add-remove")) == (
        disclosure.rho("replace") > disclosure.rho("add-remove")
    )


def test_a_stated_rho_is_never_below_the_one_that_holds_and_hardly_above():
    for tenths in (1, 5, 10, 17):
        disclosure = measure(budget=Fraction(tenths, 10))
        for relation, stated in state_disclosure(disclosure).rho.items():
            exact = disclosure.rho(relation)
            assert exact <= Fraction(str(stated)) <= exact * Fraction(100_001, 100_000)


def test_a_delta_below_what_the_sampler_needs_is_refused():
    with pytest.raises(ValueError, match="sampler"):
        _ = measure(agreed_delta=Fraction(1, 10**14)).noise
