"""`copublish ledger`: what was spent, and the limit."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from copublish.cli.terminal import Format, FormatOption, note, parse_pairs, print_json, results_console
from copublish.home import default_ledger, make_private_folder
from copublish.privacy.described import show_bound, show_exact
from copublish.privacy.disclosures import NEIGHBOURS
from copublish.privacy.ledger import UNBOUNDED, Ledger, Limit

NO_LIMIT = (
    "WARNING: data set '{dataset}' has NO LIMIT from now on. Releases that are not differentially private may be made "
    "of it; after one, nobody in it has a guarantee, and under a finite limit nothing can be released any more."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ledger")(ledger)


def ledger(
    file: Annotated[
        Path | None,
        typer.Argument(help="The ledger, an SQLite file; --limit creates it. Default: in your copublish folder."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=EPSILON: the most that may ever be spent on it; DATASET=unbounded: no limit."),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(help="The relation the limit is stated for: add-remove or replace. Default: as before."),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show what was spent on which data set, in which release; with --limit, set the most that may be.

    A charge is never given back: a release that was reserved and failed stays spent.

    Example: copublish ledger --limit customers-2026=3
    """
    file = file or default_ledger()
    if neighbours is not None and neighbours not in NEIGHBOURS:
        raise typer.BadParameter(f"choose one of {', '.join(NEIGHBOURS)}", param_hint="--neighbours")
    limits = {name: _epsilon(text) for name, text in parse_pairs(limit or [], "--limit").items()}
    if not file.exists() and not limits:
        raise typer.BadParameter(f"there is no ledger '{file}'; --limit DATASET=EPSILON creates one")
    make_private_folder(file.parent)
    book = Ledger(file)
    for dataset, epsilon in limits.items():
        if epsilon is None:
            note(NO_LIMIT.format(dataset=dataset))
        before = book.limit(dataset)
        book.set_limit(dataset, Limit(epsilon, neighbours or (before.neighbours if before else "add-remove")))
    _print(book, output)
    book.close()


def _epsilon(text: str) -> Fraction | None:
    if text == UNBOUNDED:
        return None
    try:
        epsilon = Fraction(Decimal(text))
    except (InvalidOperation, ValueError, OverflowError):
        epsilon = Fraction(0)
    if epsilon <= 0:
        raise typer.BadParameter(f"epsilon must be a number above 0, got '{text}'", param_hint="--limit")
    return epsilon


def _print(book: Ledger, output: Format) -> None:
    datasets = {}
    for dataset in sorted({entry.dataset for entry in book.entries()} | set(book.limited_datasets())):
        limit = book.limit(dataset)
        spent = None if limit is None else book.spent(dataset).under(limit.neighbours)
        datasets[dataset] = {
            "limit": None if limit is None else _show(limit.epsilon),
            "neighbours": None if limit is None else limit.neighbours,
            "spent": None if limit is None else _show(spent),
            "delta_spent": show_bound(book.spent(dataset).delta),
            "left": None if limit is None else show_left(limit, spent),
        }
    charges = [
        {
            "reserved_at": entry.reserved_at,
            "dataset": entry.dataset,
            "release": entry.release,
            "epsilon_add_remove": _show(entry.cost.add_remove),
            "epsilon_replace": _show(entry.cost.replace),
            "delta": show_bound(entry.cost.delta),
            "state": entry.state,
            "disclosures": entry.disclosures,
            "agreement_hash": entry.agreement_hash,
        }
        for entry in book.entries()
    ]
    if output is Format.JSON:
        print_json({"datasets": datasets, "charges": charges})
        return
    console = results_console()
    for title, rows in (
        ("Budgets", [{"dataset": dataset, **facts} for dataset, facts in datasets.items()]),
        ("Charges", charges),
    ):
        table = Table(title=title, title_justify="left")
        for heading in rows[0] if rows else ["nothing yet"]:
            table.add_column(heading.replace("_", " "), overflow="fold")
        for row in rows:
            table.add_row(*(str(value) if value is not None else "-" for value in row.values()))
        console.print(table)


def show_left(limit: Limit, spent: Fraction | None) -> str:
    """Return how much of a limit is left, in words where it is no number."""
    if limit.epsilon is None:
        return UNBOUNDED
    return "nothing" if spent is None else show_exact(limit.epsilon - spent)


def _show(epsilon: Fraction | None) -> str:
    return UNBOUNDED if epsilon is None else show_exact(epsilon)
