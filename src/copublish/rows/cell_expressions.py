"""Expressions for the cells that a column's codes fall into, for a database to compute.

They say what was decided elsewhere: `coded_columns.py` asks the encoder for every code in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from copublish.rows.numbers import LARGEST
from copublish.types import IntArray


class CellExpression(Protocol):
    """An expression for the cell that a column's code falls into."""

    def expression(self, table: Any, cell_of_code: IntArray) -> Any:
        """The cell of every row.

        Args:
            table: The Ibis table.
            cell_of_code: For each code its cell, that of null rows included: shape (n_codes + 1,).
        """
        ...


@dataclass(frozen=True)
class OneCode:
    """All rows have one code."""

    code: int

    def expression(self, table: Any, cell_of_code: IntArray) -> Any:
        """The same cell for every row."""
        return whole(int(cell_of_code[self.code]))


@dataclass(frozen=True)
class ListedTexts:
    """A list of texts for every code but one, and where null goes. What is not listed has that one."""

    column: str
    texts_of_code: dict[int, list[str]] = field(repr=False)
    null: int
    otherwise: int

    def expression(self, table: Any, cell_of_code: IntArray) -> Any:
        """The cell of every row: codes that fall into one cell share a list."""
        text, last = raw_text(table[self.column]), int(cell_of_code[self.otherwise])
        texts_of_cell: dict[int, list[str]] = {}
        for code, texts in self.texts_of_code.items():
            texts_of_cell.setdefault(int(cell_of_code[code]), []).extend(texts)
        branches = [(text.isnull(), int(cell_of_code[self.null]))]
        branches += [(text.isin(texts), cell) for cell, texts in texts_of_cell.items() if cell != last]
        return cases(branches, whole(last))


@dataclass(frozen=True)
class Intervals:
    """Codes of numbers by comparison. The order of kinds: missing, single numbers, then from low to high.

    Attributes:
        column: Which.
        numbers: How its numbers are compared with floats.
        single: Numbers that are told from those around them: they stand for something else, like a missing one.
        ends: Where the kinds after these end: minus infinity before the first, and so on. What is left is finite, or
            infinity.
        codes: Of every kind.
    """

    column: str
    numbers: Numbers
    single: tuple[float, ...]
    ends: tuple[float, ...]
    codes: tuple[int, ...]

    def expression(self, table: Any, cell_of_code: IntArray) -> Any:
        """The cell of every row."""
        return self.kinds(table, [int(cell_of_code[code]) for code in self.codes])

    def kinds(self, table: Any, named: Sequence[int]) -> Any:
        """A number for every row, by its kind; neighbors of one name are compared as one."""
        column = table[self.column]
        branches = [(self.numbers.is_missing(column), named[0])]
        of_single, places = named[1 : 1 + len(self.single)], named[1 + len(self.single) :]
        branches += [(self.numbers.equal(column, one), name) for one, name in zip(self.single, of_single, strict=True)]
        ends = [*self.ends, math.inf]
        kept = [n for n, end in enumerate(ends) if places[n] != places[n + 1]]
        found = self._search(column, [ends[n] for n in kept], [*(places[n] for n in kept), places[-1]])
        return cases(branches, found)

    def _search(self, column: Any, ends: Sequence[float], places: Sequence[int]) -> Any:
        """The place of every row's number by halves: a row is compared with few of many ends."""
        if not ends:
            return whole(places[0])
        middle = len(ends) // 2
        lower = self._search(column, ends[:middle], places[: middle + 1])
        upper = self._search(column, ends[middle + 1 :], places[middle + 1 :])
        return self.numbers.below(column, ends[middle]).ifelse(lower, upper)


class Numbers(Protocol):
    """Comparisons of a column with 64-bit floats, as if its own numbers were the nearest of them."""

    def is_missing(self, column: Any) -> Any:
        """Whether there is no number."""
        ...

    def below(self, column: Any, number: float) -> Any:
        """Whether a row's number is smaller than this one; for infinity, whether it is finite."""
        ...

    def equal(self, column: Any, number: float) -> Any:
        """Whether it is this finite number."""
        ...


@dataclass(frozen=True)
class Floats:
    """Whole numbers, floats and truth values, compared as 64-bit floats.

    Attributes:
        may_be_nan: Whether NaN is told from other numbers. Where it is not, it is below no number and has the code of
            infinity, which is that of missing numbers, too.
    """

    may_be_nan: bool

    def is_missing(self, column: Any) -> Any:
        """Null, or NaN."""
        number = as_number(column)
        return number.isnull() | number.isnan() if self.may_be_nan else number.isnull()

    def below(self, column: Any, number: float) -> Any:
        """By comparison; not with infinity itself, which not every database can read."""
        return as_number(column) <= exactly(LARGEST) if number == math.inf else as_number(column) < exactly(number)

    def equal(self, column: Any, number: float) -> Any:
        """By comparison."""
        return as_number(column) == exactly(number)


@dataclass(frozen=True)
class Decimals:
    """Decimals of known digits, compared with the first decimal that a float is the nearest one of.

    No database promises to turn a decimal into the nearest float, so none is asked to.
    """

    precision: int
    scale: int

    def is_missing(self, column: Any) -> Any:
        """Null."""
        return column.isnull()

    def below(self, column: Any, number: float) -> Any:
        """By comparison of decimals, or always or never where no decimal of so many digits is as far out."""
        import ibis

        past = Decimal(10) ** (self.precision - self.scale)
        first = past if number == math.inf else first_decimal(number, self.scale)
        if not -past < first < past:
            return ibis.literal(first > 0)
        return column < ibis.literal(format(first, "f")).cast(f"decimal({self.precision}, {self.scale})")

    def equal(self, column: Any, number: float) -> Any:
        """From the first decimal of this float to the one before the first of the next."""
        return ~self.below(column, number) & self.below(column, math.nextafter(number, math.inf))


def first_decimal(number: float, scale: int) -> Decimal:
    """The smallest decimal with so many places whose nearest float is this one or a larger one."""
    before = math.nextafter(number, -math.inf) if number > -LARGEST else number
    first = math.ceil((Fraction(before) + Fraction(number)) / 2 * 10**scale)
    if float(Decimal(f"{first}E-{scale}")) < number:
        first += 1  # just in the middle, and the float before, with an even last digit, is the nearest one
    return Decimal(f"{first}E-{scale}")  # exactly, whatever the precision of arithmetic


def raw_text(column: Any) -> Any:
    """A column as text, as the database writes it; it is trimmed here."""
    import ibis.expr.operations as ops

    return ops.Cast(column, "string").to_expr()


def as_number(column: Any) -> Any:
    """A column of numbers or truth values as 64-bit floats: a conversion that cannot fail."""
    return (column.cast("int32") if column.type().is_boolean() else column).cast("float64")


def exactly(number: float) -> Any:
    """A float that every database reads as the same one: as text with all digits, not as a decimal."""
    import ibis

    return ibis.literal(repr(number)).cast("float64")


def whole(number: int) -> Any:
    """A whole number of 64 bits, of which there are as many as cells."""
    import ibis

    return ibis.literal(number, "int64")


def cases(branches: Sequence[tuple[Any, int]], otherwise: Any) -> Any:
    """The number of the first condition that holds, or an expression where none does."""
    import ibis

    return ibis.cases(*((condition, whole(number)) for condition, number in branches), else_=otherwise)
