"""A release of perturbed records presented: README, terminal, report, and lines of code. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from rich.console import RenderableType

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.shared.post_processing import decimals_of
from copublish.mechanisms.shared.privacy_words import epsilon_decimal, noise_words
from copublish.mechanisms.shared.record_words import Snippets, columns_table, label_table, quoted, with_copublish
from copublish.mechanisms.vhdp.plan import PERTURBED
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


@dataclass(frozen=True)
class Column:
    """One column, its part of the budget and its noise in words."""

    name: str
    epsilon: str
    noise: str


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, certificate = details_of(publication), publication.certificate
    relation = certificate.epsilon.calibrated_to
    epsilons = {disclosure.place.column: disclosure.epsilon[relation] for disclosure in certificate.at(PERTURBED)}
    return {
        "n_records": publication.records.num_rows,
        "columns": [
            Column(name=name, epsilon=epsilon_decimal(epsilons[name]), noise=noise_words(column.noise))
            for name, column in details.columns.items()
        ],
        "summaries": publication.reading.summaries(),
        "snippets": snippets(publication),
        "rule": details.allocation.in_words,
        "label": None if details.label_information is None else details.label_information.label,
        "told": [] if details.label_information is None else details.label_information.told(),
    }


PYTHON = """\
import pandas as pd

records = pd.read_csv("records.csv", dtype=str, keep_default_na=False)  # in the release folder
values, kept = [{values}], {kept}  # a value is published as it is with this probability
other = (1 - kept) / (len(values) - 1)  # and each other one with this
told = records[{column}].value_counts().reindex(values, fill_value=0) / len(records)
share = (told - other) / (kept - other)  # unbiased, can be negative
noise = (share * kept * (1 - kept) + (1 - share) * other * (1 - other)).clip(lower=0)
within = 1.96 * (noise / len(records)) ** 0.5 / (kept - other)  # the truth is this near in 95 of 100 cases
print(pd.DataFrame({{"share": share, "within": within}}))
"""

PYTHON_NUMBER = """\
import math
import pandas as pd

x = pd.read_csv("records.csv")[{column}]  # in the release folder
low, high, step, scale, kept = {low}, {high}, {step}, {scale}, {kept}  # kept: whether one is missing is told truly
p, there, x = math.exp(-step / scale), x.notna(), x.fillna(low) - low
beyond = step * p / (1 - p)  # what is clipped at a bound has so much more noise, on average
x = x + beyond * (there & (x > high - low - step / 4)) - beyond * (there & (x < step / 4))
present = (there - (1 - kept)) / (2 * kept - 1)
first = (x - (1 - kept) * (1 - present) * step * (round((high - low) / step) // 2)) / kept
mean = first.sum() / present.sum()  # unbiased, but for the ratio
within = 1.96 * (first - mean * present).std() * len(x) ** 0.5 / present.sum()  # as if people were sampled, too
print("mean", low + mean, "±", within)
"""

R_NUMBER = """\
x <- read.csv("records.csv", check.names = FALSE)[[{column}]]
low <- {low}; high <- {high}; step <- {step}; scale <- {scale}; kept <- {kept}  # the report says what these are
p <- exp(-step / scale); there <- !is.na(x); x <- ifelse(there, x - low, 0)
beyond <- step * p / (1 - p)  # what is clipped at a bound has so much more noise, on average
x <- x + beyond * (there & x > high - low - step / 4) - beyond * (there & x < step / 4)
present <- (there - (1 - kept)) / (2 * kept - 1)
first <- (x - (1 - kept) * (1 - present) * step * (round((high - low) / step) %/% 2)) / kept
mean <- sum(first) / sum(present)
within <- 1.96 * sd(first - mean * present) * sqrt(length(x)) / sum(present)  # as if people were sampled, too
print(data.frame(mean = low + mean, within = within))
"""

R = """\
records <- read.csv("records.csv", check.names = FALSE, colClasses = "character", na.strings = character())
values <- c({values}); kept <- {kept}  # a value is published as it is with this probability
other <- (1 - kept) / (length(values) - 1)  # and each other one with this
told <- as.numeric(table(factor(records[[{column}]], levels = values))) / nrow(records)
share <- (told - other) / (kept - other)  # unbiased, can be negative
noise <- pmax(share * kept * (1 - kept) + (1 - share) * other * (1 - other), 0)
within <- 1.96 * sqrt(noise / nrow(records)) / (kept - other)  # the truth is this near in 95 of 100 cases
print(data.frame(value = values, share = share, within = within))
"""


def snippets(publication: Publication) -> Snippets:
    """The lines about the last category, which is the class if there is one; without categories about a number."""
    domains = details_of(publication).public_columns.domains
    categories = [domain for domain in domains.values() if isinstance(domain, CategoricalDomain)]
    if categories:
        return _of_category(publication, categories[-1])
    return _of_number(publication, next(iter(domains.values())))


def _of_category(publication: Publication, domain: CategoricalDomain) -> Snippets:
    kept = details_of(publication).columns[domain.name].noise.kept
    filled = {"column": quoted(domain.name), "values": ", ".join(map(quoted, domain.values)), "kept": kept}
    return Snippets(with_copublish(publication), PYTHON.format(**filled), R.format(**filled))


def _of_number(publication: Publication, domain: Domain) -> Snippets:
    noise = details_of(publication).columns[domain.name].noise
    lower, upper = (domain.lower, domain.upper) if isinstance(domain, NumericalDomain) else (0, 0)
    filled = {
        "column": quoted(domain.name),
        "low": f"{float(lower):g}",
        "high": f"{float(upper):g}",
        "step": f"{10.0 ** -decimals_of(publication.records.column(domain.name)):g}",
        "scale": f"{noise.scale_in_own_unit or 0.0:.8g}",
        "kept": f"{1 if noise.missing_or_not_kept is None else noise.missing_or_not_kept:.8g}",
    }
    return Snippets(with_copublish(publication), PYTHON_NUMBER.format(**filled), R_NUMBER.format(**filled))
