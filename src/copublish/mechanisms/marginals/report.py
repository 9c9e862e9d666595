"""The report on records from measured tables: numbers, and the tables as a picture. Released values only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from markupsafe import Markup

from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.publish import TableDetails
from copublish.mechanisms.marginals.snippets import snippets
from copublish.mechanisms.marginals.tables import file_of
from copublish.mechanisms.marginals.words import details_of
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.shared.report_columns import columns_with_counts, told_apart
from copublish.mechanisms.shared.svg import Figure

RADIUS, MARGIN_X, MARGIN_Y = 190.0, 170.0, 34.0
LONGEST_LABEL = 22


def graph_figure(names: Sequence[str], tables: Sequence[TableDetails]) -> Markup:
    """Draw columns on a circle, and between them the tables: thin ones measured for sure, thick ones chosen."""
    width, height = 2 * (RADIUS + MARGIN_X), 2 * (RADIUS + MARGIN_Y)
    chosen = [table for table in tables if table.round]
    described = "; ".join(f"round {table.round}: {' by '.join(table.columns)}" for table in chosen)
    figure = Figure("graph", width, height, "Which columns were measured together", described or "No table was chosen.")
    figure.root.set("style", f"max-width:{width:.0f}px")
    places = {name: _place(number, len(names), width, height) for number, name in enumerate(names)}
    for table in sorted(tables, key=lambda table: table.round > 0):
        if len(table.columns) > 1:
            _draw_table(figure, table, places)
    for name, (x, y) in places.items():
        figure.add("circle", class_="leaf", cx=x, cy=y, r=4.5)
        shown = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
        side = x - width / 2
        anchor = "middle" if abs(side) < RADIUS / 4 else "start" if side > 0 else "end"
        shift = 0.0 if anchor == "middle" else math.copysign(9, side)
        drop = 4.0 if anchor != "middle" else 20.0 if y > height / 2 else -12.0
        tooltip = name if shown != name else None
        figure.add("text", shown, tooltip=tooltip, class_="value", x=x + shift, y=y + drop, text_anchor=anchor)
    return figure.markup()


def _place(number: int, of: int, width: float, height: float) -> tuple[float, float]:
    angle = 2 * math.pi * number / of - math.pi / 2
    return width / 2 + RADIUS * math.cos(angle), height / 2 + RADIUS * math.sin(angle)


def _draw_table(figure: Figure, table: TableDetails, places: dict[str, tuple[float, float]]) -> None:
    """Draw a line between every two columns of a table."""
    names = " by ".join(table.columns)
    when = f"round {table.round}" if table.round else "measured for sure"
    for one, other in combinations(table.columns, 2):
        (x1, y1), (x2, y2) = places[one], places[other]
        figure.add(
            "line",
            tooltip=f"{names}: {when}, each count within ±{table.within_95_percent:g} in 95 of 100 cases",
            class_="range" if table.round else "rule",
            x1=x1,
            y1=y1,
            x2=x2,
            y2=y2,
        )


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
