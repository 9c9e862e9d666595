"""The noise that HPDP-DP's owners add together: Laplace, of a scale that is M times too small as printed.

Kolmogorov-Smirnov tests on 20,100 entries; a p-value below 10^-4 fails, so each test fails by chance once in 10,000
times. Seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from copublish_reproduction.hpdp import Hpdp, gamma_scale, noise_share, scatter_matrix
from copublish_reproduction.hpdp_noise import measured_scale

P, THRESHOLD = 200, 1e-4
NEEDED = P * (P + 1) / 0.5


def all_owners_noise(n_owners, noise_scale, seed):
    generator = np.random.default_rng(seed)
    scale = gamma_scale(P, n_owners, 0.5, noise_scale)
    total = sum(noise_share(P, n_owners, scale, generator) for _ in range(n_owners))
    return total[np.triu_indices(P)]


def p_value(entries, scale):
    return stats.kstest(entries, stats.laplace(scale=scale).cdf).pvalue


@pytest.mark.parametrize("n_owners", [2, 3, 10])
def test_shares_with_the_scale_of_the_proof_add_up_to_what_epsilon_needs(n_owners):
    entries = all_owners_noise(n_owners, "theorem", n_owners)
    assert p_value(entries, NEEDED) > THRESHOLD
    assert p_value(entries * 1.1, NEEDED) < THRESHOLD  # the test sees 10 %


@pytest.mark.parametrize("n_owners", [2, 3, 10])
def test_shares_as_printed_add_up_to_a_scale_that_many_times_too_small(n_owners):
    entries = all_owners_noise(n_owners, "printed", 50 + n_owners)
    assert p_value(entries, NEEDED / n_owners) > THRESHOLD
    assert p_value(entries, NEEDED) < THRESHOLD


@pytest.mark.parametrize("n_owners", [2, 3, 10])
def test_the_measured_share_of_the_scale(n_owners):
    """The size of a Laplace variable has mean and deviation 1: five standard errors, 1 in 10^6 by chance."""
    samples = 50_000
    generator = np.random.default_rng(39)
    found = measured_scale(n_owners, "printed", samples, generator)
    assert abs(found * n_owners - 1) < 5 / math.sqrt(samples)
    assert abs(measured_scale(n_owners, "theorem", samples, generator) - 1) < 5 / math.sqrt(samples)


def test_what_an_owner_encrypts_is_its_scatter_and_one_share():
    """A difference of Gamma(1/M) variables of scale b has variance 2 b^2 / M; kurtosis 3 + 3 M makes errors large."""
    generator = np.random.default_rng(4)
    values = generator.random((30, P))
    share = Hpdp(0.5, 0.9, "theorem").noisy_matrix(values, 4, generator) - scatter_matrix(values)
    entries = share[np.triu_indices(P)]
    expected = 2 * NEEDED**2 / 4
    error = expected * math.sqrt((3 + 3 * 4 - 1) / len(entries))
    assert abs(float(np.mean(entries**2)) - expected) < 5 * error
