"""A release of synthetic records presented: README, terminal, report, and lines of code. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, cast

from rich.console import RenderableType

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.copula.publish import CopulaDetails
from copublish.mechanisms.reading.build import correlations
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.reading.noisy import quantile
from copublish.mechanisms.reading.of_cells import CellReading
from copublish.mechanisms.shared.record_words import (
    Snippets,
    columns_table,
    columns_with_counts,
    correlations_table,
    label_table,
    quoted,
    told_apart,
    with_copublish,
)

STRONGEST = "Strongest correlations of scores"


def details_of(publication: Publication) -> CopulaDetails:
    """What the records were drawn from."""
    return cast(CopulaDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    certificate, n_records = publication.certificate, publication.records.num_rows
    scales = [marginal.noise.scale_in_people or 0 for marginal in certificate.at(MARGINALS)]
    between = f"{min(scales):g}" if min(scales) == max(scales) else f"{min(scales):g} to {max(scales):g}"
    (products,) = certificate.at(PRODUCTS)
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{in_words(certificate.parties)}. No record in it is a real person: records were drawn at random so that every column is
spread like the real one, about, and every two columns are correlated like the real ones, about.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `copula.json` | the noisy counts and sums they were drawn from, and the correlations |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every count of a column's values carries noise of scale {between} people. Every sum of products, which fixes
how two columns go together, carries noise of scale {products.noise.scale_in_people:g}: as much as so many people
with extreme values would make. What three or more columns have in common beyond their pairs is not kept, nor is a
dependence that neither rises nor falls. `copula.json` has the unbiased noisy counts; use them where one
column is all you need.""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: how columns are spread, how they depend, what they tell of the label."""
    details, reading = details_of(publication), publication.reading
    yield columns_table(reading.summaries())
    if rows:
        yield correlations_table(correlations(reading, reading.columns), STRONGEST, rows)
        if details.label_information is not None:
            yield label_table(details.label_information, rows)


STRONGEST_PAIRS = 20


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, reading = details_of(publication), publication.reading
    pairs, summaries = correlations(reading, reading.columns), reading.summaries()
    errors = [pair.estimate.within for pair in pairs if pair.estimate.within is not None]
    n_told, n_cells = told_apart(summaries)
    return {
        "n_records": publication.records.num_rows,
        "total_is_public": publication.certificate.public_facts.number_of_records is not None,
        "columns": columns_with_counts(summaries, {name: column.counts for name, column in details.columns.items()}),
        "correlation_within": median(errors) if errors else None,
        "n_told_apart": n_told,
        "n_cells": n_cells,
        "pairs": [pair for pair in pairs if pair.estimate.tells][:STRONGEST_PAIRS],
        "n_untold": sum(1 for pair in pairs if not pair.estimate.tells),
        "n_pairs": len(pairs),
        "label": None if details.label_information is None else details.label_information.label,
        "told": [] if details.label_information is None else details.label_information.told(),
        "snippets": snippets(publication),
    }


PYTHON = """\
import json
import pandas as pd

told = json.load(open("copula.json", encoding="utf-8"))["columns"][{column}]  # in the release folder
sd, total, total_sd = {deviation}, {total}, {total_deviation}  # noise of a count; people by other counts, and its noise
cells = pd.DataFrame({{"people": told["noisy_counts"]}}, index=told["cells"])  # unbiased, can be negative
shift = 1 / (len(cells) + (total_sd / sd) ** 2)
cells["people"] += shift * (total - cells["people"].sum())  # unbiased as well, and nearer to the total
n, cells["share"] = cells["people"].sum(), cells["people"] / cells["people"].sum()
squares = 1 - 2 * cells["share"] + len(cells) * cells["share"] ** 2 - shift * (1 - len(cells) * cells["share"]) ** 2
cells["within"] = {factor} * sd * squares**0.5 / n  # the truth is this near in 95 of 100 cases
print(cells)
"""

R = """\
noisy <- c({counts})  # the noisy counts of {column} in copula.json, unbiased
names(noisy) <- c({labels})
sd <- {deviation}  # standard deviation of the noise of a count
total <- {total}; total_sd <- {total_deviation}  # people by other counts, and its noise
shift <- 1 / (length(noisy) + (total_sd / sd)^2)
noisy <- noisy + shift * (total - sum(noisy))  # unbiased as well, and nearer to the total
share <- noisy / sum(noisy)
squares <- 1 - 2 * share + length(noisy) * share^2 - shift * (1 - length(noisy) * share)^2
print(data.frame(people = noisy, share = share, within = {factor} * sd * sqrt(squares) / sum(noisy)))
"""

NO_TOTAL_DEVIATION = 1e9
"""Stands for a total that nobody told: it moves nothing."""


def snippets(publication: Publication) -> Snippets:
    """The lines about one column."""
    details, reading = details_of(publication), cast(CellReading, publication.reading)
    name = reading.columns[0]
    column, table = details.columns[name], reading.table([name])
    total = table.other_total
    filled = {
        "column": quoted(name),
        "factor": f"{quantile(CONFIDENCE, table.excess):.3g}",
        "deviation": f"{table.deviation:.5g}",
        "total": f"{sum(column.noisy_counts) if total is None else total.value:.8g}",
        "total_deviation": f"{NO_TOTAL_DEVIATION if total is None else total.deviation:.5g}",
        "counts": ", ".join(map(str, column.noisy_counts)),
        "labels": ", ".join(map(quoted, column.cells)),
    }
    return Snippets(with_copublish(publication), PYTHON.format(**filled), R.format(**filled))
