"""Noise on the number of common people that two owners learn while they hide from each other who these are.

Each owner lists, besides its people, all entries of a pool of its own and a random number K of the other owner's pool.
So what an owner sees of the number of common people has the other one's K added. K is discrete Laplace noise around
the middle of the pool, conditioned on being in it. It is drawn exactly, in whole numbers.
"""

from __future__ import annotations

import decimal
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

_PRECISION = decimal.Context(prec=80)

_GROWTH_BITS = 64

_WEIGHT_OF_AN_END = 2**64
"""Weights are rounded down to whole numbers; from here on that changes them by less than one part in 10^19."""


@dataclass(frozen=True)
class HiddenSize:
    """The law of K.

    Args:
        epsilon: What the number of common people may tell about one person of the other owner.
        delta: The part of the law that a neighbor's cannot have.

    Privacy:
        Guarantee: (epsilon, delta) for a list with one person more or fewer, and for one with another person in
            somebody's place: both move the number by at most 1. docs/proofs/hidden-size.md.
        Sampler: exact. Probabilities are whole numbers over their sum, and neighboring ones differ by a factor that is
            just below exp(epsilon). How long a draw takes does not depend on what is drawn.

    Raises:
        ValueError: If epsilon or delta is out of range.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or not 0 < self.delta < 1:
            raise ValueError(f"needs epsilon above 0 and delta in (0, 1), got {self.epsilon} and {self.delta}")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights of all K, from 0 to the size of the pool: the fewest that keep delta."""
        exponent = _PRECISION.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator))
        # One less than the whole number below: however the last of 80 digits was rounded, this is below exp(epsilon).
        growth = int(_PRECISION.multiply(_PRECISION.exp(exponent), Decimal(2**_GROWTH_BITS))) - 1
        outer, middle = [], _WEIGHT_OF_AN_END
        total = middle
        while self.delta * total < _WEIGHT_OF_AN_END:
            outer.append(middle)
            total += middle
            middle = middle * growth >> _GROWTH_BITS
            total += middle
        return (*outer, middle, *reversed(outer))

    @property
    def pool(self) -> int:
        """The number of entries of a pool: even."""
        return len(self.weights) - 1

    def off_by(self, share: Fraction) -> int:
        """The smallest distance from the middle of the pool that K keeps to with at least this probability."""
        whole, middle = sum(self.weights), self.pool // 2
        inside, distance = self.weights[middle], 0
        while inside < share * whole:
            distance += 1
            inside += self.weights[middle - distance] + self.weights[middle + distance]
        return distance

    def draw(self, draw: Callable[[int], bytes]) -> int:
        """One K, from 0 to the size of the pool.

        Args:
            draw: So many random bytes.
        """
        bits = self._ends[-1].bit_length()
        while True:  # again with a probability below 1/2, whatever K becomes
            word = int.from_bytes(draw(-(-bits // 8)), "big") >> (-bits % 8)
            if word < self._ends[-1]:
                return bisect_right(self._ends, word)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """For every K the first word beyond those that mean it."""
        return tuple(accumulate(self.weights))
