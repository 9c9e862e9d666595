"""Lines of pandas and of R: were two columns measured together, and what is a mean by group if they were?"""

from __future__ import annotations

from dataclasses import dataclass

from copublish.agreement.domain import NumericalDomain
from copublish.mechanisms.published import Measured, Published
from copublish.release.evidence.completeness import FOLDER
from copublish.release.measurements import counts_table, table_files
from copublish.release.pairs import PAIRS_FILE, pairs_not_measured
from copublish.release.publication import Publication
from copublish.release.render.snippets import quoted


@dataclass(frozen=True)
class PairSnippets:
    """One question about two columns in two ways, filled in for one release."""

    python: str
    r: str


PYTHON_PAIR = """\
import pandas as pd

pairs = pd.read_csv({pairs}, dtype=str, keep_default_na=False)  # in the release folder
asked = pairs[["first", "second"]].isin([{group}, {number}]).all(axis=1)
print("measured:", pairs.loc[asked, "measured"].item())  # if not, records only guess how they go together
"""

PYTHON_MEAN = """\
table = pd.read_csv({file}, dtype=str, keep_default_na=False)
middle = dict(zip([{labels}], [{middles}]))  # of each cell of numbers
table = table[table[{number}].isin(middle.keys())]
n, group = table[{count}].astype(float), table[{group}]
means = (n * table[{number}].map(middle)).groupby(group, sort=False).sum() / n.groupby(group, sort=False).sum()
print(means)  # of {number} by {group}, as if numbers were spread evenly over their cells
"""

R_PAIR = """\
pairs <- read.csv({pairs}, check.names = FALSE, colClasses = "character", na.strings = character())
asked <- pairs$first %in% c({group}, {number}) & pairs$second %in% c({group}, {number})
print(paste("measured:", pairs$measured[asked]))  # if not, records only guess how they go together
"""

R_MEAN = """\
table <- read.csv({file}, check.names = FALSE, colClasses = "character", na.strings = character())
labels <- c({labels}); middles <- c({middles})  # of each cell of numbers
table <- table[table[[{number}]] %in% labels, ]
n <- as.numeric(table[[{count}]]); group <- table[[{group}]]
sums <- rowsum(n * middles[match(table[[{number}]], labels)], group, reorder = FALSE)[, 1]
means <- sums / rowsum(n, group, reorder = FALSE)[, 1]
print(means)  # of {number} by {group}, as if numbers were spread evenly over their cells
"""


def pair_snippets(publication: Publication) -> PairSnippets | None:
    """Lines about two columns of a measured table; nothing where all pairs were measured, or there is no file of them.

    They ask for a mean if some table holds a number beside another column; otherwise whether the first pair was
    measured.
    """
    published = publication.published
    if publication.certificate.warning is not None or not pairs_not_measured(publication):
        return None
    found = next((own for name, table in table_files(published) if (own := _mean(published, name, table))), None)
    if found is not None:
        return PairSnippets((PYTHON_PAIR + PYTHON_MEAN).format(**found), (R_PAIR + R_MEAN).format(**found))
    one, other, *_ = published.columns.domains
    filled = {"pairs": quoted(PAIRS_FILE), "group": quoted(one), "number": quoted(other)}
    return PairSnippets(PYTHON_PAIR.format(**filled), R_PAIR.format(**filled))


def _mean(published: Published, name: str, table: Measured) -> dict[str, str] | None:
    domains = published.columns.domains
    numbers = {name: own for name in table.columns if isinstance(own := domains[name], NumericalDomain)}
    if table.steered or len(table.columns) < 2 or not numbers:
        return None
    number, domain = list(numbers.items())[-1]
    group = next(column for column in table.columns if column != number)
    axis = next(axis for axis in table.cells or () if axis.column == number)
    runs = [run for run in axis.runs_of(domain) if run[1] <= domain.number_codes]
    edges = [domain.bounds(run) for run in runs]
    return {
        "pairs": quoted(PAIRS_FILE),
        "file": quoted(f"{FOLDER}/{name}.csv"),
        "group": quoted(group),
        "number": quoted(number),
        "count": quoted(counts_table(published, table).column_names[-2]),
        "labels": ", ".join(quoted(domain.label(run)) for run in runs),
        "middles": ", ".join(f"{float(start + stop) / 2:.10g}" for start, stop in edges),
    }
