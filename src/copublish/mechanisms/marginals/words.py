"""What people are told of a release: in its README and in a terminal. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType
from rich.table import Table

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.marginals.publish import MarginalsDetails
from copublish.mechanisms.marginals.tables import file_of
from copublish.mechanisms.shared.record_words import columns_table
from copublish.mechanisms.shared.text_tables import add_row, text_table


def details_of(publication: Publication) -> MarginalsDetails:
    """What the records were drawn from."""
    return cast(MarginalsDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    details, n_records = details_of(publication), publication.records.num_rows
    errors = sorted({table.within_95_percent for table in details.tables})
    between = f"{errors[0]:g}" if len(errors) == 1 else f"{errors[0]:g} to {errors[-1]:g}"
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{in_words(publication.certificate.parties)}. No record in it is a real person: records were drawn at random from a model
that fits {len(details.tables)} noisy tables, which are published as well.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `tables/` | every measured table as CSV: each cell with its unbiased noisy count and its error |
| `tables.parquet` | all of them in one |
| `marginals.json` | how columns are spread, what every round chose, and the model |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every count of a measured table is off by at most {between} people, by the table, in 95 of 100 cases. Use
these counts where a table has what you need: they are unbiased, and noise cancels out in sums. The records are alike in
every measured table, about; what no measured table shows follows from those by the model, and may be missing from the
records. Numbers are spread evenly over the agreed cells, in which they tell nothing.""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: how columns are spread, and what was measured."""
    details = details_of(publication)
    yield columns_table(publication.reading.summaries())
    if rows:
        yield _measured(details, rows)


def _measured(details: MarginalsDetails, rows: int) -> Table:
    first = sum(1 for table in details.tables if table.round == 0)
    title = f"Measured: {first} tables for sure, and {len(details.tables) - first} that rounds chose"
    shown = text_table(title, ("round", "table", "cells", "a count is off by", "file"), right=(2, 3))
    chosen_first = sorted(enumerate(details.tables, start=1), key=lambda numbered: numbered[1].round == 0)
    for number, table in chosen_first[:rows]:
        name, cells = " by ".join(table.columns), len(table.factors)
        error, file = f"±{table.within_95_percent:g}", f"{file_of(number, table.columns)}.csv"
        add_row(shown, table.round or "for sure", name, f"{cells:,}", error, file)
    return shown
