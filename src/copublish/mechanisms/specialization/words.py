"""What people are told of a release of generalized records: in its README and in a terminal. Released values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rich.console import RenderableType
from rich.table import Table

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.mechanisms.specialization.plan import CLASSES, LEAVES, split_number
from copublish.mechanisms.specialization.publish import CutDetails
from copublish.privacy.certificate import Certificate
from copublish.privacy.disclosures import Place
from copublish.privacy.statements import Noise

if TYPE_CHECKING:
    import pandas as pd

BAR_WIDTH = 24

EXAMPLE = """\
[mechanism]
name = "specialization"
specializations = 8              # how often a value is split, at most
score = "auto"                   # how splits are compared
"""


def noise_of_counts(certificate: Certificate) -> Noise:
    """The noise of a leaf count."""
    (leaves,) = certificate.at(LEAVES)
    return leaves.noise


def counts_of(publication: Publication) -> pd.DataFrame:
    """The table of counts as a data frame."""
    return cast("pd.DataFrame", publication.contents.tables["counts"].to_pandas())


def details_of(publication: Publication) -> CutDetails:
    """The cut."""
    return cast(CutDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    noise = noise_of_counts(publication.certificate)
    scale, within = noise.scale_in_people or 0, noise.within_95_percent
    return About(
        f"""This folder is a differentially private data set of {publication.records.num_rows:,} records, made
together by {in_words(publication.certificate.parties)}. No record in it is a real person: it says how many people
there are, about, with each combination of generalized values.""",
        """| file | content |
| --- | --- |
| `counts.parquet`, `counts.csv` | one row per combination of generalized values and class (see below) |
| `records.parquet` | the same as records: every row of `counts` repeated `count` times |
| `cut.json` | what each generalized value stands for; `copublish generalize` applies it to other data |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |

`count` is never negative and adds up to the number of records; `noisy_count` is the unbiased measurement.""",
        f"""Every count carries noise of scale {scale:g} people: 95 of 100 counts are off
by at most {within}. Empty combinations are in the table as well, so a count of {within} may well be nobody. Add up
`noisy_count`, not `count`, when you sum over many rows: a sum over r rows is off by about
{1.41 * scale:.3g} times the square root of r.""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: shares of every published value, and the largest cells."""
    yield _marginals(publication)
    if rows:
        yield _largest(publication, rows)
    within = noise_of_counts(publication.certificate).within_95_percent
    yield f"95 of 100 noisy counts are within ±{within} of the truth."


def _marginals(publication: Publication) -> Table:
    """Each attribute's published values with their share of the records and of the last class."""
    counts, details = counts_of(publication), details_of(publication)
    class_name, shown_class = details.class_.name, details.shown_class
    total = max(int(counts[COUNT].sum()), 1)
    title = f"What was published (share of records; share of '{shown_class}')"
    table = text_table(title, ("attribute", "value", "share", "", f"{class_name} = {shown_class}"))
    for name, attribute in details.attributes.items():
        by_value: dict[str, Any] = dict(tuple(counts.groupby(name, observed=True)))
        for number, value in enumerate(attribute.values):
            cells = by_value[value.label]
            here = int(cells[COUNT].sum())
            positive = int(cells[cells[class_name] == shown_class][COUNT].sum())
            bar = "█" * round(BAR_WIDTH * here / total)
            rate = f"{positive / here:.0%}" if here else "-"
            add_row(table, name if number == 0 else "", value.label, f"{here / total:.0%}", bar, rate)
    return table


def _largest(publication: Publication, rows: int) -> Table:
    details = details_of(publication)
    counts = counts_of(publication).sort_values(NOISY_COUNT, ascending=False, kind="stable").head(rows)
    columns = [*details.split_attributes, details.class_.name, COUNT, NOISY_COUNT]
    table = text_table("The largest cells", columns, right=(len(columns) - 2, len(columns) - 1))
    for row in counts[columns].itertuples(index=False):
        add_row(table, *row)
    return table


def places_of_format_1(disclosures: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Which steps the disclosures of a certificate of format 1 are: leaf counts are the last ones."""
    found, splits = [], 0
    for number, disclosure in enumerate(disclosures):
        if disclosure["kind"] == "select":
            splits += 1
            found.append(split_number(splits))
        else:
            found.append(Place(LEAVES if number == len(disclosures) - 1 else CLASSES))
    return found
