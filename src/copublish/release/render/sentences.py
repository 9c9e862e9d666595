"""A release in sentences: who its rows are, and how exact it is. Released values only."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from copublish.mechanisms.published import Measured, Published
from copublish.release.pairs import pairs_not_measured, pairs_of_release
from copublish.release.publication import Publication
from copublish.release.render.parts import (
    deviation_in_people,
    laws,
    least_and_most_cells,
    names_of,
    people,
    reading_if_told,
    sums_of,
)


def who_rows_are(publication: Publication) -> str:
    """A sentence about whom the published records stand for."""
    if publication.published.rows is not None:
        return "Every record in it stands for one real person."
    return "No record in it is a real person."


def errors_in_words(publication: Publication) -> Iterator[str]:
    """Yield paragraphs: what records keep and lose, the noise of tables, sums and rows, and notes of the model."""
    words, published = publication.mechanism.words, publication.published
    yield f"{words.kept} {words.lost}"
    yield number_to_print(publication)
    yield pairs_not_measured(publication)
    yield noise_of_tables(published)
    yield noise_of_sums(published)
    stated, division = laws(publication), published.model.division
    if division is not None:
        yield f"The budget was divided between columns by the rule {division.in_words}."
    if stated:
        yield "The noise of every value, by column:"
        yield "\n".join(f"- {law.column}: {law.noise}" for law in stated)
    yield "\n".join(f"- {note}" for note in published.model.notes)


MOST_NAMED = 6
"""Columns whose two means a sentence names."""


def number_to_print(publication: Publication) -> str:
    """Sentences about which of two numbers to print, where one was measured and records have another one."""
    reading, published = reading_if_told(publication), publication.published
    if reading is None or publication.generalization is not None:
        return ""  # no number has an interval, or records have no numbers
    if published.rows is not None:
        return (
            "Print the means and shares of `copublish show` or `release.mean`, which take the noise of the records "
            "off again and have an interval, and not those that you compute from the records."
        )
    only = (
        " Of columns that were not measured together there is only what the model says, in the records, without an "
        "interval: say so where you print it."
    )
    return (
        "Where `copublish show` or `release.mean` answer, print their number: it comes from what was measured and has "
        "an interval. What you compute from the records comes from the model that they were drawn from."
        f"{'' if all(pair.is_measured for pair in pairs_of_release(publication)) else only}"
    )


def means_that_differ(publication: Publication) -> str:
    """A sentence about means of the records that are farther from the measured ones than noise is; nothing mostly."""
    if not number_to_print(publication):
        return ""
    differ = []
    for summary in publication.reading.summaries():
        mean = summary.mean
        if mean is None or mean.value is None or mean.within is None:
            continue
        drawn = pc.mean(publication.records.column(summary.name)).as_py()
        if drawn is not None and abs(drawn - mean.value) > mean.within:
            differ.append(f"{summary.name} {mean.with_range}, and {drawn:,.5g} in the records")
    more = f", and {len(differ) - MOST_NAMED} more" if len(differ) > MOST_NAMED else ""
    return f"These means differ by more than noise: {'; '.join(differ[:MOST_NAMED])}{more}." if differ else ""


def noise_of_tables(published: Published) -> str:
    """Sentences about the noise of counts: of the largest table and of the smallest."""
    ends = least_and_most_cells(published)
    if ends is None:
        return ""
    smallest, largest = ends
    number = sum(1 for table in published.tables if not table.steered)
    sentences = [f"A count of {_called(largest, number)} is off by at most {_within(largest)} in 95 of 100 cases."]
    if number > 1:
        sentences.append(f"A count of {_called(smallest, number, 'smallest')} is off by at most {_within(smallest)}.")
    sentences.append(
        "Use these counts where a table has what you need: they are unbiased, and noise cancels out in sums. A sum of "
        f"r counts of {'it' if number == 1 else 'the largest table'} is off by about "
        f"{deviation_in_people(largest):.3g} times the square root of r (one standard deviation)."
    )
    if largest.values.size > 1:
        sentences.append("Cells in which nobody is have such counts, too.")
    return " ".join(sentences)


def _called(table: Measured, number: int, which: str = "largest") -> str:
    cells = f"{table.values.size:,} cells"
    if number == 1:
        return f"the measured table ({names_of(table)}; {cells})"
    return f"the {which} table ({names_of(table)}; {cells})"


def _within(table: Measured) -> str:
    within = people(table.within_95_percent)
    return f"{within} {'person' if within == '1' else 'people'}"


def noise_of_sums(published: Published) -> str:
    """Sentences about sums that count nobody: how many there are, and the noise of those with most of it."""
    sums = sums_of(published)
    if not sums:
        return ""
    values = sum(measured.values.size for measured in sums)
    most = max(_in_extreme_people(published, measured) for measured in sums)
    return (
        f"`measurements.json` has {values:,} sums of scores, of places in grids and of their products: they tell how "
        f"columns go together. Noise moves such a sum in 95 of 100 cases by at most as much as {people(most)} people "
        "with extreme values would."
    )


def _in_extreme_people(published: Published, measured: Measured) -> float:
    """The noise of a sum, in people who have the values that count most."""
    domains = published.columns.domains
    extreme = math.prod(int(np.abs(axis.entries(domains[axis.column])).max()) for axis in measured.axes)
    return measured.within_95_percent / max(extreme, 1)
