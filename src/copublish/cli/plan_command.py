"""`copublish plan`: what a release would be worth and cost, before anything is spent."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from copublish.agreement import load_agreement
from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    like: Annotated[
        Path | None,
        typer.Option(help="A PUBLIC file like the data, all columns in one: .csv or .parquet. Default: made-up data."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to try; may be repeated.")] = None,
    specializations: Annotated[
        list[int] | None, typer.Option(min=0, max=100, help="A number h of specializations to try; may be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases of each setting.")] = 3,
    plot: Annotated[Path | None, typer.Option(help="Also draw accuracy over epsilon: .png or .svg.")] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Try a release out on public or made-up data: accuracy over epsilon, what to choose, what a secure run costs.

    Nothing is charged, so --like must be PUBLIC or made up, never the records that shall be released. It is split
    between the parties as the agreement says, and a third of it is kept for testing. Without --like, values are made
    up from the agreed domains: then noise and cost hold, but accuracies show the shape alone.

    Example: copublish plan agreement.toml --like adult_like.csv --plot trade-off.svg
    """
    from copublish.planning import advice
    from copublish.planning.plots import FORMATS, draw_plan

    if plot is not None and plot.suffix.lower() not in FORMATS:
        raise typer.BadParameter("end the name in .png or .svg", param_hint="--plot")
    if plot is not None and not plot.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder '{plot.parent}'", param_hint="--plot")
    agreed = load_agreement(agreement)
    budgets = [_budget(text) for text in epsilon] if epsilon else advice.EPSILONS
    if like is not None:
        note(f"WARNING: {advice.WARNING}")
    with progress_bars() as progress:
        result = advice.plan_release(
            agreed,
            like,
            epsilons=budgets,
            specializations=specializations or advice.SPECIALIZATIONS,
            runs=runs,
            progress=progress,
        )
    if plot is not None:
        draw_plan(result, plot)
        note(f"Drew {plot}.")
    if output is Format.JSON:
        print_json(result)
        return
    print_plan(result, results_console())


def _budget(text: str) -> str:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not Decimal("0.000001") <= value <= 10:
        raise typer.BadParameter(f"write a number from 0.000001 to 10, got '{text}'", param_hint="--epsilon")
    return text


def print_plan(result: dict[str, Any], console: Console) -> None:
    """Print a plan for people."""
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
    _print_trials(result["trials"], console)
    _print_advice(result, console)


def _print_trials(trials: list[dict[str, Any]], console: Console) -> None:
    table = Table(title="What was tried", title_justify="left")
    table.add_column("score")
    for heading in ("epsilon", "h", "accuracy", "counts", "a count is within", "selection noise"):
        table.add_column(heading, justify="right")
    for trial in trials:
        error = "" if trial["standard_error"] is None else f" ± {trial['standard_error']:.3f}"
        table.add_row(
            trial["score"],
            trial["epsilon"],
            str(trial["rounds"]),
            f"{trial['accuracy']:.3f}{error}",
            f"{trial['cells']:,.0f}",
            f"± {trial['count_within']:,}",
            f"{trial['selection_scale']:.3g}",
        )
    console.print(table)
    console.print("h: specializations made. Within: in 95 of 100 cases, in people; selection noise as its scale.\n")


def _print_advice(result: dict[str, Any], console: Console) -> None:
    best, rule, run = result["recommendation"], result["size_rule"], result["secure_run"]
    console.print(f"[bold]To take at epsilon {best['epsilon']}[/bold]")
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
