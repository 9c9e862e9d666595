"""The discrete Gaussian law as a rejection of geometric candidates by independent biased coins.

Pr[x] is proportional to exp(-x^2 / (2 v)) on the whole numbers. Following Canonne, Kamath and Steinke
(arXiv:2004.00010v4, Algorithm 3), a candidate has a fair sign and a geometric size y with Pr[y] proportional to
exp(-y / t), and is kept with probability exp(-(y - v/t)^2 / (2 v)): the product is exp(-y^2 / (2 v)) times a constant.
A negative zero is never kept, or 0 would come twice as often.

Two choices make this work on secret shares, where all candidates take the same steps. v is t times a whole number c, so
that z = y - c is whole. And exp(-z^2 / (2 v)) is the product over the bits of z^2 of exp(-2^i / (2 v)), so a candidate
is kept iff a coin with that public probability falls right for every bit that is set: independent coins, as for the
geometric bits. No floating point and no secret-dependent branch is involved.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property

from copublish.kernel.noise.geometric import COIN_BITS, Geometric, geometric_noise, planes_of
from copublish.types import IntArray

MAX_SIZE_BITS = 30
"""Of a candidate: its square, and what is left of it, stay within the 62 bits that engines compare."""

TAIL_DEVIATIONS = 10
"""Candidates reach at least so far; beyond lies less than 2^-75 of the law."""

SMALL_SCALE = 10

BATCHES = 2
"""How often candidates are drawn at most; the first draw is hardly ever too few."""

_PRECISION = decimal.Context(prec=80)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Discrete Gaussian noise, sampled from fair coins.

    Args:
        scale: The whole number t, of the candidates.
        center: The whole number c; the variance parameter v is their product.

    Privacy:
        `distance` bounds the total variation distance of one candidate's fate (kept or not, and its value) to the exact
        one. Coins are rounded to COIN_BITS bits, each at a distance of at most 2^-63; candidates that end at 2^bits
        leave out a tail of the law below 2^-64. Geometric candidates that end there are otherwise exact: what is kept
        has exactly the discrete Gaussian law, cut off at the end.
    """

    scale: int
    center: int

    def __post_init__(self) -> None:
        if self.scale < 1 or self.center < 1:
            raise ValueError(f"discrete Gaussian noise needs scale and center of at least 1, got {self}")
        if self.bits > MAX_SIZE_BITS:
            raise ValueError("this noise does not fit the engine's integers")

    @property
    def variance(self) -> int:
        """The parameter v, which is above the variance by less than 1 in 10^7 from v = 1 on."""
        return self.scale * self.center

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    @property
    def bits(self) -> int:
        """Bits of a candidate's size."""
        return (math.isqrt(TAIL_DEVIATIONS**2 * self.variance) + 2).bit_length()

    @cached_property
    def sizes(self) -> CutGeometric:
        """The law of a candidate's size."""
        return CutGeometric(self.bits, geometric_noise(Fraction(1, self.scale)))

    @cached_property
    def square_bits(self) -> int:
        """Bits of the largest z^2."""
        return int(max(2**self.bits - 1 - self.center, self.center) ** 2).bit_length()

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Bit i of z^2 is let pass iff a uniform COIN_BITS-bit word is below thresholds[i]."""
        found = []
        for i in range(self.square_bits):
            exponent = _PRECISION.divide(Decimal(-(2**i)), Decimal(2 * self.variance))
            chance = _PRECISION.multiply(_PRECISION.exp(exponent), Decimal(2**COIN_BITS))
            found.append(int(chance.to_integral_value(decimal.ROUND_HALF_EVEN)))
        return tuple(found)

    @cached_property
    def threshold_planes(self) -> IntArray:
        """The thresholds bit by bit, as `Geometric.threshold_planes`."""
        return planes_of(self.thresholds)

    @cached_property
    def distance(self) -> Fraction:
        """Bound on the distance of one candidate's fate to the exact one."""
        return Fraction(1, 2**64) + (self.bits + self.square_bits) * Fraction(1, 2**63)

    def candidates(self, entries: int) -> int:
        """How many candidates one draw has: so many that it hardly ever keeps too few.

        About 3 of 4 are kept, of noise of small scale 1 of 2; the margin is more than ten deviations.
        """
        expected = 2 * entries if self.scale < SMALL_SCALE else 3 * entries // 2
        return 64 * -(-(expected + 12 * math.isqrt(entries) + 64) // 64)


@dataclass(frozen=True)
class CutGeometric:
    """The geometric law on 0 .. 2^bits - 1, whose bits are independent coins like those of `Geometric`."""

    bits: int
    whole: Geometric

    @cached_property
    def threshold_planes(self) -> IntArray:
        """As `Geometric.threshold_planes`, for the lowest bits."""
        return planes_of(self.whole.thresholds_for(self.bits))


@cache
def gaussian_noise(least_variance: Fraction) -> DiscreteGaussian:
    """Noise whose parameter v is at least so large, and hardly more."""
    scale = math.isqrt(math.floor(least_variance)) + 1
    return DiscreteGaussian(scale, max(1, math.ceil(least_variance / scale)))
