"""Lower bounds on epsilon, mu and rho from right guesses, with the evidence and the coins that guesses rest on.

Each run draws a fair coin b and plays table b. An attacker who sees outputs guesses b, or abstains. Evidence for a
guess is how much more likely an answer is on one table than on the other, by the law that its disclosure states. It
decides how sharp an audit is, never whether it is right: a bound holds for any evidence.

Given all outputs the coins are independent, and by epsilon-DP each is right with probability at most
1 / (1 + e^-epsilon), whatever rule made the guess from outputs alone. So the number of right guesses is at most
binomial, and one exact interval (Clopper and Pearson) on their share bounds epsilon from below.

Under rho-zCDP nobody abstains. Let r be the probability of a right guess. The pair of Bernoulli laws that a guess makes
of the two tables' laws has KL divergence at most rho both ways (data processing), and by joint convexity
(2 r - 1) log(r / (1 - r)) <= rho. For Gaussian noise the best guess is right with probability Phi(mu / 2), where
mu^2 = 2 rho.

Coins of views are a few from the operating system, stretched to as many as are needed. The sampler takes 62 fair coins
for every biased bit, and the operating system's generator would make most of what a run costs. A release takes all its
coins from there, so what is audited alone, disclosure by disclosure, takes them from there as well.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm

from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Select
from copublish.types import IntArray

KEY_BYTES, BLOCK_BYTES = 32, 16


class StretchedCoins:
    """The key stream of AES-256 in counter mode, under a fresh key of the operating system.

    Whoever could tell it from fair coins would have broken AES; its own generator is such a stream as well.
    """

    def __init__(self) -> None:
        self._stream = Cipher(algorithms.AES(os.urandom(KEY_BYTES)), modes.CTR(bytes(BLOCK_BYTES))).encryptor()

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """The next 64-bit words."""
        return np.frombuffer(self._stream.update(bytes(8 * math.prod(shape))), np.int64).reshape(shape)


def stretched_coins(parties: Iterable[str]) -> dict[str, StretchedCoins]:
    """Coins of its own for every party."""
    return {party: StretchedCoins() for party in parties}


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


Floats = NDArray[np.float64]

THRESHOLDS = 600
"""That are compared, at most."""


def share_right(epsilon: Floats | float) -> Floats:
    """The largest probability of a right guess under epsilon."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(epsilon, dtype=np.float64))))


def lower_share(right: Floats | float, guesses: Floats | float, alpha: float) -> Floats:
    """An exact lower limit on the probability of a right guess; `right` may be an expectation, to plan with."""
    right, guesses = np.asarray(right, dtype=np.float64), np.asarray(guesses, dtype=np.float64)
    found = beta.ppf(alpha, np.maximum(right, 1e-300), guesses - right + 1)
    return np.where((right <= 0) | (guesses <= 0), 0.0, np.nan_to_num(found))


def epsilon_of_share(share: Floats | float) -> Floats:
    """The epsilon that such a probability of a right guess needs; 0 below a half."""
    share = np.clip(np.asarray(share, dtype=np.float64), 0.5, 1 - 1e-15)
    return np.asarray(np.log(share / (1 - share)))


def best_threshold(sizes: Floats, alpha: float, *, runs_each: float = 1.0) -> tuple[float, float]:
    """The least size of evidence to guess at, and what guesses would then show if it means what it says.

    It is a function of outputs alone: coins are not looked at.

    Args:
        sizes: Of the evidence of each run.
        alpha: The chance that more is shown than there is.
        runs_each: To plan with: how many runs of the size of each there will be.
    """
    ordered = np.sort(sizes[sizes > 0])[::-1]
    if not len(ordered):
        return math.inf, 0.0
    ends = np.flatnonzero(np.append(ordered[1:] < ordered[:-1], True))  # equal sizes are guessed at all or none
    right = np.cumsum(share_right(ordered))
    # Many values of one person show most in the rarest runs, so the first ones are looked at one by one.
    some = ends[np.unique(np.geomspace(1, len(ends), THRESHOLDS).astype(int)) - 1]
    shown = epsilon_of_share(lower_share(runs_each * right[some], runs_each * (some + 1.0), alpha))
    best = int(np.argmax(shown))
    return float(ordered[some][best]), float(shown[best])


def p_value(right: int, guesses: int, share: float) -> float:
    """How likely so many right guesses are at most, if each is right with no more than this probability."""
    return float(binom.sf(right - 1, guesses, share)) if guesses else 1.0


def mu_of_share(share: float) -> float:
    """The distance of two normal laws that such a probability of a right guess needs."""
    return max(0.0, 2 * float(norm.ppf(min(max(share, 0.5), 1 - 1e-15))))


def share_of_mu(mu: float, people: int = 1) -> float:
    """The largest probability of a right guess about Gaussian noise on whole numbers, that many people apart.

    Sums over whole numbers up to the point halfway between both tables are the midpoint rule for the normal integral:
    they are above it by the part 1 / 24 v, by Euler and Maclaurin, and v is at least 1 / mu^2. Twice that is allowed.
    """
    return min(1.0, 0.5 + (float(norm.cdf(people * mu / 2)) - 0.5) * (1 + mu**2 / 12))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Epsilon at a delta of two normal laws at distance mu (Balle and Wang, arXiv:1805.06530v2, Theorem 8)."""
    if mu <= 0:
        return 0.0

    def excess(epsilon: float) -> float:
        first, second = norm.cdf(mu / 2 - epsilon / mu), norm.logcdf(-mu / 2 - epsilon / mu)
        return float(first - np.exp(epsilon + second) - delta)

    return float(brentq(excess, 0, 200)) if excess(0) > 0 else 0.0


def rho_of_share(share: float) -> float:
    """The rho that such a probability of a right guess needs."""
    return (2 * share - 1) * math.log(share / (1 - share)) if share > 0.5 else 0.0


def share_of_rho(rho: float) -> float:
    """The largest probability of a right guess under rho-zCDP."""
    return float(brentq(lambda share: rho_of_share(share) - rho, 0.5, 1 - 1e-15)) if rho > 0 else 0.5
