"""`copublish ledger limit` and other commands that change a ledger: each writes an entry that stays.

Nothing is written unless everything that was typed can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.ledger_text import print_ledger
from copublish.cli.terminal import Format, FormatOption, note, parse_pairs
from copublish.errors import LedgerError, visible
from copublish.files.home import default_ledger, make_private_folder
from copublish.kernel.accounting.disclosures import NEIGHBORS, Neighbors
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.ledger.limits import DEFAULT_DELTA, UNBOUNDED, Limit

LIMITS, NUMBERS, LOCKS, PARTY, REASON = "DATASET=EPSILON", "DATASET=NUMBER", "DATASET=PARTY", "PARTY", "WHY"
NUMBER = "NUMBER"

MAX_DIGITS = 100
"""Before or after the point, of a number in a limit."""

UNLIMITED_TIMES, MAX_DIGITS_OF_TIMES = "unlimited", 9

NO_LIMIT = (
    "WARNING: data set '{dataset}' has NO LIMIT from now on. Releases that are not differentially private may be made "
    "of it; after one, nobody in it has a guarantee, and under a finite limit nothing can be released any more."
)

LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="The ledger, an SQLite file. Default: in your copublish folder.")
]


def register(commands: typer.Typer) -> None:
    """Add the commands."""
    commands.command("limit")(limit)
    commands.command("limit-alignments")(limit_alignments)
    commands.command("unlock")(unlock)
    commands.command("forget-receipts")(forget_receipts)
    commands.command("accept-edits")(accept_edits)
    commands.command("give-back")(give_back)


def limit(
    limits: Annotated[
        list[str],
        typer.Argument(
            metavar=f"{LIMITS}[,DELTA]...",
            help="The most that may ever be spent on a data set. A delta that is not given stays as it was, at first "
            "1e-9: too little for Gaussian noise. DATASET=unbounded: no limit.",
        ),
    ],
    neighbors: Annotated[
        str | None,
        typer.Option(help="The relation the limit is stated for: add-remove or replace. Default: as before."),
    ] = None,
    rho_share: Annotated[
        str | None,
        typer.Option(
            help="Which share of the limit's epsilon, 0 to 1, is an account in rho, where Gaussian noise adds up to "
            "less. What is left of epsilon is for all other releases; they can pay in rho as well, half of epsilon "
            "squared. Default: as before, at first 0: all epsilons and deltas add up. 1: for Gaussian noise alone."
        ),
    ] = None,
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Set the most that may ever be spent on a data set, and make the ledger if there is none.

    Afterwards the ledger is shown.

    Example: copublish ledger limit customers-2026=3

    Example: copublish ledger limit customers-2026=3,1e-5 --ledger bank.db

    Example: copublish ledger limit customers-2026=3,1e-5 --rho-share 0.5
    """
    if neighbors is not None and neighbors not in NEIGHBORS:
        raise typer.BadParameter(f"choose one of {', '.join(NEIGHBORS)}", param_hint="--neighbors")
    share = _read_share(rho_share)
    stated = {dataset: _read_limit(text) for dataset, text in parse_pairs(limits, LIMITS).items()}
    with _changed(ledger, output, may_be_new=True) as book:
        limits_after = {}
        for dataset, (epsilon, delta) in stated.items():
            is_whole = neighbors is not None and (epsilon is None or delta is not None)
            before = _limit_before(book, dataset, may_be_garbled=is_whole)
            limits_after[dataset] = _limit_after(before, epsilon, delta, neighbors, share)
        for dataset, limit_after in limits_after.items():
            if limit_after.epsilon is None:
                note(NO_LIMIT.format(dataset=dataset))
            book.set_limit(dataset, limit_after)


def limit_alignments(
    numbers: Annotated[
        list[str],
        typer.Argument(
            metavar=f"{NUMBERS}...",
            help="How often the people of a data set may ever be compared with other parties', by identifier. "
            "Unless you say so it is 5 times. DATASET=unlimited: any number.",
        ),
    ],
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Set how often the people of a data set may ever be compared with those of other parties.

    Afterwards the ledger is shown.

    Example: copublish ledger limit-alignments customers-2026=20
    """
    times = {dataset: _read_times(text) for dataset, text in parse_pairs(numbers, NUMBERS).items()}
    with _changed(ledger, output) as book:
        for dataset, most in times.items():
            book.limit_alignments(dataset, most)


def unlock(
    locks: Annotated[list[str], typer.Argument(metavar=f"{LOCKS}...", help="Parties for which a data set is locked.")],
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Go on with a party for which a data set was locked.

    A data set is locked for a party when something was put in that the agreement does not allow. Afterwards the ledger
    is shown.

    Example: copublish ledger unlock customers-2026=loans
    """
    parties = parse_pairs(locks, LOCKS)
    with _changed(ledger, output) as book:
        for dataset, party in parties.items():
            if party not in {lock.peer for lock in book.locked(dataset)}:
                raise typer.BadParameter(f"data set '{dataset}' is not locked for '{party}'", param_hint=LOCKS)
        for dataset, party in parties.items():
            book.unlock(dataset, party)


def forget_receipts(
    party: Annotated[str, typer.Argument(metavar=PARTY, help="The party that lost its ledger, or restored it.")],
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Go on with a party whose ledger lacks what it signed, because it was lost or restored.

    What it signed so far is not held against it any more. Afterwards the ledger is shown.

    Example: copublish ledger forget-receipts loans
    """
    with _changed(ledger, output) as book:
        if not book.forget_receipts(party):
            raise typer.BadParameter(f"nothing is held that '{party}' signed", param_hint=PARTY)


def accept_edits(
    why: Annotated[str, typer.Argument(metavar=REASON, help="The reason, for whoever reads the ledger later.")],
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Go on with a ledger that something else has edited, as it is. The reason is kept in the ledger.

    The edits are listed, and afterwards the ledger is shown. A ledger whose chain of entries is broken is not accepted.

    Example: copublish ledger accept-edits "restored the table of charges from the backup of May 3"
    """
    if not why.strip():
        raise typer.BadParameter("say why, for whoever reads the ledger later", param_hint=REASON)
    with _changed(ledger, output) as book:
        edits = book.edits()
        if not edits:
            raise typer.BadParameter("nothing was edited", param_hint=REASON)
        for edit in edits:
            note(visible(edit))
        book.accept_edits(why)


def give_back(
    number: Annotated[int, typer.Argument(metavar=NUMBER, help="The number of the charge, as the ledger shows it.")],
    ledger: LedgerOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Give back a charge under which nothing was opened: its run ended before the first disclosure was written.

    A disclosure is on disk here before any party opens one, so without one nobody has learned anything that the charge
    was for. The entry stays, with when it was given back. Afterwards the ledger is shown.

    Example: copublish ledger give-back 7
    """
    with _changed(ledger, output) as book:
        book.give_back(number)


@contextmanager
def _changed(file: Path | None, output: Format, *, may_be_new: bool = False) -> Iterator[Ledger]:
    """Open a ledger to change it; show it if nothing was wrong."""
    file = file or default_ledger()
    if not may_be_new and not file.exists():
        raise typer.BadParameter(f"there is no ledger '{file}'; 'copublish ledger limit DATASET=EPSILON' creates one")
    make_private_folder(file.parent)
    book = Ledger(file)
    try:
        yield book
        print_ledger(book, output)
    finally:
        book.close()


def _read_limit(text: str) -> tuple[Fraction | None, Fraction | None]:
    """Read EPSILON or EPSILON,DELTA; none for an epsilon without bound, and for a delta that is not said."""
    if text == UNBOUNDED:
        return None, None
    first, comma, second = text.partition(",")
    epsilon, delta = _number(first), _number(second)
    if epsilon is None or epsilon <= 0:
        raise typer.BadParameter(f"epsilon must be a number above 0, got '{first}'", param_hint=LIMITS)
    if comma and (delta is None or not 0 <= delta < 1):
        raise typer.BadParameter(
            f"delta, after the comma, must be from 0 to below 1, got '{second}'; write decimals with a point",
            param_hint=LIMITS,
        )
    return epsilon, delta


def _limit_before(book: Ledger, dataset: str, *, may_be_garbled: bool) -> Limit | None:
    """The limit as it was; nothing if it cannot be read any more, where a whole limit is stated anew."""
    try:
        return book.limit(dataset)
    except LedgerError:
        if may_be_garbled:
            return None
        raise


def _read_share(text: str | None) -> Fraction | None:
    """Read a share for rho; none if it is not said."""
    if text is None:
        return None
    share = _number(text)
    if share is None or not 0 <= share <= 1:
        raise typer.BadParameter(f"a share is a number from 0 to 1, got '{text}'", param_hint="--rho-share")
    return share


def _read_times(text: str) -> int | None:
    """Read how often; none for any number."""
    if text == UNLIMITED_TIMES:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS_OF_TIMES):
        raise typer.BadParameter(
            f"write how often, a whole number, or {UNLIMITED_TIMES}; got '{text}'", param_hint=NUMBERS
        )
    return int(text)


def _number(text: str) -> Fraction | None:
    """Read a decimal number exactly; nothing if it is none, or one that nobody means."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return Fraction(number) if number.is_finite() and abs(number.adjusted()) <= MAX_DIGITS else None


def _limit_after(
    before: Limit | None,
    epsilon: Fraction | None,
    delta: Fraction | None,
    neighbors: Neighbors | None,
    rho_share: Fraction | None,
) -> Limit:
    """The limit that is set: what is not said stays as it was."""
    kept = before or Limit(epsilon, "add-remove")
    if delta is None:  # what was unbounded had no delta to keep
        delta = DEFAULT_DELTA if kept.epsilon is None else kept.delta
    share = kept.rho_share if rho_share is None else rho_share
    if epsilon is None or share == 0:
        return Limit(epsilon, neighbors or kept.neighbors, delta)
    try:
        return Limit.with_rho(epsilon, neighbors or kept.neighbors, delta, share)
    except ValueError as exc:
        raise typer.BadParameter(f"{exc}", param_hint="--rho-share") from exc
