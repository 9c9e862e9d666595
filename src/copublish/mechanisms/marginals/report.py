"""What the report says in numbers and pictures. Released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.figures import graph_figure
from copublish.mechanisms.marginals.publish import ColumnDetails, TableDetails
from copublish.mechanisms.marginals.tables import file_of
from copublish.mechanisms.marginals.words import details_of


@dataclass(frozen=True)
class Cell:
    """One value or interval of a column; parts are of the longest bar."""

    label: str
    count: int
    noisy: int
    share: float
    bar: float
    error_from: float
    error_to: float


@dataclass(frozen=True)
class Column:
    """One column, its cells, and how far a noisy count is off at most in 95 of 100 cases."""

    name: str
    within: float
    mean: str | None
    median: str | None
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Measured:
    """One measured table."""

    names: str
    when: str
    cells: int
    within: float
    file: str


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, n_records = details_of(publication), publication.records.num_rows
    return {
        "n_records": n_records,
        "total_is_public": publication.certificate.public_facts.number_of_records is not None,
        "columns": [
            _column(name, column, n_records, details.estimated_records) for name, column in details.columns.items()
        ],
        "graph": graph_figure(list(details.columns), details.tables),
        "measured": [_measured(number, table) for number, table in enumerate(details.tables, start=1)],
        "n_chosen": sum(1 for table in details.tables if table.round),
        "n_rounds": len(details.rounds),
        "estimated": details.estimated_records,
    }


def _measured(number: int, table: TableDetails) -> Measured:
    when, file = f"round {table.round}" if table.round else "for sure", f"{file_of(number, table.columns)}.csv"
    return Measured(" by ".join(table.columns), when, len(table.factors), table.within_95_percent, file)


def _column(name: str, column: ColumnDetails, n_records: int, total: int) -> Column:
    """A column with bars of shares: of published records, and with error bars of the noisy counts."""
    reach = [
        max(count / max(n_records, 1), (noisy + column.within_95_percent) / total) for count, noisy in _rows(column)
    ]
    longest = max(*reach, 1e-9)

    def part(share: float) -> float:
        return min(max(share / longest, 0.0), 1.0)

    cells = tuple(
        Cell(
            label=label,
            count=count,
            noisy=noisy,
            share=count / max(n_records, 1),
            bar=part(count / max(n_records, 1)),
            error_from=part((noisy - column.within_95_percent) / total),
            error_to=part((noisy + column.within_95_percent) / total),
        )
        for label, (count, noisy) in zip(column.cells, _rows(column), strict=True)
    )
    return Column(name, column.within_95_percent, _number(column.mean), _number(column.median), cells)


def _rows(column: ColumnDetails) -> list[tuple[int, int]]:
    return list(zip(column.counts, column.noisy_counts, strict=True))


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.6g}" if abs(value) < 1e5 else f"{value:,.0f}"
