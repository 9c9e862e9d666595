"""The data of a figure: a table for each data set, and a record for each point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from copublish_reproduction.figures import Figure, Point, titled
from copublish_reproduction.table_text import markdown_table

PRINTED_ROW = "printed in the paper"


def panel_table(figure: Figure, points: Sequence[Point], dataset: str) -> tuple[list[str], list[list[str]]]:
    """A header and rows: a row per series, and below it what the paper prints for it."""
    there = {point.x for point in points if point.dataset == dataset}
    shown = [x for x in figure.xs if x in there]
    header = ["", "private", *(_spelled(figure, x) for x in shown)]
    rows = []
    for series in figure.series:
        found = {point.x: point for point in points if (point.dataset, point.series) == (dataset, series.label)}
        xs = [""] * len(shown) if series.is_constant else shown
        cells = [_cell(found.get(x)) for x in xs]
        numbers = [_printed(found.get(x)) for x in xs]
        if series.is_constant:  # one number, under the first x
            cells, numbers = [cells[0], *[""] * (len(xs) - 1)], [numbers[0], *[""] * (len(xs) - 1)]
        rows.append([series.label + _fewer_runs(points, found.values()), series.guarantee, *cells])
        if any(numbers):
            rows.append([PRINTED_ROW, "", *numbers])
    return header, rows


def _fewer_runs(every: Iterable[Point], found: Iterable[Point]) -> str:
    """A remark on a series that was measured in fewer runs than the title says."""
    runs = min((point.runs for point in found), default=0)
    remark = " (1 run)" if runs == 1 else f" ({runs} runs)"
    return remark if 0 < runs < max(point.runs for point in every) else ""


def _spelled(figure: Figure, x: str) -> str:
    return f"{int(x):,}" if figure.x_name == "records" else x


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    digits = 1 if point.mean >= 10 else 2
    error = "" if point.standard_error is None else f" ± {point.standard_error:.{digits}f}"
    return f"{point.mean:.{digits}f}{error}"


def _printed(point: Point | None) -> str:
    return "" if point is None or point.printed is None else f"{point.printed.percent:.1f}"


def markdown(figure: Figure, points: Sequence[Point]) -> str:
    """The tables of all data sets for a Markdown page."""
    runs = max(point.runs for point in points)
    parts = []
    for dataset in figure.panels:
        header, rows = panel_table(figure, points, dataset)
        unit = "percent of test records" if figure.unit == "percent" else "seconds of processor time"
        parts.append(f"{titled(dataset)}, {unit} by {figure.x_name}, mean and standard error of {runs} runs:\n")
        parts += markdown_table(
            header, [[f"*{cell}*" if cell and row[0] == PRINTED_ROW else cell for cell in row] for row in rows]
        )
    remarks = [
        f"{point.dataset}, {point.series}, {figure.x_name} {point.x}: {point.printed.note}"
        for point in points
        if point.printed and point.printed.note
    ]
    if remarks:
        parts.append("How the paper puts it: " + "; ".join(remarks) + ".\n")
    return "\n".join(parts)


COLUMNS = (
    "figure",
    "dataset",
    "series",
    "private",
    "x_name",
    "x",
    "unit",
    "mean",
    "standard_error",
    "runs",
    "printed",
    "printed_note",
)


def as_records(figure: Figure, points: Sequence[Point]) -> list[dict[str, object]]:
    """One plain record per point, for CSV and JSON."""
    records = []
    for point in points:
        values = (point.figure, point.dataset, point.series, point.guarantee, figure.x_name, point.x, figure.unit)
        numbers = (point.mean, point.standard_error, point.runs)
        number = (None, None) if point.printed is None else (point.printed.percent, point.printed.note)
        records.append(dict(zip(COLUMNS, (*values, *numbers, *number), strict=True)))
    return records
