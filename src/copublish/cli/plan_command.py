"""`copublish plan`: what a release would be worth and cost before anything is spent, printed for people or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.evaluate_command import ClassifierChoice
from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console
from copublish.cli.utility_text import print_distances, print_predictions, with_error
from copublish.release.render.text_tables import add_row, text_table
from copublish.rows.changes import Change

MOST_TRIED = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    like: Annotated[
        Path | None,
        typer.Option(help="A PUBLIC file like the data, all columns in one: .csv or .parquet. Default: made-up data."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(help="Try this mechanism beside the agreed one, too; may be repeated. 'all': all permitted ones."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to try; may be repeated.")] = None,
    try_: Annotated[
        list[str] | None,
        typer.Option("--try", help="KEY=NUMBER: a value of one of the mechanism's settings to try; may be repeated."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases of each setting. One does not tell what noise does.")] = 5,
    classifier: Annotated[
        list[ClassifierChoice] | None,
        typer.Option(
            help="Predict with this classifier; may be repeated. Default: tree, logistic regression, boosting."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="What is predicted where the agreement has no class. Default: the last column.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 4 if any value of --like is not as agreed.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the area under the ROC curve over epsilon: .png or .svg.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Try a release out on public or made-up data: what it predicts and keeps, what to choose, what a secure run costs.

    Nothing is charged, so --like must be PUBLIC or made up, never the records that shall be released. It is split
    between the parties as the agreement says, and a third of it is kept for testing. Without --like, values are made
    up from the agreed domains: then noise and cost hold, scores show the shape alone, and nothing is recommended.
    Values of --like that are not as agreed are changed as a run changes them, and told.

    Settings of the agreed mechanism are ranked at the agreed epsilon by the area under the ROC curve: accuracy favors
    whoever always says the largest class. Differences within one standard error are said to be none, and what is agreed
    stays unless another setting is better by two. What is taken then stands over epsilon beside raw data, other
    mechanisms (--mechanism, on the same records) and a trivial baseline: noisy tables of every column by the class,
    with the same budget.

    Example: copublish plan agreement.toml --like public.csv --mechanism all --plot trade-off.svg
    """
    from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS
    from copublish.tools.planning import advice
    from copublish.tools.planning.plots import FORMATS

    if plot is not None and plot.suffix.lower() not in FORMATS:
        raise typer.BadParameter("end the name in .png or .svg", param_hint="--plot")
    if plot is not None and not plot.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder '{plot.parent}'", param_hint="--plot")
    agreed = load_agreement(agreement)
    others, tried = _known(mechanism or []), _tried(try_ or [], agreed)
    budgets = [_budget(text) for text in epsilon] if epsilon else advice.EPSILONS
    if like is not None:
        note(f"WARNING: {advice.WARNING}")
    with progress_bars() as progress:
        result = advice.plan_release(
            agreed,
            like,
            mechanisms=others,
            epsilons=budgets,
            tried=tried,
            runs=runs,
            classifiers=[chosen.value for chosen in classifier] if classifier else RANKED_CLASSIFIERS,
            target=target,
            strict=strict,
            progress=progress,
        )
    if plot is not None:
        result.plot(plot)
        note(f"Drew {plot}.")
    if output is Format.JSON:
        print_json(result.to_dict())
        return
    print_plan(result.to_dict(), results_console())


def _budget(text: str) -> str:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not Decimal("0.000001") <= value <= 10:
        raise typer.BadParameter(f"write a number from 0.000001 to 10, got '{text}'", param_hint="--epsilon")
    return text


def _known(names: list[str]) -> list[str]:
    from copublish.tools.planning.trials import ALL, planned_names

    for name in names:
        if name not in (*planned_names(), ALL):
            raise typer.BadParameter(
                f"there is no mechanism '{name}' to try. There are: {', '.join(planned_names())}, or {ALL} of them",
                param_hint="--mechanism",
            )
    return names


def _tried(pairs: list[str], agreement: Agreement) -> dict[str, list[int]]:
    """Values to try of the agreed mechanism's settings, by key."""
    from copublish.tools.planning.tunings import tuning_of

    tuning = tuning_of(agreement)
    keys = [] if tuning is None else list(tuning.tried)
    found: dict[str, list[int]] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in keys:
            offered = f"It has: {', '.join(keys)}" if keys else "It has none"
            raise typer.BadParameter(
                f"the mechanism '{agreement.mechanism.name}' has no setting '{key}' to try. {offered}",
                param_hint="--try",
            )
        if not value.isdecimal() or int(value) > MOST_TRIED:
            raise typer.BadParameter(f"write --try {key}=NUMBER, from 0 to {MOST_TRIED}", param_hint="--try")
        found.setdefault(key, []).append(int(value))
    return found


RAW_DISTANCES = "Of raw data: how far the test records are from those that were released, which no release need beat."


def print_plan(result: dict[str, Any], console: Console) -> None:
    """Print a plan."""
    from copublish.tools.planning.plots import text_plot

    _print_data(result, console)
    for line in text_plot(result):
        console.print(line, markup=False)
    console.print()
    _print_side_by_side(result, console)
    if len(result["settings"]) > 1:
        _print_settings(result, console)
    _print_advice(result, console)


def _print_data(result: Mapping[str, Any], console: Console) -> None:
    what = "made-up data" if result["data"] == "made up" else "the public file"
    console.print(
        f"{result['release']}: tried on {what}, {result['training_records']:,} records to train on and "
        f"{result['test_records']:,} to test on, {result['runs']} runs of each setting",
        markup=False,
    )
    if result["rules"]:
        console.print("Values of the file that are not as agreed were changed as a run changes them:")
    for rule in result["rules"]:
        console.print(f"  - {Change.from_dict(rule)}", markup=False, soft_wrap=True)
    if result["resampled"]:
        console.print("As many records as the agreement expects were drawn from the file, some of them repeatedly.")
    if result["data"] == "made up":
        console.print("The data are made up: noise and cost hold, scores show the shape of the curve alone.")
    for name, rules in result["not_permitted"].items():
        console.print(f"Not tried: {name}. {' '.join(f'{rule}.' for rule in rules)}", markup=False, soft_wrap=True)
    console.print()


def _without_class(result: Mapping[str, Any]) -> list[str]:
    if result["target_is_class"]:
        return []
    return [f"The agreement has no class: '{result['target']}' stands in for one. --target names another column."]


def _print_side_by_side(result: Mapping[str, Any], console: Console) -> None:
    from copublish.tools.planning.release_plan import rows_at_agreed_epsilon

    rows, epsilon = rows_at_agreed_epsilon(result), result["agreed"]["epsilon"]
    share = result["largest_class"]["accuracy"]
    notes = [
        *_without_class(result),
        f"Always saying the largest class: area 0.500, accuracy {share:.3f}.",
        f"Class tables alone, the trivial baseline: {result['baseline_is']}.",
    ]
    print_predictions(
        f"Predicting '{result['target']}' at epsilon {epsilon}",
        {name: row["classifiers"] for name, row in rows.items()},
        notes,
        console,
    )
    print_distances(
        f"Everything else at epsilon {epsilon}",
        {name: row["distances"] for name, row in rows.items()},
        [RAW_DISTANCES],
        console,
    )
    told = [
        f"{name}: {row['noise']['what']} {row['noise']['value']:.3g}" for name, row in rows.items() if "noise" in row
    ]
    if told:
        console.print(f"Noise of {'; '.join(told)}.\n", markup=False)


def _print_settings(result: Mapping[str, Any], console: Console) -> None:
    from copublish.tools.planning.tunings import tuning_of

    tuning = tuning_of(result["agreed"]["mechanism"])
    if tuning is None:
        return
    headings = ("area", "balanced", "log loss", "accuracy", "2-way")
    own = tuning.columns
    table = text_table(
        f"Settings of {result['agreed']['mechanism']} that were tried at epsilon {result['agreed']['epsilon']}, "
        "the agreed one first",
        (*(column.heading for column in own[:2]), *headings, *(column.heading for column in own[2:]), "run"),
        right=range(1, len(headings) + len(own) + 1),
    )
    for number in (0, 2):
        table.columns[number].no_wrap = True
    for trial in result["settings"]:
        first, *others = result["metrics"]
        scores = [with_error(trial, first), *(with_error({key: trial[key]}, key) for key in others)]
        pairs = trial["distances"]["tables_2"]["value"]
        cells = [column.cell(trial) for column in own]
        seconds = trial["secure_run"]["seconds"]
        add_row(table, *cells[:2], *scores, f"{pairs:.3f}", *cells[2:], "" if seconds is None else f"{seconds:.0f} s")
    console.print(table)
    console.print(f"{tuning.legend}\n", markup=False)


def _print_advice(result: dict[str, Any], console: Console) -> None:
    best, limits = result["recommendation"], result["limits"]
    _print_ranking(result, console)
    console.print(f"To take at epsilon {result['agreed']['epsilon']}", style="bold")
    for sentence in result["verdict"]:
        console.print(f"  {sentence}", markup=False)
    if best is not None and result["advice"] is not None:
        console.print(f"  {result['agreed']['mechanism']}: {result['advice']}", markup=False)
    elif best is not None:
        console.print(f"  {best['mechanism']} as agreed; it has no settings that a plan tries", markup=False)
    if best is not None:
        console.print(f"  area about {with_error(best, 'area')} with {best['best_classifier']}", markup=False)
    if limits is not None:
        console.print(f"  {limits['words']}", markup=False)
    for warning in result["agreement_warnings"]:  # what `describe` says of the agreement as it stands
        console.print(f"  Warning: {warning}", markup=False, style="yellow")
    console.print(
        "  Standard errors are of noise and of the choice of test records; how far your data are from these, they do "
        "not know. The best of several trials looks a little better than it is.",
        markup=False,
    )
    _print_secure_run(result, console)


def _print_secure_run(result: Mapping[str, Any], console: Console) -> None:
    """What a run would cost: of what to take, and of the other mechanisms at the agreed epsilon."""
    from copublish.tools.planning.costs import cost_words
    from copublish.tools.planning.hidden_membership import hiding_words

    run, agreed = result["secure_run"], result["agreed"]
    console.print("\nThe secure run", style="bold")
    console.print(f"  {cost_words(run)}", markup=False)
    if run["seconds"] is not None:
        console.print(
            "  That is with all parties on one machine with two cores like this one's "
            f"({run['cpu_seconds']:.0f} processor seconds); a slow line adds its own time.",
            markup=False,
        )
    if (words := hiding_words(run)) is not None:
        console.print(f"  {words}", markup=False)
    if run.get("rounds") is not None:
        console.print("  How many rounds there are follows from the data.", markup=False)
    if run.get("seconds_if_spark_counts") is not None:
        console.print(
            "  That is with rows in Parquet files or DuckDB. If they stay in Spark, in local mode on two cores, it is "
            f"about {run['seconds_if_spark_counts']:.0f} s."
        )
    for trial in result["trials"]:
        if trial["mechanism"] != agreed["mechanism"] and trial["epsilon"] == agreed["epsilon"]:
            console.print(f"  {trial['mechanism']}: {cost_words(trial['secure_run'])}", markup=False)


def _print_ranking(result: Mapping[str, Any], console: Console) -> None:
    console.print(f"By area at epsilon {result['agreed']['epsilon']}", style="bold", markup=False)
    best = result["ranking"][0]
    for row in result["ranking"]:
        behind = ""
        if row is not best:
            error = row["behind_standard_error"]
            by = f"{row['behind']:.3f}" + ("" if error is None else f" ± {error:.3f}")
            unknown = "; one run cannot tell" if error is None else ""
            behind = f", behind by {by}" + (" (cannot be told apart" + unknown + ")" if row["as_good"] else "")
        console.print(f"  {row['mechanism']:20}{with_error(row, 'area')}{behind}", markup=False)
    console.print("  Predicting one class is not all that a release is for: look at the second table, too.\n")
