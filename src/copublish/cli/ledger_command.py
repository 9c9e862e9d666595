"""`copublish ledger`: what was spent and compared, the limits, and who is locked out."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from copublish.cli.ledger_text import print_ledger
from copublish.cli.ledger_verify import verify
from copublish.cli.terminal import Format, FormatOption, note, parse_pairs
from copublish.errors import LedgerError, visible
from copublish.files.home import default_ledger, make_private_folder
from copublish.kernel.accounting.disclosures import NEIGHBORS, Neighbors
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.ledger.limits import DEFAULT_DELTA, UNBOUNDED, Limit

MAX_DIGITS = 100
"""Before or after the point, of a number in a limit."""

UNLIMITED_TIMES, MAX_DIGITS_OF_TIMES = "unlimited", 9

NO_LIMIT = (
    "WARNING: data set '{dataset}' has NO LIMIT from now on. Releases that are not differentially private may be made "
    "of it; after one, nobody in it has a guarantee, and under a finite limit nothing can be released any more."
)


class LedgerCommands(TyperGroup):
    """`copublish ledger` with a file or options shows and sets; only what is the name of a command is one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer has its own kind of context
        """Take what is no command for arguments of the one that shows."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else [SHOW, *args])


SHOW = "show"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(cls=LedgerCommands, help="Show what was spent; set limits; check that nobody edited it.")
    commands.command(SHOW)(ledger)
    commands.command("verify")(verify)
    app.add_typer(commands, name="ledger")


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
            help="The relation the limit is stated for: add-remove or replace. Default: as before.",
        ),
    ] = None,
    rho_share: Annotated[
        str | None,
        typer.Option(
            help="Which share of the limit's epsilon, 0 to 1, is an account in rho, where Gaussian noise adds up to "
            "less. What is left of epsilon is for all other releases; they can pay in rho as well, half of epsilon "
            "squared. Default: as before, at first 0: all epsilons and deltas add up. 1: for Gaussian noise alone."
        ),
    ] = None,
    alignments: Annotated[
        list[str] | None,
        typer.Option(
            help="DATASET=NUMBER: how often its people may ever be compared with other parties', by identifier. "
            "DATASET=unlimited: any number, which is the default."
        ),
    ] = None,
    unlock: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=PARTY: go on with a party for which the data set was locked."),
    ] = None,
    forget_receipts: Annotated[
        list[str] | None,
        typer.Option(
            help="PARTY: go on with a party whose ledger lacks what it signed, because it was lost or restored. What "
            "it signed so far is not held against it any more.",
            metavar="PARTY",
        ),
    ] = None,
    accept_edits: Annotated[
        str | None,
        typer.Option(
            help="WHY: go on with a ledger that something else has edited, as it is. The reason is kept.", metavar="WHY"
        ),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show what was spent on which data set, in which release; with --limit, set the most that may be.

    A charge is never given back: a release that was reserved and failed stays spent. Also shown: when identifiers were
    compared, with whom, and who listed other people than before; and parties that are locked out because something
    was put in that the agreement does not allow.

    'copublish ledger verify' checks that nobody edited the ledger or brought back an old copy. A file that is called
    like a command is written ./verify.

    Example: copublish ledger --limit customers-2026=3

    Example: copublish ledger --limit customers-2026=3,1e-5

    Example: copublish ledger --limit customers-2026=3,1e-5 --rho-share 0.5

    Example: copublish ledger --alignments customers-2026=20

    Example: copublish ledger --unlock customers-2026=loans

    Example: copublish ledger --forget-receipts loans
    """
    file = file or default_ledger()
    if neighbors is not None and neighbors not in NEIGHBORS:
        raise typer.BadParameter(f"choose one of {', '.join(NEIGHBORS)}", param_hint="--neighbors")
    share = _read_share(rho_share)
    limits = {name: _read_limit(text) for name, text in parse_pairs(limit or [], "--limit").items()}
    times = {name: _read_times(text) for name, text in parse_pairs(alignments or [], "--alignments").items()}
    unlocked = parse_pairs(unlock or [], "--unlock")
    if accept_edits is not None and not accept_edits.strip():
        raise typer.BadParameter("say why, for whoever reads the ledger later", param_hint="--accept-edits")
    if not file.exists() and not limits:
        raise typer.BadParameter(f"there is no ledger '{file}'; --limit DATASET=EPSILON creates one")
    make_private_folder(file.parent)
    book = Ledger(file)
    for dataset, party in unlocked.items():
        if not book.unlock(dataset, party):
            raise typer.BadParameter(f"data set '{dataset}' is not locked for '{party}'", param_hint="--unlock")
    for party in forget_receipts or []:
        if not book.forget_receipts(party):
            raise typer.BadParameter(f"nothing is held that '{party}' signed", param_hint="--forget-receipts")
    if accept_edits is not None:
        _accept_edits(book, accept_edits)
    for dataset, (epsilon, delta) in limits.items():
        if epsilon is None:
            note(NO_LIMIT.format(dataset=dataset))
        is_whole = neighbors is not None and (epsilon is None or delta is not None)
        before = _limit_before(book, dataset, may_be_garbled=is_whole)
        book.set_limit(dataset, _limit_after(before, epsilon, delta, neighbors, share))
    for dataset, most in times.items():
        book.limit_alignments(dataset, most)
    print_ledger(book, output)
    book.close()


def _accept_edits(book: Ledger, why: str) -> None:
    """Go on with edited tables, if the chain itself is whole; what it cannot tell any more is not accepted."""
    edits = book.edits()
    if not edits:
        raise typer.BadParameter("nothing was edited", param_hint="--accept-edits")
    for edit in edits:
        note(visible(edit))
    book.accept_edits(why)


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
            f"write how often, a whole number, or {UNLIMITED_TIMES}; got '{text}'", param_hint="--alignments"
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
