"""Tables of predictions and of everything else, for `plan` and `evaluate` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from copublish.release.render.text_tables import add_row, text_table

METRIC_HEADINGS = {
    "area": "area",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "accuracy": "accuracy",
}

ABOUT_METRICS = (
    "Area: under the ROC curve, each class against the rest; 0.5 is a guess. Balanced accuracy: the mean over classes. "
    "Log loss: less is better. ±: one standard error."
)

DISTANCE_HEADINGS = {
    "tables_1": "1-way",
    "tables_2": "2-way",
    "tables_3": "3-way",
    "mean": "means",
    "median": "medians",
    "quantiles": "quantiles",
    "standard_deviation": "std. dev.",
    "correlation": "correl.",
    "coverage": "bars hold",
}

ABOUT_DISTANCES = (
    "1- to 3-way: total variation of tables of so many columns, 0 to 1, numbers by quantiles of the data, not by the "
    "agreed cells. Correl.: of correlations. Means to std. dev.: errors in standard deviations of the data. Bars hold: "
    "the share of published error bars of 95 percent that hold the truth."
)


def with_error(row: Mapping[str, Any], key: str) -> str:
    """A score and its standard error, as far as they are known."""
    value, error = row[key], row.get(f"{key}_standard_error")
    if value is None:
        return ""
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


def print_predictions(
    title: str, rows: Mapping[str, Mapping[str, Mapping[str, Any]]], notes: Sequence[str], console: Console
) -> None:
    """Print a table of predictions: for each of several trained-on tables every classifier, with all scores.

    Args:
        title: What is predicted, on what.
        rows: By what was trained on, then by classifier.
        notes: What else is to be said.
        console: Where.
    """
    headings = ("trained on", "classifier", *METRIC_HEADINGS.values())
    table = text_table(title, headings, right=range(2, len(headings)))
    for name, classifiers in rows.items():
        for number, (classifier, row) in enumerate(classifiers.items()):
            shown = [with_error(row, key) for key in METRIC_HEADINGS]
            add_row(table, "" if number else name, classifier, *shown)
    console.print(table)
    for line in (ABOUT_METRICS, *notes):
        console.print(line, markup=False)
    console.print()


def print_distances(title: str, rows: Mapping[str, Mapping[str, Any]], notes: Sequence[str], console: Console) -> None:
    """Print how far tables are off beside predictions; columns that nobody has a number for are left out.

    Args:
        title: What is compared.
        rows: By what was published, `value` and `standard_error` of each distance.
        notes: What else is to be said.
        console: Where.
    """
    known = [key for key in DISTANCE_HEADINGS if any(row[key]["value"] is not None for row in rows.values())]
    headings = ("how far off", *(DISTANCE_HEADINGS[key] for key in known))
    table = text_table(title, headings, right=range(1, len(headings)))
    table.columns[0].no_wrap = True
    for name, row in rows.items():
        add_row(table, name, *("" if (value := row[key]["value"]) is None else f"{value:.3f}" for key in known))
    console.print(table)
    for line in (ABOUT_DISTANCES, *notes):
        console.print(line, markup=False)
    console.print()


def print_number_statistics(columns: Mapping[str, Mapping[str, Mapping[str, float]]], console: Console) -> None:
    """Print what was published of every number beside what the data say."""
    first = next(iter(columns.values()))
    headings = ("number", *(what.replace("quantile_", "").replace("_", " ") for what in first))
    table = text_table("Numbers: published / in the data", headings, right=range(1, len(headings)))
    for name, statistics in columns.items():
        add_row(table, name, *(f"{one['released']:.4g} / {one['data']:.4g}" for one in statistics.values()))
    console.print(table)
    console.print("05 to 95: quantiles, in percent.\n")
