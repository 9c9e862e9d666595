"""Findings about the noise of leaf counts: its scale, its floating-point arithmetic, and the class without any."""

from __future__ import annotations

import math

import numpy as np

from copublish_reproduction.plain_table import Bools, Floats, Ints

UNIFORM_BITS = 53
"""Uniform doubles are multiples of 2^-53."""


def scale_of_squares(standard_deviation: float) -> float:
    """The scale of the Laplace noise that four squared Gaussians make: twice their variance."""
    return 2 * standard_deviation**2


def scale_if_variance(epsilon: float) -> float:
    """The scale if sqrt(1 / epsilon) is taken for the variance, as DistDiffGen's text says."""
    return scale_of_squares(math.sqrt(math.sqrt(1 / epsilon)))


def textbook_laplace(steps: Ints, scale: float) -> Floats:
    """Laplace noise by inversion, -b sgn(U) log(1 - 2|U|), from U = steps / 2^53 in [-1/2, 1/2)."""
    uniform = steps / 2.0**UNIFORM_BITS
    noise: Floats = -scale * np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))
    return noise


def possible(outputs: Floats, count: int, scale: float) -> Bools:
    """Which outputs `textbook_laplace` can give for a count; who knows the sampler rules the others out."""
    noise = outputs - count
    uniform = np.sign(noise) * (1 - np.exp(-np.abs(noise) / scale)) / 2
    nearest = np.rint(uniform * 2.0**UNIFORM_BITS).astype(np.int64)
    found = np.zeros(len(outputs), dtype=np.bool_)
    for step in range(-SEARCH, SEARCH + 1):
        found |= count + textbook_laplace(nearest + step, scale) == outputs
    return found


SEARCH = 8
"""Steps of U around the inverse that are tried: rounding moves it by far less."""


def share_ruled_out(scale: float, n: int, generator: np.random.Generator) -> float:
    """The share of outputs for count 0 that count 1 can never give (E19)."""
    half = 2 ** (UNIFORM_BITS - 1)
    outputs = textbook_laplace(generator.integers(-half + 1, half, n), scale)
    return float(np.mean(~possible(outputs, 1, scale)))
