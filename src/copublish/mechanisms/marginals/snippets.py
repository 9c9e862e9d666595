"""Ten lines of Python and of R that give shares from one measured table with their errors, filled in."""

from __future__ import annotations

from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.tables import file_of
from copublish.mechanisms.marginals.words import details_of
from copublish.mechanisms.shared.snippets import Snippets, quoted, with_copublish

PYTHON = """\
import pandas as pd

table = pd.read_csv({file}, dtype=str, keep_default_na=False)  # a measured table, in the release folder
table["noisy_count"] = table["noisy_count"].astype(int)  # unbiased, can be negative
sd = {deviation}  # standard deviation of the noise of one count, in people
rows = table.groupby({column}, sort=False)["noisy_count"].agg(people="sum", cells="count")
n, rows["share"] = rows["people"].sum(), rows["people"] / rows["people"].sum()
squares = rows["cells"] * (1 - 2 * rows["share"]) + len(table) * rows["share"] ** 2
rows["within"] = 1.96 * sd * squares**0.5 / n  # the truth is this near in 95 of 100 cases
print(rows)  # copublish adds up all measured tables that have the column: the report is a little more exact
"""

R = """\
table <- read.csv({file}, check.names = FALSE, colClasses = "character", na.strings = character())
noisy <- as.integer(table$noisy_count)  # unbiased, can be negative
sd <- {deviation}  # standard deviation of the noise of one count, in people
rows <- aggregate(data.frame(people = noisy, cells = 1), table[{column}], sum)
rows$share <- rows$people / sum(rows$people)
squares <- rows$cells * (1 - 2 * rows$share) + nrow(table) * rows$share^2
rows$within <- 1.96 * sd * sqrt(squares) / sum(rows$people)  # the truth is this near in 95 of 100 cases
print(rows)  # copublish adds up all measured tables that have the column: the report is a little more exact
"""


def snippets(publication: Publication) -> Snippets:
    """The lines about the first column of the first measured table."""
    table = details_of(publication).tables[0]
    filled = {
        "file": quoted(f"{file_of(1, table.columns)}.csv"),
        "column": quoted(table.columns[0]),
        "deviation": f"{table.noise_deviation_in_people:.5g}",
    }
    return Snippets(with_copublish(publication), PYTHON.format(**filled), R.format(**filled))
