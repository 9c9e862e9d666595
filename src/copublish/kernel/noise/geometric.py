"""Geometric noise from fair coins, the only source of randomness of a release.

Every party contributes its own words, and the engine XORs them, so the result is uniform and unknown to
everyone as long as one party is honest. There is no seed option anywhere in the package: a real run takes its
words from the operating system. Tests pass their own implementation of `Coins`.

Noise is drawn as biased bits. For 0 < p < 1 let bit i be 1 with probability q_i = p^(2^i) / (1 + p^(2^i)),
independently for i < K. Then G = sum of 2^i b_i has Pr[G = g] = p^g (1 - p) / (1 - p^(2^K)) on 0 .. 2^K - 1, because
the product of the factors is p^g / prod(1 + p^(2^i)) and (1 - p) prod(1 + p^(2^i)) = 1 - p^(2^K). Discrete Laplace
noise is the difference of two such variables. Integers only: floating-point noise tells neighboring values apart.
"""

from __future__ import annotations

import decimal
import math
import os
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from typing import Protocol

import numpy as np

from copublish.types import IntArray


class Coins(Protocol):
    """One party's fair coins, 64 in a word. No coin is ever given out twice.

    Privacy:
        All noise rests on these: uniform, independent, unknown to other parties, and each used once.
    """

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """Fresh uniform 64-bit words."""
        ...


class SystemCoins:
    """Coins from the operating system's generator.

    Privacy:
        Assumes: the operating system's generator cannot be told from uniform words.
    """

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """Fresh uniform 64-bit words."""
        return np.frombuffer(os.urandom(8 * math.prod(shape)), np.int64).reshape(shape)


COIN_BITS = 62
"""Fair bits compared with a threshold for one biased bit. Below half of a 64-bit ring, as engines need."""

_PRECISION = decimal.Context(prec=80)


@dataclass(frozen=True)
class Geometric:
    """Geometric noise with p = exp(-rate), sampled from fair coins.

    Args:
        rate: Exact decay per unit: epsilon divided by what one person can change.

    Privacy:
        `distance` bounds the total variation distance between what is sampled and the exact law. It is
        charged as delta by the disclosures, never rounded to zero.
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ValueError(f"the rate of geometric noise must be above 0, got {self.rate}")

    @cached_property
    def bits(self) -> int:
        """Number K of biased bits: the smallest, at least one, with p^(2^K) <= 2^-64."""
        log_limit = _PRECISION.multiply(Decimal(64), _PRECISION.ln(Decimal(2)))
        bits = 1
        while _decimal(self.rate * 2**bits) < log_limit:
            bits += 1
        return bits

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Bit i is 1 iff a uniform COIN_BITS-bit word is below thresholds[i] = round(2^COIN_BITS q_i)."""
        return self.thresholds_for(self.bits)

    def thresholds_for(self, bits: int) -> tuple[int, ...]:
        """The thresholds of the lowest bits, however many: fewer of them cut the law off earlier."""
        found = []
        for i in range(bits):
            power = _PRECISION.exp(_decimal(-self.rate * 2**i))
            q = _PRECISION.divide(power, _PRECISION.add(Decimal(1), power))
            found.append(int(_PRECISION.multiply(q, Decimal(2**COIN_BITS)).to_integral_value(decimal.ROUND_HALF_EVEN)))
        return tuple(found)

    @cached_property
    def distance(self) -> Fraction:
        """Bound on the distance to the exact geometric law: 2^-64 for the tail, 2^-63 for each rounded bit."""
        return Fraction(1, 2**64) + self.bits * Fraction(1, 2**63)

    @property
    def scale(self) -> float:
        """The scale 1 / rate, in the unit of what is measured (people, for counts)."""
        return float(1 / self.rate)

    def coin_shape(self, samples: int) -> tuple[int, int, int]:
        """Shape of the words one call needs: (COIN_BITS, bits, words), 64 samples in a word."""
        return COIN_BITS, self.bits, -(-samples // 64)

    @cached_property
    def threshold_planes(self) -> IntArray:
        """The thresholds bit by bit, most significant first, as masks 0 or -1: (COIN_BITS, bits, 1)."""
        return planes_of(self.thresholds)


def planes_of(thresholds: tuple[int, ...]) -> IntArray:
    """Thresholds bit by bit, most significant first, as masks 0 or -1: (COIN_BITS, len(thresholds), 1)."""
    table = [[-((t >> (COIN_BITS - 1 - j)) & 1) for t in thresholds] for j in range(COIN_BITS)]
    planes = np.array(table, dtype=np.int64).reshape(COIN_BITS, len(thresholds), 1)
    planes.flags.writeable = False
    return planes


@cache
def geometric_noise(rate: Fraction) -> Geometric:
    """The noise at a rate; its thresholds are computed once."""
    return Geometric(rate)


def laplace_quantile(rate: Fraction, confidence: float) -> int:
    """The smallest t with Pr[|X| <= t] >= confidence for discrete Laplace X with p = exp(-rate)."""
    # Pr[|X| > t] = 2 p^(t+1) / (1 + p)
    p = float(np.exp(-float(rate)))
    tail = (1.0 - confidence) * (1.0 + p) / 2.0
    return max(0, int(np.ceil(np.log(tail) / -float(rate))) - 1)


def _decimal(number: Fraction) -> Decimal:
    return _PRECISION.divide(Decimal(number.numerator), Decimal(number.denominator))
