"""Split points at round numbers, from public bounds alone: close to each other near 0, far apart away from it.

What people write bounds for is seldom spread evenly between them. Of balances from -10,000 to 110,000 most lie below
2,000; many amounts and durations, and most counts, are 0. Ten equal cells would put nearly everybody into one. So cells
follow each other at equal distances of sign(x) log(1 + |x| / c), which is even near 0 and a logarithm away from it.
Where 0 is allowed it has a cell of its own. A side of 0 that reaches far less than the other, like overdrafts, has half
as many cells. Bounds that are far from 0, like those of years, give cells of one width.

Everything is computed in decimals, which every machine rounds alike. An agreement says `round`, and not the split
points: so what is computed here may never change.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from copublish.agreement.section import MAX_DIGITS

LEAST_BEND, LARGEST_BEND, STEPS_PER_BEND = 20, 300, 5
"""The range over c. Numbers with few steps, like ages, need cells that hardly widen; amounts up to hundreds of
thousands need some below a hundred. A fifth of the number's steps is between the two."""

SHORT_SIDE = 4
"""How many times farther the other side of 0 reaches, at least, for a side to be short."""

ROUNDED_WIDTH = Decimal("0.7")
"""Split points are rounded to 1, 2 or 5 times a power of ten that is at most so much of a cell's width."""

FEWEST_STEPS = 3
"""Whole bounds that are at least so far apart are taken for those of whole numbers."""

STEPS_OF_FRACTIONS = 1000
"""Numbers between other bounds are told apart in at least so many steps."""


FINE = 1024
"""Split points of a fine grid, at least, where there are so many numbers: a threshold can then be anywhere."""


def fine_split_points(lower: Decimal, upper: Decimal, *, decimals: int | None) -> tuple[Decimal, ...]:
    """At least 1,024 round numbers above the lower bound, ascending, or all numbers if there are fewer.

    Rounding puts cells together that are narrower than the unit, as near 0. The number of cells is doubled, twice at
    most, until enough are left.
    """
    for cells in (FINE, 2 * FINE, 4 * FINE):
        found = round_split_points(lower, upper, cells=cells, decimals=decimals)
        if len(found) >= FINE:
            break
    return found


def round_split_points(lower: Decimal, upper: Decimal, *, cells: int, decimals: int | None) -> tuple[Decimal, ...]:
    """About `cells` - 1 round numbers above the lower bound, ascending.

    Args:
        lower: The lower bound.
        upper: The upper one.
        cells: How many cells there shall be, about: rounding puts some together, and 0 is one more.
        decimals: How many the numbers have; if nothing is said, what their bounds suggest.
    """
    return _round_split_points(str(lower), str(upper), cells, decimals)


@lru_cache(maxsize=256)  # a fine grid takes tenths of a second, and a plan builds many agreements
def _round_split_points(
    spelled_lower: str, spelled_upper: str, cells: int, decimals: int | None
) -> tuple[Decimal, ...]:
    lower, upper = Decimal(spelled_lower), Decimal(spelled_upper)
    with decimal.localcontext(decimal.Context(prec=2 * MAX_DIGITS)):  # not the caller's
        unit = _unit(lower, upper, decimals)
        steps = (upper - lower) / unit
        if steps <= cells:  # every number has a cell of its own
            return tuple(lower + unit * i for i in range(1, int(steps) + 1))
        bend = (upper - lower) / min(max(steps / STEPS_PER_BEND, Decimal(LEAST_BEND)), Decimal(LARGEST_BEND))
        scale = _Scale(bend, below=_density(-lower, upper), above=_density(upper, -lower))
        start, stop = scale.bent(lower), scale.bent(upper)
        points = [scale.straight(start + (stop - start) * i / cells) for i in range(cells + 1)]
        found = {
            _rounded(points[i], at_most=ROUNDED_WIDTH * (points[i + 1] - points[i - 1]) / 2, unit=unit)
            for i in range(1, cells)
        }
        found = {point for point in found if lower < point < upper}
        if lower <= 0 <= upper:  # 0 is often a value like no other: no balance, no call, no payment
            found |= {point for point in (Decimal(0), unit) if lower < point <= upper}
        return tuple(sorted(found))


def _unit(lower: Decimal, upper: Decimal, decimals: int | None) -> Decimal:
    """The least difference of two numbers."""
    if decimals is not None:
        return Decimal(1).scaleb(-decimals)
    unit = Decimal(1).scaleb(min(0, *(int(bound.normalize().as_tuple().exponent) for bound in (lower, upper))))
    if unit == 1 and upper - lower >= FEWEST_STEPS:
        return unit
    while (upper - lower) / unit < STEPS_OF_FRACTIONS:
        unit /= 10
    return unit


@dataclass(frozen=True)
class _Scale:
    """On which cells follow each other at equal distances.

    Attributes:
        bend: The number c from which on it is a logarithm.
        below, above: How dense cells are on either side of 0.
    """

    bend: Decimal
    below: Decimal
    above: Decimal

    def bent(self, number: Decimal) -> Decimal:
        """A number's place on the scale."""
        density = self.below if number < 0 else self.above
        return (density * (1 + abs(number) / self.bend).ln()).copy_sign(number)

    def straight(self, place: Decimal) -> Decimal:
        """The number at a place."""
        density = self.below if place < 0 else self.above
        return (self.bend * ((abs(place) / density).exp() - 1)).copy_sign(place)


def _density(reach: Decimal, other: Decimal) -> Decimal:
    return Decimal("0.5") if 0 < reach * SHORT_SIDE <= other else Decimal(1)


def _rounded(number: Decimal, *, at_most: Decimal, unit: Decimal) -> Decimal:
    """The nearest multiple of the largest round width that is not above `at_most`, and never of less than the unit."""
    power = Decimal(1).scaleb(at_most.adjusted())
    width = max(next(factor * power for factor in (5, 2, 1) if factor * power <= at_most), unit)
    return (number / width).to_integral_value(decimal.ROUND_HALF_EVEN) * width + 0  # + 0: never a negative zero
