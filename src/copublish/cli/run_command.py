"""`copublish run`: a release between machines, as one of its parties."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.keys import (
    IdentityOption,
    PassphraseCommandOption,
    PassphraseFileOption,
    PinCommandOption,
    PinFileOption,
    Remembered,
    SignerOption,
    identity_of,
    passphrase_from,
    pin_from,
    signer_of,
)
from copublish.cli.stopping import telling_what_ledgers_have
from copublish.cli.terminal import (
    Format,
    FormatOption,
    TableOption,
    WorkersOnOption,
    WorkersOption,
    errors_console,
    note,
    print_json,
    progress_bars,
    refuse_unknown_party,
    results_console,
    warn_first,
)
from copublish.errors import CopublishError, LedgerError
from copublish.evidence.approvals import default_approvals_folder
from copublish.files.home import home_folder
from copublish.fragments.database import DatabaseTable
from copublish.fragments.sources import KINDS_OF_DATA, source_from
from copublish.mechanisms.base import Plan
from copublish.node.log import RunLog, log_file
from copublish.node.party import ledger_of, run_logged
from copublish.node.proxy import proxy_from
from copublish.node.run import ReadyParty, RunResult, RunSettings, ready_party
from copublish.privacy.accounting import Cost
from copublish.privacy.certify import warning_of
from copublish.privacy.described import show_exact
from copublish.privacy.ledger import Entry, Ledger, Limit
from copublish.privacy.prices import price_in_words, show_left, show_rho_left
from copublish.release.audit_file import default_audit_file
from copublish.release.describe import describe_plan
from copublish.release.workers import Workers
from copublish.running.run import start
from copublish.running.seen import Run

InsecureOption = Annotated[
    bool, typer.Option("--insecure", help="No TLS and no certificates; for parties on loopback alone.")
]
ListenOption = Annotated[
    str | None, typer.Option(help="ADDRESS:PORT to listen at, if not the port of your host in the agreement.")
]
ProxyOption = Annotated[
    str | None,
    typer.Option(help="HTTP proxy to the outside, like http://proxy.example:3128, or none. Default: HTTPS_PROXY."),
]
CredentialsOption = Annotated[
    Path | None,
    typer.Option("--proxy-credentials", help="File with the proxy's user:password, readable by you alone."),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    agreement: Annotated[Path, typer.Argument(help="The agreement, the same file at every party.")],
    party: Annotated[str, typer.Option(help="Which party of the agreement you are.")],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    data: Annotated[
        str | None, typer.Option(help=f"Your data: {KINDS_OF_DATA}. Not for a party that holds none.")
    ] = None,
    table: TableOption = None,
    ledger: Annotated[Path | None, typer.Option(help="Your ledger. Default: in your copublish folder.")] = None,
    identity: IdentityOption = None,
    signer: SignerOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    approvals: Annotated[
        Path | None,
        typer.Option(help="Folder with your people's approvals. Default: AGREEMENT.approvals, beside the agreement."),
    ] = None,
    listen: ListenOption = None,
    wait: Annotated[int, typer.Option(min=1, help="Seconds to wait for the other parties to come.")] = 3600,
    timeout: Annotated[int, typer.Option(min=5, help="Seconds to wait for an answer once they are there.")] = 600,
    proxy: ProxyOption = None,
    proxy_credentials: CredentialsOption = None,
    workers: WorkersOption = 1,
    workers_on: WorkersOnOption = "here",
    detach: Annotated[
        bool, typer.Option("--detach", help="Go on in a process of its own: 'copublish runs' shows and stops it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Spend without asking, for automation.")] = False,
    insecure: InsecureOption = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a release that is in the folder.")] = False,
    log: Annotated[Path | None, typer.Option(help="File for the log. Default: in your copublish folder.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the log while it is written.")] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Run a release together with the other parties, each on its own machine.

    Shows what will be opened and asks before anything is spent. Then waits for the other parties, compares agreements
    and versions with each over mutual TLS, and computes on secret shares: nobody sees another one's data. All end
    with the same release, byte for byte, signed by all; who is stopped has all of it or nothing. A run that has begun
    to spend stays spent, however it ends. If the agreement asks for approvals, yours are checked before anybody is
    called, and those of the others before anything is spent.

    Example: copublish run agreement.toml --party bank --data bank.parquet --out release/

    With --detach it goes on in a process of its own, also when you log out: 'copublish runs' shows how far it is.

    Example: copublish run agreement.toml --party loans --data postgresql://reader@db.example/lending --table loans
    --out release/
    """
    agreed = load_agreement(agreement)
    refuse_unknown_party(party, agreed.parties)
    source = _own_source(agreed, party, data, table)
    passphrase = Remembered(passphrase_from(passphrase_file, passphrase_command))
    who = None if insecure else identity_of(party, identity, passphrase)
    has_own_signer = signer is not None or agreed.parties[party].signer is not None
    signer_passphrase = Remembered(passphrase_from(passphrase_file, passphrase_command))
    pin = Remembered(pin_from(pin_file, pin_command))
    signs = (
        None
        if insecure or not has_own_signer
        else signer_of(agreed, party, identity, signer, passphrase=signer_passphrase, pin=pin)
    )
    book, pays = ledger_of(agreed, party, ledger)
    ready = ready_party(
        agreed,
        party,
        source,
        who,
        book,
        RunSettings(
            out,
            overwrite=force,
            listen=None if listen is None else address_from(listen),
            wait_seconds=wait,
            timeout_seconds=timeout,
            proxy=proxy_from(proxy, proxy_credentials),
            approvals=approvals or default_approvals_folder(agreement),
            audit=default_audit_file(agreement),
            workers=Workers(workers, workers_on),
        ),
        signer=signs,
    )
    _show_approvals(ready)
    shown = book.head() if pays else None
    _ask_consent(ready.plan, book, yes=yes, pays=pays)
    if detach:
        book.close()
        begun = start(
            agreement,
            party=party,
            out=out,
            data=source,
            ledger=ledger,
            identity=identity,
            signer=signer,
            passphrase=passphrase.said,
            signer_passphrase=signer_passphrase.said,
            pin=pin.said,
            approvals=approvals,
            insecure=insecure,
            listen=None if listen is None else address_from(listen),
            wait_seconds=wait,
            timeout_seconds=timeout,
            proxy=proxy,
            proxy_credentials=proxy_credentials,
            workers=workers,
            workers_on=workers_on,
            overwrite=force,
            agreement_hash=agreed.hash,
            ledger_state=shown,
        )
        _print_begun(begun, output)
        return
    run_log = RunLog(log or log_file(home_folder() / "logs", agreed.name, party), tell=note if verbose else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the other parties are told and folders go
    began = time.monotonic()

    def charges() -> dict[str, list[Entry]]:
        return {"Your ledger": book.entries()} if pays else {}

    try:
        with progress_bars() as progress, telling_what_ledgers_have(charges):
            result = run_logged(
                ready, run_log, progress=progress, waiting=lambda what: note(f"Waiting for {what}"), notice=note
            )
    except CopublishError:
        note(f"Log: {run_log.path}")
        raise
    holds_data = agreed.parties[party].data
    _print_result(result, agreed, book, out, time.monotonic() - began, run_log.path, output, holds_data=holds_data)


def _print_begun(begun: Run, output: Format) -> None:
    if output is Format.JSON:
        print_json({"run": begun.id, "state": begun.state})
        return
    results_console().print(
        f"Started run {begun.id[:8]} in a process of its own. See: copublish runs {begun.id[:8]} --follow",
        soft_wrap=True,
    )


def _show_approvals(ready: ReadyParty) -> None:
    """Say who of this party has approved, before anybody is asked or called; and that nobody signs, if so."""
    if ready.witness is None:
        note("Without identities nobody signs: the release will have no signatures and the ledger no receipts.")
        return
    for approval in ready.witness.approvals:
        note(f"Approved by {approval.words}")


def _own_source(agreement: Agreement, party: str, data: str | None, table: str | None) -> Path | DatabaseTable | None:
    """Where a party's data are; no row is read."""
    if not agreement.parties[party].data:
        if data is not None or table is not None:
            raise typer.BadParameter(
                f"by the agreement '{party}' holds no data (data = false), so none are read. Leave it out",
                param_hint="--data",
            )
        return None
    if data is None:
        raise typer.BadParameter(f"by the agreement '{party}' holds data. Say where they are", param_hint="--data")
    return source_from(data, table)


def _ask_consent(plan: Plan[Any], ledger: Ledger, *, yes: bool, pays: bool = True) -> None:
    """Show what would be opened and what it costs, and ask; nothing has been spent or sent so far."""
    agreement, cost = plan.agreement, plan.cost()
    limit = ledger.limit(agreement.dataset)
    if limit is None:
        raise LedgerError(f"The ledger has no usable limit for data set '{agreement.dataset}'. Nothing was measured.")
    warn_first(warning_of(agreement), errors_console)
    if not yes:
        errors_console.print(describe_plan(plan))
        note("")
        for name, party in agreement.parties.items():
            where = "dials out" if party.dials_out else f"is at {party.host}"
            note(f"{name} {where}, known by {party.certificate or party.authority or 'nothing'}.")
    earlier = [entry for entry in ledger.entries() if entry.agreement_hash == agreement.hash]
    if earlier:
        note(
            f"\nThis agreement was charged to this ledger before, last on {earlier[-1].reserved_at[:10]} "
            f"({earlier[-1].state}). Running it again is a new charge."
        )
    spent = ledger.spent_by_account(agreement.dataset)
    price = price_in_words(agreement, limit, cost, spent) if pays else _price_of_others(cost, limit)
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


def address_from(listen: str) -> tuple[str, int]:
    """Address and port of the option `--listen`."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise typer.BadParameter("write ADDRESS:PORT, like 0.0.0.0:7700", param_hint="--listen")
    return host.strip("[]"), int(port)


def _print_result(
    result: RunResult,
    agreement: Agreement,
    ledger: Ledger,
    out: Path,
    seconds: float,
    log: Path,
    output: Format,
    *,
    holds_data: bool,
) -> None:
    release = result.release
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
                "epsilon": release.certificate.epsilon.to_json(),
                "budget_left": left,
                "delta_left": delta_left,
                **({} if rho_left is None else {"rho_left": rho_left}),
                "seconds": round(seconds, 1),
                "mib_sent": round(result.bytes_sent / 2**20, 1),
                "mib_received": round(result.bytes_received / 2**20, 1),
                "log": str(log),
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
