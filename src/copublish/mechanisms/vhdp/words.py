"""What people are told of a release of perturbed records: in its README and in a terminal. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.shared.record_words import columns_table, label_table
from copublish.mechanisms.vhdp.publish import VhdpDetails

EXAMPLE = """\
[mechanism]
name = "vhdp"

[budget]
allocation = "protect-informative"  # columns that tell more about the label get less epsilon, so more noise
share = 0.2                         # of epsilon, for the noisy tables that show what columns tell
"""


def details_of(publication: Publication) -> VhdpDetails:
    """How the records were perturbed."""
    return cast(VhdpDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    n_records, parties = publication.records.num_rows, in_words(publication.certificate.parties)
    about_label = ", and what it still tells about the label" if details_of(publication).label_information else ""
    rule = details_of(publication).allocation.in_words
    return About(
        f"""This folder is a differentially private data set of {n_records:,} perturbed records, made together by
{parties}. Each row stands for one real person, but every value in it carries noise that the
owner of the column added before it left.""",
        f"""| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the perturbed records, in an order that follows from their values |
| `vhdp.json` | the noise of every column, its share of the budget{about_label} |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Numbers carry discrete Laplace noise and are clipped to their bounds; categories are kept with a stated
probability and otherwise replaced by another value. `vhdp.json` has each column's noise. Epsilon was divided between
the columns by the rule {rule}. A single value tells next to
nothing: use averages over many records, and mind that noise and clipping pull means to the middle and weaken every
dependence. Of v categories that are kept with probability k, a published share s estimates the true share (s - q) /
(k - q), where q = (1 - k) / (v - 1).""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: how columns are spread, and what they tell of the label."""
    details = details_of(publication)
    yield columns_table(publication.reading.summaries())
    if rows and details.label_information is not None:
        yield label_table(details.label_information, rows)
