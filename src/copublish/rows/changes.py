"""Changes that the rules of an agreement make to one party's rows: for their owner only.

Hints name spelling where it is the reason, such as truth values or upper and lower case. They name how a source writes
such values, not what anybody's value is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.domain import MISSING_LABEL, CategoricalDomain, NumericalDomain, format_number
from copublish.agreement.encoding_rules import ColumnRule
from copublish.rows.encoding import Rule, broken_rule, texts_of
from copublish.types import BoolArray, IntArray

TRUTH_WORDS = (("true", "false"), ("TRUE", "FALSE"), ("True", "False"))
"""How sources write truth values. A column with a type of its own for them is always read as the first."""

TRUTH_VALUES = (
    "truth values, which are read as '{true}' and '{false}', and the agreed list has other values (agree on "
    'values = ["{false}", "{true}"], or let the data have the agreed ones)'
)
OTHER_CASE = "values that differ from agreed ones in upper and lower case alone (spelling counts)"


def spelled_otherwise(
    texts: pa.Array, unlisted: BoolArray, domain: CategoricalDomain
) -> Iterator[tuple[str, BoolArray]]:
    """Yield what unlisted cells have, in words, and which cells: those for which spelling is the reason.

    Args:
        texts: The column as it was read.
        unlisted: Which of its cells are not in the agreed list.
        domain: The list.
    """
    left = unlisted
    for true, false in TRUTH_WORDS:
        found = left & _is_in(texts, (true, false))
        if found.any():
            yield TRUTH_VALUES.format(true=true, false=false), found
            left = left & ~found
    found = left & _is_in(pc.utf8_lower(texts), tuple({value.lower() for value in domain.values}))
    if found.any():
        yield OTHER_CASE, found


def _is_in(texts: pa.Array, words: tuple[str, ...]) -> BoolArray:
    found = pc.is_in(texts, value_set=pa.array(words, texts.type))
    return cast(BoolArray, pc.fill_null(found, False).to_numpy(zero_copy_only=False).astype(np.bool_))


AnyRule = Literal[Rule, "null class", "doubled", "no identifier", "not compared", "dropped"]
"""Of a cell; of a record whose class is not listed; of identifiers."""


def percent_of(number: int, *, of: int) -> float:
    """A share in percent, with one decimal."""
    return round(100 * number / of, 1) if of else 0.0


def percent_in_words(number: int, *, of: int) -> str:
    """A share in percent. Some are never 0 %, and not all are never 100 %."""
    percent = f"{percent_of(number, of=of):.1f}"
    return f"{ {'0.0': 'under 0.1', '100.0': 'over 99.9'}.get(percent, percent) if 0 < number < of else percent } %"


def count_of(number: int, noun: str, *, of: int) -> str:
    """A number of things with its share of all: 1 row (2.0 %)."""
    return f"{number:,} {noun}{'' if number == 1 else 's'} ({percent_in_words(number, of=of)})"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One rule that rows of a party broke.

    Attributes:
        column: Whose.
        rule: Which.
        rows: How many rows break it.
        of: How many rows there are.
        broken: What they have, in words without a value.
        effect: What was done, in words.
        row_numbers: Which rows, from 1 in the order of the source; nothing unless they were asked for.

    Privacy:
        Reveals: facts about single people. It is shown to the owner of the rows, offline, and goes nowhere else: an
            owner who stops a run after seeing it tells the others as much.
    """

    column: str
    rule: AnyRule
    rows: int = field(repr=False)
    of: int = field(repr=False)
    broken: str
    effect: str
    row_numbers: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def percent(self) -> str:
        """The share of all rows."""
        return percent_in_words(self.rows, of=self.of)

    @property
    def problem(self) -> str:
        """The broken rule as an error states it: without a number of rows."""
        return f"Column '{self.column}' has {self.broken}."

    def __str__(self) -> str:
        rows = count_of(self.rows, "row", of=self.of)
        return f"Column '{self.column}' has {self.broken}: {rows}, {self.effect}."

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Change:
        """The change that `to_dict` wrote."""
        return cls(**{name: value for name, value in content.items() if name != "percent"})

    def to_dict(self) -> dict[str, Any]:
        """The change as plain JSON values."""
        found: dict[str, Any] = {
            "column": self.column,
            "rule": self.rule,
            "rows": self.rows,
            "of": self.of,
            "percent": percent_of(self.rows, of=self.of),
            "broken": self.broken,
            "effect": self.effect,
        }
        if self.row_numbers is not None:
            found["row_numbers"] = list(self.row_numbers)
        return found


class Changes:
    """Counts of broken rules, column by column, as batches come in.

    Args:
        with_rows: Whether the numbers of rows are kept, too.
    """

    def __init__(self, *, with_rows: bool) -> None:
        self._with_rows = with_rows
        self._found: dict[tuple[str, AnyRule, tuple[str, str]], tuple[int, list[IntArray]]] = {}

    def note(
        self,
        column: str,
        rule: AnyRule,
        words: tuple[str, str],
        rows: BoolArray,
        *,
        first: int = 0,
        weights: IntArray | None = None,
    ) -> None:
        """Count the rows that break a rule.

        Args:
            column: Whose.
            rule: Which.
            words: What the rows have, and what is done about it.
            rows: Where.
            first: How many rows came before these.
            weights: How many rows each one stands for, if it is not one.
        """
        count, numbers = self._found.get((column, rule, words), (0, []))
        found = np.flatnonzero(rows)
        if self._with_rows:
            numbers.append(found.astype(np.int64) + first + 1)
        if more := len(found) if weights is None else int(weights[found].sum()):
            self._found[column, rule, words] = count + more, numbers

    def listed(self, *, of: int) -> tuple[Change, ...]:
        """Every broken rule, by column and rule.

        Args:
            of: How many rows there are.
        """
        return tuple(
            Change(
                column=column,
                rule=rule,
                rows=count,
                of=of,
                broken=broken,
                effect=effect,
                row_numbers=tuple(np.concatenate(numbers).tolist()) if self._with_rows else None,
            )
            for (column, rule, (broken, effect)), (count, numbers) in sorted(self._found.items(), key=itemgetter(0))
        )


def changed_cells(
    rule: Rule, rows: BoolArray, column: ColumnRule, values: pa.Array, *, is_class: bool
) -> Iterator[tuple[tuple[str, str], BoolArray]]:
    """Yield what cells have that break a rule and what is done about it, in words, and which cells.

    Args:
        rule: The one that is broken.
        rows: Where.
        column: The column's domain, and where values go that are not in it.
        values: The column as it came from the source, whose spelling is looked at.
        is_class: Whether it is the class.
    """
    effect = _effect(rule, column)
    if rule == "unlisted" and isinstance(column.domain, CategoricalDomain):
        for words, found in spelled_otherwise(texts_of(values), rows, column.domain):
            yield (words, effect), found
            rows = rows & ~found
    if rows.any():
        yield (broken_rule(rule, column.domain, is_class=is_class), effect), rows


def _effect(rule: Rule, column: ColumnRule) -> str:
    if rule == "clamped":
        return "taken as the nearer bound"
    if column.makes_null_rows:
        return "kept as null rows, which count nowhere"
    if isinstance(column.domain, NumericalDomain):
        number = column.number_for_missing
        return f"taken as {MISSING_LABEL if number is None else format_number(number)}"
    return f"taken as '{column.domain.values[column.unlisted if rule == 'unlisted' else column.missing]}'"
