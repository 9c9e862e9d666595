"""`copublish run`: a release between machines, as one of its parties."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group

from copublish.cli.describe_command import predicted_run, run_words
from copublish.cli.failures import telling_what_ledgers_have
from copublish.cli.keys import (
    PassphraseCommandOption,
    PassphraseFileOption,
    PinCommandOption,
    PinFileOption,
    Remembered,
    passphrase_from,
    pin_from,
)
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import (
    Format,
    FormatOption,
    TableOption,
    errors_console,
    note,
    note_before_consent,
    print_json,
    progress_bars,
    results_console,
    warn_first,
)
from copublish.errors import TERMINATED, CopublishError, LedgerError
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.certificate.build import warning_of
from copublish.kernel.ledger.budget import price_in_words, show_left, show_rho_left
from copublish.kernel.ledger.ledger import Entry, Ledger, Limit
from copublish.mechanisms.base import Plan
from copublish.party.detached.runs import start_resolved
from copublish.party.detached.status import Run
from copublish.party.log import TellingHandler, log_to
from copublish.party.options import options_of
from copublish.party.publishing import map_file
from copublish.party.request import ResolvedRun, RunRequest
from copublish.party.run import Secrets, log_place, opened, run_logged
from copublish.party.session import ReadyParty, RunResult
from copublish.release.describe import describe, describe_plan
from copublish.rows.database import DatabaseTable
from copublish.rows.overview import Overview
from copublish.rows.sources import KINDS_OF_DATA, source_from


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


@with_options(*options_of(RunRequest))
def run(
    agreement: Annotated[Path, typer.Argument(help="The agreement, the same file at every party.")],
    *,
    data: Annotated[
        str | None, typer.Option(help=f"Your data: {KINDS_OF_DATA}. Not for a party that holds none.")
    ] = None,
    table: TableOption = None,
    given: Mapping[str, Any],
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Go on in a process of its own: 'copublish runs' shows and stops it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking, for automation.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log while it is written.")] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Run a release together with the other parties, each on its own machine.

    Shows what the agreement's rules do to your data and what will be opened, and asks before anything is spent. Data of
    which rules change or leave out more than a tenth are refused without --accept. Then waits for the other parties,
    compares agreements and versions with each over mutual TLS, and computes on secret shares: nobody sees another one's
    data. All end with the same release, byte for byte, signed by all; who is stopped has all of it or nothing. A run
    that has begun to spend stays spent, however it ends. If the agreement asks for approvals, yours are checked before
    anybody is called, and those of the others before anything is spent.

    Who you are, and what is the same every time, is taken from your identity and from the file party.toml beside your
    keys, which 'copublish identity new' drafts. An option here overrides it.

    Example: copublish run agreement.toml --data bank.parquet

    With --detach it goes on in a process of its own, also when you log out: 'copublish runs' shows how far it is.

    Example: copublish run agreement.toml --party loans --data postgresql://reader@db.example/lending --table loans
    --out release/
    """
    # From the first moment on by an exception, so that it is said what was charged, others are told and folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    asked = resolved(agreement, given, data=_source(data, table))
    _refuse_unfit_data(asked, data, table)
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    secrets = Remembered(passphrase), Remembered(passphrase), Remembered(pin_from(pin_file, pin_command))
    show = partial(_show_data, yes=yes, accepted=asked.request.accept)
    with opened(asked, Secrets(*secrets), look=show) as ready:
        _show_approvals(ready)
        pays = asked.ledger is not None
        shown = ready.ledger.head() if pays else None
        _ask_consent(ready.plan, ready.ledger, party=asked.party, file=agreement, yes=yes, pays=pays)
        if not detach:
            _run_here(asked, ready, output, verbose=verbose)
            return
    kinds = ("passphrase", "signer_passphrase", "pin")
    answers = {kind: secret.said for kind, secret in zip(kinds, secrets, strict=True)}
    begun = start_resolved(asked, answers, agreement_hash=asked.agreement.hash, ledger_state=shown)
    _print_begun(begun, output)


def _run_here(asked: ResolvedRun, ready: ReadyParty, output: Format, *, verbose: bool) -> None:
    """Run in this process, with bars and Ctrl-C."""
    place = log_place(asked)
    handlers = [log_to(place), *([TellingHandler(note)] if verbose else [])]
    began = time.monotonic()

    def charges() -> dict[str, list[Entry]]:
        return {} if asked.ledger is None else {"Your ledger": ready.ledger.entries()}

    try:
        with progress_bars() as progress, telling_what_ledgers_have(charges):
            result = run_logged(
                ready, *handlers, progress=progress, waiting=lambda what: note(f"Waiting for {what}"), notice=note
            )
    except CopublishError:
        note(f"Log: {place}")
        raise
    _print_result(result, asked, ready.ledger, time.monotonic() - began, place, output)


def _print_begun(begun: Run, output: Format) -> None:
    if output is Format.JSON:
        print_json({"run": begun.id, "state": begun.state})
        return
    results_console().print(
        f"Started run {begun.id[:8]} in a process of its own. See: copublish runs {begun.id[:8]} --follow",
        soft_wrap=True,
    )


def _show_data(overview: Overview, *, yes: bool, accepted: bool) -> None:
    """Say what the rules do to this party's rows, before it is asked. What nobody is there to read lands in logs."""
    if yes:
        return
    note("What the agreement's rules do to your data, shown to you alone:")
    for line in (*overview.lines, *(f"Accepted: {doubt}" for doubt in overview.doubts if accepted)):
        note(f"  - {line}")
    note("Declining because of it would tell the others as much: 'copublish check' shows it before you agree.\n")


def _show_approvals(ready: ReadyParty) -> None:
    """Say who of this party has approved, before anybody is asked or called; and that nobody signs, if so."""
    if ready.witness is None:
        note("Without identities nobody signs: the release will have no signatures and the ledger no receipts.")
        return
    for approval in ready.witness.approvals:
        note(f"Approved by {approval.words}")


def _source(data: str | None, table: str | None) -> Path | DatabaseTable | None:
    """The data that were named; no row is read."""
    if data is None and table is not None:
        raise typer.BadParameter("name the database of the table with --data", param_hint="--table")
    return None if data is None else source_from(data, table)


def _refuse_unfit_data(asked: ResolvedRun, data: str | None, table: str | None) -> None:
    """Raise if a party names data and holds none by the agreement, or the other way round."""
    holds_data = asked.agreement.parties[asked.party].data
    if holds_data and data is None:
        said = f"by the agreement '{asked.party}' holds data. Say where they are"
        raise typer.BadParameter(said, param_hint="--data")
    if not holds_data and data is not None:
        said = f"by the agreement '{asked.party}' holds no data (data = false), so none are read. Leave it out"
        raise typer.BadParameter(said, param_hint="--data")


def _ask_consent(plan: Plan[Any], ledger: Ledger, *, party: str, file: Path, yes: bool, pays: bool = True) -> None:
    """Show what would be opened and what it costs, and ask; nothing has been spent or sent so far.

    What others would learn stands right beside the question, and is said without one, too.
    """
    agreement, cost = plan.agreement, plan.cost()
    limit = ledger.limit(agreement.dataset)
    if limit is None:
        raise LedgerError(f"The ledger has no usable limit for data set '{agreement.dataset}'. Nothing was measured.")
    warn_first(warning_of(agreement), errors_console)
    described = describe_plan(plan, party)
    if not yes:
        errors_console.print(Group(*described.other_parts()))
        note("")
        for name, other in agreement.parties.items():
            where = "dials out" if other.dials_out else f"is at {other.host}"
            note(f"{name} {where}, known by {other.certificate or other.authority or 'nothing'}.")
        if (run := predicted_run(agreement)) is not None:
            note(run_words(run))
    earlier = [entry for entry in ledger.entries() if entry.agreement_hash == agreement.hash]
    if earlier:
        note(
            f"\nThis agreement was charged to this ledger before, last on {earlier[-1].reserved_at[:10]} "
            f"({earlier[-1].state}). Running it again is a new charge."
        )
    spent = ledger.spent_by_account(agreement.dataset)
    total = sum(costs_of_run(agreement, cost), NOTHING)
    price = price_in_words(agreement, limit, cost, spent) if pays else _price_of_others(total, limit)
    note_before_consent(described.before_consent.lines, file)
    if yes:
        note(f"Spending {price}.")
    elif not (sys.stdin.isatty() and errors_console.is_terminal):
        raise CopublishError("Nobody is there to be asked. Add --yes to spend without asking. Nothing was spent.")
    elif not typer.confirm(f"\nSpend {price}?", err=True):
        raise CopublishError("Not confirmed. Nothing was spent and nobody was contacted.")


def _price_of_others(cost: Cost, limit: Limit) -> str:
    """Price of a release in the budgets of others, for a party that has none of its own."""
    wanted = cost.under(limit.neighbors)
    said = "" if wanted is None else f"epsilon {show_exact(wanted)} ({limit.neighbors}) "
    return f"{said}of the budgets of those who hold data, and none of yours"


def _print_result(
    result: RunResult, asked: ResolvedRun, ledger: Ledger, seconds: float, log: Path, output: Format
) -> None:
    agreement, here = asked.agreement, Path.cwd()
    out = asked.out.relative_to(here) if asked.out.is_relative_to(here) else asked.out
    holds_data = agreement.parties[asked.party].data
    release = result.release
    record_map = None if asked.ledger is None else map_file(asked.ledger, release, asked.party)
    kept = record_map is not None and record_map.is_file()
    left, delta_left, rho_left = None, None, None
    with suppress(LedgerError):  # the release is published: a ledger that somebody holds now must not hide that
        limit = ledger.limit(agreement.dataset)
        if limit is not None:
            spent = ledger.spent_by_account(agreement.dataset)
            left, delta_left = show_left(limit, spent)
            rho_left = show_rho_left(limit, spent)
    if output is Format.JSON:
        print_json(
            {
                **release.warning,
                "folder": str(out),
                **release.sizes,
                "before_consent": describe(agreement, party=asked.party).before_consent.to_dict(),
                "epsilon": release.certificate.epsilon.to_json(),
                "budget_left": left,
                "delta_left": delta_left,
                **({} if rho_left is None else {"rho_left": rho_left}),
                "seconds": round(seconds, 1),
                "mib_sent": round(result.bytes_sent / 2**20, 1),
                "mib_received": round(result.bytes_received / 2**20, 1),
                "log": str(log),
                **({"record_map": str(record_map)} if kept else {}),
            }
        )
        return
    warn_first(release.certificate.warning, results_console())
    in_rho = "" if rho_left is None else f", rho {rho_left}"
    budget = f"Epsilon {left or 'unknown'}{in_rho} and delta {delta_left or 'unknown'} are left"
    budget = "It is unbounded in the ledger" if release.warning else budget
    budget = budget if holds_data else "The owners of the data paid for it"
    results_console().print(
        f"Released {release.size_words} to {out}, "
        f"in {seconds:.0f} s with {result.bytes_sent / 2**20:.1f} MiB sent. {budget}. "
        f"See: copublish show {out}",
        markup=False,
        soft_wrap=True,
    )
    if kept:
        note(
            f"Which record is which of your rows is in {record_map}. It is for you alone: keep it where the ledger is."
        )
