"""From zero-concentrated differential privacy (zCDP) to epsilon and delta and back, never in one's own favor.

rho-zCDP implies (epsilon, delta)-DP with, for every alpha > 1,

    delta = exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)^alpha

(Canonne, Kamath, Steinke, arXiv:2004.00010v4, Proposition 12 and Corollary 13). Every alpha gives a valid bound, so
looking for the best one cannot go wrong. All arithmetic is decimal, which every machine rounds alike: parties that
came to different noise could not run one program.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

_CONTEXT = decimal.Context(prec=40)

_SLACK = Decimal("1e-25")
"""Relative; some 10^10 times what rounding at 40 digits can add up to here."""

GRID_BITS = 80
"""rho and epsilon are found as multiples of 2^-80."""

EPSILON_STEPS = 10**6
"""An epsilon that is found, and not agreed, is rounded up to a multiple of a millionth."""

HALVINGS = 30


@cache
def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """A delta that rho-zCDP is sure to give at an epsilon; at most 1.

    Privacy:
        Guarantee: rho-zCDP implies (epsilon, delta)-DP with this delta; rounding is upwards
            (docs/proofs/zcdp-conversion.md).
    """
    with decimal.localcontext(_CONTEXT):
        exact_rho, exact_epsilon = _decimal(rho), _decimal(epsilon)
        if exact_epsilon <= exact_rho:
            return Fraction(1)
        # log delta has the slope (2 alpha - 1) rho - epsilon + log(1 - 1 / alpha), which grows: halving finds its zero.
        low, high = Decimal(0), Decimal(1)  # of alpha - 1
        while _slope(high, exact_rho, exact_epsilon) < 0:
            low, high = high, 2 * high
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if _slope(middle, exact_rho, exact_epsilon) < 0 else (low, middle)
        bound = _log_delta(high, exact_rho, exact_epsilon).exp() * (1 + _SLACK)
        return min(Fraction(1), Fraction(bound))


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho found whose guarantee is within an epsilon and a delta.

    Privacy:
        Guarantee: `delta_of` the result at epsilon is at most delta. A smaller rho than the largest is safe.
    """
    low, high = 0, int(epsilon * 2**GRID_BITS)
    while high - low > max(1, low >> 30):
        middle = (low + high) // 2
        low, high = (middle, high) if _gives(middle, epsilon, delta) else (low, middle)
    if low == 0:
        raise ValueError(f"no noise is large enough for epsilon {epsilon} and delta {delta}")
    return Fraction(low, 2**GRID_BITS)


@cache
def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon found that rho-zCDP is sure to give at a delta.

    Privacy:
        Guarantee: rho-zCDP implies (epsilon, delta)-DP with this epsilon; rounding is upwards.
    """
    low, high = 0, int((rho + 1) * 2**GRID_BITS)
    while delta_of(rho, Fraction(high, 2**GRID_BITS)) > delta:
        high *= 2
    while high - low > max(1, low >> 30):
        middle = (low + high) // 2
        is_enough = delta_of(rho, Fraction(middle, 2**GRID_BITS)) <= delta
        low, high = (low, middle) if is_enough else (middle, high)
    return Fraction(math.ceil(Fraction(high * EPSILON_STEPS, 2**GRID_BITS)), EPSILON_STEPS)


def _gives(rho_on_grid: int, epsilon: Fraction, delta: Fraction) -> bool:
    return rho_on_grid > 0 and delta_of(Fraction(rho_on_grid, 2**GRID_BITS), epsilon) <= delta


def _log_delta(beyond_one: Decimal, rho: Decimal, epsilon: Decimal) -> Decimal:
    """Logarithm of delta at alpha = 1 + beyond_one."""
    alpha = 1 + beyond_one
    return beyond_one * (alpha * rho - epsilon) - beyond_one.ln() + alpha * (beyond_one / alpha).ln()


def _slope(beyond_one: Decimal, rho: Decimal, epsilon: Decimal) -> Decimal:
    """The slope of log delta at alpha = 1 + beyond_one."""
    alpha = 1 + beyond_one
    return (2 * alpha - 1) * rho - epsilon + (beyond_one / alpha).ln()


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
