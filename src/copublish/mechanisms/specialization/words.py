"""What people are told of a release of generalized records: in its README and in a terminal. Released values only."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.shared.record_words import columns_table
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.mechanisms.specialization.values import details_of, estimates, largest_cells, noise_of_counts

BAR_WIDTH = 24

EXAMPLE = """\
[mechanism]
name = "specialization"
specializations = 8              # how often a value is split, at most
score = "auto"                   # how splits are compared
"""


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    noise = noise_of_counts(publication.certificate)
    scale, within = noise.scale_in_people or 0, noise.within_95_percent
    deviation = deviation_of(noise)
    return About(
        f"""This folder is a differentially private data set of {publication.sizes["records"]:,} records, made
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
{deviation:.3g} times the square root of r (one standard deviation).""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: every published value with its errors, and the largest cells."""
    yield columns_table(publication.reading.summaries())
    yield _values(publication)
    if rows:
        yield _largest(publication, rows)
    within = noise_of_counts(publication.certificate).within_95_percent
    yield f"95 of 100 noisy counts are within ±{within} of the truth."


def _values(publication: Publication) -> Table:
    """Each split attribute's published values: how many people have them, and the shown class's share among them."""
    details = details_of(publication)
    heading = f"{details.class_.name} = {details.shown_class}"
    title = f"Published values (people; share of all; share of '{details.shown_class}' among them)"
    table = text_table(title, ("attribute", "value", "people", "share", "", heading), right=(2, 3, 5))
    for name, values in estimates(publication).items():
        for number, row in enumerate(values):
            bar = "█" * round(BAR_WIDTH * (row.of_all.value or 0.0))
            first = name if number == 0 else ""
            add_row(table, first, row.label, row.people.words, row.of_all.words, bar, row.in_class.words)
    return table


def _largest(publication: Publication, rows: int) -> Table:
    details = details_of(publication)
    columns = [*details.split_attributes, details.class_.name, "people"]
    table = text_table("The largest cells", columns, right=(len(columns) - 1,))
    for cell in largest_cells(publication, rows):
        add_row(table, *cell.values, cell.class_value, cell.people.words)
    return table
