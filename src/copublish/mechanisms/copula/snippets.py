"""Ten lines of Python and of R that give shares of a column's cells with their errors, filled in for one release."""

from __future__ import annotations

from typing import cast

from copublish.mechanisms.base import Publication
from copublish.mechanisms.copula.words import details_of
from copublish.mechanisms.reading.estimate import CONFIDENCE
from copublish.mechanisms.reading.noisy import quantile
from copublish.mechanisms.reading.of_cells import CellReading
from copublish.mechanisms.shared.snippets import Snippets, quoted, with_copublish

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
