"""How much noise HPDP-DP adds, how much it needs, and how much is left for those who know a part of it."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from copublish_reproduction.hpdp import NoiseScale, gamma_scale, noise_share, scatter_matrix
from copublish_reproduction.plain_table import Floats


def measured_scale(n_owners: int, noise_scale: NoiseScale, samples: int, generator: np.random.Generator) -> float:
    """The mean size of all owners' noise together, as a share of the Laplace scale that epsilon needs (E39)."""
    p = math.ceil(math.sqrt(2 * samples))  # a symmetric matrix of this size has at least as many free entries
    needed = gamma_scale(p, n_owners, 1.0, "theorem")
    scale = gamma_scale(p, n_owners, 1.0, noise_scale)
    total = sum(noise_share(p, n_owners, scale, generator) for _ in range(n_owners))
    return float(np.abs(np.asarray(total)[np.triu_indices(p)]).mean() / needed)


def scatter_change(others: Floats, first: Floats, second: Floats) -> float:
    """The L1 change of a scatter matrix, upper triangle, when one record becomes another (E40)."""
    before, after = (scatter_matrix(np.vstack([others, record])) for record in (first, second))
    return float(np.abs(np.triu(before - after)).sum())


def structured_sensitivity(n_centered: int, n_groups: int) -> float:
    """The L1 sensitivity of second moments, sums and the number of records (add or remove one).

    Columns are centered at the middle of public bounds, or belong to groups of which one is 1 and the others 0.
    """
    l1, squares = n_groups + n_centered / 2, n_groups + n_centered / 4
    return (l1**2 + squares) / 2 + n_centered / 2 + 1


def residual_density(x: Floats, shape: float, scale: float) -> Floats:
    """The density of the difference of two Gamma variables: what is left of the noise for those who know some.

    It is infinite at 0 for shapes up to 1/2, and Laplace for shape 1.
    """
    distance = np.abs(x) / scale
    order = shape - 0.5
    with np.errstate(invalid="ignore", over="ignore"):
        density: Floats = (distance / 2) ** order * special.kv(order, distance)
    at_zero = special.gamma(order) / 2 if order > 0 else np.inf
    density = np.where(distance == 0, at_zero, density)
    scaled: Floats = density / (math.sqrt(math.pi) * special.gamma(shape) * scale)
    return scaled


def residual_epsilon(n_owners: int, epsilon: float) -> float:
    """Promise that is left once an owner knows its own share, for a change by 1 (E44).

    The density falls from 0 on both sides, the faster the nearer, so 0 against 1 is the worst case.
    """
    shape = (n_owners - 1) / n_owners
    at_zero, at_one = residual_density(np.array([0.0, 1.0]), shape, 1 / epsilon)
    return float(np.log(at_zero / at_one)) if np.isfinite(at_zero) else math.inf


def residual_delta(shape: float, epsilon: float) -> float:
    """The smallest delta at the promised epsilon where noise of that shape is left, for a change by 1.

    That is the integral of max(0, f(x) - e^epsilon f(x - 1)), here over log |x|, which tames the infinite density.
    """
    logarithms = np.linspace(math.log(1e-80), math.log(200 / epsilon), 40_001)
    distance = np.exp(logarithms)
    total = 0.0
    for x in (distance, -distance):
        here, there = (residual_density(place, shape, 1 / epsilon) for place in (x, x - 1))
        excess = np.where(np.isfinite(there), here - math.exp(epsilon) * there, 0.0)
        total += float(np.trapz(np.maximum(excess, 0) * distance, logarithms))
    return total
