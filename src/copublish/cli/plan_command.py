"""`copublish plan`: what a release would be worth and cost, before anything is spent."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement import load_agreement
from copublish.cli.plan_text import print_plan
from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console


class MechanismChoice(StrEnum):
    """A mechanism that can be tried."""

    SPECIALIZATION = "specialization"
    COPULA = "copula"
    HPDP = "hpdp"
    VHDP = "vhdp"


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
        list[MechanismChoice] | None,
        typer.Option(help="Try this mechanism, too, beside the agreed one; may be repeated."),
    ] = None,
    epsilon: Annotated[list[str] | None, typer.Option(help="A budget to try; may be repeated.")] = None,
    specializations: Annotated[
        list[int] | None,
        typer.Option(
            min=0, max=100, help="A number h of specializations to try, for that mechanism alone; may be repeated."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases of each setting.")] = 3,
    plot: Annotated[Path | None, typer.Option(help="Also draw accuracy over epsilon: .png or .svg.")] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Try a release out on public or made-up data: accuracy over epsilon, what to choose, what a secure run costs.

    Nothing is charged, so --like must be PUBLIC or made up, never the records that shall be released. It is split
    between the parties as the agreement says, and a third of it is kept for testing. Without --like, values are made
    up from the agreed domains: then noise and cost hold, but accuracies show the shape alone.

    The agreed mechanism is tried over epsilon between BA, what raw data give, and LA, what the largest class gives.
    With --mechanism others stand beside it, on the same records and with the same epsilon, if the agreement permits
    them: hpdp needs owners of whole rows, vhdp a public number of records. What papers print for Adult and Nursery is
    drawn if the agreement is about those tables, and otherwise only told.

    Example: copublish plan agreement.toml --like adult_like.csv --mechanism copula --plot trade-off.svg
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
            mechanisms=[chosen.value for chosen in mechanism or ()],
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
