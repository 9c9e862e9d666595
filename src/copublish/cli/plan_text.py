"""A plan, printed for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

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
    splits = [trial for trial in result["trials"] if "score" in trial]
    if splits:
        _print_settings(splits, console)
    if len(splits) < len(result["trials"]):
        _print_mechanisms([trial for trial in result["trials"] if "score" not in trial], console)
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
    """Return the values of every epsilon: one, or the least and the most."""
    found = []
    for epsilon, here in groupby(rows, key=lambda row: row["epsilon"]):
        values = [row[key] for row in here]
        ends = dict.fromkeys(form.format(value) for value in (min(values), max(values)))
        found.append(f"{epsilon}: {' to '.join(ends)}")
    return ", ".join(found)


def _print_settings(trials: Sequence[Mapping[str, Any]], console: Console) -> None:
    table = Table(title="What was tried of specialization", title_justify="left")
    table.add_column("score", no_wrap=True, min_width=len("balanced-gain"))
    headings = ("epsilon", "h", "accuracy", "pairs are off", "counts", "a count is within", "noise")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    for trial in trials:
        table.add_row(
            trial["score"],
            trial["epsilon"],
            str(trial["rounds"]),
            _accuracy(trial),
            f"{trial['marginal_error']:.3f}",
            f"{trial['cells']:,.0f}",
            f"± {trial['count_within']:,}",
            f"{trial['selection_scale']:,.0f}"
            if trial["selection_scale"] >= 100
            else f"{trial['selection_scale']:.3g}",
        )
    console.print(table)
    console.print(
        f"h: specializations made. {PAIRS} Within: in 95 of 100 cases, in people. Noise: its scale in a selection.\n"
    )


def _print_mechanisms(trials: Sequence[Mapping[str, Any]], console: Console) -> None:
    table = Table(title="What was tried of mechanisms that publish records", title_justify="left")
    table.add_column("mechanism")
    for heading in ("epsilon", "accuracy", "pairs are off"):
        table.add_column(heading, justify="right")
    table.add_column("noise")
    for trial in trials:
        noise = f"{trial['noise']['what']} {trial['noise']['value']:.3g}"
        table.add_row(trial["mechanism"], trial["epsilon"], _accuracy(trial), f"{trial['marginal_error']:.3f}", noise)
    console.print(table)
    console.print(f"{PAIRS}\n")


def _accuracy(trial: Mapping[str, Any]) -> str:
    error = "" if trial["standard_error"] is None else f" ± {trial['standard_error']:.3f}"
    return f"{trial['accuracy']:.3f}{error}"


def _print_advice(result: dict[str, Any], console: Console) -> None:
    best, rule, run = result["recommendation"], result["size_rule"], result["secure_run"]
    if len(result["mechanisms"]) > 1:
        _print_comparison(result, console)
    console.print(f"[bold]To take at epsilon {best['epsilon']}[/bold]")
    if rule is None:
        console.print(
            f"  {best['mechanism']} as agreed: accuracy about {best['accuracy']:.3f}; it has no settings that a plan "
            "tries",
            markup=False,
        )
    else:
        console.print(
            f'  specializations = {best["specializations"]}, score = "{best["score"]}", '
            f"selection_share = {best['selection_share']}",
            markup=False,
        )
        console.print(
            f"  accuracy about {best['accuracy']:.3f}; the size rule allows at most {rule['most_specializations']} "
            f"specializations and {rule['most_cells']:,} counts, {rule['why']}",
            markup=False,
        )
    console.print("\n[bold]The secure run[/bold]")
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
    console.print(f"[bold]Side by side at epsilon {agreed['epsilon']}[/bold]")
    here = [row for rows in curves_of(result).values() for row in rows if row["epsilon"] == agreed["epsilon"]]
    for row in sorted(here, key=lambda row: -row["accuracy"]):
        said = []
        if row["mechanism"] == agreed["mechanism"]:
            said.append("agreed" + (f", with delta {agreed['delta']}" if "delta" in agreed else ""))
        if "score" in row:
            said.append(f'best of its settings: h = {row["rounds"]}, score = "{row["score"]}"')
        words = f"  ({'; '.join(said)})" if said else ""
        console.print(
            f"  {row['mechanism']:15}accuracy {_accuracy(row)}, pairs off by {row['marginal_error']:.3f}{words}",
            markup=False,
        )
    console.print("  One classifier and tables of two columns are not all that a release is for.\n")
