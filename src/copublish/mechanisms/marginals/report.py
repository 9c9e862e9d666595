"""A release of records and their measured tables presented: README, terminal, report, and lines of code.

The report draws the tables as a picture. Released values only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

from markupsafe import Markup
from rich.console import RenderableType
from rich.table import Table

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.marginals.publish import MarginalsDetails, TableDetails, file_of
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.shared.record_words import (
    Snippets,
    columns_table,
    columns_with_counts,
    quoted,
    told_apart,
    with_copublish,
)
from copublish.mechanisms.shared.svg import Figure
from copublish.mechanisms.shared.text_tables import add_row, text_table


def details_of(publication: Publication) -> MarginalsDetails:
    """What the records were drawn from."""
    return cast(MarginalsDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    details, n_records = details_of(publication), publication.records.num_rows
    errors = sorted({table.within_95_percent for table in details.tables})
    between = f"{errors[0]:g}" if len(errors) == 1 else f"{errors[0]:g} to {errors[-1]:g}"
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{in_words(publication.certificate.parties)}. No record in it is a real person: records were drawn at random from a model
that fits {len(details.tables)} noisy tables, which are published as well.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `tables/` | every measured table as CSV: each cell with its unbiased noisy count and its error |
| `tables.parquet` | all of them in one |
| `marginals.json` | how columns are spread, what every round chose, and the model |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every count of a measured table is off by at most {between} people, by the table, in 95 of 100 cases. Use
these counts where a table has what you need: they are unbiased, and noise cancels out in sums. The records are alike in
every measured table, about; what no measured table shows follows from those by the model, and may be missing from the
records. Numbers are spread evenly over the agreed cells, in which they tell nothing.""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: how columns are spread, and what was measured."""
    details = details_of(publication)
    yield columns_table(publication.reading.summaries())
    if rows:
        yield _measured_table(details, rows)


def _measured_table(details: MarginalsDetails, rows: int) -> Table:
    first = sum(1 for table in details.tables if table.round == 0)
    title = f"Measured: {first} tables for sure, and {len(details.tables) - first} that rounds chose"
    shown = text_table(title, ("round", "table", "cells", "a count is off by", "file"), right=(2, 3))
    chosen_first = sorted(enumerate(details.tables, start=1), key=lambda numbered: numbered[1].round == 0)
    for number, table in chosen_first[:rows]:
        name, cells = " by ".join(table.columns), len(table.factors)
        error, file = f"±{table.within_95_percent:g}", f"{file_of(number, table.columns)}.csv"
        add_row(shown, table.round or "for sure", name, f"{cells:,}", error, file)
    return shown


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


PYTHON = """\
import pandas as pd

table = pd.read_csv({file}, dtype=str, keep_default_na=False)  # a measured table, in the release folder
table["noisy_count"] = table["noisy_count"].astype(int)  # unbiased, can be negative
sd = {deviation}  # standard deviation of the noise of one count, in people
rows = table.groupby({column}, sort=False)["noisy_count"].agg(people="sum", cells="count")
n, rows["share"] = rows["people"].sum(), rows["people"] / rows["people"].sum()
squares = rows["cells"] * (1 - 2 * rows["share"]) + len(table) * rows["share"] ** 2
rows["within"] = 1.96 * sd * squares**0.5 / n  # the truth is this near in 95 of 100 cases
print(rows)  # copublish adds up all measured tables that have the column: the report is a little more exact
"""

R = """\
table <- read.csv({file}, check.names = FALSE, colClasses = "character", na.strings = character())
noisy <- as.integer(table$noisy_count)  # unbiased, can be negative
sd <- {deviation}  # standard deviation of the noise of one count, in people
rows <- aggregate(data.frame(people = noisy, cells = 1), table[{column}], sum)
rows$share <- rows$people / sum(rows$people)
squares <- rows$cells * (1 - 2 * rows$share) + nrow(table) * rows$share^2
rows$within <- 1.96 * sd * sqrt(squares) / sum(rows$people)  # the truth is this near in 95 of 100 cases
print(rows)  # copublish adds up all measured tables that have the column: the report is a little more exact
"""


def snippets(publication: Publication) -> Snippets:
    """The lines about the first column of the first measured table."""
    table = details_of(publication).tables[0]
    filled = {
        "file": quoted(f"{file_of(1, table.columns)}.csv"),
        "column": quoted(table.columns[0]),
        "deviation": f"{table.noise_deviation_in_people:.5g}",
    }
    return Snippets(with_copublish(publication), PYTHON.format(**filled), R.format(**filled))
