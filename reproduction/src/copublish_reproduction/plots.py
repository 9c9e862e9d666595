"""The data of a figure as a plot, with the numbers that the paper prints as hollow squares."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Plot

from copublish_reproduction.figures import COPUBLISH, TRIVIAL, Figure, Point, titled

# Text stays text and identifiers do not change from run to run: small files, small differences.
STYLE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "copublish", "font.size": 9}
COLORS = ("#0072b2", "#56b4e9", "#cc79a7", "#e69f00", "#d55e00", "#999999", "#332288", "#44aa99")
"""Colors that people who confuse red and green can tell apart; the two own series have black and green."""


def plot(figure: Figure, points: Sequence[Point]) -> dict[str, bytes]:
    """The plot as PNG and SVG by file ending."""
    with mpl.rc_context(STYLE):
        columns = min(len(figure.panels), 2)
        rows = -(-len(figure.panels) // columns)
        drawing = Plot(figsize=(5.6 * columns, 4.2 * rows), layout="constrained")
        panels = drawing.subplots(rows, columns, squeeze=False).ravel()
        for axes, dataset in zip(panels, figure.panels, strict=True):
            _draw_panel(axes, figure, [point for point in points if point.dataset == dataset])
            axes.set_title(titled(dataset))
        drawing.suptitle(figure.title, fontsize=10)
        handles, labels = panels[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
        return files_of(drawing)


def files_of(drawing: Plot) -> dict[str, bytes]:
    """A drawing as PNG and SVG by file ending."""
    files = {}
    for ending in ("png", "svg"):
        buffer = BytesIO()
        drawing.savefig(buffer, format=ending, dpi=110, metadata={"Date": None} if ending == "svg" else None)
        files[ending] = buffer.getvalue()
    return files


def _draw_panel(axes: Any, figure: Figure, points: Sequence[Point]) -> None:
    colors = iter(COLORS)
    for series in figure.series:
        found = [point for point in points if point.series == series.label]
        is_own = series.label.startswith(COPUBLISH)
        own_style = ":" if series.is_dotted else "-"
        if series.is_constant:
            style = "--" if "BA" in series.label else ":" if "LA" in series.label else "-."
            look = {"color": series.own_color, "linestyle": own_style, "linewidth": 2}
            other = {"color": "#666666", "linestyle": style, "linewidth": 1}
            axes.axhline(found[0].mean, label=series.label, **(look if is_own else other))
            continue
        color = series.own_color if is_own else "#009e73" if series.label == TRIVIAL else next(colors)
        xs = [float(point.x) for point in found]
        errors = [point.standard_error or 0.0 for point in found]
        axes.errorbar(
            xs,
            [point.mean for point in found],
            yerr=errors,
            color=color,
            marker="o",
            markersize=3,
            linestyle=own_style,
            linewidth=2 if is_own else 1.2,
            capsize=2,
            label=series.label,
        )
        numbers = [(float(point.x), point.printed.percent) for point in found if point.printed]
        if numbers:
            axes.plot(*zip(*numbers, strict=True), "s", color=color, fillstyle="none", markersize=7)
    axes.set_xlabel(figure.x_name)
    axes.set_ylabel("accuracy, percent" if figure.unit == "percent" else "seconds of processor time")
    if figure.unit == "percent":  # noisy contributions can be far above 100
        axes.set_ylim(top=min(axes.get_ylim()[1], 102))
    axes.grid(color="#dddddd", linewidth=0.5)
