"""The part of a report about what was published: which figures and tables there are follows from types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from copublish.release.pairs import pairs_not_measured
from copublish.release.publication import Publication
from copublish.release.questions.build import CorrelatedPair
from copublish.release.questions.estimate import CONFIDENCE, Reading
from copublish.release.render.graph import graph_figure
from copublish.release.render.pair_snippets import pair_snippets
from copublish.release.render.parts import (
    LargestCells,
    columns_with_counts,
    deviation_in_people,
    generalized_values,
    largest_cells,
    laws,
    least_and_most_cells,
    reading_if_told,
    shown_class,
    sums_of,
    table_rows,
    told_apart,
    told_correlations,
)
from copublish.release.render.sentences import means_that_differ, noise_of_sums, number_to_print, who_rows_are
from copublish.release.render.snippets import snippets
from copublish.release.render.tree import partition_figure, partition_trees

LARGEST_CELLS = 12
MEMBERS_SHOWN = 8
STRONGEST_PAIRS = 20
MOST_TABLES = 200
"""Measured tables that a page lists."""


@dataclass(frozen=True)
class HeadlineNumber:
    """A number at the top of the page, with a heading and what it counts."""

    heading: str
    value: str
    unit: str


def contents(publication: Publication) -> dict[str, Any]:
    """Facts of the template about what was published. Parts that a release does not have are none, or empty."""
    published, words = publication.published, publication.mechanism.words
    reading, division = reading_if_told(publication), published.model.division
    values = {} if reading is None else generalized_values(publication)
    cells = largest_cells(publication, LARGEST_CELLS) if values else None
    pairs = [] if reading is None else told_correlations(publication)
    ends, tables, information = least_and_most_cells(published), table_rows(published), publication.label_information
    told = [pair for pair in pairs if pair.estimate.tells]
    return {
        "words": words,
        "who_rows_are": who_rows_are(publication),
        "to_print": f"{number_to_print(publication)} {means_that_differ(publication)}".strip(),
        "notes": published.model.notes,
        "not_measured": pairs_not_measured(publication),
        "tiles": _tiles(publication, reading, cells, told),
        "values": values,
        "shown": shown_class(publication),
        "members_shown": MEMBERS_SHOWN,
        "trees": partition_figure(partition_trees(publication, values)) if values else None,
        "largest": cells,
        "columns": [] if reading is None or values else columns_with_counts(publication),
        "is_rows": published.rows is not None,
        "tables": tables[:MOST_TABLES],
        "more_tables": max(0, len(tables) - MOST_TABLES),
        "graph": _graph(publication),
        "sums": noise_of_sums(published),
        "deviation": None if ends is None else deviation_in_people(ends[1]),
        "pairs": told[:STRONGEST_PAIRS],
        "n_pairs": len(pairs),
        "n_untold": len(pairs) - len(told),
        "how_correlated": sorted({pair.estimate.how for pair in told}),
        "laws": laws(publication),
        "rule": None if division is None else division.in_words,
        "information": information,
        "snippets": snippets(publication),
        "pair_snippets": pair_snippets(publication),
    }


def _graph(publication: Publication) -> Any:
    """The picture of tables, where which columns were counted together differs and nothing else tells of pairs."""
    published = publication.published
    tables = [table for table in published.tables if not table.steered]
    joint = [table for table in tables if len(table.columns) > 1]
    if sums_of(published) or len(joint) < 2:
        return None
    return graph_figure(list(published.columns.domains), tables)


def _tiles(
    publication: Publication, reading: Reading | None, cells: LargestCells | None, told: Sequence[CorrelatedPair]
) -> list[HeadlineNumber]:
    published = publication.published
    records, kind = f"{published.model.records:,}", publication.mechanism.words.kind
    if published.rows is not None or reading is None:
        whom = "one for every person" + ("; this is public" if reading is not None else "")
        return [
            HeadlineNumber(f"{kind} records", records, whom),
            HeadlineNumber(
                "columns",
                f"{len(published.columns.domains):,}",
                "with noise on every value" if reading is not None else "the law of their noise is not stated",
            ),
        ]
    number = reading.count({}, CONFIDENCE)
    exact = f"± {number.words.partition(' ± ')[2]}, estimated" if number.within else "exactly; this is public"
    drawn = "" if kind == "counted" else f"; {records} {kind} records"
    found = [HeadlineNumber("people", f"{number.value or 0:,.0f}", exact + drawn)]
    if cells is not None:
        found.append(HeadlineNumber("each count is off by", f"± {cells.within}", "people at most, in 95 of 100 cases"))
    chosen = sum(table.chosen is not None for table in published.tables)
    if chosen:
        found.append(HeadlineNumber("tables chosen", f"{chosen:,}", f"of {len(published.tables):,} measured ones"))
    errors = [pair.estimate.within for pair in told if pair.estimate.within is not None]
    if sums_of(published) and errors:
        unit = "at most, in 95 of 100 cases; half of them by less"
        found.append(HeadlineNumber("a correlation is off by", f"± {median(errors):.2f}", unit))
    apart, of = (cells.told_apart, cells.cells) if cells is not None else told_apart(reading.summaries())
    whose = "combinations of values" if cells is not None else f"cells of {len(published.columns.domains)} columns"
    return [*found, HeadlineNumber("counts that are not like 0", f"{apart:,}", f"of {of:,} {whose}")]
