"""A plan, printed for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console

from copublish.fragments.changes import Change
from copublish.mechanisms.registry import mechanism_named
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.mechanisms.shared.tuning import Tuning

PAIRS = "Pairs: mean total variation of the tables of two columns from those of the data, 0 to 1."


def print_plan(result: dict[str, Any], console: Console) -> None:
    """Print a plan."""
    from copublish.planning.plots import text_plot

    what = "made-up data" if result["data"] == "made up" else "the public file"
    console.print(
        f"{result['release']}: tried on {what}, {result['training_records']:,} records to train on and "
        f"{result['test_records']:,} to test on, {result['runs']} runs of each setting",
        markup=False,
    )
    if result["rules"]:
        console.print("Values of the file that are not as agreed were changed as a run changes them:")
    for rule in result["rules"]:
        console.print(f"  - {Change(**rule)}", markup=False, soft_wrap=True)
    if result["resampled"]:
        console.print("As many records as the agreement expects were drawn from the file, some of them repeatedly.")
    if result["data"] == "made up":
        console.print("The data are made up: noise and cost hold, accuracies show the shape of the curve alone.")
    console.print()
    for line in text_plot(result):
        console.print(line, markup=False)
    console.print(f"       BA {result['BA']:.3f} raw data, LA {result['LA']:.3f} largest class\n")
    for line in printed_lines(result):
        console.print(line, markup=False)
    for name in result["mechanisms"]:
        trials = [trial for trial in result["trials"] if trial["mechanism"] == name]
        if (tuning := mechanism_named(name).tuning) is not None:
            _print_settings(trials, tuning, console)
    others = [trial for trial in result["trials"] if mechanism_named(trial["mechanism"]).tuning is None]
    if others:
        _print_mechanisms(others, console)
    _print_advice(result, console)


def printed_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what papers print: accuracies for the very data that are planned, or what was kept of other data's."""
    own = [reference for reference in result["printed"] if reference["is_planned_data"]]
    if not own:
        yield f"Papers on other data, as the share of BA - LA that was kept, by epsilon{_kept_here(result)}:"
    key, form = ("accuracy", "{:.3f}") if own else ("kept", "{:.0%}")
    for label, found in groupby(own or result["printed"], key=lambda reference: reference["label"]):
        yield f"  {label}: {_by_epsilon(list(found), key, form)}"
    if own:
        yield "  As published these algorithms are not private, or not between the parties: see docs/results.md."
    yield ""


def _kept_here(result: Mapping[str, Any]) -> str:
    from copublish.planning.references import kept

    best = result["recommendation"]
    share = kept(best["accuracy"], result["BA"], result["LA"])
    if share is None or result["data"] == "made up":
        return ""
    return f" (here {best['epsilon']}: {share:.0%})"


def _by_epsilon(rows: Sequence[Mapping[str, Any]], key: str, form: str) -> str:
    """The values of every epsilon: one, or the least and the most."""
    found = []
    for epsilon, here in groupby(rows, key=lambda row: row["epsilon"]):
        values = [row[key] for row in here]
        ends = dict.fromkeys(form.format(value) for value in (min(values), max(values)))
        found.append(f"{epsilon}: {' to '.join(ends)}")
    return ", ".join(found)


def _print_settings(trials: Sequence[Mapping[str, Any]], tuning: Tuning, console: Console) -> None:
    first, *rest = tuning.columns
    headings = (first.heading, "epsilon", "accuracy", "pairs are off", *(column.heading for column in rest))
    table = text_table(f"What was tried of {trials[0]['mechanism']}", headings, right=range(1, len(headings)))
    table.columns[0].no_wrap = True
    for trial in trials:
        scores = (trial["epsilon"], _accuracy(trial), f"{trial['marginal_error']:.3f}")
        add_row(table, first.cell(trial), *scores, *(column.cell(trial) for column in rest))
    console.print(table)
    console.print(f"{tuning.legend} {PAIRS}\n", markup=False)


def _print_mechanisms(trials: Sequence[Mapping[str, Any]], console: Console) -> None:
    headings = ("mechanism", "epsilon", "accuracy", "pairs are off", "noise")
    table = text_table("What was tried of mechanisms that publish records", headings, right=(1, 2, 3))
    for trial in trials:
        noise = f"{trial['noise']['what']} {trial['noise']['value']:.3g}" if "noise" in trial else ""
        add_row(table, trial["mechanism"], trial["epsilon"], _accuracy(trial), f"{trial['marginal_error']:.3f}", noise)
    console.print(table)
    console.print(f"{PAIRS}\n")


def _accuracy(trial: Mapping[str, Any]) -> str:
    error = "" if trial["standard_error"] is None else f" ± {trial['standard_error']:.3f}"
    return f"{trial['accuracy']:.3f}{error}"


def _print_advice(result: dict[str, Any], console: Console) -> None:
    best, limits, run = result["recommendation"], result["limits"], result["secure_run"]
    if len(result["mechanisms"]) > 1:
        _print_comparison(result, console)
    console.print(f"To take at epsilon {best['epsilon']}", style="bold")
    if limits is None:
        console.print(
            f"  {best['mechanism']} as agreed: accuracy about {best['accuracy']:.3f}; it has no settings that a plan "
            "tries",
            markup=False,
        )
    else:
        console.print(f"  {result['advice']}", markup=False)
        console.print(f"  accuracy about {best['accuracy']:.3f}; {limits['words']}", markup=False)
    console.print("\nThe secure run", style="bold")
    if run["seconds"] is None:
        console.print(f"  {run['why']}", markup=False)
        return
    console.print(
        f"  about {run['seconds']:.0f} s and {run['mib_sent']:.0f} MiB between the parties, if both run on one machine "
        "with two cores; a slow line adds its own time"
    )


def _print_comparison(result: Mapping[str, Any], console: Console) -> None:
    from copublish.planning.curves import curves_of

    agreed = result["agreed"]
    console.print(f"Side by side at epsilon {agreed['epsilon']}", style="bold", markup=False)
    here = [row for rows in curves_of(result).values() for row in rows if row["epsilon"] == agreed["epsilon"]]
    for row in sorted(here, key=lambda row: -row["accuracy"]):
        said = []
        if row["mechanism"] == agreed["mechanism"]:
            said.append("agreed" + (f", with delta {agreed['delta']}" if "delta" in agreed else ""))
        if "curve" in row:
            said.append(f"best of its settings: {row['note']}, {row['curve']}")
        words = f"  ({'; '.join(said)})" if said else ""
        console.print(
            f"  {row['mechanism']:15}accuracy {_accuracy(row)}, pairs off by {row['marginal_error']:.3f}{words}",
            markup=False,
        )
    console.print("  One classifier and tables of two columns are not all that a release is for.\n")
