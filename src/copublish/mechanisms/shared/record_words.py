"""What a terminal shows of records whose columns have a budget each. Released values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rich.table import Table

from copublish.mechanisms.shared.allocation import TABLES
from copublish.mechanisms.shared.label_information import LabelInformation
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.privacy.disclosures import Place

SPARKLINE_WIDTH, BARS = 40, " ▁▂▃▄▅▆▇█"


class CountedColumn(Protocol):
    """A published column: its cells in agreed order, and how many records each has."""

    @property
    def cells(self) -> tuple[str, ...]:
        """How every cell is named."""
        ...

    @property
    def counts(self) -> tuple[int, ...]:
        """How many published records it has."""
        ...


def columns_table(columns: Mapping[str, CountedColumn]) -> Table:
    """How each column of the records is spread, and its largest cell."""
    headings = ("column", "cells", "spread over its cells, in agreed order", "largest cell", "share")
    table = text_table("What was published", headings)
    for name, column in columns.items():
        counts = column.counts
        largest = counts.index(max(counts))
        share = counts[largest] / max(sum(counts), 1)
        add_row(table, name, len(counts), sparkline(counts), column.cells[largest], f"{share:.0%}")
    return table


def sparkline(counts: Sequence[int]) -> str:
    """Counts as a row of bars, neighbors put together where there are more than fit."""
    per_bar = -(-len(counts) // SPARKLINE_WIDTH)
    sums = [sum(counts[i : i + per_bar]) for i in range(0, len(counts), per_bar)]
    return "".join(BARS[-(-(len(BARS) - 1) * value // max(*sums, 1))] for value in sums)


def label_table(information: LabelInformation, rows: int) -> Table:
    """What the columns that tell most tell about the label, and what a unit of their budget bought."""
    label = information.label
    headings = ("column", "bits", f"share of what '{label}' holds", "bits per unit of its epsilon")
    title = f"What the columns that tell most still tell about '{label}'"
    table = text_table(title, headings, right=(1, 2, 3))
    for told in information.told()[:rows]:
        add_row(table, told.column, f"{told.bits:.4f}", f"{told.share:.1%}", f"{told.bits_per_epsilon:.4f}")
    return table


def place_of_table(what: str) -> Place | None:
    """The place of a table by label in a certificate of format 1, by what it says; nothing if it is none."""
    start, stop = "number of records with every value of '", "' and of the label '"
    if not what.startswith(start):
        return None
    return Place(TABLES, column=what.removeprefix(start).rpartition(stop)[0])
