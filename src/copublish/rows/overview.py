"""Overview of one party's data under the rules of the agreement: for their owner only, before anybody is called.

Wrecked data run as well as others do, since no value ends a run. So the owner sees how much of every column was
changed, and is asked again where it is so much that the data are hardly those that were agreed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.encoding_rules import ColumnRule
from copublish.rows.changes import AnyRule, Change, Changes, changed_cells, count_of, percent_of
from copublish.rows.encoding import MISSING_CLASS, MISSING_REFUSED, Encoded
from copublish.types import BoolArray, IntArray

MOST_PERCENT = 10
"""Of a column's values that rules may change, and of rows that may be left out, before an owner is asked again.
A decision of its own says why (docs/decisions)."""

NEARLY_ALL_PERCENT = 90
"""Of a column's numbers that lie at one end of the grid, before its owner is told to look at the unit."""

ENDS = 20
"""The end of a fine grid is this part of its cells; that of a coarse one is a cell."""

ONE_ROW_EACH = (
    "You have several rows per person. Make it one row per person before the run, for example by grouping in the "
    "source. Which value stands for a person (the latest, the sum, the largest) is yours to choose."
)
"""Advice to the owner of repeated identifiers."""

LEFT_OUT: Mapping[AnyRule, str] = {
    "no identifier": "they have no identifier",
    "doubled": "their identifier has another row",
    "dropped": "they have missing values, with which the agreement drops them",
}
"""Reasons for leaving out rows, by rule."""


@dataclass(frozen=True, kw_only=True)
class ColumnOverview:
    """Counts of one column's cells.

    Attributes:
        column: Its name.
        cells: How many cells of it are here: as many as there are rows, unless other parties hold some.
        missing: How many of them are empty or spelled as missing.
        changed: How many have a value that is not as agreed: unreadable, unlisted, or past the bounds. A class that is
            missing counts among them, since the agreement has no place for it.
        doubt: Why these are hardly the data that were agreed, without a number; none if they may be.
        notes: Remarks that stop nothing; none if nothing stands out.
    """

    column: str
    cells: int = field(repr=False)
    missing: int = field(repr=False)
    changed: int = field(repr=False)
    doubt: str | None = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The column as plain JSON values."""
        return {
            "column": self.column,
            "cells": self.cells,
            "missing": self.missing,
            "missing_percent": percent_of(self.missing, of=self.cells),
            "changed": self.changed,
            "changed_percent": percent_of(self.changed, of=self.cells),
        }


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Counts of one party's rows and cells.

    Attributes:
        rows: How many rows the source has.
        records: How many of them are records; the others are left out.
        columns: The agreed columns.
        changes: Changes that the agreement's rules made, by column and rule.

    Privacy:
        Reveals: facts about single people. It is shown to the owner of the rows, on its machine, and goes nowhere else:
            no log, no status, no message and no error has a number of it. An owner who declines a run after seeing it
            tells the others as much, and so does a run that ends at `doubts`: look before you agree.
    """

    rows: int = field(repr=False)
    records: int = field(repr=False)
    columns: tuple[ColumnOverview, ...]
    changes: tuple[Change, ...]

    @property
    def left_out(self) -> int:
        """Number of rows that are no records."""
        return self.rows - self.records

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why these are hardly the data that were agreed, without a number but `MOST_PERCENT`."""
        if not self.rows:
            return ("There are no rows.",)
        column_doubts = tuple(column.doubt for column in self.columns if column.doubt is not None)
        if 100 * self.left_out > MOST_PERCENT * self.rows:
            rules = {change.rule for change in self.changes}
            why = ", or ".join(words for rule, words in LEFT_OUT.items() if rule in rules)
            advice = (ONE_ROW_EACH,) if self._has_doubled else ()
            return (*column_doubts, f"More than {MOST_PERCENT} % of the rows are left out: {why}.", *advice)
        return column_doubts

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks that stop nothing, such as a column with only one value."""
        return tuple(note for column in self.columns for note in column.notes)

    @property
    def lines(self) -> tuple[str, ...]:
        """The overview in sentences; columns in which everything is there and as agreed share one."""
        return (*self._first_lines(), *map(_with_numbers, self.changes), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences besides the changes: missing cells, several rows per person, and the notes."""
        reported = {change.column for change in self.changes if change.broken in (MISSING_CLASS, MISSING_REFUSED)}
        return (
            *(
                f"Column '{column.column}' has {count_of(column.missing, 'missing cell', of=column.cells)}."
                for column in self.columns
                if column.missing and column.column not in reported
            ),
            *([ONE_ROW_EACH] if self._has_doubled else []),
            *self.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """The overview without the changes, as plain JSON values."""
        return {
            "rows": self.rows,
            "left_out": self.left_out,
            "left_out_percent": percent_of(self.left_out, of=self.rows),
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.notes),
        }

    def _first_lines(self) -> Iterator[str]:
        left_out = count_of(self.left_out, "row", of=self.rows)
        yield (
            f"{count_in_words(self.rows, 'row')}, {left_out if self.left_out else 'none'} left out: "
            f"{count_in_words(self.records, 'record')}."
        )
        changed = {change.column for change in self.changes}
        whole = [column.column for column in self.columns if not column.missing and column.column not in changed]
        if self.rows and not self.changes:
            yield f"Every value is as agreed.{' No cell is missing.' if len(whole) == len(self.columns) else ''}"
        elif self.rows and whole:
            yield f"All there and as agreed: {', '.join(whole)}."

    @property
    def _has_doubled(self) -> bool:
        return any(change.rule == "doubled" for change in self.changes)


def _with_numbers(change: Change) -> str:
    """A change with the numbers of its rows, if they were asked for."""
    numbers = () if change.row_numbers is None else change.row_numbers
    return f"{change}\n    rows {', '.join(map(str, numbers))}" if numbers else str(change)


def count_in_words(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Tallies:
    """Running counts of missing and changed cells, as batches come in.

    Args:
        rules: The agreed columns.
        class_name: Which of them is the class; none if no column is.
        with_rows: Whether the numbers of changed rows are kept.
    """

    def __init__(self, rules: Mapping[str, ColumnRule], class_name: str | None, *, with_rows: bool = False) -> None:
        self.changes = Changes(with_rows=with_rows)
        self._columns = {name: _Tally(rule, is_class=name == class_name) for name, rule in rules.items()}

    def count(
        self, column: str, encoded: Encoded, values: pa.Array, *, first: int = 0, weights: IntArray | None = None
    ) -> None:
        """Count cells of a column.

        Args:
            column: Which.
            encoded: What became of them.
            values: The cells as they came from the source.
            first: How many rows came before these.
            weights: How many rows each one stands for, if it is not one.
        """
        tally = self._columns[column]
        tally.count(encoded, weights)
        for broken, rows in encoded.changed.items():
            named: AnyRule = "null class" if tally.rule.makes_null_rows else broken
            for words, found in changed_cells(broken, rows, tally.rule, values, is_class=tally.is_class):
                self.changes.note(column, named, words, found, first=first, weights=weights)

    def overview(self, *, rows: int, records: int) -> Overview:
        """The overview of everything that was counted.

        Args:
            rows: How many rows the source has.
            records: How many of them were not left out.
        """
        changes = self.changes.listed(of=rows)
        return Overview(
            rows=rows,
            records=records,
            columns=tuple(
                tally.overview(name, [change for change in changes if change.column == name])
                for name, tally in self._columns.items()
            ),
            changes=changes,
        )


class _Tally:
    """Counts of one column."""

    def __init__(self, rule: ColumnRule, *, is_class: bool) -> None:
        self.rule, self.is_class = rule, is_class
        self._cells = self._missing = self._changed = self._fractions = 0
        self._values = np.zeros(rule.domain.size, dtype=np.int64)
        """By code, cells with a value of the domain or past its bounds."""

    def count(self, encoded: Encoded, weights: IntArray | None) -> None:
        changed, missing = encoded.changed, encoded.missing
        none: BoolArray = np.zeros(len(missing), dtype=np.bool_)
        # The same code marks a record without a listed class, whose cell is here.
        here = none | True if self.rule.makes_null_rows else encoded.codes != self.rule.domain.size
        lost = changed.get("unlisted", none) | changed.get("unreadable", none)
        not_agreed = lost | changed.get("clamped", none) | (missing if self.is_class else none)
        number = np.ones(len(missing), dtype=np.int64) if weights is None else weights
        self._cells += int(number[here].sum())
        self._missing += int(number[missing].sum())
        self._changed += int(number[not_agreed].sum())
        has_value = here & ~missing & ~lost
        if encoded.numbers is not None and _are_whole(self.rule.domain):
            self._fractions += int(number[has_value & (encoded.numbers % 1 != 0)].sum())
        np.add.at(self._values, encoded.codes[has_value].astype(np.int64), number[has_value])

    def overview(self, name: str, changes: list[Change]) -> ColumnOverview:
        return ColumnOverview(
            column=name,
            cells=self._cells,
            missing=self._missing,
            changed=self._changed,
            doubt=self._doubt(name, changes),
            notes=tuple(filter(None, (_note(self.rule.domain, self._values), self._note_of_fractions()))),
        )

    def _doubt(self, name: str, changes: list[Change]) -> str | None:
        if not self._cells:
            return f"Column '{name}' has no cell here: all of them are left to other parties."
        if self._missing == self._cells:
            return f"Column '{name}' is missing everywhere{self._replacement(changes)}."
        # Of the values that are there: where few are, they can be wrecked all the same.
        if 100 * self._changed > MOST_PERCENT * (self._cells - (0 if self.is_class else self._missing)):
            allowed = ("dropped",) if self.is_class else ("dropped", "missing")
            by_rows = sorted(changes, key=lambda change: -change.rows)
            words = "; and ".join(change.broken for change in by_rows if change.rule not in allowed)
            return f"Column '{name}' has {words}: more than {MOST_PERCENT} % of its values."
        if 100 * self._missing > MOST_PERCENT * self._cells and (replacement := self._replacement(changes)):
            return f"Column '{name}' has missing values: more than {MOST_PERCENT} % of its cells{replacement}."
        return None

    def _replacement(self, changes: list[Change]) -> str:
        """What becomes of missing values, of a column that the agreement takes to have none; nothing of others."""
        effects = [] if self.is_class else [change.effect for change in changes if change.rule == "missing"]
        return f". The agreement takes it to be complete: missing values are {effects[0]}" if effects else ""

    def _note_of_fractions(self) -> str | None:
        """A remark about numbers with decimals where whole ones are agreed, so that what is published has none."""
        if not self._fractions:
            return None
        return (
            f"Column '{self.rule.domain.name}' has {count_of(self._fractions, 'number', of=int(self._values.sum()))} "
            "with a fraction. Agreed numbers are whole (decimals = 0, or bounds and grid without decimals), so they "
            "are rounded."
        )


def _are_whole(domain: Domain) -> bool:
    return isinstance(domain, NumericalDomain) and domain.decimals_of_numbers == 0


def _note(domain: Domain, values: IntArray) -> str | None:
    """A remark about a column's values, counted by code, if they stand out."""
    total, n_found = int(values.sum()), np.count_nonzero(values)
    if total < 2:
        return None
    if not isinstance(domain, NumericalDomain):
        return f"Column '{domain.name}' has only one value, so it tells nobody apart." if n_found == 1 else None
    cells, width = domain.number_codes, max(1, domain.number_codes // ENDS)
    # Steps can end at the upper bound, which is then a cell of its own.
    last = width + (bool(domain.thresholds) and domain.thresholds[-1] == domain.upper)
    for which, part in (("first", (0, width)), ("last", (cells - last, cells))):
        at_end, size = int(values[part[0] : part[1]].sum()), part[1] - part[0]
        if cells > 2 and 100 * at_end >= NEARLY_ALL_PERCENT * total:  # with two cells both are ends
            where = f"the {which} {'cell' if size == 1 else f'{size} cells'} of {cells:,}, {domain.label(part)}"
            return (
                f"Column '{domain.name}' has its median and nearly all of its numbers, "
                f"{count_of(at_end, 'row', of=total)}, in {where}. Is its unit the agreed one (not thousands, cents or "
                "months)?"
            )
    return f"Column '{domain.name}' has all numbers in one cell of its grid." if n_found == 1 < cells else None
