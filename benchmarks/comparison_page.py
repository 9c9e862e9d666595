# ruff: noqa: E501 - lines of the page are as long as they are
"""The page of `comparison.py`, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from copublish.cli.utility_text import DISTANCE_HEADINGS

TITLES = {
    "adult": "Adult",
    "nursery": "Nursery",
    "wine": "Wine Quality",
    "heart": "Statlog heart",
    "made-up": "Made-up",
}
CLASSIFIERS = {"decision-tree": "tree", "logistic-regression": "logistic", "histogram-boosting": "boosting"}
DISTANCES = {**DISTANCE_HEADINGS, "correlation": "correlations", "coverage": "error bars hold"}
SMALLEST_ERROR = 1e-9
"""Below it is rounding: of what is the same in every run."""

SHOWN = {"raw data": "raw data", "class tables alone": "**class tables alone**", "largest class": "largest class"}

INTRODUCTION = """\
# Results: every mechanism on four public tables

`make comparison` writes this page and says in its first lines how everything is measured. Two owners of whole rows; every mechanism in the settings
that `copublish init` writes; **class tables alone** is the trivial baseline: noisy tables of every column by the class, with the same budget and noise, and columns
drawn independently given the class. Calibrated to a record added or removed; `vhdp` publishes every record and is calibrated to one replaced. `idp-ir` is not
differentially private, has no epsilon, and is not here. Rows of `hpdp` are of a version that laid numbers between their bounds; now it counts the cells of
their grids ([decision 44](../decisions/0044-numbers-by-their-grids.md) compares both).

- **Prediction:** the area under the ROC curve (each class against the rest) of three classifiers trained on what was published and tested on records that were not; 0.5 is a
  guess. Balanced accuracy, log loss and accuracy are of the classifier with the largest area.
- **Everything else** is compared with the released records: total variation of all tables of one, two and three columns on quantiles of these records, not on the agreed cells; means, medians,
  quantiles (5, 25, 75, 95 percent) and standard deviations of numbers, in standard deviations; correlations; and how many of the published error bars of 95 percent hold
  the truth, where there are some. In the row of raw data it is how far the test records are from the released ones: nobody need be nearer.
- Means over runs, standard errors in brackets. Two rows differ if they are several errors apart, not if one is larger.
"""


def page_of(found: dict[str, Any]) -> str:
    """Return the whole page."""
    lines = [INTRODUCTION, *_summary(found)]
    for table, budgets in found["comparison"].items():
        lines += [f"## {TITLES[table]}", "", f"{found['runs'][table]} runs.", ""]
        for budget, rows in budgets.items():
            lines += [*_predictions(budget, rows), "", *_distances(budget, rows), ""]
    lines += _halves(found)
    return "\n".join(lines).rstrip() + "\n"


def _summary(found: dict[str, Any]) -> Iterator[str]:
    """Yield one table of the areas at epsilon 1, so that the page can be read from its top."""
    tables = [table for table, budgets in found["comparison"].items() if "epsilon 1" in budgets]
    if not tables:
        return
    yield "## In short: largest area, and error of two-way tables, at epsilon 1\n"
    yield f"| | {' | '.join(f'{TITLES[table]}: area | 2-way' for table in tables)} |"
    yield f"| --- |{' --- | --- |' * len(tables)}"
    for name in found["comparison"][tables[0]]["epsilon 1"]:
        cells = []
        for table in tables:
            row = found["comparison"][table]["epsilon 1"][name]
            is_largest = "largest" in row
            best = row["largest"] if is_largest else row["classifiers"][row["best"]]
            cells += [_cell(best["area"]), "" if is_largest else _cell(row["distances"]["tables_2"])]
        yield f"| {_name(name)} | {' | '.join(cells)} |"
    yield ""


def _predictions(budget: str, rows: dict[str, Any]) -> Iterator[str]:
    first = next(row for row in rows.values() if "classifiers" in row)
    names = list(first["classifiers"])
    areas = " | ".join(f"area, {CLASSIFIERS[name]}" for name in names)
    yield f"| {budget} | {areas} | balanced accuracy | log loss | accuracy |"
    yield f"| --- |{' --- |' * (len(names) + 3)}"
    for name, row in rows.items():
        if "largest" in row:
            own = row["largest"]
            areas = " | ".join([_cell(own["area"])] * len(names))
            yield f"| {_name(name)} | {areas} | {_cell(own['balanced_accuracy'])} | | {_cell(own['accuracy'])} |"
            continue
        best = row["classifiers"][row["best"]]
        areas = " | ".join(_cell(row["classifiers"][one]["area"]) for one in names)
        rest = " | ".join(_cell(best[metric]) for metric in ("balanced_accuracy", "log_loss", "accuracy"))
        yield f"| {_name(name)} | {areas} | {rest} |"


def _distances(budget: str, rows: dict[str, Any]) -> Iterator[str]:
    compared = {name: row["distances"] for name, row in rows.items() if "distances" in row}
    known = [key for key in DISTANCES if any(row[key]["value"] is not None for row in compared.values())]
    yield f"| {budget} | {' | '.join(DISTANCES[key] for key in known)} |"
    yield f"| --- |{' --- |' * len(known)}"
    for name, row in compared.items():
        yield f"| {_name(name)} | {' | '.join(_cell(row[key]) for key in known)} |"


def _halves(found: dict[str, Any]) -> Iterator[str]:
    yield "## Does a plan on other data help?\n"
    yield (
        "One half of each table is public and one private (of Adult 9,000 records each). `plan` tried settings of `specialization` at epsilon 1 on the public half (decision tree and logistic regression; as many runs as above); the\n"
        "same settings were then tried on the private half. *Behind* is how much smaller the area of what the plan takes is than that of the best setting there, with the standard error of\n"
        "that difference. Kept: it is within one standard error, or the plan said that it cannot tell.\n"
    )
    yield "| | the plan takes | could tell | area there | of `init` | best there | behind | kept |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for table, half in found["halves"].items():
        own = half["settings"]
        areas = " | ".join(f"{own[key]:.3f}" for key in ("area_of_taken", "area_of_agreed", "area_of_best"))
        told, kept = _yes(own["plan_can_tell"]), _yes(own["is_kept"])
        yield f"| {TITLES[table]} | `{own['taken']}` | {told} | {areas} | {_behind(own)} | {kept} |"
    yield ""
    yield "The same for mechanisms: which has the largest area on the public half, and on the private one?\n"
    yield "| | largest area by the plan | cannot be told apart from it | area there | best there | behind | kept |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for table, half in found["halves"].items():
        own = half["mechanisms"]
        others = ", ".join(f"`{name}`" for name in own["as_good_by_plan"] if name != own["taken"]) or "none"
        best = f"`{own['best']}`, {own['area_of_best']:.3f}"
        area, kept = f"{own['area_of_taken']:.3f}", _yes(own["is_kept"])
        yield f"| {TITLES[table]} | `{own['taken']}` | {others} | {area} | {best} | {_behind(own)} | {kept} |"


def _behind(own: dict[str, Any]) -> str:
    if own["behind"] == 0:
        return "0"
    return f"{own['behind']:.3f}" + ("" if own["standard_error"] is None else f" ({own['standard_error']:.3f})")


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _name(name: str) -> str:
    return SHOWN.get(name, f"`{name}`")


def _cell(found: dict[str, float | None]) -> str:
    if found["value"] is None:
        return ""
    error = found["error"] or 0
    return f"{found['value']:.3f}" + (f" ({error:.3f})" if error > SMALLEST_ERROR else "")
