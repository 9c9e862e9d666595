"""The data of a figure of heat maps as text: a table for each panel and metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copublish_reproduction import NOT_PRIVATE
from copublish_reproduction.grid_claims import claims_of
from copublish_reproduction.grid_figures import Grid, GridFigure, number
from copublish_reproduction.loss_grids import Metric
from copublish_reproduction.table_text import markdown_table

METRIC_NAMES: dict[Metric, str] = {
    "corrected": "MeanSSE, corrected",
    "printed": "MeanSSE, formula as printed",
    "wrong_categories": "share of categories that are wrong",
}


def grid_table(grid: Grid, metric: Metric) -> tuple[list[str], list[list[str]]]:
    """A header and rows: a row per epsilon, a column per k."""
    header = ["epsilon", *(f"k = {k}" for k in grid.ks)]
    rows = []
    for row, epsilon in enumerate(grid.epsilons):
        errors = None if grid.standard_errors is None else grid.standard_errors[metric][row]
        cells = [
            number(mean) + ("" if errors is None else f" ± {number(errors[column])}")
            for column, mean in enumerate(grid.means[metric][row])
        ]
        rows.append([f"{epsilon:g}", *cells])
    return header, rows


def has_metric(grid: Grid, metric: Metric) -> bool:
    """Whether a panel has a metric: tables without categories have none of them wrong or right."""
    return not bool(np.isnan(grid.means[metric]).any())


def grid_markdown(figure: GridFigure, grids: Sequence[Grid]) -> str:
    """All tables for a Markdown page, with what the paper's text says of the figure."""
    parts = [f"{NOT_PRIVATE[0].upper()}{NOT_PRIVATE[1:]}, and not individually so either (E29).\n"]
    for metric in figure.metrics:
        for grid in grids:
            if has_metric(grid, metric):
                header, rows = grid_table(grid, metric)
                parts.append(
                    f"{METRIC_NAMES[metric]}; {grid.panel.label}; mean and standard error of {grid.runs} runs:\n"
                )
                parts += markdown_table(header, rows)
    claims = claims_of(figure, grids)
    if claims:
        parts += markdown_table(["what the paper says of the figure", "what comes out"], [list(row) for row in claims])
    return "\n".join(parts)
