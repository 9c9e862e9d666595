"""Findings about what one party sees of the other: majorities, the merged order, half of the noise."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from copublish_reproduction.leaks import learned_intervals, merge_transcript
from copublish_reproduction.plain_table import Bools, Floats, Ints, PlainTable


def share_learned(table: PlainTable, place: int, is_first: Bools) -> float:
    """The share of the second party's values of an attribute that the first one learns exactly (E7)."""
    widths = learned_widths(table, place, is_first)
    return float(np.mean(widths == 1))


def learned_widths(table: PlainTable, place: int, is_first: Bools) -> Ints:
    """How many numbers each of the second party's values can still be for the first one."""
    column = table.columns[place]
    if column.values is None:
        raise ValueError(f"'{column.name}' is no numerical attribute")
    numbers = column.values[column.codes]
    first, second = sorted(numbers[is_first].tolist()), sorted(numbers[~is_first].tolist())
    learned = learned_intervals(first, merge_transcript(first, second), len(second), column.low, column.high)
    return np.array([high - low for low, high in learned], dtype=np.int64)


def half_noise(epsilon: float, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
    """Noise that hides a leaf count from a party that subtracts its own share of the noise: one square minus one."""
    squares = generator.normal(0, math.sqrt(1 / epsilon), size=(2, *shape)) ** 2
    noise: Floats = squares[0] - squares[1]
    return noise


def half_noise_density(x: Floats, epsilon: float) -> Floats:
    """The density of `half_noise`: a Bessel function that is infinite at 0."""
    scale = 2 / epsilon
    density: Floats = special.k0(np.abs(x) / scale) / (math.pi * scale)
    return density


def delta_of_half_noise(epsilon: float, claim: float) -> float:
    """The smallest delta with which a party's view of one leaf count is (claim, delta)-private.

    That is the integral of max(0, f(x) - e^claim f(x - 1)), here over log |x|, which tames the infinite density.
    """
    logarithms = np.linspace(math.log(1e-30), math.log(200 / epsilon), 20_001)
    distance = np.exp(logarithms)
    total = 0.0
    for x in (distance, -distance):
        excess = half_noise_density(x, epsilon) - math.exp(claim) * half_noise_density(x - 1, epsilon)
        total += float(np.trapz(np.maximum(excess, 0) * distance, logarithms))
    return total


def epsilon_of_half_noise(epsilon: float, delta: float) -> float:
    """The smallest epsilon with which a party's view of one leaf count is (epsilon, delta)-private."""
    return float(optimize.brentq(lambda claim: delta_of_half_noise(epsilon, claim) - delta, epsilon / 2, 20.0))
