"""The data of a figure of heat maps as a plot: cream to red as in the paper; differences red above 0 and blue below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure as Plot

from copublish_reproduction import NOT_PRIVATE
from copublish_reproduction.grid_figures import Grid, GridFigure, number
from copublish_reproduction.grid_tables import METRIC_NAMES, has_metric
from copublish_reproduction.loss_grids import Metric
from copublish_reproduction.plots import STYLE, files_of


def heat_maps(figure: GridFigure, grids: Sequence[Grid]) -> dict[str, bytes]:
    """The plot as PNG and SVG by file ending."""
    metrics = [metric for metric in figure.metrics if all(has_metric(grid, metric) for grid in grids)]
    with mpl.rc_context(STYLE):
        drawing = Plot(figsize=(5.8 * len(grids), 2.1 * len(metrics) + 0.4), layout="constrained")
        maps = drawing.subplots(len(metrics), len(grids), squeeze=False)
        for row, metric in enumerate(metrics):
            for column, grid in enumerate(grids):
                _draw(maps[row][column], figure, grid, metric)
        drawing.suptitle(f"{figure.title}; {NOT_PRIVATE}", fontsize=10)
        return files_of(drawing)


def _draw(axes: Any, figure: GridFigure, grid: Grid, metric: Metric) -> None:
    means = grid.means[metric]
    norm: Normalize
    if figure.is_difference:
        most = max(float(np.abs(means).max()), 1e-12)
        norm, colors = Normalize(-most, most), "RdBu_r"
    else:
        norm, colors = LogNorm(float(means.min()), float(means.max())), "OrRd"
    # Cells as shapes, not as an image: small files that do not change from run to run.
    axes.pcolormesh(means, cmap=colors, norm=norm, edgecolors="white", linewidth=0.5)
    for row, column in np.ndindex(*means.shape):
        share = float(norm(means[row, column]))
        is_dark = share > 0.75 or (figure.is_difference and share < 0.25)
        axes.text(
            column + 0.5,
            row + 0.5,
            number(means[row, column]),
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if is_dark else "black",
        )
    axes.set_xticks(np.arange(len(grid.ks)) + 0.5, [str(k) for k in grid.ks])
    axes.set_yticks(np.arange(len(grid.epsilons)) + 0.5, [f"{epsilon:g}" for epsilon in grid.epsilons])
    axes.set_xlabel("k")
    axes.set_ylabel("epsilon")
    axes.set_title(f"{grid.panel.label}\n{METRIC_NAMES[metric]}", fontsize=8)
