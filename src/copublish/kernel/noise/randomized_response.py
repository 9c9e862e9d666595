"""Randomized response on a list of values: the true one is published most often, each other one equally often.

One uniform word of COIN_BITS fair coins decides. With v values each of the v - 1 others gets T words, and the true
value all the rest, where T = ceil(2^COIN_BITS / (e^epsilon + v - 1)). Rounded up, T e^epsilon >= 2^COIN_BITS - (v -
1) T, so the true value is at most e^epsilon times as likely as another. Rounded up too far, another one would be more
likely than the true one; `fits` rules that out. So the sampled law itself is epsilon-DP, and nothing is added to delta.
docs/proofs/randomized-response.md has the proof.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property

from copublish.kernel.noise.geometric import COIN_BITS

_PRECISION = decimal.Context(prec=80, rounding=decimal.ROUND_FLOOR)
_SLACK = Decimal("1e-75")
"""More than the relative error of 80 digits: the exponential is taken a little too small, so T is never too small."""


@dataclass(frozen=True)
class RandomizedResponse:
    """The law of one published value.

    Args:
        epsilon: What one published value may tell.
        n_values: Number of values, at least two.

    Privacy:
        Guarantee: epsilon-DP for replacing the value, exactly, by the argument above.
    """

    epsilon: Fraction
    n_values: int

    def __post_init__(self) -> None:
        if self.epsilon <= 0 or self.n_values < 2:
            raise ValueError(
                f"epsilon must be above 0 and there must be two values, got {self.epsilon}, {self.n_values}"
            )
        if not fits(self.epsilon, self.n_values):
            raise ValueError(f"{self.n_values} values are too many for words of {COIN_BITS} coins at {self.epsilon}")

    @cached_property
    def words_per_other(self) -> int:
        """T: how many of the 2^COIN_BITS words stand for each of the other values."""
        exponent = _PRECISION.divide(Decimal(self.epsilon.numerator), Decimal(self.epsilon.denominator))
        too_small = _PRECISION.multiply(_PRECISION.exp(exponent), _PRECISION.subtract(Decimal(1), _SLACK))
        quotient = _PRECISION.divide(Decimal(2**COIN_BITS), _PRECISION.add(too_small, Decimal(self.n_values - 1)))
        return int(quotient) + 1

    @property
    def words_for_others(self) -> int:
        """How many words stand for some other value."""
        return (self.n_values - 1) * self.words_per_other

    @property
    def kept(self) -> float:
        """Probability that the true value is published."""
        return 1.0 - self.words_for_others / float(2**COIN_BITS)

    @property
    def signal(self) -> float:
        """Share of the records that tell their true value, if all others are taken as drawn from all values alike."""
        return self.kept - self.words_per_other / float(2**COIN_BITS)


def fits(epsilon: Fraction, n_values: int) -> bool:
    """Whether words are fine enough: rounding leaves the true value at least as likely as any other one."""
    return n_values * n_values <= min(epsilon, Fraction(1)) * (1 << (COIN_BITS - 1))


@cache
def randomized_response(epsilon: Fraction, n_values: int) -> RandomizedResponse:
    """The law; its threshold is computed once."""
    return RandomizedResponse(epsilon, n_values)
