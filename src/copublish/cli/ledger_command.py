"""`copublish ledger`: what was spent, and the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import Format, FormatOption, note, parse_pairs, print_json, results_console
from copublish.files.home import default_ledger, make_private_folder
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.privacy.accounting import Cost
from copublish.privacy.described import show_at_least, show_bound, show_exact
from copublish.privacy.disclosures import NEIGHBORS, Neighbors
from copublish.privacy.ledger import Ledger
from copublish.privacy.limits import DEFAULT_DELTA, UNBOUNDED, Limit

MAX_DIGITS = 100
"""Before or after the point, of a number in a limit."""

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
        typer.Option(
            help="DATASET=EPSILON or DATASET=EPSILON,DELTA: the most that may ever be spent on it. A delta that is not "
            "said stays as it was, at first 1e-9: too little for Gaussian noise. DATASET=unbounded: no limit."
        ),
    ] = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            "--neighbors",
            "--neighbours",
            help="The relation the limit is stated for: add-remove or replace. Default: as before.",
        ),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show what was spent on which data set, in which release; with --limit, set the most that may be.

    A charge is never given back: a release that was reserved and failed stays spent.

    Example: copublish ledger --limit customers-2026=3

    Example: copublish ledger --limit customers-2026=3,1e-5
    """
    file = file or default_ledger()
    if neighbors is not None and neighbors not in NEIGHBORS:
        raise typer.BadParameter(f"choose one of {', '.join(NEIGHBORS)}", param_hint="--neighbors")
    limits = {name: _read_limit(text) for name, text in parse_pairs(limit or [], "--limit").items()}
    if not file.exists() and not limits:
        raise typer.BadParameter(f"there is no ledger '{file}'; --limit DATASET=EPSILON creates one")
    make_private_folder(file.parent)
    book = Ledger(file)
    for dataset, (epsilon, delta) in limits.items():
        if epsilon is None:
            note(NO_LIMIT.format(dataset=dataset))
        is_whole = neighbors is not None and (epsilon is None or delta is not None)
        before = None if is_whole else book.limit(dataset)  # which may be one that cannot be read any more
        book.set_limit(dataset, _limit_after(before, epsilon, delta, neighbors))
    _print(book, output)
    book.close()


def _read_limit(text: str) -> tuple[Fraction | None, Fraction | None]:
    """Read EPSILON or EPSILON,DELTA; none for an epsilon without bound, and for a delta that is not said."""
    if text == UNBOUNDED:
        return None, None
    first, comma, second = text.partition(",")
    epsilon, delta = _number(first), _number(second)
    if epsilon is None or epsilon <= 0:
        raise typer.BadParameter(f"epsilon must be a number above 0, got '{first}'", param_hint="--limit")
    if comma and (delta is None or not 0 <= delta < 1):
        raise typer.BadParameter(
            f"delta, after the comma, must be from 0 to below 1, got '{second}'; write decimals with a point",
            param_hint="--limit",
        )
    return epsilon, delta


def _number(text: str) -> Fraction | None:
    """Read a decimal number exactly; nothing if it is none, or one that nobody means."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= MAX_DIGITS else None


def _limit_after(
    before: Limit | None, epsilon: Fraction | None, delta: Fraction | None, neighbors: Neighbors | None
) -> Limit:
    """The limit that is set: what is not said stays as it was."""
    kept = before or Limit(epsilon, "add-remove")
    if delta is None:  # what was unbounded had no delta to keep
        delta = DEFAULT_DELTA if kept.epsilon is None else kept.delta
    return Limit(epsilon, neighbors or kept.neighbors, delta)


def _print(book: Ledger, output: Format) -> None:
    datasets = {}
    for dataset in sorted({entry.dataset for entry in book.entries()} | set(book.limited_datasets())):
        limit = book.limit(dataset)
        spent = book.spent(dataset)
        left, delta_left = (None, None) if limit is None else show_left(limit, spent)
        datasets[dataset] = {
            "limit": None if limit is None else _show(limit.epsilon),
            "neighbors": None if limit is None else limit.neighbors,
            "spent": None if limit is None else _show(spent.under(limit.neighbors)),
            "left": left,
            "delta_limit": None if limit is None else _show(None if limit.epsilon is None else limit.delta),
            "delta_spent": show_bound(spent.delta),
            "delta_left": delta_left,
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
    _print_table("Budgets", [{"dataset": dataset, **facts} for dataset, facts in datasets.items()])
    # To people, a minute and the beginning of a hash say enough, and fit a terminal.
    _print_table(
        "Charges",
        [
            {
                "reserved": entry.reserved_at[:16].replace("T", " "),
                "dataset": entry.dataset,
                "release": entry.release,
                "epsilon\nadd-remove": _show(entry.cost.add_remove),
                "epsilon\nreplace": _show(entry.cost.replace),
                "delta": show_bound(entry.cost.delta),
                "state": entry.state,
                "opened": str(entry.disclosures),
                "agree-\nment": entry.agreement_hash[:8],
            }
            for entry in book.entries()
        ],
    )


def _print_table(title: str, rows: Sequence[Mapping[str, str | None]]) -> None:
    table = text_table(title, [heading.replace("_", " ") for heading in (rows[0] if rows else ["nothing yet"])])
    for row in rows:
        add_row(table, *("-" if value is None else value for value in row.values()))
    results_console().print(table)


def show_left(limit: Limit, spent: Cost) -> tuple[str, str]:
    """How much of a limit is left, of epsilon and of delta, in words where it is no number."""
    if limit.epsilon is None:
        return UNBOUNDED, UNBOUNDED
    before = spent.under(limit.neighbors)
    if before is None:
        return "nothing", "nothing"
    return show_exact(limit.epsilon - before), show_at_least(limit.delta - spent.delta)


def _show(number: Fraction | None) -> str:
    return UNBOUNDED if number is None else show_exact(number)
