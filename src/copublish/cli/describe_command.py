"""`copublish describe`: what would be disclosed, at which price, to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import visible
from copublish.privacy.ledger import open_existing_ledger
from copublish.release.describe import describe as describe_agreement
from copublish.release.own_ledger import price


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(describe)


def describe(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    ledger: Annotated[
        Path | None, typer.Option(help="Your ledger: also show what is left in it before and after.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.

    Reads the agreement alone, and a ledger if one is named, and touches no data.

    Example: copublish describe agreement.toml

    Example: copublish describe agreement.toml --ledger bank.db
    """
    agreed = load_agreement(agreement)
    described = describe_agreement(agreed)
    budget = None if ledger is None else _budget(agreed, ledger)
    if output is Format.JSON:
        print_json({**described.to_dict(), **({} if budget is None else {"budget": budget})})
        return
    results_console().print(described)
    if budget is not None:
        said = budget["refusal"] or f"Would spend {budget['would_spend']}."
        results_console().print(f"\n{visible(said)}", soft_wrap=True)


def _budget(agreement: Agreement, file: Path) -> dict[str, Any]:
    """What the release would take of a ledger, or why it would be refused. Nothing is written."""
    open_existing_ledger(file, agreement.dataset).close()
    found = price(agreement, file)
    return {"would_spend": found.words, "paid_from": found.paid_from, "refusal": found.refusal}
