"""What people are told of a release of synthetic records: in its README and in a terminal. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType

from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.copula.publish import CopulaDetails
from copublish.mechanisms.reading.build import correlations
from copublish.mechanisms.shared.record_words import columns_table, correlations_table, label_table

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
