"""Readings of what the two specialization papers compare themselves with, beside the printed numbers.

DiffP-C4.5 and the k-anonymity algorithm DAKA are written from general knowledge. Their depth and stopping rules are not
in the papers at hand, so each is tried with several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from copublish_reproduction.bench import Bench
from copublish_reproduction.datasets import DatasetName
from copublish_reproduction.diffp_c45 import DiffPC45
from copublish_reproduction.figures import Tell
from copublish_reproduction.k_anonymity import TopDownKAnonymity
from copublish_reproduction.table_text import markdown_table

DEPTHS = (1, 2, 3, 4, 5)
STOPS = (0.0, 0.25, 1.0, 4.0)
"""Without a rule to stop, deeper trees have more nodes than records."""
KS = (5, 10, 20, 50, 100, 500)
ROUNDS = (2, 3, 4, 5, None)

DIFFP_C45_PRINTED = (("adult", "0.25", 80.2), ("nursery", "0.1", 87.7))
"""Data set, epsilon and the accuracy of DiffP-C4.5 in the text of ArbDistDP."""

DAKA_BELOW = 82.2
"""DistDiffGen's accuracy at epsilon 1, where its paper has it above DAKA with k = 5."""


@dataclass(frozen=True)
class Reading:
    """One way to read an algorithm, and its accuracy.

    Attributes:
        group: What is read: the algorithm, the data set and what is printed of it.
        row: The value of the first setting.
        column: The value of the second setting.
        percent: Mean accuracy.
        standard_error: Of the mean; none for a single run.
        runs: How often it was repeated.
    """

    group: str
    row: str
    column: str
    percent: float
    standard_error: float | None
    runs: int

    @property
    def cell(self) -> str:
        """The accuracy with its error."""
        error = "" if self.standard_error is None else f" ± {self.standard_error:.1f}"
        return f"{self.percent:.1f}{error}"


def scan_diffp_c45(folder: Path, runs: int, progress: Tell) -> list[Reading]:
    """The accuracy of DiffP-C4.5 over depth and stopping rule, where ArbDistDP's paper prints a number of it.

    Raises:
        SourceError: If the folder lacks a file.
    """
    found = []
    for dataset, epsilon, percent in DIFFP_C45_PRINTED:
        benches = [Bench.load(_name(dataset), folder, run) for run in range(runs)]
        settings = [(depth, stop, pruned) for pruned in (True, False) for stop in STOPS for depth in DEPTHS]
        for number, (depth, stop, pruned) in enumerate(settings):
            progress(f"DiffP-C4.5, {dataset}", number, len(settings))
            algorithm = DiffPC45(float(epsilon), depth, stop, pruned)
            values = [algorithm.accuracy(bench.plain, bench.generator) for bench in benches]
            group = f"DiffP-C4.5, {dataset.capitalize()}, epsilon {epsilon}: printed {percent}"
            rule = f"{stop:g} deviation{'' if stop == 1 else 's'}" if stop else "none"
            found.append(_reading(group, rule + ("" if pruned else ", not pruned"), f"depth {depth}", values))
        progress(f"DiffP-C4.5, {dataset}", len(settings), len(settings))
    return found


def scan_daka(folder: Path, progress: Tell) -> list[Reading]:
    """The accuracy of top-down specialization over k, the number of specializations and the score.

    Raises:
        SourceError: If the folder lacks a file.
    """
    bench = Bench.load("adult", folder, 0)
    settings = [(k, rounds, only) for only in (False, True) for rounds in ROUNDS for k in KS]
    found = []
    for number, (k, rounds, only) in enumerate(settings):
        progress("DAKA, adult", number, len(settings))
        accuracy = bench.k_anonymity(TopDownKAnonymity(k, rounds, only))
        group = f"DAKA, Adult: printed below {DAKA_BELOW} for k = 5"
        row = ("as many as k allows" if rounds is None else f"{rounds}") + (", by gain only" if only else "")
        found.append(_reading(group, row, f"k = {k}", [accuracy]))
    progress("DAKA, adult", len(settings), len(settings))
    return found


def _name(dataset: str) -> DatasetName:
    return "adult" if dataset == "adult" else "nursery"


def _reading(group: str, row: str, column: str, shares: Sequence[float]) -> Reading:
    values = 100 * np.array(shares)
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return Reading(group, row, column, float(values.mean()), error, len(values))


def reading_tables(readings: Iterable[Reading], corner: str) -> list[tuple[str, list[str], list[list[str]]]]:
    """A title, a header and rows for every group."""
    groups: dict[str, dict[str, dict[str, str]]] = {}
    runs: dict[str, int] = {}
    for reading in readings:
        groups.setdefault(reading.group, {}).setdefault(reading.row, {})[reading.column] = reading.cell
        runs[reading.group] = reading.runs
    tables = []
    for group, rows in groups.items():
        columns = list(next(iter(rows.values())))
        how = "1 run" if runs[group] == 1 else f"mean and standard error of {runs[group]} runs"
        cells = [[row, *(found[column] for column in columns)] for row, found in rows.items()]
        tables.append((f"{group}; percent of test records, {how}", [corner, *columns], cells))
    return tables


def nearest(readings: Sequence[Reading], percent: float) -> Reading:
    """The reading whose accuracy is nearest to a printed one."""
    return min(readings, key=lambda reading: abs(reading.percent - percent))


def diffp_c45_conclusions(readings: Sequence[Reading]) -> list[str]:
    """A sentence for each data set: how near the nearest reading comes."""
    found = []
    for dataset, _, percent in DIFFP_C45_PRINTED:
        best = nearest([r for r in readings if f", {dataset.capitalize()}," in r.group], percent)
        found.append(
            f"{dataset.capitalize()}: printed {percent}; the nearest of these readings is {best.cell} "
            f"({best.column}, stopping rule: {best.row}), {abs(best.percent - percent):.1f} points away."
        )
    return found


def daka_conclusions(readings: Sequence[Reading]) -> list[str]:
    """Sentences on which readings of DAKA lie below DistDiffGen's printed accuracy."""
    with_k = [reading for reading in readings if reading.column == f"k = {KS[0]}"]
    below = [reading for reading in with_k if reading.percent < DAKA_BELOW]
    named = "; ".join(f"{reading.row}: {reading.cell}" for reading in below) or "none"
    lowest = min(readings, key=lambda reading: reading.percent)
    return [
        f"With k = {KS[0]} these numbers of specializations at most are below {DAKA_BELOW}: {named}.",
        f"Over all k the lowest is {lowest.cell} ({lowest.column}, at most {lowest.row}).",
    ]


def reading_markdown(
    readings: Sequence[Reading], corner: str, conclude: Callable[[Sequence[Reading]], list[str]]
) -> str:
    """The tables for a Markdown page, and what follows from them."""
    lines: list[str] = []
    for title, header, rows in reading_tables(readings, corner):
        lines += [f"{title}:\n", *markdown_table(header, rows)]
    return "\n".join([*lines, *(f"- {sentence}" for sentence in conclude(readings))])
