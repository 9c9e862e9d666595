"""Ten lines of Python and of R that read a release and give estimates with error bars, filled in for one release."""

from __future__ import annotations

from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.shared.snippets import Snippets, quoted, with_copublish
from copublish.mechanisms.specialization.values import details_of, noise_of_counts

PYTHON = """\
import pandas as pd

counts = pd.read_csv("counts.csv", dtype=str, keep_default_na=False)  # in the release folder
counts["noisy_count"] = counts["noisy_count"].astype(int)  # unbiased: sum these, never 'count'
sd = {deviation}  # standard deviation of the noise of one count, in people
rows = counts.groupby([{by}])["noisy_count"].agg(people="sum", cells="count")
rows["within"] = 1.96 * sd * rows["cells"] ** 0.5  # the truth is this near in 95 of 100 cases
shown = rows.xs({value}, level={class_name})
total = rows.groupby(level={attribute})[["people", "cells"]].sum()
share = shown["people"] / total["people"]
parts = shown["cells"] * (1 - share) ** 2 + (total["cells"] - shown["cells"]) * share**2
table = pd.DataFrame({{"share": share, "within": 1.96 * sd * parts**0.5 / total["people"]}})
print(rows, table, sep="\\n\\n")
"""

R = """\
counts <- read.csv("counts.csv", check.names = FALSE, colClasses = "character", na.strings = character())
noisy <- as.integer(counts$noisy_count)  # unbiased: sum these, never 'count'
sd <- {deviation}  # standard deviation of the noise of one count, in people
keys <- counts[c({by})]
rows <- aggregate(data.frame(people = noisy, cells = 1), keys, sum)
rows$within <- 1.96 * sd * sqrt(rows$cells)  # the truth is this near in 95 of 100 cases
shown <- rows[rows[[{class_name}]] == {value}, ]
total <- aggregate(rows[c("people", "cells")], rows[{attribute}], sum)
share <- shown$people / total$people
parts <- shown$cells * (1 - share)^2 + (total$cells - shown$cells) * share^2
print(rows)
print(data.frame(total[1], share = share, within = 1.96 * sd * sqrt(parts) / total$people))
"""


def example_attribute(release: Publication) -> str:
    """The attribute that the examples group by: one that was split, if any was."""
    details = details_of(release)
    return next(iter([*details.split_attributes, *details.attributes]))


def snippets(release: Publication) -> Snippets:
    """The lines about one attribute and the class."""
    return Snippets(with_copublish(release), _filled(PYTHON, release), _filled(R, release))


def _filled(template: str, release: Publication) -> str:
    attribute, class_name = example_attribute(release), details_of(release).class_.name

    return template.format(
        deviation=f"{deviation_of(noise_of_counts(release.certificate)):.4g}",
        by=f"{quoted(attribute)}, {quoted(class_name)}",
        attribute=quoted(attribute),
        class_name=quoted(class_name),
        value=quoted(details_of(release).shown_class),
    )
