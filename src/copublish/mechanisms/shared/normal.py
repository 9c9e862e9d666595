"""The normal law in whole numbers, the same on every machine.

Parties compute what follows from opened values on their own and compare the result byte by byte, while libraries and
processors round exponentials and matrix products differently. So values of the normal law are whole steps of 1/512, its
tables come from decimal arithmetic, which is exact everywhere, and looking up is all that is left to do.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from copublish.types import IntArray

STEPS = 512
"""Steps in one standard deviation."""

REACH = 5 * STEPS
"""The farthest value that is told apart; 6 in 10 million lie beyond."""

PROBABILITY_BITS = 32

_CONTEXT = decimal.Context(prec=40)


def quantile(numerator: int, denominator: int) -> int:
    """The step nearest to the normal quantile of a probability, from -REACH to REACH."""
    scaled = (numerator << PROBABILITY_BITS) // denominator
    return int(np.searchsorted(_borders(), scaled, side="right")) - REACH


def normal_steps(words: NDArray[np.uint32]) -> NDArray[np.int16]:
    """Normal variables, in steps, from uniform words."""
    return (np.searchsorted(_borders(), words.astype(np.int64), side="right") - REACH).astype(np.int16)


def density(step: int) -> float:
    """The normal density at a step."""
    return _densities()[abs(step)]


@cache
def _borders() -> IntArray:
    """The probabilities, times 2^32, at which one step ends and the next begins: shape (2 * REACH,)."""
    with decimal.localcontext(_CONTEXT):
        upper = [_cumulative(Decimal(2 * k + 1) / (2 * STEPS)) for k in range(REACH)]
        scale = Decimal(2**PROBABILITY_BITS)
        found = [int((1 - p) * scale) for p in reversed(upper)] + [int(p * scale) for p in upper]
    return np.array(found, dtype=np.int64)


@cache
def _densities() -> list[float]:
    with decimal.localcontext(_CONTEXT):
        return [float(_density(Decimal(k) / STEPS)) for k in range(REACH + 1)]


def _cumulative(x: Decimal) -> Decimal:
    """The normal distribution function at x >= 0: 1/2 + density * (x + x^3/3 + x^5/15 + ...)."""
    term, total, odd = x, x, 1
    while term > Decimal("1e-30"):
        odd += 2
        term = term * x * x / odd
        total += term
    return Decimal("0.5") + _density(x) * total


def _density(x: Decimal) -> Decimal:
    pi = Decimal("3.141592653589793238462643383279502884197")
    return (-x * x / 2).exp() / (2 * pi).sqrt()
