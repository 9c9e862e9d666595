"""Which lines of a figure are measured, how often each, and where the others come from."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from copublish.errors import CopublishError
from copublish_reproduction.figures import Figure, Point
from copublish_reproduction.printed import printed


@dataclass(frozen=True)
class SeriesChoice:
    """What somebody asked for, beyond a number of runs for all.

    Attributes:
        labels: Lines to measure; all of them if empty.
        runs: Number of runs of single lines.
        stored: Folder with the tables of an earlier run, from which the other lines come.
    """

    labels: frozenset[str] = frozenset()
    runs: Mapping[str, int] = field(default_factory=dict)
    stored: Path = Path()

    @property
    def is_everything(self) -> bool:
        """Whether nothing was asked for."""
        return not self.labels and not self.runs

    def refuse_unknown(self, figure: Figure) -> None:
        """Refuse a line that the figure does not have.

        Raises:
            CopublishError: Naming those that it has.
        """
        known = [series.label for series in figure.series]
        for label in sorted({*self.labels, *self.runs} - set(known)):
            raise CopublishError(f"'{figure.name}' has no series '{label}'. It has: {'; '.join(known)}.")

    def measures(self, label: str) -> bool:
        """Whether a line is measured."""
        return not self.labels or label in self.labels

    def other_points(self, figure: Figure) -> list[Point]:
        """Points of the lines that are not measured, from the stored table.

        Raises:
            CopublishError: If there is no stored table, or it lacks one of these lines.
        """
        if not self.labels:
            return []
        file = self.stored / f"{figure.name}.csv"
        if not file.is_file():
            raise CopublishError(
                f"The other series of '{figure.name}' come from '{file}', which is not there. Regenerate the whole "
                "figure once, without --series, or let --out name a folder that has its table."
            )
        points = [point for point in read_points(file) if point.series not in self.labels]
        wanted = {series.label for series in figure.series} - self.labels
        if missing := wanted - {point.series for point in points}:
            raise CopublishError(f"'{file}' has no points of: {'; '.join(sorted(missing))}. Measure these as well.")
        return [point for point in points if point.series in wanted]


def runs_of_series(texts: Sequence[str]) -> dict[str, int]:
    """Numbers of runs by line, from texts like `DiffGen=3`.

    Raises:
        CopublishError: If a text is not of that form.
    """
    found = {}
    for text in texts:
        label, _, number = text.rpartition("=")
        if not label or not number.isdigit() or int(number) < 1:
            raise CopublishError(f"'{text}' is no series with a number of runs. Write it like 'DiffGen=3'.")
        found[label] = int(number)
    return found


def read_points(file: Path) -> list[Point]:
    """The points of a figure's table."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [_point(row) for row in csv.DictReader(lines)]


def _point(row: Mapping[str, str]) -> Point:
    place = (row["figure"], row["dataset"], row["series"])
    return Point(
        *place,
        row["private"],
        row["x"],
        float(row["mean"]),
        float(row["standard_error"]) if row["standard_error"] else None,
        int(row["runs"]),
        printed(*place, row["x"]),
    )
