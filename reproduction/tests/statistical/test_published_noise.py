"""Leaf noise as published: its scale under both readings, and what floating point gives away (E16, E19).

Samples: 20,000 for each law, Kolmogorov-Smirnov at ALPHA = 10^-4; 20,000 outputs for each floating-point scale.
Seeded, so the checks pass always or never.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from copublish_reproduction.findings_noise import possible, scale_if_variance, share_ruled_out, textbook_laplace
from copublish_reproduction.top_down import laplace_from_squares

SAMPLES, ALPHA = 20_000, 1e-4


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_four_squares_with_standard_deviation_sqrt_of_1_over_epsilon_are_laplace_noise_of_scale_2_over_epsilon(epsilon):
    generator = np.random.default_rng(1)
    squares = generator.normal(0, math.sqrt(1 / epsilon), (4, SAMPLES)) ** 2
    printed = squares[0] + squares[1] - squares[2] - squares[3]
    for noise in (printed, laplace_from_squares(2 / epsilon, (SAMPLES,), generator)):
        assert stats.kstest(noise, stats.laplace(scale=2 / epsilon).cdf).pvalue > ALPHA
        assert stats.kstest(noise, stats.laplace(scale=2.6 / epsilon).cdf).pvalue < ALPHA


def test_as_a_variance_the_same_number_gives_a_third_of_the_noise_and_three_times_the_cost():
    """E16, epsilon 0.1: Lap(6.3) instead of Lap(20), a leaf cost of 0.158 instead of 0.05."""
    squares = np.random.default_rng(2).normal(0, math.sqrt(math.sqrt(1 / 0.1)), (4, SAMPLES)) ** 2
    noise = squares[0] + squares[1] - squares[2] - squares[3]
    scale = scale_if_variance(0.1)
    assert scale == pytest.approx(6.32, abs=0.01)
    assert 1 / scale == pytest.approx(0.158, abs=0.001)
    assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > ALPHA
    assert stats.kstest(noise, stats.laplace(scale=20).cdf).pvalue < ALPHA


@pytest.mark.parametrize("scale", [10.0, 1.0])
def test_one_output_of_a_textbook_sampler_mostly_rules_out_the_neighboring_count(scale):
    """E19: 80 % of the draws. The true count is never ruled out, so the search is complete."""
    generator = np.random.default_rng(3)
    assert share_ruled_out(scale, SAMPLES, generator) == pytest.approx(0.8, abs=0.03)
    outputs = 1 + textbook_laplace(generator.integers(-(2**52) + 1, 2**52, SAMPLES), scale)
    assert possible(outputs, 1, scale).all()


def test_integer_noise_rules_out_nothing():
    """The same question to whole numbers: every output for one count is an output for the other."""
    generator = np.random.default_rng(4)
    noise = generator.geometric(0.1, (2, SAMPLES))
    outputs = noise[0] - noise[1]
    assert set((outputs + 1).tolist()) & set(outputs.tolist()) >= set(range(-20, 21))
