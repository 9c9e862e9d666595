"""The sampled law is the geometric law: by enumeration of all bit patterns, in exact arithmetic.

Nothing here is statistical. Expected values come from integer fixed-point arithmetic with 400 bits (`power_of_e`),
enumeration, direct summation and bit-by-bit comparison of whole words.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.kernel.noise.geometric import COIN_BITS, Geometric, geometric_noise, laplace_quantile
from copublish.kernel.programs.noise import geometric
from copublish.kernel.programs.packing import Packing, add_packed_noise
from support.profiles import examples

PRECISION = 400
RATES = [Fraction(5), Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)]
"""At most 8 bits each."""


def power_of_e(exponent: Fraction) -> Fraction:
    """e^-exponent for exponent >= 0, to 2^-380, by Taylor series and squaring in integers."""
    halvings = int(exponent).bit_length() + 8
    one = 1 << PRECISION
    small = exponent.numerator * one // (exponent.denominator << halvings)
    total, term, n = 0, one, 0
    while term:
        total += term if n % 2 == 0 else -term
        n += 1
        term = (term * small >> PRECISION) // n
    for _ in range(halvings):
        total = total * total >> PRECISION
    return Fraction(total, one)


def law_of_bits(probabilities: list[Fraction]) -> list[Fraction]:
    """The exact law of sum 2^i b_i for independent bits, by enumeration of all patterns."""
    law = [Fraction(1)]
    for q in probabilities:
        law = [mass * (1 - q) for mass in law] + [mass * q for mass in law]
    return law


def distance_to_geometric(probabilities: list[Fraction], rate: Fraction) -> Fraction:
    """The total variation distance to p^g (1 - p) on all g >= 0, the tail included."""
    p, total, mass = power_of_e(rate), Fraction(0), None
    for sampled in law_of_bits(probabilities):
        mass = 1 - p if mass is None else Fraction(int(mass * p * 2**PRECISION), 2**PRECISION)
        total += abs(sampled - mass)
    tail = power_of_e(rate * 2 ** len(probabilities))
    return (total + tail) / 2


def as_probabilities(thresholds: tuple[int, ...]) -> list[Fraction]:
    return [Fraction(threshold, 2**COIN_BITS) for threshold in thresholds]


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(1), Fraction(44)])
def test_the_reference_exponential_agrees_with_floating_point_and_with_itself(exponent: Fraction) -> None:
    assert float(power_of_e(exponent)) == pytest.approx(math.exp(-exponent), rel=1e-14)
    assert abs(power_of_e(exponent / 2) ** 2 - power_of_e(exponent)) < Fraction(1, 2**360)


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 7), Fraction(99, 100)])
def test_bits_with_the_stated_probabilities_make_the_truncated_geometric_law_exactly(bits: int, p: Fraction) -> None:
    exact = [p ** (2**i) / (1 + p ** (2**i)) for i in range(bits)]
    assert law_of_bits(exact) == [p**g * (1 - p) / (1 - p ** (2**bits)) for g in range(2**bits)]


@pytest.mark.parametrize("rate", RATES)
def test_the_thresholds_give_the_truncated_geometric_law_for_every_pattern_of_up_to_eight_bits(rate: Fraction) -> None:
    noise = Geometric(rate)
    assert noise.bits <= 8
    normalization = (1 - power_of_e(rate)) / (1 - power_of_e(rate * 2**noise.bits))
    for g, sampled in enumerate(law_of_bits(as_probabilities(noise.thresholds))):
        expected = power_of_e(rate * g) * normalization
        assert abs(sampled - expected) < Fraction(noise.bits, 2**63)


@pytest.mark.parametrize("rate", [*RATES, Fraction(1, 20), Fraction(1, 200), Fraction(7, 10**6), Fraction(13, 11)])
def test_thresholds_are_the_probabilities_rounded_to_62_bits(rate: Fraction) -> None:
    thresholds = Geometric(rate).thresholds
    for i, threshold in enumerate(thresholds):
        power = power_of_e(rate * 2**i)
        scaled = power / (1 + power) * 2**COIN_BITS
        assert threshold == math.floor(scaled + Fraction(1, 2))


def test_thresholds_do_not_depend_on_the_callers_decimal_context() -> None:
    expected = Geometric(Fraction(1, 20)).thresholds
    with decimal.localcontext() as context:
        context.prec, context.rounding = 5, decimal.ROUND_DOWN
        assert Geometric(Fraction(1, 20)).thresholds == expected


@pytest.mark.parametrize(("scale", "bits"), [(2, 7), (20, 10), (200, 14)])
def test_the_number_of_bits_of_some_scales_is_the_one_found_by_hand(scale: int, bits: int) -> None:
    assert Geometric(Fraction(1, scale)).bits == bits


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=100, max_denominator=10**9))
@examples(60)
def test_the_number_of_bits_is_the_smallest_that_leaves_a_tail_of_at_most_two_to_minus_64(rate: Fraction) -> None:
    bits = Geometric(rate).bits
    assert power_of_e(rate * 2**bits) <= Fraction(1, 2**64)
    assert bits == 1 or power_of_e(rate * 2 ** (bits - 1)) > Fraction(1, 2**64)


@pytest.mark.parametrize("rate", [*RATES, Fraction(1, 20), Fraction(3, 100), Fraction(1, 200), Fraction(3000, 67)])
def test_the_stated_distance_bounds_the_exact_distance_to_the_geometric_law(rate: Fraction) -> None:
    noise = Geometric(rate)
    exact = distance_to_geometric(as_probabilities(noise.thresholds), rate)
    assert 0 < exact <= noise.distance
    assert noise.distance == Fraction(1, 2**64) + noise.bits * Fraction(1, 2**63)


def test_a_threshold_off_by_one_percent_or_a_missing_bit_exceeds_the_stated_distance() -> None:
    noise = Geometric(Fraction(1, 2))
    for i, threshold in enumerate(noise.thresholds[:-1]):
        wrong = list(noise.thresholds)
        wrong[i] = threshold * 101 // 100
        assert distance_to_geometric(as_probabilities(tuple(wrong)), noise.rate) > noise.distance
    assert distance_to_geometric(as_probabilities(noise.thresholds[:-1]), noise.rate) > noise.distance


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1)])
def test_a_rate_that_is_not_positive_is_refused(rate: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Geometric(rate)


@given(
    st.fractions(min_value=Fraction(1, 200), max_value=20, max_denominator=1000),
    st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]),
)
@examples(60)
def test_laplace_quantile_is_the_smallest_bound_by_direct_summation(rate: Fraction, confidence: float) -> None:
    p = math.exp(-rate)
    masses, bound = [(1 - p) / (1 + p)], 0
    while math.fsum(masses) < confidence:
        bound += 1
        masses.append(2 * (1 - p) / (1 + p) * p**bound)
    assert laplace_quantile(rate, confidence) == bound


def words_of(coins: list[list[list[int]]]) -> np.ndarray:
    """Pack 62-bit integers coins[bit][word][lane] as the engine wants them: one plane per place, highest first."""
    bits, n_words = len(coins), len(coins[0])
    words = np.zeros((COIN_BITS, bits, n_words), dtype=np.uint64)
    for i in range(bits):
        for w in range(n_words):
            for lane, coin in enumerate(coins[i][w]):
                for j in range(COIN_BITS):
                    words[j, i, w] |= np.uint64(((coin >> (COIN_BITS - 1 - j)) & 1) << lane)
    return words.view(np.int64)


def naive_samples(coins: list[list[list[int]]], thresholds: tuple[int, ...]) -> list[int]:
    """Compare whole integers, coin by coin."""
    return [
        sum(2**i * (coins[i][w][lane] < threshold) for i, threshold in enumerate(thresholds))
        for w in range(len(coins[0]))
        for lane in range(64)
    ]


@pytest.mark.slow
@given(
    st.sampled_from([Fraction(7), Fraction(1), Fraction(1, 3)]), st.integers(1, 2), st.randoms(use_true_random=False)
)
@examples(10)
def test_the_secret_program_compares_every_coin_with_its_threshold(rate, n_words, random) -> None:
    noise = Geometric(rate)

    def coin(threshold: int) -> int:
        near = threshold + random.choice([-2, -1, 0, 1, 2]) if random.random() < 0.5 else 0
        return max(0, near) or random.getrandbits(COIN_BITS)

    coins = [[[coin(t) for _ in range(64)] for _ in range(n_words)] for t in noise.thresholds]
    drawn = geometric(np, words_of(coins), noise.threshold_planes)
    assert drawn.tolist() == naive_samples(coins, noise.thresholds)
    assert noise.coin_shape(64 * n_words) == (COIN_BITS, noise.bits, n_words)


def test_a_coin_at_its_threshold_is_zero_and_one_below_is_one() -> None:
    noise = Geometric(Fraction(1, 2))
    for shift, expected in ((0, 0), (-1, 2**noise.bits - 1), (1, 0)):
        coins = [[[threshold + shift] * 64] for threshold in noise.thresholds]
        assert geometric(np, words_of(coins), noise.threshold_planes).tolist() == [expected] * 64


def test_laplace_noise_is_the_difference_of_two_samples_per_count() -> None:
    noise = Geometric(Fraction(1, 2))
    words = np.random.default_rng(1).integers(-(2**63), 2**63, size=noise.coin_shape(2 * 50), dtype=np.int64)
    drawn = geometric(np, words, noise.threshold_planes)
    counts = np.arange(50)
    for offset in (0, 2**noise.bits):
        noisy = add_packed_noise(np, counts.reshape(-1, 1), words, noise.threshold_planes, Packing(1), None, offset)
        assert noisy.tolist() == [[int(counts[i] + drawn[i] - drawn[50 + i]) + offset] for i in range(50)]


@pytest.mark.parametrize(("samples", "words"), [(0, 0), (1, 1), (64, 1), (65, 2), (128, 2)])
def test_64_samples_share_a_word(samples: int, words: int) -> None:
    assert Geometric(Fraction(1)).coin_shape(samples)[2] == words


def test_threshold_planes_spell_the_thresholds_and_cannot_be_changed() -> None:
    noise = geometric_noise(Fraction(1, 20))
    planes = noise.threshold_planes
    for i, threshold in enumerate(noise.thresholds):
        assert int("".join(str(-int(bit)) for bit in planes[:, i, 0]), 2) == threshold
    with pytest.raises(ValueError, match="read-only"):
        planes[0, 0, 0] = 1
    assert geometric_noise(Fraction(1, 20)) is noise
    assert noise.scale == 20.0
