"""How much more likely an answer is on one table than on the other, by the law that its disclosure states.

It decides how sharp an audit is, never whether it is right: a bound holds for any evidence.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Select
from copublish.types import IntArray

SMALLEST = 1e-14
"""Less of a law is not looked at."""


def evidence(disclosure: Disclosure, answer: IntArray, measured: tuple[IntArray, IntArray]) -> float:
    """The logarithm of how many times more likely an answer is on table 1; 0 for what has no law here."""
    first, second = measured
    if isinstance(disclosure, Select):
        winner, rate = int(answer[0]), float(disclosure.noise.rate)
        if np.array_equal(first, second):
            return 0.0
        return log_chance(second, winner, rate) - log_chance(first, winner, rate)
    if isinstance(disclosure, Measure | GaussianMeasure):
        return float(evidence_of_sums(disclosure, answer[None], measured)[0])
    return 0.0


def evidence_of_sums(
    disclosure: Measure | GaussianMeasure, answers: IntArray, measured: tuple[IntArray, IntArray]
) -> NDArray[np.float64]:
    """The same of many answers: shape (runs, entries) to (runs,)."""
    first, second = ((answers - exact) for exact in measured)
    if isinstance(disclosure, GaussianMeasure):
        squares = [(off.astype(np.float64) ** 2).sum(axis=1) for off in (first, second)]
        return np.asarray((squares[0] - squares[1]) / (2 * disclosure.noise.variance))
    return np.asarray(float(disclosure.noise.rate) * (np.abs(first).sum(axis=1) - np.abs(second).sum(axis=1)))


def log_chance(scores: IntArray, winner: int, rate: float) -> float:
    """The logarithm of the chance that a place wins the maximum of scores plus geometric noise, ties to the first."""
    own = int(scores[winner])
    others = np.delete(scores, winner)
    # Place j before the winner has to stay below it, one after it may reach it.
    ahead = own - others - (np.arange(len(scores)) < winner)[np.arange(len(scores)) != winner]
    least = max(0, -int(ahead.min(initial=0)))  # with less noise of its own it cannot win
    most = least + math.ceil(-math.log(SMALLEST) / rate)
    noise = np.arange(least, most + 1)
    kept = ahead[ahead < -math.log(SMALLEST) / rate]  # the others hardly ever win
    stays = np.ones(len(noise))
    for margin in kept:
        stays *= -np.expm1(-rate * (margin + noise + 1))
    law = -np.expm1(-rate) * np.exp(-rate * (noise - least))
    return float(np.log(max((law * stays).sum(), 1e-300)) - rate * least)
