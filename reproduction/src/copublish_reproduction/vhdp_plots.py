"""The data of a VHDP figure as a plot: marks over attributes, a panel for each epsilon where methods are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Plot

from copublish_reproduction import NOT_PRIVATE
from copublish_reproduction.plots import COLORS, STYLE, files_of
from copublish_reproduction.vhdp_figures import EPSILONS, TITLES, Curve, ScoreTable, VhdpFigure
from copublish_reproduction.vhdp_tables import QUANTITIES, curve_name

MARKERS = "os^DvP"


def vhdp_plot(figure: VhdpFigure, tables: Sequence[ScoreTable]) -> dict[str, bytes]:
    """The plot as PNG and SVG by file ending."""
    panels = [(table, *panel) for table in tables for panel in _panels(figure)]
    n_columns = 2
    n_rows = -(-len(panels) // n_columns)
    with mpl.rc_context(STYLE):
        drawing = Plot(figsize=(9.6, 2.6 * n_rows + 1.4), layout="constrained")
        grid = drawing.subplots(n_rows, n_columns, squeeze=False, sharex=len(tables) == 1, sharey=len(tables) == 1)
        for axes, (table, title, curves) in zip(grid.flat, panels, strict=True):
            _draw(axes, figure, table, curves)
            axes.set_title(TITLES[table.dataset] + title, fontsize=8)
        for axes in grid[:, 0]:
            axes.set_ylabel(QUANTITIES[figure.quantity])
        own = "; protect-informative and use-informative are copublish's and are" if figure.beside else ""
        drawing.suptitle(f"{figure.title}; {NOT_PRIVATE}{own}", fontsize=10)
        return files_of(drawing)


def _panels(figure: VhdpFigure) -> list[tuple[str, list[Curve]]]:
    curves = (*figure.curves, *figure.beside)
    if len(figure.datasets) > 1 and not figure.beside:
        return [("", list(curves))]
    if len(figure.datasets) > 1:
        methods = dict.fromkeys(curve.method for curve in curves)
        return [(f", {method}", [curve for curve in curves if curve.method == method]) for method in methods]
    return [
        (f", epsilon {epsilon:g}", [curve for curve in curves if curve.epsilon in (None, epsilon)])
        for epsilon in EPSILONS
    ]


def _draw(axes: Any, figure: VhdpFigure, table: ScoreTable, curves: Sequence[Curve]) -> None:
    for number, curve in enumerate(curves):
        places = [place + 0.16 * (number - (len(curves) - 1) / 2) for place in range(len(table.names))]
        axes.plot(
            places,
            table.means[curve],
            MARKERS[number],
            color=COLORS[number],
            markersize=4,
            label=curve_name(figure, curve),
        )
    if figure.quantity == "ilpg":
        axes.axhline(0, color="#666666", linewidth=0.8)
    axes.set_xticks(range(len(table.names)), table.names, rotation=90, fontsize=7)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.legend(frameon=False, fontsize=7)
