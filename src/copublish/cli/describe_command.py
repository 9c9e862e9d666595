"""`copublish describe`: what would be disclosed, at which price, to whom."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import visible
from copublish.kernel.ledger.ledger import open_existing_ledger
from copublish.party.own_ledger import price
from copublish.release.describe import describe as describe_agreement


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(describe)


@with_options("party", "ledger")
def describe(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    given: Mapping[str, Any],
    output: FormatOption = Format.TEXT,
) -> None:
    """Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.

    Reads only the agreement and touches no data. First it says what others would learn and what that rests on; with
    --party these lines are about the people of that party. With --party or --ledger it also shows what is left in your
    ledger before and after; that of a party is the one that its party.toml names.

    Example: copublish describe agreement.toml

    Example: copublish describe agreement.toml --party bank
    """
    asked = resolved(agreement, given) if "party" in given else None
    agreed, ledger = (
        (load_agreement(agreement), given.get("ledger")) if asked is None else (asked.agreement, asked.ledger)
    )
    described = describe_agreement(agreed, party=None if asked is None else asked.party)
    run = predicted_run(agreed)
    budget = None if ledger is None else _budget(agreed, ledger)
    if output is Format.JSON:
        of_run = {} if run is None else {"secure_run": run}
        print_json({**described.to_dict(), **of_run, **({} if budget is None else {"budget": budget})})
        return
    results_console().print(described)
    if run is not None:
        results_console().print(f"\n{run_words(run)}", markup=False, soft_wrap=True)
    if budget is not None:
        said = budget["refusal"] or f"Would spend {budget['would_spend']}."
        results_console().print(f"\n{visible(said)}", soft_wrap=True)


def predicted_run(agreement: Agreement) -> dict[str, Any] | None:
    """What a secure run would take, as JSON values; none of a mechanism of which only a release tells that."""
    from copublish.tools.planning.marginals_cost import predict_from_agreement

    cost = predict_from_agreement(agreement)
    return None if cost is None else cost.to_json()


def run_words(run: Mapping[str, Any]) -> str:
    """What a secure run would take, in a sentence."""
    from copublish.tools.planning.costs import cost_words
    from copublish.tools.planning.hidden_membership import hiding_words

    words = f"A run takes {cost_words(run)}; on a machine with two cores like this one's, and a line adds its own time."
    return " ".join(filter(None, [words, hiding_words(run)]))


def _budget(agreement: Agreement, file: Path) -> dict[str, Any]:
    """What the release would take of a ledger, or why it would be refused. Nothing is written."""
    open_existing_ledger(file, agreement.dataset).close()
    found = price(agreement, file)
    return {"would_spend": found.words, "paid_from": found.paid_from, "refusal": found.refusal}
