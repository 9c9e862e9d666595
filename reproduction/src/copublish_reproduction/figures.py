"""The papers' figures: which series each has, and their data regenerated point by point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from copublish_reproduction.bench import Algorithm, Bench
from copublish_reproduction.datasets import FILES, DatasetName, Partition
from copublish_reproduction.k_anonymity import TopDownKAnonymity
from copublish_reproduction.printed import BA, LA, Printed, printed

COPUBLISH, TRIVIAL = "copublish", "noisy tables"

Guarantee = Literal[
    "yes", "yes, with delta", "yes, were the noise exact", "not between the parties", "no", "no, k-anonymous"
]
"""Whether a series is differentially private as its paper describes it."""

ALL_RUNS = 1000
"""No limit on how often something is repeated."""

Measurement = Callable[[Any, str], float]
"""The value of a series for a bench, which its figure loads, and an x; not a number where there is none."""


@dataclass(frozen=True)
class Series:
    """One line of a figure.

    Attributes:
        label: How tables and plots name it.
        guarantee: Whether it is differentially private.
        measure: Its value for a bench and an x.
        is_constant: Whether it is the same for every x.
        is_dotted: Whether plots dot it, to tell it from another one of the same color.
        own_color: Of one of copublish's own lines.
        most_runs: How often it is repeated at most, unless somebody asks for more: some lines take hours.
    """

    label: str
    guarantee: Guarantee
    measure: Measurement
    is_constant: bool = False
    is_dotted: bool = False
    own_color: str = "black"
    most_runs: int = ALL_RUNS


def load_bench(panel: str, folder: Path, run: int) -> Bench:
    """The bench of a run on Adult or Nursery."""
    return Bench.load(cast(DatasetName, panel), folder, run)


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    Attributes:
        name: Its name on the command line.
        title: What it shows.
        panels: Its data sets, or what is predicted of which.
        x_name: What stands on the horizontal axis.
        xs: Where the series are measured.
        unit: `percent` of test records that a classifier gets right, or `seconds`.
        series: Its lines, the paper's own and those that stand beside them here.
        most_runs: How often it is repeated at most: long measurements that vary little need few.
        load: The bench of a panel and a run.
    """

    name: str
    title: str
    panels: tuple[str, ...]
    x_name: str
    xs: tuple[str, ...]
    unit: Literal["percent", "seconds"]
    series: tuple[Series, ...]
    most_runs: int = ALL_RUNS
    load: Callable[[str, Path, int], Any] = load_bench

    @property
    def files(self) -> tuple[str, ...]:
        """Files that it needs; a table that is made up needs none."""
        tables = dict.fromkeys(panel.split(",")[0] for panel in self.panels)
        return tuple(file for table in tables for name, files in FILES.items() if name == table for file in files)

    @property
    def n_points(self) -> int:
        """Number of points in one panel."""
        return sum(1 if series.is_constant else len(self.xs) for series in self.series)


@dataclass(frozen=True)
class Point:
    """One number of a figure, as regenerated here and as printed.

    Attributes:
        x: Empty for a series that is the same everywhere.
        mean: Over the runs, in the figure's unit.
        standard_error: Of the mean; none for a single run.
    """

    figure: str
    dataset: str
    series: str
    guarantee: str
    x: str
    mean: float
    standard_error: float | None
    runs: int
    printed: Printed | None


Tell = Callable[[str, int, int], None]


def titled(panel: str) -> str:
    """The name of a panel with a capital first letter."""
    return panel[:1].upper() + panel[1:]


def run_figure(
    figure: Figure, folder: Path, runs: int, progress: Tell, runs_of: Mapping[str, int] | None = None
) -> list[Point]:
    """Regenerate the data of a figure.

    Args:
        figure: Which one.
        folder: Where the data sets are.
        runs: How often everything that is random is repeated.
        progress: Told about every measurement.
        runs_of: Another number of runs of single series.

    Raises:
        SourceError: If the folder lacks a file.
    """
    for name in figure.panels:  # say what is missing before anything runs for long
        figure.load(name, folder, 0)
    runs = min(runs, figure.most_runs)
    runs_of = {series.label: min(runs, series.most_runs) for series in figure.series} | dict(runs_of or {})
    points = []
    for name in figure.panels:
        benches = [figure.load(name, folder, run) for run in range(max(runs_of.values()))]
        done = 0
        for x in ("", *figure.xs):
            for series in figure.series:
                if series.is_constant == (x == ""):
                    progress(f"{figure.name}, {name}", done, figure.n_points)
                    values = np.array([series.measure(bench, x) for bench in benches[: runs_of[series.label]]])
                    if not np.isnan(values).any():
                        points.append(_point(figure, name, series, x, values))
                    done += 1
        progress(f"{figure.name}, {name}", done, figure.n_points)
    return in_order(figure, points)


def in_order(figure: Figure, points: Sequence[Point]) -> list[Point]:
    """Points by panel, then by series, each as the figure has them."""
    order = [series.label for series in figure.series]
    return sorted(points, key=lambda point: (figure.panels.index(point.dataset), order.index(point.series)))


def _point(figure: Figure, dataset: str, series: Series, x: str, values: np.ndarray[Any, Any]) -> Point:
    scale = 100 if figure.unit == "percent" else 1
    runs = len(values)
    error = scale * float(values.std(ddof=1)) / np.sqrt(runs) if runs > 1 else None
    number = printed(figure.name, dataset, series.label, x)
    mean = scale * float(values.mean())
    return Point(figure.name, dataset, series.label, series.guarantee, x, mean, error, runs, number)


def _references() -> tuple[Series, ...]:
    return (
        Series(BA, "no", lambda bench, _: bench.raw(), is_constant=True),
        Series(LA, "no", lambda bench, _: bench.majority(), is_constant=True),
    )


def _own(partition: Partition, scores: Sequence[str]) -> tuple[Series, ...]:
    releases = (
        Series(f"{COPUBLISH}, {score}", "yes", partial(_sound, partition, score), is_dotted=score == "max")
        for score in scores
    )
    return Series(TRIVIAL, "yes", Bench.trivial), *releases


def _sound(partition: Partition, score: str, bench: Bench, epsilon: str) -> float:
    return bench.sound(epsilon, partition, score)


def _arbdistdp(digits: int, *, class_in_leaf: bool = False) -> Series:
    label = f"ArbDistDP l={digits}" + (", noisy classes" if class_in_leaf else "")
    return Series(
        label,
        "no",
        lambda bench, epsilon: bench.arbdistdp(epsilon, digits, class_in_leaf=class_in_leaf),
    )


def _distdiffgen(digits: int | None) -> Series:
    label = "DiffGen" if digits is None else f"DistDiffGen l={digits}"
    guarantee: Guarantee = "yes, were the noise exact" if digits is None else "not between the parties"
    return Series(label, guarantee, lambda bench, epsilon: bench.distdiffgen(epsilon, digits))


def _seconds(label: str, guarantee: Guarantee, algorithm: Algorithm) -> Series:
    return Series(label, guarantee, lambda bench, n: bench.enlarged(int(n)).seconds(algorithm))


ARBDISTDP_EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1", "2", "3")

SCORES = ("max", "auto")
"""Scores of copublish's own releases that stand in every figure."""


def figures(scores: Sequence[str] = SCORES) -> dict[str, Figure]:
    """Every figure by its name on the command line."""
    every = (
        Figure(
            "distdiffgen-fig3",
            "DistDiffGen, Fig. 3: accuracy over epsilon and the digits l of the scaled weights",
            ("adult",),
            "epsilon",
            ("0.1", "0.25", "0.5", "1"),
            "percent",
            (*_references(), *(_distdiffgen(digits) for digits in (2, 4, 6, 8, 10)), *_own("vertical", scores)),
        ),
        Figure(
            "distdiffgen-fig4",
            "DistDiffGen, Fig. 4: beside DiffGen and k-anonymity (k = 5, for DAKA)",
            ("adult",),
            "epsilon",
            ("0.1", "0.25", "0.5", "1", "2"),
            "percent",
            (
                *_references(),
                _distdiffgen(10),
                _distdiffgen(None),
                Series(
                    "TDS, k-anonymity 5",
                    "no, k-anonymous",
                    lambda bench, _: bench.k_anonymity(TopDownKAnonymity(5)),
                    is_constant=True,
                ),
                *_own("vertical", scores),
            ),
        ),
        Figure(
            "arbdistdp-fig7",
            "ArbDistDP, Fig. 7: accuracy over epsilon and the digits l of the scaled weights",
            ("adult", "nursery"),
            "epsilon",
            ARBDISTDP_EPSILONS,
            "percent",
            (
                *_references(),
                *(_arbdistdp(digits) for digits in (2, 4, 6)),
                _arbdistdp(2, class_in_leaf=True),
                *_own("arbitrary", scores),
            ),
        ),
        Figure(
            "arbdistdp-fig8",
            "ArbDistDP, Fig. 8: beside DiffGen and DiffP-C4.5",
            ("adult", "nursery"),
            "epsilon",
            ARBDISTDP_EPSILONS,
            "percent",
            (
                *_references(),
                _arbdistdp(2),
                _arbdistdp(2, class_in_leaf=True),
                _distdiffgen(None),
                Series("DiffP-C4.5", "yes, were the noise exact", Bench.diffp_c45),
                *_own("arbitrary", scores),
            ),
        ),
        Figure(
            "arbdistdp-fig9",
            "ArbDistDP, Fig. 9: processor time over the number of records, all in the clear",
            ("adult", "nursery"),
            "records",
            ("100000", "200000", "300000", "400000", "500000"),
            "seconds",
            (
                _seconds("ArbDistDP l=2", "no", "arbdistdp"),
                _seconds("DiffGen", "yes, were the noise exact", "diffgen"),
                _seconds(COPUBLISH, "yes", "copublish"),
            ),
            most_runs=2,
        ),
    )
    return {figure.name: figure for figure in every}
