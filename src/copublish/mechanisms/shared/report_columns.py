"""Columns of a report with the published records beside the estimates. Released values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from copublish.mechanisms.reading.estimate import CellSummary, ColumnSummary


@dataclass(frozen=True)
class CountedCell:
    """One value of a column, and how many published records have it."""

    records: int
    told: CellSummary


@dataclass(frozen=True)
class CountedColumn:
    """One column of a report."""

    name: str
    cells: tuple[CountedCell, ...]


def columns_with_counts(summaries: Sequence[ColumnSummary], counts: Mapping[str, Sequence[int]]) -> list[CountedColumn]:
    """Every column's values with their errors, and with the published records that have them."""
    return [
        CountedColumn(
            summary.name,
            tuple(
                CountedCell(records, cell) for records, cell in zip(counts[summary.name], summary.cells, strict=True)
            ),
        )
        for summary in summaries
    ]


def told_apart(summaries: Sequence[ColumnSummary]) -> tuple[int, int]:
    """How many of all counts an empty cell would not have, in 95 of 100 cases; and how many counts there are."""
    cells = [cell.people for summary in summaries for cell in summary.cells]
    return sum(1 for people in cells if abs(people.value or 0.0) > (people.within or 0.0)), len(cells)
