"""Lines of Python and of R that invert the noise of one column, filled in for one release."""

from __future__ import annotations

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.mechanisms.base import Publication
from copublish.mechanisms.shared.arrow import decimals_of
from copublish.mechanisms.shared.snippets import Snippets, quoted, with_copublish
from copublish.mechanisms.vhdp.words import details_of

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
