"""Records as points with public bounds, and the sums of their products, which is all that `hpdp` measures.

A number lies between -1/2 and 1/2, rounded to a 256th, where the cell of its agreed grid lies: cells follow each other
at equal distances, however wide they are. A number that is missing lies in the middle. Of a category with two values
one is -1/2 and the other 1/2; any other category, the missing one among its values, is a group of coordinates of which
one is 1 and the others are 0.

The cells of a number, the missing one among them, are a group of coordinates as well, of which only the products with
the class are summed: that is how a number is spread in every class, and what it has in common with other columns takes
one sum for each.

All of this follows from public domains. `run.py` computes the points of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.kernel.accounting.disclosures import Influence
from copublish.types import IntArray

FRACTION_BITS = 8
UNIT = 2**FRACTION_BITS
"""Coordinates are whole multiples of 1/UNIT, and sums of products of 1/UNIT^2."""

CLASS_WEIGHT = 3
"""Sums that the class is in are multiplied with it before noise is added, so they have so many times less of it: they
are what a classifier needs, and few. For Adult's 49 coordinates all other noise becomes 1.18 times larger. Counts of
values and of cells have the same weight."""


@dataclass(frozen=True)
class Coordinates:
    """Where each column lies in a record's point: centered coordinates first, then groups, then cells of numbers.

    Attributes:
        columns: Public domain of every column in agreed order; the class, if there is one, is the last.
        has_class: Whether the last column is the class.
    """

    columns: Mapping[str, Domain]
    has_class: bool = True

    @cached_property
    def centered(self) -> dict[str, int]:
        """Where numbers and two-valued categories lie."""
        return {name: i for i, name in enumerate(n for n, domain in self.columns.items() if not _is_group(domain))}

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Where the values of every other category lie."""
        found, start = {}, self.n_centered
        for name, domain in self.columns.items():
            if _is_group(domain):
                found[name] = slice(start, start + domain.size)
                start += domain.size
        return found

    @cached_property
    def cells(self) -> dict[str, slice]:
        """Where the cells of every number lie; the last says that it is missing, if it may be."""
        found, start = {}, self.n_linked
        for name, domain in self.columns.items():
            if isinstance(domain, NumericalDomain):
                found[name] = slice(start, start + domain.size)
                start += domain.size
        return found

    @property
    def n_centered(self) -> int:
        """Number a of centered coordinates."""
        return len(self.centered)

    @property
    def n_linked(self) -> int:
        """Number of coordinates whose products with all others are summed: all but cells of numbers."""
        return self.n_centered + sum(self.columns[name].size for name in self.groups)

    @property
    def size(self) -> int:
        """Number p of all coordinates."""
        return self.n_linked + sum(int(place.stop - place.start) for place in self.cells.values())

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The pairs (i, j), i <= j, whose products are summed.

        All but different values of one group, always 0; cells of numbers with themselves and with the class alone.
        """
        first, second = np.triu_indices(self.size)
        group, is_class = np.arange(-self.size, 0), np.zeros(self.size, dtype=bool)
        for number, place in enumerate(self.groups.values()):
            group[place] = number
        is_class[self.class_place] = True
        summed = ((group[first] != group[second]) & ((second < self.n_linked) | is_class[first])) | (first == second)
        return first[summed].astype(np.int64), second[summed].astype(np.int64)

    def n_sums(self, *, total_is_public: bool) -> int:
        """Number of sums that are measured: products, centered coordinates and, unless it is public, the total."""
        return len(self.pairs[0]) + self.n_centered + (not total_is_public)

    @property
    def class_name(self) -> str | None:
        """The class, the last column; none without a class."""
        return list(self.columns)[-1] if self.has_class else None

    @cached_property
    def class_place(self) -> slice:
        """Where the class lies: one coordinate if it has two values, else a group; nowhere without a class."""
        if self.class_name is None:
            return slice(0, 0)
        if self.class_name in self.groups:
            return self.groups[self.class_name]
        return slice(self.centered[self.class_name], self.centered[self.class_name] + 1)

    @cached_property
    def weights(self) -> IntArray:
        """What each product of two coordinates is multiplied with before noise is added: shape (size, size).

        CLASS_WEIGHT for products of the class with other columns, for a class's number of records and for the counts of
        values and cells. 1 for the rest, among it the square of a class of two values, which is the same for everyone.
        """
        found, place = np.ones((self.size, self.size), dtype=np.int64), self.class_place
        found[place], found[:, place] = CLASS_WEIGHT, CLASS_WEIGHT
        found[place, place] = CLASS_WEIGHT if self._class_is_group else 1
        counts = np.arange(self.n_centered, self.size)
        found[counts, counts] = CLASS_WEIGHT
        return found

    @cached_property
    def centered_weights(self) -> IntArray:
        """What each sum of a centered coordinate is multiplied with: shape (n_centered,)."""
        found = np.ones(self.n_centered, dtype=np.int64)
        if self.class_name is not None and not self._class_is_group:
            found[self.class_place] = CLASS_WEIGHT
        found[self._two_valued] = CLASS_WEIGHT
        return found

    @cached_property
    def _two_valued(self) -> list[int]:
        """Centered coordinates without the class that are -1/2 or 1/2: categories."""
        return [
            place
            for name, place in self.centered.items()
            if isinstance(self.columns[name], CategoricalDomain) and name != self.class_name
        ]

    @property
    def _class_is_group(self) -> bool:
        return self.class_name in self.groups

    def _other_columns(self) -> tuple[int, int]:
        """The numbers a of centered coordinates and g of groups without the class and cells of numbers."""
        of_two_values = self.class_name is not None and not self._class_is_group
        return self.n_centered - of_two_values, len(self.groups) - self._class_is_group

    def l1_sensitivity(self, *, total_is_public: bool) -> Influence:
        """How far one person moves all sums together, in units of 1/UNIT^2.

        Privacy:
            Let x be a record without its class, with a centered coordinates, |x_i| <= 1/2, and g groups that hold one 1
            each, c its class and w the class's weight. Then |x|_1 <= l1 = g + a/2 and |x|_2^2 <= l2 = g + a/4.
            Adding it moves the products of x by the sum over i <= j of |x_i x_j| = (|x|_1^2 + |x|_2^2) / 2, its sums by
            at most a/2, and the total by 1. The class has |c|_1 = r, 1/2 if it has two values and 1 if it is a group:
            its products with x and its own sum move by w r (|x|_1 + 1), and a square of two values by 1/4. A record
            whose numbers are all in outer cells attains all of it.
            Replacing x by z moves the products' matrix by x x' - z z' = (d s' + s d') / 2 with d = x - z and s = x + z,
            so the sums over i <= j by at most (|d|_1 |s|_1 + sum |d_i s_i|) / 2. On a centered coordinate |d_i| + |s_i|
            = 2 max(|x_i|, |z_i|) <= 1; in a group |d| and |s| add up to at most 2 each. So |d|_1 |s|_1 <= (2 g + D)(2 g
            + S) with D + S <= a, at most (2 g + a/2)^2; |d_i s_i| is at most 1/4 on a centered coordinate and adds up
            to at most 2 in a group; and the sums of centered coordinates move by D <= a. Also, replacing is removing
            and adding, at twice the price; the total and squares of two values do not move. The smaller bound holds for
            x, and twice the price for what the class is in.
            If the class has two values, there is a third bound. Its products move by w |s|_1 / 2 if it changes, and its
            sum by w; else by w |d|_1 / 2. So together by at most (2 g + D)(2 g + S) / 2 + (a/4 + 2 g) / 2 + D, plus w
            (2 g + S) / 2 + w in the first case and w (2 g + D) / 2 in the second. That grows in D and in S, so D + S =
            a, and is a concave parabola in either.
            A record without a listed class is the point 0 and has no part in the total. Replacing it by another record
            is adding one, total and squares of two values included. That is never more than the bounds for two
            points: the first is twice as large but for the class, whose w r (|x|_1 + 1) >= 3/2 pays for 1 + 1/4; the
            second and, at S = a/2, the third are term by term as large, with the class's sum paying again.
            Counts are weighted as well. Each of the h numbers is in one cell: adding a record moves its count by w and
            its products with the class by w r. The counts of the g groups' values and the sums of the b centered
            coordinates that have two values are multiplied with w, where 1 is in the above: (w - 1) (g + b/2) more. A
            record whose numbers are in outer cells attains all of it. Replacing is removing and adding: at most twice
            that.
            Without a class x is the whole record, and r = 0: nothing of the class is summed, and a cell's count has no
            products. The first two bounds do not use the class, and the third is not needed. No record is the point 0,
            since no record lacks a class.
        """
        a, g = self._other_columns()
        l1, l2, w = g + Fraction(a, 2), g + Fraction(a, 4), CLASS_WEIGHT
        reach = Fraction(0) if self.class_name is None else Fraction(1) if self._class_is_group else Fraction(1, 2)
        square = Fraction(1, 4) if reach == Fraction(1, 2) else 0
        two_valued, cells = len(self._two_valued), len(self.cells)
        counts = (w - 1) * (g + Fraction(two_valued, 2)) + cells * w * (1 + reach)
        others, of_class = (l1**2 + l2) / 2 + Fraction(a, 2), w * reach * (l1 + 1)
        diagonal = (Fraction(a, 4) + 2 * g) / 2
        replaced = min(2 * others, (2 * g + Fraction(a, 2)) ** 2 / 2 + diagonal + a) + 2 * of_class
        if reach == Fraction(1, 2):
            s = min(Fraction(a), max(Fraction(a + w - 2, 2), Fraction(0)))
            d = min(Fraction(a), Fraction(a + w + 2, 2))
            changed = (2 * g + a - s) * (2 * g + s) / 2 + a - s + w * (2 * g + s) / 2 + w
            kept = (2 * g + d) * (2 * g + a - d) / 2 + d + w * (2 * g + d) / 2
            replaced = min(replaced, max(changed, kept) + diagonal)
        return {
            "add-remove": _whole(others + of_class + square + counts + (not total_is_public), UNIT**2),
            "replace": _whole(replaced + 2 * counts, UNIT**2),
        }

    def squared_l2_sensitivity(self, *, total_is_public: bool) -> Influence:
        """The square of how far one person moves all sums in Euclidean distance, in units of 1/UNIT^4.

        Privacy:
            With x, c, w, l2, a and g as above, the squares of x_i x_j over i <= j add up to (|x|_2^4 + sum x_i^4) / 2,
            at most (l2^2 + g + a/16) / 2; those of the sums to a/4; the total moves by 1. With C = |c|_2^2, 1/4 or 1,
            what the class is in adds w^2 C (|x|_2^2 + 1), and the square of two values 1/16.
            Replacing x by z, with t = x.z: the squares of all entries of x x' - z z' add up to |x|^4 + |z|^4 - 2 t^2 <=
            2 (l2^2 - t^2), those of its diagonal, (x_i^2 - z_i^2)^2, to at most 2 g + a/16; half of both together is
            what lies at i <= j. The sums move by at most 1 each, which adds a. With b the other class, the class's
            products add w^2 (C |x|^2 + C |z|^2 - 2 (c.b) t) <= 2 w^2 (C l2 - (c.b) t). For two values c.b = C or -C, so
            that is at most 2 w^2 C (l2 + |t|) with |t| <= l2; in a group c.b is C or 0 and t >= -a/4, so the same
            holds with |t| <= a/4 where t < 0, and with 0 in the place of |t| elsewhere. l2^2 - t^2 + 2 w^2 C (l2 +
            |t|) is largest at |t| = w^2 C or, if that is too large, at the largest |t|. The class's own sums add w^2 if
            it has two values and 2 w^2 if it is a group.
            Replacing a record without a listed class, the point 0, is adding one, total included. At t = 0 the bound
            for two points has each of its terms, and the class's own sums pay for 1 + 1/16.
            For each of the h numbers, adding moves a count by w and its product with the class: w^2 (1 + C). Groups'
            counts and sums of two values have w^2 where 1 is in the above: (w^2 - 1) (g + b/4). Replacing moves two
            counts of a group and a sum by at most 1: (w^2 - 1) (2 g + b). If a number's cell changes, two counts and
            two products move: 2 w^2 (1 + C). If it stays, its product with the class moves by w |c - b|, in squares
            4 w^2 C for two values and 2 w^2 C in a group. The larger of both for each number.
            Without a class x is the whole record and C = 0: the class has no sums of its own, and no record is the
            point 0.
        """
        a, g = self._other_columns()
        l2, w2 = g + Fraction(a, 4), CLASS_WEIGHT**2
        is_group, has_class = self._class_is_group, self.class_name is not None
        class_square = Fraction(0) if not has_class else Fraction(1) if is_group else Fraction(1, 4)
        square = Fraction(1, 16) if has_class and not is_group else 0
        once = (l2**2 + g + Fraction(a, 16)) / 2 + Fraction(a, 4) + w2 * class_square * (l2 + 1) + square
        t = min(Fraction(a, 4) if is_group else l2, w2 * class_square)
        replaced = l2**2 - t**2 + 2 * w2 * class_square * (l2 + t) + (2 * g + Fraction(a, 16)) / 2 + a
        replaced += (2 * w2 if is_group else w2) if has_class else 0
        two_valued, cells = len(self._two_valued), len(self.cells)
        once += (w2 - 1) * (g + Fraction(two_valued, 4)) + cells * w2 * (1 + class_square)
        cell_stays, cell_changes = (2 if is_group else 4) * w2 * class_square, 2 * w2 * (1 + class_square)
        replaced += (w2 - 1) * (2 * g + two_valued) + cells * max(cell_stays, cell_changes)
        return {
            "add-remove": _whole(once + (not total_is_public), UNIT**4),
            "replace": _whole(replaced, UNIT**4),
        }

    def changed_sums(self, *, total_is_public: bool) -> Influence:
        """How many sums one person changes at most."""
        n = self.n_sums(total_is_public=total_is_public)
        return {"add-remove": n, "replace": n}


def quantized(steps: IntArray, most: int) -> IntArray:
    """Numbers from 0 to `most` as multiples of 1/UNIT from -1/2 to 1/2, rounded to the nearest, halves up."""
    return cast(IntArray, (2 * UNIT * steps + most) // (2 * most) - UNIT // 2)


def _is_group(domain: Domain) -> bool:
    return isinstance(domain, CategoricalDomain) and domain.size != 2


def _whole(number: Fraction, unit: int) -> int:
    scaled = number * unit
    if scaled.denominator != 1:
        raise ValueError("a sensitivity is no whole number of units")
    return int(scaled)
