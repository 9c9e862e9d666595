"""`copublish plan`: what a release would be worth and cost, before anything is spent."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.evaluate_command import ClassifierChoice
from copublish.cli.plan_text import print_plan
from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console
from copublish.mechanisms.registry import mechanism_of

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
    tuning = mechanism_of(agreement).tuning
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
