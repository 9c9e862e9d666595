"""What HPDP-DP's synthetic records show of the raw ones: whose they are, and how far from any guarantee that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from copublish_reproduction.hpdp import Model, scatter_matrix
from copublish_reproduction.plain_table import Floats, Ints


def share_traced(model: Model, owners: Sequence[Floats], n_traced: int, generator: np.random.Generator) -> float:
    """The share of synthetic records that are traced to their raw ones (E41).

    By somebody who has the model, the owners' means and everybody's raw records as candidates, and ignores that the
    order is kept: the nearest image wins.

    Args:
        model: What the curator sent back.
        owners: Raw records of every owner.
        n_traced: How many synthetic records to trace.
        generator: Where the synthetic records' noise comes from.
    """
    synthetic = np.concatenate([model.generate(values, generator) for values in owners])
    chosen = generator.choice(len(synthetic), min(n_traced, len(synthetic)), replace=False)
    return float(np.mean(nearest_images(model, owners, synthetic[chosen]) == chosen))


def share_traced_when_drawn_anew(
    model: Model, owners: Sequence[Floats], n_traced: int, generator: np.random.Generator
) -> float:
    """The same share where factors are drawn from N(0, I), as the model of Theorem 1 has it: a control."""
    values = np.concatenate(owners)
    factors = generator.normal(size=(n_traced, model.directions.shape[1]))
    noise = generator.normal(0, math.sqrt(model.variance), (n_traced, values.shape[1]))
    synthetic = factors @ model.loadings.T + values.mean(axis=0) + noise
    return float(np.mean(nearest_images(model, owners, synthetic) == np.arange(n_traced)))


def nearest_images(model: Model, owners: Sequence[Floats], synthetic: Floats) -> Ints:
    """For every synthetic record the place of the raw record whose image is nearest, within the components."""
    images = np.concatenate([model.image(values) + values.mean(axis=0) for values in owners]) @ model.directions
    seen = synthetic @ model.directions
    found: Ints = np.argmin((images**2).sum(axis=1) - 2 * seen @ images.T, axis=1)
    return found


def gaussian_epsilon(shift_in_deviations: float, delta: float) -> float:
    """The smallest epsilon of Gaussian noise for a shift (Balle and Wang, arXiv:1805.06530v2, Theorem 8)."""

    def excess(epsilon: float) -> float:
        half, rest = shift_in_deviations / 2, epsilon / shift_in_deviations
        # The second term in logarithms: e^epsilon alone can be too large for a number.
        return float(special.ndtr(half - rest) - np.exp(epsilon + special.log_ndtr(-half - rest)) - delta)

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, shift_in_deviations * (shift_in_deviations / 2 + 40)))


def loss_between_records(
    model: Model, values: Floats, pairs: int, delta: float, generator: np.random.Generator
) -> Floats:
    """The epsilon of one synthetic record for pairs of raw records at random."""
    first, second = (values[generator.integers(len(values), size=pairs)] for _ in range(2))
    shifts = np.linalg.norm(model.image(first) - model.image(second), axis=1) / math.sqrt(model.variance)
    return np.array([gaussian_epsilon(float(shift), delta) for shift in shifts if shift > 0])


@dataclass(frozen=True)
class LostScatter:
    """What centering at every owner loses (E42).

    Attributes:
        share: Of the trace of the pooled covariance.
        top_eigenvalue: Of what is left, as a share of the pooled one's.
        cosine: Between the two first principal components.
    """

    share: float
    top_eigenvalue: float
    cosine: float


def lost_scatter(owners: Sequence[Floats]) -> LostScatter:
    """Compare the sum of the owners' scatter matrices with the scatter matrix of all records."""
    pooled = scatter_matrix(np.concatenate(owners))
    local: Floats = np.sum([scatter_matrix(values) for values in owners if len(values)], axis=0)
    (values, vectors), (local_values, local_vectors) = np.linalg.eigh(pooled), np.linalg.eigh(local)
    cosine = abs(float(vectors[:, -1] @ local_vectors[:, -1]))
    return LostScatter(1 - float(np.trace(local) / np.trace(pooled)), float(local_values[-1] / values[-1]), cosine)
