"""A release of records drawn from moments presented: README, terminal, report, and code. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from rich.console import RenderableType
from rich.text import Text

from copublish.agreement.domain import NumericalDomain
from copublish.kernel.accounting.statements import Law
from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.hpdp.coordinates import UNIT
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.publish import HpdpDetails, NumberDetails, coordinates_of
from copublish.mechanisms.reading.build import CorrelatedPair, correlations
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.reading.noisy import deviation_of, excess_of, quantile
from copublish.mechanisms.shared.record_words import Snippets, columns_table, correlations_table, quoted, with_copublish

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


STRONGEST_PAIRS = 20


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, reading = details_of(publication), publication.reading
    summaries, pairs = reading.summaries(), told_correlations(publication)
    categories = [summary for summary in summaries if not summary.is_number]
    errors = [cell.share.within for summary in categories for cell in summary.cells]
    told = [error for error in errors if error is not None]
    deviations = {
        name: column.deviation for name, column in details.columns.items() if isinstance(column, NumberDetails)
    }
    return {
        "n_records": publication.records.num_rows,
        "details": details,
        "has_class": details.has_class is None,
        "numbers": [(summary, deviations[summary.name]) for summary in summaries if summary.is_number],
        "categories": categories,
        "share_within": max(told) if told and len(told) == len(errors) else None,
        "pairs": [pair for pair in pairs if pair.estimate.tells][:STRONGEST_PAIRS],
        "n_untold": sum(1 for pair in pairs if not pair.estimate.tells),
        "n_pairs": len(pairs),
        "snippets": snippets(publication),
    }


CENTERED = """\
import json

told = json.load(open("hpdp.json", encoding="utf-8"))  # in the release folder
sums, place = told["noisy_sums"], told["coordinates"].index({coordinate})
weight, n = sums["weights_of_coordinates"][place], {people}  # people, by the release
middle = sums["coordinates"][place] / {unit} / weight / n  # unbiased; -1/2 for the first value and 1/2 for the second
sd, n_sd = {deviation}, {n_deviation}  # standard deviations of noise: of a sum of weight 1, of the number of people
within = {factor} * ((sd / weight) ** 2 + (middle * n_sd) ** 2) ** 0.5 / n  # in 95 of 100 cases
print({what}, 0.5 + middle, "±", within)
"""

GROUP = """\
import json

told = json.load(open("hpdp.json", encoding="utf-8"))  # in the release folder
place = told["coordinates"].index({coordinate})
noisy, weight = next((s, w) for i, j, s, w in told["noisy_sums"]["products"] if i == j == place)
n, share = {people}, noisy / {unit} / weight / {people}  # people, by the release; unbiased
sd, n_sd = {deviation}, {n_deviation}  # standard deviations of noise: of a sum of weight 1, of the number of people
least = max(n - {factor} * n_sd, 1)  # people, at least
within = {factor} * ((sd / weight) ** 2 + (share * n_sd) ** 2) ** 0.5 / least  # in 95 of 100 cases
print({what}, share, "±", within)
"""

R = """\
noisy <- {noisy}; weight <- {weight}  # the noisy sum of {coordinate} in hpdp.json, and its weight
n <- {people}; sd <- {deviation}; n_sd <- {n_deviation}  # people, by the release; deviations of the noise
part <- noisy / {unit} / weight / n  # unbiased
within <- {factor} * sqrt((sd / weight)^2 + (part * n_sd)^2) / {divisor}  # the truth is this near in 95 of 100 cases
print(data.frame(value = {shift} + part, within = within))
"""


def snippets(publication: Publication) -> Snippets:
    """The lines about the first cell of a number; without numbers, about a category of two values or the class."""
    details = details_of(publication)
    coordinates = coordinates_of(details, details.public_columns.domains)
    (moments,) = publication.certificate.at(MOMENTS)
    deviation = deviation_of(moments.noise, points_per_person=UNIT**2)
    sums = details.noisy_sums
    people = sums.records[0] / UNIT**2 if sums.records else details.estimated_records
    filled = {
        "unit": UNIT**2,
        "factor": f"{quantile(CONFIDENCE, excess_of(moments.noise)):.3g}",
        "deviation": f"{deviation:.5g}",
        "people": f"{people:.8g}",
        "n_deviation": f"{deviation if sums.records else 0:.5g}",
    }
    if coordinates.centered and not coordinates.cells:
        place = next(iter(coordinates.centered.values()))
        filled |= {"noisy": sums.coordinates[place], "weight": sums.weights_of_coordinates[place]}
        filled |= {"shift": 0.5, "divisor": "n"}
        template = CENTERED
    else:
        counted = next(iter(coordinates.cells.values()), None) or coordinates.class_place
        place = counted.start
        noisy, weight = next((noisy, weight) for i, j, noisy, weight in sums.products if i == j == place)
        least = f"max(n - {filled['factor']} * n_sd, 1)"  # people, at least: a share's error grows with both
        filled |= {"noisy": noisy, "weight": weight, "shift": 0, "divisor": least}
        template = GROUP
    filled |= {"coordinate": quoted(details.coordinates[place])}
    filled |= {"what": quoted(f"share: {details.coordinates[place]}")}
    return Snippets(with_copublish(publication), template.format(**filled), R.format(**filled))
