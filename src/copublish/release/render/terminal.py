"""The contents of a release in a terminal: tables for every mechanism alike. Released values only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from copublish.errors import visible
from copublish.mechanisms.published import Published
from copublish.mechanisms.shared.information import LabelInformation
from copublish.release.pairs import pairs_not_measured
from copublish.release.publication import Publication
from copublish.release.questions.build import CorrelatedPair
from copublish.release.questions.estimate import TOO_FEW, ColumnSummary
from copublish.release.render.parts import (
    LargestCells,
    TableRow,
    ValueRow,
    generalized_values,
    largest_cells,
    reading_if_told,
    shown_class,
    table_rows,
    told_correlations,
)
from copublish.release.render.sentences import means_that_differ, number_to_print
from copublish.release.render.text_tables import add_row, text_table

SPARKLINE_WIDTH, BARS = 24, " ▁▂▃▄▅▆▇█"
BAR_WIDTH = 24


def contents_shown(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """Yield the parts of a release that a terminal shows: what it says, what was measured, and notes of its model.

    Args:
        publication: The release.
        rows: How many of the largest cells, the measured tables and the strongest correlations to show.
    """
    reading, published = reading_if_told(publication), publication.published
    if reading is not None:
        yield columns_table(reading.summaries())
        for sentence in filter(None, (number_to_print(publication), means_that_differ(publication))):
            yield Text(visible(sentence.replace("`", "")))
        values, shown = generalized_values(publication), shown_class(publication)
        if values:
            yield values_table(values, shown)
        if rows:
            if values:
                yield cells_table(largest_cells(publication, rows))
            if published.tables:
                yield measured_table(published, rows)
            if pairs := told_correlations(publication):
                yield correlations_table(pairs, rows)
            if publication.label_information is not None:
                yield label_table(publication.label_information, rows)
    if missing := pairs_not_measured(publication):
        yield Text(visible(missing))
    yield from (Text(visible(note)) for note in published.model.notes)


def columns_table(columns: Sequence[ColumnSummary]) -> Table:
    """How each column is spread: mean and median of numbers, the largest share of others, each with its error."""
    headings = ("column", "spread, in agreed order", "mean", "median", "most frequent", "share")
    table = text_table(
        "What the release says: ± is what noise does in 95 of 100 cases, ranges hold what cells hide, too", headings
    )
    for column in columns:
        is_one_value = len(column.cells) == 1
        largest = None if is_one_value or column.mean is not None else column.largest
        add_row(
            table,
            column.name,
            sparkline([round(share * 10**6) for share in column.shares]),
            "" if column.mean is None else column.mean.with_range,
            "" if column.median is None else column.median.in_range,
            "published as one value" if is_one_value else "" if largest is None else largest.label,
            "" if largest is None else largest.share.words,
        )
    return table


def sparkline(counts: Sequence[int]) -> str:
    """Counts as a row of bars, neighbors put together where there are more than fit."""
    per_bar = -(-len(counts) // SPARKLINE_WIDTH)
    sums = [sum(counts[i : i + per_bar]) for i in range(0, len(counts), per_bar)]
    return "".join(BARS[-(-(len(BARS) - 1) * value // max(*sums, 1))] for value in sums)


def values_table(values: dict[str, list[ValueRow]], shown: tuple[str, str] | None) -> Table:
    """The generalized values of each column: how many people have them, and the shown class's share among them."""
    title, headings = "Published values (people; share of all", ["column", "value", "people", "share", ""]
    if shown is not None:
        title, headings = f"{title}; share of '{shown[1]}' among them", [*headings, f"{shown[0]} = {shown[1]}"]
    table = text_table(f"{title})", headings, right=(2, 3, 5))
    for name, rows in values.items():
        for number, row in enumerate(rows):
            bar = "█" * round(BAR_WIDTH * (row.of_all.value or 0.0))
            words = (row.label, row.people.words, row.of_all.words, bar)
            among = () if row.in_class is None else (row.in_class.words,)
            add_row(table, name if number == 0 else "", *words, *among)
    return table


def cells_table(cells: LargestCells) -> Table:
    """The cells that most people are in."""
    title = f"The largest of {cells.cells:,} cells; an empty one's count is within ±{cells.within} in 95 of 100 cases"
    table = text_table(title, (*cells.columns, "people"), right=(len(cells.columns),))
    for values, number in cells.rows:
        add_row(table, *values, number.words)
    return table


def measured_table(published: Published, rows: int) -> Table:
    """The first measured tables, those that rounds chose before the others."""
    found = table_rows(published)
    table = text_table(
        f"Measured tables: {measured_words(found)}",
        ("measured", "table", "cells", "a count is off by", "file"),
        right=(2, 3),
    )
    for row in sorted(found, key=lambda row: not row.is_chosen)[:rows]:
        add_row(table, row.when, row.names, f"{row.cells:,}", f"±{row.within}", row.file)
    return table


def measured_words(rows: Sequence[TableRow]) -> str:
    """How many tables were measured, and why, in a few words."""
    number = {when: sum(row.when == when for row in rows) for when in dict.fromkeys(row.when for row in rows)}
    chosen = sum(row.is_chosen for row in rows)
    others = [f"{count:,} {when}" for when, count in number.items() if not when.startswith("round")]
    return " and ".join([*others, f"{chosen:,} that rounds chose"] if chosen else others)


def correlations_table(pairs: Sequence[CorrelatedPair], rows: int) -> Table:
    """The strongest correlations, and of how many pairs there is nothing to say."""
    told = [pair for pair in pairs if pair.estimate.tells]
    untold = len(pairs) - len(told)
    title = "Strongest correlations" + (f"; {untold} pairs: {TOO_FEW}" if untold else "")
    table = text_table(title, ("column", "column", "correlation"), right=(2,))
    for pair in told[:rows]:
        add_row(table, pair.one, pair.other, pair.estimate.words)
    return table


def label_table(information: LabelInformation, rows: int) -> Table:
    """What the columns that tell most tell about the label, and what a unit of their budget bought."""
    label = information.label
    headings = ("column", "bits", f"share of what '{label}' holds", "bits per unit of its epsilon")
    title = f"What the columns that tell most still tell about '{label}'"
    table = text_table(title, headings, right=(1, 2, 3))
    for told in information.told()[:rows]:
        add_row(table, told.column, f"{told.bits:.4f}", f"{told.share:.1%}", f"{told.bits_per_epsilon:.4f}")
    return table
