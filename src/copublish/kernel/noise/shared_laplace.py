"""Discrete Laplace noise that owners of data add in shares, where no engine can draw noise that nobody knows.

Every owner knows its own share, and owners that collude know theirs together. So the shares are sized such that
those of the others are the full noise already: with M owners of whom t may collude, any M - t shares make up discrete
Laplace noise, and all M of them a little more. That costs a factor M / (M - t) in variance. An aggregator that owns
data knows a share, so it is one of the t; one without data knows none and is not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

TAIL_EXPONENT = 50
"""Jumps of 2^J and more are left out, where p^(2^J) <= e^-50, which is below 2^-72."""

FINEST_RATE = Fraction(1, 2**10)
"""Quantiles at smaller rates are those at this one in proportion: the law is nearly continuous there."""


@dataclass(frozen=True)
class NoiseShares:
    """Who adds shares of the noise, and how many of them may put together what they know.

    Attributes:
        owners: The owners of data, the aggregator among them if it is one.
        colluders: How many of these, t. The aggregator is one of the t if it owns data; otherwise it may be with them.
    """

    owners: tuple[str, ...]
    colluders: int

    def __post_init__(self) -> None:
        if not 1 <= self.colluders < len(self.owners):
            raise ValueError(f"of {len(self.owners)} owners 1 to {len(self.owners) - 1} may collude: {self.colluders}")

    @staticmethod
    def of(agreement: Agreement) -> NoiseShares | None:
        """The shares of an agreement; none if a secure engine draws the noise, or there are no joint sums."""
        if agreement.engine.name != "masked-sum" or agreement.need != "sums":
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
        geometric variables, which is discrete Laplace noise at this rate.

        What a coalition C of t owners sees, if the aggregator is in it: every other owner i sends it s_i + n_i + m_i,
        where s_i are its sums, n_i its share and m_i its masks. The masks of pairs with a member of C are known to C.
        Those of pairs of others are uniform, and the only thing that is certain about them is that they cancel in the
        sum over all others. So what C learns is that sum, of s_i + n_i over the M - t others, and beside it numbers
        that are uniform and independent of everything. The noise in it is M - t shares: the full noise, not more.
        Epsilon holds, and holds exactly. Without the aggregator C learns the same from the total that is opened. An
        aggregator without data brings no share: C is then t owners and the aggregator, and the same holds.

        With t + 1 owners, the aggregator counted, M - t - 1 shares are left, and the loss is larger than epsilon; at
        t + 1 = M nothing is left. With fewer than t there is that noise and something independent: epsilon holds.
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
