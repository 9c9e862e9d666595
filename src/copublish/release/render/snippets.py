"""Lines of code that ask a release one question: with copublish, with pandas and in R. Released values only.

There is one kind of lines for counted cells, one for other sums, one for perturbed rows, and one for records alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from copublish.agreement.domain import CategoricalDomain, NumericalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.published import Measured, PerturbedRows, Scores
from copublish.mechanisms.shared.noise_laws import excess_of
from copublish.mechanisms.shared.post_processing import decimals_of
from copublish.release.evidence.completeness import FOLDER, MEASUREMENTS_FILE
from copublish.release.measurements import counts_table, table_files
from copublish.release.publication import Publication
from copublish.release.questions.estimate import CONFIDENCE, Estimate
from copublish.release.questions.noisy import quantile
from copublish.release.questions.rows import RowReading
from copublish.release.questions.sums import Sums
from copublish.release.render.parts import deviation_in_people, reading_if_told


@dataclass(frozen=True)
class Snippets:
    """One question in three ways, filled in for one release; copublish has no lines where no errors are told."""

    copublish: str
    python: str
    r: str


def snippets(publication: Publication) -> Snippets:
    """Lines about the first thing that a release can be asked for."""
    rows = publication.published.rows
    if reading_if_told(publication) is None:
        return Snippets("", PYTHON_RECORDS, R_RECORDS)
    if (counted := _counted(publication)) is not None:
        python, r, filled = _of_cells(publication, *counted)
    elif rows is not None:
        python, r, filled = _of_rows(publication, rows)
    else:
        python, r, filled = _of_sums(publication)
    return Snippets(with_copublish(publication), python.format(**filled), r.format(**filled))


def quoted(text: str) -> str:
    """A text as a string of Python and of R: one of JSON is both."""
    return json.dumps(text, ensure_ascii=False)


def with_copublish(publication: Publication) -> str:
    """Lines that ask the release by copublish: those that it answers."""
    reading = publication.reading
    lines = ["import copublish as cp", "", 'release = cp.load_release(".")  # the release folder']
    numbers = [summary for summary in reading.summaries() if summary.is_number and summary.mean is not None]
    for summary in numbers[:1]:
        for asked in ("mean", "median"):
            lines.append(f"print(release.{asked}({quoted(summary.name)}))")
    label = reading.summaries()[-1]
    if label.cells:
        lines.append(f"print(release.share({quoted(label.name)}, {quoted(label.cells[-1].label)}))")
        among = {label.name: label.cells[-1].label}
        for summary in numbers[:1]:
            if label is not summary and _answers(partial(reading.mean, summary.name, among, CONFIDENCE)):
                condition = f"{{{quoted(label.name)}: {quoted(label.cells[-1].label)}}}"
                lines.append(f"print(release.mean({quoted(summary.name)}, among={condition}))")
    for one, other in pairwise(numbers):
        if _answers(partial(reading.correlation, one.name, other.name, CONFIDENCE)):
            lines.append(f"print(release.correlation({quoted(one.name)}, {quoted(other.name)}))")
            break
    return "\n".join(lines) + "\n"


def _answers(ask: Callable[[], Estimate]) -> bool:
    try:
        ask()
    except ReleaseError:
        return False
    return True


PYTHON_CELLS = """\
import pandas as pd

table = pd.read_csv({file}, dtype=str, keep_default_na=False)  # a measured table, in the release folder
people = table[{count}].astype(float).groupby(table[{column}], sort=False).sum()  # unbiased, can be negative
{python_total}share, k = people / people.sum(), len(people)
spread = 1 - 2 * share + k * share**2{python_less}
errors = {{"people_within": {within}, "share": share, "share_within": {far} * spread**0.5 / people.sum()}}
print(pd.DataFrame({{"people": people, **errors}}))  # the truth is this near in 95 of 100 cases
"""

R_CELLS = """\
table <- read.csv({file}, check.names = FALSE, colClasses = "character", na.strings = character())
people <- rowsum(as.numeric(table[[{count}]]), table[[{column}]], reorder = FALSE)[, 1]  # unbiased, can be negative
{r_total}share <- people / sum(people); k <- length(people)
spread <- 1 - 2 * share + k * share^2{r_less}
errors <- data.frame(people_within = {within}, share = share, share_within = {far} * sqrt(spread) / sum(people))
print(cbind(people, errors))  # the truth is this near in 95 of 100 cases
"""


def _counted(publication: Publication) -> tuple[str, Measured, str] | None:
    """A table that tells how one of its columns is spread, the name of its files, and the column.

    It is the first table, and a column with several values, if there is one. Beside perturbed rows it is one by which
    the reader answers, and the only one that has the column.
    """
    published, reading = publication.published, publication.reading
    if isinstance(reading, RowReading):
        having = Counter(column for table in published.tables for column in table.columns)
        found = ((name, own, own.columns[0]) for name, own in table_files(published) if having[own.columns[0]] == 1)
        return next((one for one in found if reading.is_told_by_tables(one[2])), None)
    for name, table in table_files(published):
        if not table.steered:
            sizes = zip(table.columns, table.shape(published.columns), strict=True)
            return name, table, next((column for column, size in sizes if size > 1), table.columns[0])
    return None


def _of_cells(publication: Publication, name: str, table: Measured, column: str) -> tuple[str, str, dict[str, object]]:
    """The spread of a column by a table.

    The reader brings counts nearer to the number of people by other measurements, and so do these lines.
    """
    published = publication.published
    size = table.shape(published.columns)[table.columns.index(column)]
    merged = table.values.size // size
    deviation = deviation_in_people(table) * math.sqrt(merged)
    far = quantile(CONFIDENCE, excess_of(table.noise) / merged) * deviation
    joint = Sums(published, publication.certificate.public_facts.number_of_records).table([column])
    other = None if joint is None else joint.other_total
    # The best unbiased combination of k counts and another total moves every count by the same part of the difference.
    pull = 0.0 if other is None else 1 / (size + (other.deviation / deviation) ** 2)
    filled: dict[str, object] = {
        "file": quoted(f"{FOLDER}/{name}.csv"),
        "column": quoted(column),
        "count": quoted(counts_table(published, table).column_names[-2]),
        "far": f"{far:.5g}",
        "within": f"{far * math.sqrt(1 - pull):.5g}",
    }
    if other is None:
        return PYTHON_CELLS, R_CELLS, filled | dict.fromkeys(("python_total", "python_less", "r_total", "r_less"), "")
    total = f"{other.value:.8g}"
    why = "which is public" if other.deviation == 0 else "by everything else that was measured"
    nearer = f"nearer to the number of people, {why}\n"
    return (
        PYTHON_CELLS,
        R_CELLS,
        filled
        | {
            "python_total": f"people += {pull:.6g} * ({total} - people.sum())  # {nearer}",
            "python_less": f" - {pull:.6g} * (1 - k * share) ** 2",
            "r_total": f"people <- people + {pull:.6g} * ({total} - sum(people))  # {nearer}",
            "r_less": f" - {pull:.6g} * (1 - k * share)^2",
        },
    )


PYTHON_SUMS = """\
import json

told = json.load(open({file}, encoding="utf-8"))["measured"][{place}]  # the sum of scores of {column}
n, n_sd, sd = {people}, {people_deviation}, {deviation}  # people, by the release; standard deviations of the noise
part = (told["values"][0] / told["times"] / n - {first}) / {apart}  # the share of {value}, unbiased but for the ratio
within = {factor} * (sd**2 + ({first} + {apart} * part) ** 2 * n_sd**2) ** 0.5 / n / {apart}  # in 95 of 100 cases
print("share", part, "±", within)
"""

R_SUMS = """\
noisy <- {noisy}  # the sum of scores of {column} in measurements.json, divided by `times`
n <- {people}; n_sd <- {people_deviation}; sd <- {deviation}  # people, by the release; deviations of the noise
part <- (noisy / n - {first}) / {apart}  # the share of {value}, unbiased but for the ratio
within <- {factor} * sqrt(sd^2 + ({first} + {apart} * part)^2 * n_sd^2) / n / {apart}  # in 95 of 100 cases
print(data.frame(share = part, within = within))
"""


def _of_sums(publication: Publication) -> tuple[str, str, dict[str, object]]:
    """The share of the second value of a category that has two, from the sum of its scores."""
    for place, measured in enumerate(publication.published.measured):
        axis = measured.axes[0] if len(measured.axes) == 1 else None
        if isinstance(axis, Scores) and len(axis.scores) == 2 and axis.scores[0] != axis.scores[1]:
            people = publication.reading.count({}, CONFIDENCE)
            domain = publication.published.columns.domains[axis.column]
            filled: dict[str, object] = {
                "file": quoted(MEASUREMENTS_FILE),
                "place": place,
                "column": quoted(axis.column),
                "value": quoted(domain.label((1, 2))),
                "noisy": f"{int(measured.values[0]) / measured.times:.10g}",
                "first": axis.scores[0],
                "apart": axis.scores[1] - axis.scores[0],
                "people": f"{people.value or 0.0:.8g}",
                "people_deviation": f"{people.standard_error or 0.0:.5g}",
                "deviation": f"{deviation_in_people(measured):.5g}",
                "factor": f"{quantile(CONFIDENCE, excess_of(measured.noise)):.3g}",
            }
            return PYTHON_SUMS, R_SUMS, filled
    return PYTHON_RECORDS, R_RECORDS, {}


PYTHON_CATEGORY = """\
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

R_CATEGORY = """\
records <- read.csv("records.csv", check.names = FALSE, colClasses = "character", na.strings = character())
values <- c({values}); kept <- {kept}  # a value is published as it is with this probability
other <- (1 - kept) / (length(values) - 1)  # and each other one with this
told <- as.numeric(table(factor(records[[{column}]], levels = values))) / nrow(records)
share <- (told - other) / (kept - other)  # unbiased, can be negative
noise <- pmax(share * kept * (1 - kept) + (1 - share) * other * (1 - other), 0)
within <- 1.96 * sqrt(noise / nrow(records)) / (kept - other)  # the truth is this near in 95 of 100 cases
print(data.frame(value = values, share = share, within = within))
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


def _of_rows(publication: Publication, rows: PerturbedRows) -> tuple[str, str, dict[str, object]]:
    """The last category, which is the class if there is one; without categories the mean of a number."""
    domains = publication.published.columns.domains
    categories = [domain for domain in domains.values() if isinstance(domain, CategoricalDomain)]
    if categories:
        domain = categories[-1]
        values = ", ".join(map(quoted, domain.values))
        return (
            PYTHON_CATEGORY,
            R_CATEGORY,
            {"column": quoted(domain.name), "values": values, "kept": rows.noise[domain.name].kept},
        )
    number = next(domain for domain in domains.values() if isinstance(domain, NumericalDomain))
    noise = rows.noise[number.name]
    return (
        PYTHON_NUMBER,
        R_NUMBER,
        {
            "column": quoted(number.name),
            "low": f"{float(number.lower):g}",
            "high": f"{float(number.upper):g}",
            "step": f"{10.0 ** -decimals_of(publication.records.column(number.name)):g}",
            "scale": f"{noise.scale_in_own_unit or 0.0:.8g}",
            "kept": f"{1 if noise.missing_or_not_kept is None else noise.missing_or_not_kept:.8g}",
        },
    )


PYTHON_RECORDS = """\
import pandas as pd

records = pd.read_parquet("records.parquet")  # in the release folder
print(records.describe(include="all"))
"""

R_RECORDS = """\
records <- arrow::read_parquet("records.parquet")
print(summary(records))
"""
