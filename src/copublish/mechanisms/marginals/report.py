"""What the report says in numbers and pictures. Released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.figures import graph_figure
from copublish.mechanisms.marginals.publish import TableDetails
from copublish.mechanisms.marginals.snippets import snippets
from copublish.mechanisms.marginals.tables import file_of
from copublish.mechanisms.marginals.words import details_of
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.shared.report_columns import columns_with_counts, told_apart


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
    details, reading = details_of(publication), publication.reading
    summaries = reading.summaries()
    n_told, n_cells = told_apart(summaries)
    return {
        "n_records": publication.records.num_rows,
        "total_is_public": publication.certificate.public_facts.number_of_records is not None,
        "columns": columns_with_counts(summaries, {name: column.counts for name, column in details.columns.items()}),
        "n_told_apart": n_told,
        "n_cells": n_cells,
        "graph": graph_figure(list(details.columns), details.tables),
        "measured": [_measured(number, table) for number, table in enumerate(details.tables, start=1)],
        "n_chosen": sum(1 for table in details.tables if table.round),
        "n_rounds": len(details.rounds),
        "people": reading.count({}, CONFIDENCE),
        "snippets": snippets(publication),
    }


def _measured(number: int, table: TableDetails) -> Measured:
    when, file = f"round {table.round}" if table.round else "for sure", f"{file_of(number, table.columns)}.csv"
    return Measured(" by ".join(table.columns), when, len(table.factors), table.within_95_percent, file)
