"""Shares of noise: how many there are, what they cost, how far the sampled law is from the exact one, error bars."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import exp1

from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.noise.geometric import laplace_quantile
from copublish.kernel.noise.laplace_shares import MAX_JUMP_BITS, draw_share, negative_binomial
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from support import ConstantCoins, SeededCoins
from support.profiles import examples

BOTH = {"add-remove": 1, "replace": 2}


def shares(owners: int, colluders: int) -> NoiseShares:
    return NoiseShares(tuple(f"p{number}" for number in range(owners)), colluders)


@pytest.mark.parametrize(("owners", "colluders", "factor"), [(2, 1, 2), (3, 1, "3/2"), (10, 1, "10/9"), (10, 9, 10)])
def test_the_price_is_the_number_of_owners_by_that_of_honest_ones(owners, colluders, factor):
    assert shares(owners, colluders).variance_factor == Fraction(factor)
    noise = SharedLaplace(Fraction(1, 7), shares(owners, colluders))
    assert noise.shape * (owners - colluders) == 1
    assert noise.scale == pytest.approx(7 * math.sqrt(Fraction(factor)))


@pytest.mark.parametrize(("owners", "colluders"), [(2, 0), (2, 2), (3, 4), (1, 1)])
def test_some_owner_is_honest_and_every_owner_knows_its_own_share(owners, colluders):
    with pytest.raises(ValueError, match="may collude"):
        shares(owners, colluders)


def test_a_rate_of_zero_is_no_noise_and_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        SharedLaplace(Fraction(0), shares(2, 1))


@examples(50)
@given(st.fractions(Fraction(1, 10**12), 50, max_denominator=10**12), st.integers(2, 50), st.data())
def test_the_distance_covers_the_jumps_that_are_left_out_at_all_owners(rate, owners, data):
    """The mean number of jumps of 2^J and more, over all owners, bounds the distance."""
    noise = SharedLaplace(rate, shares(owners, data.draw(st.integers(1, owners - 1))))
    first = 2**noise.bits
    assert rate * first >= 50 > rate * first / 2 or noise.bits == 1
    if rate > 1:
        tail = sum(math.exp(-rate * k) / k for k in range(first, first + 100))
    else:  # the integral of e^(-rate x) / x from 2^J - 1/2 on is above the sum: its integrand is convex
        tail = float(exp1(float(rate) * (first - 0.5)))
    assert 0 < float(noise.shape) * owners * tail <= float(noise.distance)
    assert float(noise.distance) == pytest.approx(float(noise.shares.variance_factor) * 2.0**-71)


def test_delta_counts_every_owners_shares_of_both_signs_in_every_changed_entry():
    measure = Measure(
        label="c",
        budget=Fraction(1),
        calibrated_to="replace",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=5,
        shares=shares(3, 1),
    )
    distance = Fraction(3, 2) / 2**71
    for neighbors, changed in BOTH.items():
        assert measure.delta(neighbors) >= (1 + Fraction(math.exp(measure.epsilon(neighbors)))) * 2 * changed * distance
        assert measure.delta(neighbors) <= 4 * 2 * changed * distance
    plain = Measure(
        label="c", budget=Fraction(1), calibrated_to="replace", l1_sensitivity=BOTH, changed_entries=BOTH, entries=5
    )
    assert [measure.epsilon(n) for n in BOTH] == [plain.epsilon(n) for n in BOTH]
    assert measure.scale_in_people == pytest.approx(plain.scale_in_people * math.sqrt(1.5))


@examples(20)
@given(st.floats(0.05, 4), st.sampled_from([(2, 1), (3, 1), (10, 1), (4, 3)]), st.sampled_from([0.5, 0.95, 0.999]))
def test_error_bars_are_those_of_the_convolved_law(rate, case, confidence):
    exact = Fraction(rate)
    found = SharedLaplace(exact, shares(*case)).within(confidence)
    k = np.arange(int(400 / rate) + 50)
    one_sided = stats.nbinom(float(shares(*case).variance_factor), 1 - math.exp(-rate)).pmf(k)
    law = np.convolve(one_sided, one_sided[::-1])
    middle = len(k) - 1
    inside = lambda t: law[middle - t : middle + t + 1].sum() if t >= 0 else 0.0  # noqa: E731
    assert inside(found) >= confidence - 1e-9
    assert inside(found - 1) <= confidence + 1e-9


def test_error_bars_at_tiny_rates_are_in_proportion_and_above_those_of_the_noise_alone():
    large = SharedLaplace(Fraction(1, 10**6), shares(3, 1)).within(0.95)
    fine = SharedLaplace(Fraction(1, 1000), shares(3, 1)).within(0.95)
    assert large == pytest.approx(1000 * fine, rel=2e-3)
    nearly_all = SharedLaplace(Fraction(1, 10**6), shares(1000, 1)).within(0.95)
    alone = laplace_quantile(Fraction(1, 10**6), 0.95)
    assert alone * 0.999 < nearly_all < alone * 1.002 < large


def test_coins_that_are_all_ones_give_no_noise():
    noise = SharedLaplace(Fraction(1, 100), shares(2, 1))
    assert not draw_share(noise, 50, ConstantCoins(1)).any()
    assert draw_share(noise, 50, SeededCoins(1)).any()


def test_noise_whose_jumps_do_not_fit_is_refused():
    with pytest.raises(ValueError, match="too small"):
        negative_binomial(Fraction(1), Fraction(1, 2**60), MAX_JUMP_BITS + 1, 1, SeededCoins(1))


def test_large_noise_is_drawn_in_one_go():
    noise = SharedLaplace(Fraction(1, 10**7), shares(2, 1))
    drawn = draw_share(noise, 1500, SeededCoins(2))
    assert drawn.std() / 10**7 == pytest.approx(math.sqrt(2), rel=0.2)
