"""Ten lines of Python and of R that invert the noise of the class, filled in for one release."""

from __future__ import annotations

from copublish.agreement.domain import CategoricalDomain
from copublish.mechanisms.base import Publication
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
    """The lines about the class."""
    details = details_of(publication)
    name, column = list(details.columns.items())[-1]
    domain = details.public_columns.domains[name]
    values = domain.values if isinstance(domain, CategoricalDomain) else column.cells
    filled = {"column": quoted(name), "values": ", ".join(map(quoted, values)), "kept": column.noise.kept}
    return Snippets(with_copublish(publication), PYTHON.format(**filled), R.format(**filled))
