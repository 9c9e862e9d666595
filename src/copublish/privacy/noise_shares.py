"""Discrete Laplace noise that owners of data add in shares, where no engine can draw noise that nobody knows.

Every owner knows its own share, and owners that collude know theirs together. So the shares are sized such that
those of the others are the full noise already: with M owners of whom t may collude, any M - t shares make up discrete
Laplace noise, and all M of them a little more. That costs a factor M / (M - t) in variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from copublish.agreement.model import Agreement

TAIL_EXPONENT = 50
"""Jumps of 2^J and more are left out, where p^(2^J) <= e^-50, which is below 2^-72."""

FINEST_RATE = Fraction(1, 2**10)
"""Quantiles at smaller rates are those at this one in proportion: the law is nearly continuous there."""


@dataclass(frozen=True)
class NoiseShares:
    """Who adds shares of the noise, and how many of them may put together what they know."""

    owners: tuple[str, ...]
    colluders: int

    def __post_init__(self) -> None:
        if not 1 <= self.colluders < len(self.owners):
            raise ValueError(f"of {len(self.owners)} owners 1 to {len(self.owners) - 1} may collude: {self.colluders}")

    @staticmethod
    def of(agreement: Agreement) -> NoiseShares | None:
        """The shares of an agreement; none if a secure engine draws the noise, or there are no joint sums."""
        if agreement.engine.name != "masked-sum" or agreement.mechanism.needs(agreement.partition) != "sums":
            return None
        return NoiseShares(agreement.owners, agreement.colluders)

    @property
    def enough(self) -> int:
        """How many shares make up the full noise: M - t."""
        return len(self.owners) - self.colluders

    @property
    def variance_factor(self) -> Fraction:
        """How much more all shares vary than the noise of which epsilon speaks: M / (M - t)."""
        return Fraction(len(self.owners), self.enough)


@dataclass(frozen=True)
class SharedLaplace:
    """Noise that is the sum of the owners' shares, each NB(1 / (M - t), p) - NB(1 / (M - t), p), p = exp(-rate).

    Privacy:
        NB(a, p) + NB(b, p) is NB(a + b, p), and NB(1, p) is geometric. So any M - t shares sum to a difference of two
        geometric variables, which is discrete Laplace noise at this rate. Against at most t owners that know their own
        shares, the shares of the others are that noise plus something independent: epsilon holds against them.
        `distance` bounds how far the sampled law is from the exact one; it is charged as delta.
    """

    rate: Fraction
    shares: NoiseShares

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ValueError(f"the rate of noise must be above 0, got {self.rate}")

    @property
    def shape(self) -> Fraction:
        """The shape 1 / (M - t) of the two negative binomial variables of one share."""
        return Fraction(1, self.shares.enough)

    @cached_property
    def bits(self) -> int:
        """Jumps have so many bits: the smallest J, at least one, with rate * 2^J >= TAIL_EXPONENT."""
        bits = 1
        while self.rate * 2**bits < TAIL_EXPONENT:
            bits += 1
        return bits

    @property
    def distance(self) -> Fraction:
        """Bound on the distance to the exact law of the sum of all owners' variables of one sign.

        The jumps k >= 2^J that are left out are a Poisson variable with mean a * sum of p^k / k. Between 2^j and
        2^(j+1) the terms 1 / k sum to at most 1, so the mean is at most a * sum over j >= J of p^(2^j); as 2^j is at
        least 2^J (j - J + 1), that is at most a * q / (1 - q) with q = p^(2^J) <= 2^-72, so below a * 2^-71. That they
        are not 0 has at most this probability, and so it bounds the distance; it adds up over M owners with a =
        1 / (M - t). Everything else about the sampler is exact.
        """
        return self.shares.variance_factor * Fraction(1, 2**71)

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise that varies as much, about."""
        return float(1 / self.rate) * math.sqrt(self.shares.variance_factor)

    def within(self, confidence: float) -> int:
        """The smallest t with Pr[|X| <= t] >= confidence for the sum of all shares, about, at small rates."""
        if self.rate >= FINEST_RATE:
            return _quantile(float(self.rate), float(self.shares.variance_factor), confidence)
        finest = _quantile(float(FINEST_RATE), float(self.shares.variance_factor), confidence)
        return math.ceil(finest * FINEST_RATE / self.rate)


@cache
def shared_laplace(rate: Fraction, shares: NoiseShares) -> SharedLaplace:
    """The noise at a rate."""
    return SharedLaplace(rate, shares)


@cache
def _quantile(rate: float, shape: float, confidence: float) -> int:
    """A quantile of |NB(shape, p) - NB(shape, p)| from its characteristic function.

    At n equidistant angles that gives the law modulo n, which is the law but for what lies beyond n / 2.
    """
    n = 1 << math.ceil(math.log2(64 + 128 * shape / rate))
    angles = np.arange(n // 2 + 1) * (2 * np.pi / n)
    p = math.exp(-rate)
    squared = (1 - p) ** 2 / (1 - 2 * p * np.cos(angles) + p * p)
    law = np.fft.irfft(squared**shape, n)
    within = np.cumsum(np.concatenate([law[:1], 2 * law[1 : n // 2]]))
    return int(np.searchsorted(within, confidence))
