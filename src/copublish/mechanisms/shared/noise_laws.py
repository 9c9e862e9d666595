"""Standard deviation and excess kurtosis of noise, by the law and the scale that a certificate states."""

from __future__ import annotations

import math

from copublish.kernel.accounting.statements import Law, Noise

LAPLACE_EXCESS = 3.0
"""Excess kurtosis of Laplace noise; owners' shares of it that add up to more of it have less."""


def deviation_of(noise: Noise, *, points_per_person: int = 1) -> float:
    """Standard deviation of a measurement's noise, in people.

    This is the one place that turns a scale into a deviation.

    Args:
        noise: The noise.
        points_per_person: How many whole points of what was measured stand for one person: 1 for counts.
    """
    scale = (noise.scale_in_people or 0.0) * points_per_person
    return _deviation(noise.law, scale) / points_per_person


def _deviation(law: Law, scale: float) -> float:
    if law is Law.GAUSSIAN:
        return scale
    if law is Law.SHARED_LAPLACE:
        return math.sqrt(2) * scale  # the scale stated is that of Laplace noise that varies as much
    if scale <= 0:
        return 0.0
    p = math.exp(-1 / scale)  # discrete Laplace: Pr[x] is proportional to p^|x|
    return math.sqrt(2 * p) / (1 - p)


def excess_of(noise: Noise) -> float:
    """Excess kurtosis of a measurement's noise: how much heavier its tails are than a normal law's."""
    return 0.0 if noise.law is Law.GAUSSIAN else LAPLACE_EXCESS
