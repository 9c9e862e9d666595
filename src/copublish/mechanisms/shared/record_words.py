"""Tables and lines of code that present a release, in a terminal and in its report. Released values only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from rich.table import Table

from copublish.errors import ReleaseError
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.build import CorrelatedPair
from copublish.mechanisms.reading.estimate import CONFIDENCE, TOO_FEW, CellSummary, ColumnSummary, Estimate
from copublish.mechanisms.shared.information import LabelInformation
from copublish.mechanisms.shared.text_tables import add_row, text_table

SPARKLINE_WIDTH, BARS = 24, " ▁▂▃▄▅▆▇█"


def columns_table(columns: Sequence[ColumnSummary]) -> Table:
    """How each column is spread: mean and median of numbers, the largest share of others, each with its error."""
    headings = ("column", "spread, in agreed order", "mean", "median", "most frequent", "share")
    table = text_table(
        "What the release says: ± is what noise does in 95 of 100 cases, ranges hold what cells hide, too", headings
    )
    for column in columns:
        says_one_thing = len(column.cells) == 1  # published as one value
        largest = None if says_one_thing or column.mean is not None else column.largest
        add_row(
            table,
            column.name,
            sparkline([round(share * 10**6) for share in column.shares]),
            "" if column.mean is None else column.mean.with_range,
            "" if column.median is None else column.median.in_range,
            "published as one value" if says_one_thing else "" if largest is None else largest.label,
            "" if largest is None else largest.share.words,
        )
    return table


def correlations_table(pairs: Sequence[CorrelatedPair], title: str, rows: int) -> Table:
    """The first of some pairs of columns with their correlations, and of how many there is nothing to say."""
    told = [pair for pair in pairs if pair.estimate.tells]
    untold = len(pairs) - len(told)
    title += f"; {untold} pairs: {TOO_FEW}" if untold else ""
    table = text_table(title, ("column", "column", "correlation"), right=(2,))
    for pair in told[:rows]:
        add_row(table, pair.one, pair.other, pair.estimate.words)
    return table


def sparkline(counts: Sequence[int]) -> str:
    """Counts as a row of bars, neighbors put together where there are more than fit."""
    per_bar = -(-len(counts) // SPARKLINE_WIDTH)
    sums = [sum(counts[i : i + per_bar]) for i in range(0, len(counts), per_bar)]
    return "".join(BARS[-(-(len(BARS) - 1) * value // max(*sums, 1))] for value in sums)


def label_table(information: LabelInformation, rows: int) -> Table:
    """What the columns that tell most tell about the label, and what a unit of their budget bought."""
    label = information.label
    headings = ("column", "bits", f"share of what '{label}' holds", "bits per unit of its epsilon")
    title = f"What the columns that tell most still tell about '{label}'"
    table = text_table(title, headings, right=(1, 2, 3))
    for told in information.told()[:rows]:
        add_row(table, told.column, f"{told.bits:.4f}", f"{told.share:.1%}", f"{told.bits_per_epsilon:.4f}")
    return table


@dataclass(frozen=True)
class CountedCell:
    """One value of a column, and how many published records have it."""

    records: int
    told: CellSummary


@dataclass(frozen=True)
class CountedColumn:
    """One column of a report."""

    name: str
    cells: tuple[CountedCell, ...]


def columns_with_counts(summaries: Sequence[ColumnSummary], counts: Mapping[str, Sequence[int]]) -> list[CountedColumn]:
    """Every column's values with their errors, and with the published records that have them."""
    return [
        CountedColumn(
            summary.name,
            tuple(
                CountedCell(records, cell) for records, cell in zip(counts[summary.name], summary.cells, strict=True)
            ),
        )
        for summary in summaries
    ]


def told_apart(summaries: Sequence[ColumnSummary]) -> tuple[int, int]:
    """How many of all counts an empty cell would not have, in 95 of 100 cases; and how many counts there are."""
    cells = [cell.people for summary in summaries for cell in summary.cells]
    return sum(1 for people in cells if abs(people.value or 0.0) > (people.within or 0.0)), len(cells)


@dataclass(frozen=True)
class Snippets:
    """The same question in three ways, filled in for one release."""

    copublish: str
    python: str
    r: str


def quoted(text: str) -> str:
    """A text as a string of Python and of R: one of JSON is both."""
    return json.dumps(text, ensure_ascii=False)


def with_copublish(publication: Publication) -> str:
    """Lines that ask the release by copublish: those that it answers."""
    reading = publication.reading
    lines = ["import copublish as cp", "", 'release = cp.load_release(".")  # the release folder']
    numbers = [summary for summary in reading.summaries() if summary.is_number and summary.mean is not None]
    for summary in numbers[:1]:
        for asked in ("mean", "median"):
            lines.append(f"print(release.{asked}({quoted(summary.name)}))")
    label = reading.summaries()[-1]
    if label.cells:
        lines.append(f"print(release.share({quoted(label.name)}, {quoted(label.cells[-1].label)}))")
        among = {label.name: label.cells[-1].label}
        for summary in numbers[:1]:
            if _answers(partial(reading.mean, summary.name, among, CONFIDENCE)):
                condition = f"{{{quoted(label.name)}: {quoted(label.cells[-1].label)}}}"
                lines.append(f"print(release.mean({quoted(summary.name)}, among={condition}))")
    for one, other in pairwise(numbers):
        if _answers(partial(reading.correlation, one.name, other.name, CONFIDENCE)):
            lines.append(f"print(release.correlation({quoted(one.name)}, {quoted(other.name)}))")
            break
    return "\n".join(lines) + "\n"


def _answers(ask: Callable[[], Estimate]) -> bool:
    try:
        ask()
    except ReleaseError:
        return False
    return True
