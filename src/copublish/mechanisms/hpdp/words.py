"""What people are told of a release of records drawn from moments: in its README and in a terminal.

Released values only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from rich.console import RenderableType
from rich.text import Text

from copublish.agreement.domain import NumericalDomain
from copublish.kernel.accounting.statements import Law
from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.publish import HpdpDetails
from copublish.mechanisms.reading.build import CorrelatedPair, correlations
from copublish.mechanisms.shared.record_words import columns_table, correlations_table

STRONGEST = "Strongest correlations"


def details_of(publication: Publication) -> HpdpDetails:
    """Everything that the records were drawn from."""
    return cast(HpdpDetails, publication.details)


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    (moments,) = publication.certificate.at(MOMENTS)
    has_class = details_of(publication).has_class is None
    weighted = (
        "counts of values and cells, and sums that the class is in," if has_class else "counts of values and cells"
    )
    measured = "whose counts in every\nclass are measured" if has_class else "whose\ncounts are measured"
    noise, n_records, parties = moments.noise, publication.records.num_rows, publication.certificate.parties
    return About(
        f"""This folder is a differentially private data set of {n_records:,} synthetic records, made together by
{in_words(parties)}. No record in it is a real person: records were drawn at random so that means, shares of
values, and how every two columns go together are like the real ones, about.""",
        """| file | content |
| --- | --- |
| `records.parquet`, `records.csv` | the synthetic records |
| `hpdp.json` | the noisy sums they were drawn from, and the model fitted to them |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |""",
        f"""Every sum, of which the share of a value and the share of two values together are examples, carries noise of
{"standard deviation" if noise.law is Law.GAUSSIAN else "scale"} {noise.scale_in_people or 0:g}
people; {weighted} carry {noise.times_less_where_weighted} times less.
Dependences that noise could have made are left out, weak ones are made weaker, and what three or more columns have in
common beyond their pairs is not kept. Numbers are spread evenly over the cells of their grids, {measured}. `hpdp.json`
has the unbiased noisy sums, to be divided by their weights; use them where a mean, a share or a covariance is all you
need.""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: how every column is spread, and how columns go together."""
    details, reading = details_of(publication), publication.reading
    yield columns_table(reading.summaries())
    if rows:
        yield correlations_table(told_correlations(publication), STRONGEST, rows)
    yield Text(f"{details.components} principal components stood out of the noise.")


def told_correlations(publication: Publication) -> list[CorrelatedPair]:
    """Correlations of numbers and of categories with two values, the strongest first."""
    ordered = [
        name
        for name, domain in details_of(publication).public_columns.domains.items()
        if isinstance(domain, NumericalDomain) or domain.size == 2
    ]
    return correlations(publication.reading, ordered)
