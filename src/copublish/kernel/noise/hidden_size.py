"""Noise on the number of common people that two owners learn while they hide from each other who these are.

Each owner lists, besides its people, all entries of a pool of its own and a random number K of the other owner's pool.
So what an owner sees of the number of common people has the other one's K added. K is discrete Laplace noise around
the middle of the pool, drawn again while it is outside of it. It is drawn exactly, in whole numbers.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

_PRECISION = decimal.Context(prec=80)

_RATIO_BITS = 32

_DRAW_BYTES = _RATIO_BITS // 8


@dataclass(frozen=True)
class HiddenSize:
    """The law of K.

    Args:
        epsilon: What the number of common people may tell about one person of the other owner.
        delta: The part of the law that a neighbor's cannot have.

    Privacy:
        Guarantee: (epsilon, delta) for a list with one person more or fewer, and for one with another person in
            somebody's place: both move the number by at most 1. docs/proofs/hidden-size.md.
        Sampler: exact, with a ratio that is a fraction just above exp(-epsilon).
    """

    epsilon: Fraction
    delta: Fraction

    @cached_property
    def ratio(self) -> Fraction:
        """Of the probabilities of two neighboring draws: at least exp(-epsilon)."""
        exponent = _PRECISION.divide(Decimal(-self.epsilon.numerator), Decimal(self.epsilon.denominator))
        # Two more than the whole number below: however the last of 80 digits was rounded, this is above.
        return Fraction(int(_PRECISION.exp(exponent) * 2**_RATIO_BITS) + 2, 2**_RATIO_BITS)

    @cached_property
    def pool(self) -> int:
        """The number of entries of a pool: even, the smallest that keeps delta."""
        r = float(self.ratio)
        half = max(0, math.floor(math.log(float(self.delta) * (1 + r) / (1 - r)) / math.log(r)) - 2)
        while self.edge(half) > self.delta:
            half += 1
        return 2 * half

    def edge(self, half: int) -> Fraction:
        """The probability of the smallest draw, and of the largest, for a pool of twice so many entries."""
        r = self.ratio
        return r**half * (1 - r) / (1 + r - 2 * r ** (half + 1))

    def draw(self, draw: Callable[[int], bytes]) -> int:
        """One K, from 0 to the size of the pool.

        Args:
            draw: So many random bytes.
        """
        half = self.pool // 2
        while True:
            noise = self._geometric(draw) - self._geometric(draw)
            if abs(noise) <= half:
                return half + noise

    def _geometric(self, draw: Callable[[int], bytes]) -> int:
        """How often in a row something of probability `ratio` happens."""
        times = 0
        while int.from_bytes(draw(_DRAW_BYTES), "big") < self.ratio * 2**_RATIO_BITS:
            times += 1
        return times
