"""Figures 2 to 6 of the iDP-IR paper: which grids they show, and their data regenerated cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from copublish_reproduction.figures import Tell
from copublish_reproduction.loss_grids import METRICS, Experiment, Metric, Setting
from copublish_reproduction.microdata_sets import MicrodataName, load_microdata


@dataclass(frozen=True)
class Panel:
    """One grid of a figure.

    Attributes:
        label: What it shows.
        setting: Whose loss.
        minus: Whose loss is subtracted, in a figure of differences.
    """

    label: str
    setting: Setting
    minus: Setting | None = None


@dataclass(frozen=True)
class GridFigure:
    """One figure of heat maps.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        panels: Its grids.
        ks: Cluster sizes of every table; 1 is plain iDP.
        epsilons: Budgets of a record.
        metrics: What tables and plots show; CSV files have all.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    ks: dict[MicrodataName, tuple[int, ...]]
    epsilons: tuple[float, ...]
    metrics: tuple[Metric, ...] = ("corrected", "printed")

    @property
    def datasets(self) -> tuple[MicrodataName, ...]:
        """Tables it needs."""
        return tuple(dict.fromkeys(panel.setting.dataset for panel in self.panels))

    @property
    def is_difference(self) -> bool:
        """Whether it shows differences."""
        return any(panel.minus for panel in self.panels)


@dataclass(frozen=True)
class Grid:
    """The data of one panel.

    Attributes:
        panel: Which one.
        ks: Columns.
        epsilons: Rows.
        runs: Number of runs.
        means: For every metric, shape (epsilons, ks).
        standard_errors: Of the means; none for a single run.
    """

    panel: Panel
    ks: tuple[int, ...]
    epsilons: tuple[float, ...]
    runs: int
    means: dict[Metric, NDArray[np.float64]] = field(repr=False)
    standard_errors: dict[Metric, NDArray[np.float64]] | None = field(repr=False)


def run_grid_figure(figure: GridFigure, folder: Path, runs: int, progress: Tell) -> list[Grid]:
    """Regenerate the data of a figure.

    Args:
        figure: Which one.
        folder: Where the data sets are.
        runs: How often everything is repeated.
        progress: Told about every setting.

    Raises:
        SourceError: If the folder lacks a file.
        FragmentError: If an owner has fewer records than the largest k.
    """
    for name in figure.datasets:  # say what is missing before anything runs for long
        load_microdata(name, folder)
    settings = dict.fromkeys(s for panel in figure.panels for s in (panel.setting, panel.minus) if s is not None)
    losses = {}
    for done, setting in enumerate(settings):
        progress(figure.name, done, len(settings))
        losses[setting] = Experiment.load(setting, folder).run(runs, figure.ks[setting.dataset], figure.epsilons)
    progress(figure.name, len(settings), len(settings))
    return [
        _grid(figure, panel, losses[panel.setting] - (losses[panel.minus] if panel.minus else 0))
        for panel in figure.panels
    ]


def _grid(figure: GridFigure, panel: Panel, losses: NDArray[np.float64]) -> Grid:
    runs = losses.shape[1]
    means = dict(zip(METRICS, losses.mean(axis=1), strict=True))
    errors = dict(zip(METRICS, losses.std(axis=1, ddof=1) / np.sqrt(runs), strict=True)) if runs > 1 else None
    return Grid(panel, figure.ks[panel.setting.dataset], figure.epsilons, runs, means, errors)


EPSILONS = (0.01, 0.1, 0.5, 1.0)
KS: dict[MicrodataName, tuple[int, ...]] = {
    "adult": (1, 50, 100, 250, 500, 1000, 1500, 2000),
    "wine": (1, 50, 100, 150, 200, 250, 300),
}
"""The paper names [50, 2000], [50, 300] and, as plain iDP, 1; its steps are on the axes of its plots alone."""

WITHOUT_PLAIN: dict[MicrodataName, tuple[int, ...]] = {name: ks[1:] for name, ks in KS.items()}


def grid_figures() -> dict[str, GridFigure]:
    """Every figure of heat maps by its name on the command line."""
    adult, wine = Setting("adult"), Setting("wine")
    every = (
        GridFigure(
            "idp-ir-fig2",
            "iDP-IR, Fig. 2: MeanSSE on Adult, one owner",
            _baseline(adult),
            KS,
            EPSILONS,
            METRICS,
        ),
        GridFigure("idp-ir-fig3", "iDP-IR, Fig. 3: MeanSSE on Wine Quality, one owner", _baseline(wine), KS, EPSILONS),
        GridFigure(
            "idp-ir-fig4",
            "iDP-IR, Fig. 4: MeanSSE of iDP-IR minus that of DP-IR (below 0: iDP-IR loses less)",
            tuple(
                Panel(label, setting, replace(setting, local_sensitivity="global"))
                for label, setting in (("Adult", adult), ("Wine", wine))
            ),
            KS,
            EPSILONS,
        ),
        *(
            GridFigure(
                f"idp-ir-fig{number}",
                f"iDP-IR, Fig. {number}: MeanSSE on {label} with several owners minus that with one",
                (
                    Panel("other records at every owner", replace(setting, scenario="horizontal"), setting),
                    Panel("other columns at every owner", replace(setting, scenario="vertical"), setting),
                ),
                WITHOUT_PLAIN,
                EPSILONS,
            )
            for number, label, setting in ((5, "Adult", adult), (6, "Wine Quality", wine))
        ),
    )
    return {figure.name: figure for figure in every}


def _baseline(published: Setting) -> tuple[Panel, ...]:
    defaults = Setting(published.dataset, "central", "vector", "schema", "public")
    as_published, by_default = {
        "adult": ("categories by frequency", "categories in schema order"),
        "wine": ("bounds of twice the maximum", "public bounds"),
    }[published.dataset]
    return (
        Panel(f"as published (sensitivity 'fixed', {as_published})", published),
        Panel(f"exact local sensitivity, {by_default}", defaults),
    )


COLUMNS = ("figure", "panel", "private", "metric", "k", "epsilon", "mean", "standard_error", "runs")


def grid_records(figure: GridFigure, grids: Sequence[Grid]) -> list[dict[str, object]]:
    """One plain record per cell and metric, for CSV and JSON."""
    records: list[dict[str, object]] = []
    for grid in grids:
        for metric in METRICS:
            for row, column in np.ndindex(len(grid.epsilons), len(grid.ks)):
                mean = float(grid.means[metric][row, column])
                if np.isnan(mean):  # a table without categories
                    continue
                error = None if grid.standard_errors is None else float(grid.standard_errors[metric][row, column])
                place = (figure.name, grid.panel.label, "no", metric, grid.ks[column], grid.epsilons[row])
                records.append(dict(zip(COLUMNS, (*place, mean, error, grid.runs), strict=True)))
    return records


def number(value: float) -> str:
    """A number with about three digits, large ones in powers of ten."""
    if abs(value) >= 100_000:
        return f"{value:.2e}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not float(text.replace(",", "")) else text
