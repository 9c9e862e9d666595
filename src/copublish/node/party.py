"""A release between machines as one call, with its ledger and its log: what people and the command line use."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.errors import CopublishError, FragmentError, SourceError
from copublish.evidence.approvals import default_approvals_folder
from copublish.files.home import default_ledger, home_folder
from copublish.fragments.sources import Source
from copublish.local.processes import throwaway_ledger
from copublish.mechanisms.registry import plan_of
from copublish.node.identity import Passphrase, identity_folder, load_identity
from copublish.node.log import RunLog, log_file
from copublish.node.proxy import proxy_from
from copublish.node.rendezvous import Waiting
from copublish.node.run import ReadyParty, RunResult, RunSettings, ready_party, run_party
from copublish.node.signers import load_signer
from copublish.privacy.certify import warning_of
from copublish.privacy.ledger import Ledger, open_existing_ledger
from copublish.progress import Notice, Progress, no_notice, no_progress
from copublish.release.audit_file import default_audit_file
from copublish.release.describe import Description, describe_plan
from copublish.release.folder import Release
from copublish.release.workers import Workers


def run(
    agreement: Agreement | str | Path,
    *,
    party: str,
    out: str | Path,
    data: Source | None = None,
    ledger: str | Path | None = None,
    identity: str | Path | None = None,
    signer: str | Path | None = None,
    passphrase: Passphrase | None = None,
    signer_passphrase: Passphrase | None = None,
    pin: Passphrase | None = None,
    approvals: str | Path | None = None,
    insecure: bool = False,
    listen: tuple[str, int] | None = None,
    wait_seconds: int = 3600,
    timeout_seconds: int = 600,
    proxy: str | None = None,
    proxy_credentials: str | Path | None = None,
    workers: int = 1,
    workers_on: str = "here",
    overwrite: bool = False,
    consent: Callable[[Description], bool] = lambda described: True,
    progress: Progress = no_progress,
    waiting: Waiting = lambda what: None,
    notice: Notice = no_notice,
    log: str | Path | None = None,
) -> Release:
    """Run a release together with the other parties, each on its own machine, as one of them. SPENDS BUDGET.

    Args:
        agreement: The agreement, or the path of its file; the same at every party.
        party: Which party you are.
        out: Folder for the release.
        data: Your data: a CSV or Parquet file, a `DatabaseTable`, a pandas, Polars or Arrow table, or a DuckDB
            relation. None for a party that holds none by the agreement.
        ledger: File of your ledger; the one in your copublish folder unless given.
        identity: Folder with your key and certificate; made by `copublish identity new` unless given.
        signer: Folder of the identity that signs, if the agreement names another one for it.
        passphrase: Called with what has a passphrase or PIN, if it has one; returns it.
        signer_passphrase: Called for the passphrase of the key that signs in its place, if given.
        pin: Called for PINs in its place, if given.
        approvals: Folder with your people's approvals; beside the file of the agreement unless given. An audit beside
            that file goes into the certificate.
        insecure: No TLS and no certificates; for parties on loopback alone.
        listen: Address and port to listen at, if not the port of your host in the agreement.
        wait_seconds: How long the other parties may take to come.
        timeout_seconds: How long they may take to answer, and a link may be dead.
        proxy: The HTTP proxy through which others are reached, like `http://proxy.example:3128`, or `none`. That of
            the environment (`HTTPS_PROXY`, `NO_PROXY`) unless given.
        proxy_credentials: File with the proxy's `user:password`, readable by you alone.
        workers: How many of your engine processes count at the same time, if the agreement has shards. The party with
            the fewest decides; what is released does not depend on it.
        workers_on: Where all of them but one run: `here`, or on your own Ray cluster: `ray`, or `ray=ADDRESS`.
        overwrite: Whether a release that is in the folder may be replaced.
        consent: Told everything that will be opened and what it costs, before anybody is called. If it answers
            False, nothing is spent.
        progress: Called with a phase, how many of its steps are done, and how many there are.
        waiting: Called with what is being waited for.
        notice: Called with a sentence for every party, you included, that lists other people than before.
        log: File for the log; in your copublish folder unless given.

    Raises:
        CopublishError: If something is not right, or another party stopped. Nothing is published then; a run that has
            begun to spend stays spent.

    Privacy:
        Guarantee: that of the certificate.
        Reveals: to the other parties what the certificate lists, and if this party stops, the kind of reason.
    """
    file = None if isinstance(agreement, Agreement) else Path(agreement)
    if approvals is None and file is not None:
        approvals = default_approvals_folder(file)
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    if party not in agreement.parties:
        known = ", ".join(agreement.parties)
        raise CopublishError(f"There is no party '{party}' in the agreement. Its parties: {known}.")
    who = None
    if not insecure:
        who = load_identity(identity_folder(party) if identity is None else Path(identity), passphrase)
    signs = None
    if signer is not None and not insecure:
        signs = load_signer(Path(signer), passphrase=signer_passphrase or passphrase, pin=pin or passphrase)
    book, _ = ledger_of(agreement, party, ledger)
    try:
        settings = RunSettings(
            Path(out),
            overwrite=overwrite,
            listen=listen,
            wait_seconds=wait_seconds,
            timeout_seconds=timeout_seconds,
            proxy=proxy_from(proxy, None if proxy_credentials is None else Path(proxy_credentials)),
            approvals=None if approvals is None else Path(approvals),
            workers=Workers(workers, workers_on),
            audit=None if file is None else default_audit_file(file),
        )
        ready = ready_party(agreement, party, data, who, book, settings, signer=signs)
        if not consent(describe_plan(ready.plan)):
            raise CopublishError("Not agreed to. Nothing was spent and nobody was called.")
        run_log = RunLog(log_file(home_folder() / "logs", agreement.name, party) if log is None else Path(log))
        return run_logged(ready, run_log, progress=progress, waiting=waiting, notice=notice).release
    finally:
        book.close()


def ledger_of(agreement: Agreement, party: str, file: str | Path | None) -> tuple[Ledger, bool]:
    """The ledger that a party charges, and whether it pays.

    What is opened costs the people in somebody's data: a party without data needs no budget of its own.
    """
    pays = agreement.parties[party].data or file is not None
    if pays:
        return open_existing_ledger(default_ledger() if file is None else file, agreement.dataset), True
    return throwaway_ledger(plan_of(agreement)), False


def run_logged(
    ready: ReadyParty, run_log: RunLog, *, progress: Progress, waiting: Waiting, notice: Notice = no_notice
) -> RunResult:
    """Run one party's part and log how it went: phases and kinds of errors, never data."""
    agreement = ready.plan.agreement
    secure = ready.identity is not None
    run_log("start", release=agreement.name, party=ready.party, agreement=agreement.hash, secure=secure)
    if (warning := warning_of(agreement)) is not None:
        run_log("warning", text=warning)
    start, phases = time.monotonic(), set()

    def tell(phase: str, done: int, of: int) -> None:
        if phase not in phases:
            phases.add(phase)
            run_log("phase", phase=phase)  # how far it is could tell how many records there are
        progress(phase, done, of)

    try:
        result = run_party(ready, progress=tell, waiting=waiting, log=run_log, notice=notice)
    except CopublishError as exc:
        # Which column breaks which rule is for this party's own person, and a log gets passed around.
        about_data = isinstance(exc, FragmentError | SourceError)
        run_log("failed", kind=type(exc).__name__, **({} if about_data else {"message": str(exc)}))
        raise
    except BaseException as exc:
        run_log("failed", kind=type(exc).__name__)
        raise
    # Not how much was sent: that tells the number of records, and a log gets passed around.
    run_log("complete", seconds=round(time.monotonic() - start, 1))
    return result
