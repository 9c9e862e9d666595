"""A release between machines as one call, with its ledger and its log: what people and the command line use."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from copublish.agreement.model import Agreement
from copublish.errors import CopublishError, FragmentError, SourceError
from copublish.files.home import home_folder
from copublish.kernel.certificate.build import warning_of
from copublish.kernel.ledger.ledger import open_existing_ledger
from copublish.mechanisms.registry import plan_of
from copublish.party.keys.identity import Passphrase, load_identity
from copublish.party.keys.signing_key import load_signer
from copublish.party.local.processes import throwaway_ledger
from copublish.party.log import EventLog, log_file, log_to
from copublish.party.network.rendezvous import Waiting
from copublish.party.request import ResolvedRun, RunOptions, RunRequest
from copublish.party.session import Look, ReadyParty, RunResult, ready_party, run_party
from copublish.progress import Notice, Progress, no_notice, no_progress
from copublish.release.describe import Description, describe_plan
from copublish.release.folder import Release
from copublish.rows.sources import Source

LOGGER = "copublish.run"


@dataclass(frozen=True)
class Secrets:
    """Callables for what opens a party's keys; each is called only if something asks for it.

    Attributes:
        passphrase: For the passphrase of the key for the network.
        signer_passphrase: For the passphrase of the key that signs; `passphrase` unless given.
        pin: For the PIN of a token; `passphrase` unless given.
    """

    passphrase: Passphrase | None = None
    signer_passphrase: Passphrase | None = None
    pin: Passphrase | None = None


def run(
    agreement: Agreement | str | Path,
    *,
    data: Source | None = None,
    passphrase: Passphrase | None = None,
    signer_passphrase: Passphrase | None = None,
    pin: Passphrase | None = None,
    consent: Callable[[Description], bool] = lambda described: True,
    progress: Progress = no_progress,
    waiting: Waiting = lambda what: None,
    notice: Notice = no_notice,
    **options: Unpack[RunOptions],
) -> Release:
    """Run a release together with the other parties, each on its own machine, as one of them. SPENDS BUDGET.

    Args:
        agreement: The agreement, or the path of its file; the same at every party.
        data: Your data: a CSV or Parquet file, a `DatabaseTable`, a pandas, Polars or Arrow table, or a DuckDB
            relation. None for a party that holds none by the agreement.
        passphrase: Called with what has a passphrase or PIN, if it has one; returns it.
        signer_passphrase: Called for the passphrase of the key that signs in its place, if given.
        pin: Called for PINs in its place, if given.
        consent: Told everything that will be opened and what it costs, before anybody is called. If it answers
            False, nothing is spent.
        progress: Called with a phase, how many of its steps are done, and how many there are.
        waiting: Called with what is being waited for.
        notice: Called with a sentence for every party, you included, that lists other people than before, and
            if far fewer records are common than the agreement expects.
        options: The options of `copublish run` by their keywords, like `party`, `out`, `ledger`, `identity` and
            `wait_seconds`. The reference, "Options of a run", lists them all. What is not given is taken from
            party.toml beside your keys.

    Raises:
        FragmentError: If the data do not fit the agreement, or are hardly those that were agreed (`check` says when)
            and `accept` is not given.
        CopublishError: If something is not right, or another party stopped. Nothing is published then; a run that has
            begun to spend stays spent.

    Privacy:
        Guarantee: that of the certificate.
        Reveals: to the other parties what the certificate lists, and if this party stops, the kind of reason.
    """
    return run_resolved(
        RunRequest.of(agreement, options, data).resolve(),
        Secrets(passphrase, signer_passphrase, pin),
        consent=consent,
        progress=progress,
        waiting=waiting,
        notice=notice,
    )


def run_resolved(
    run: ResolvedRun,
    secrets: Secrets,
    *handlers: logging.Handler,
    consent: Callable[[Description], bool],
    progress: Progress,
    waiting: Waiting,
    notice: Notice,
) -> Release:
    """Run one party's part, if its person consents to what it would open.

    Args:
        run: What was asked for.
        secrets: What opens the party's keys.
        handlers: Handlers of its log. Unless there are some, it goes where `run` says, or to a file at home.
        consent: As for `copublish.run`.
        progress: Likewise.
        waiting: Likewise.
        notice: Likewise.
    """
    with opened(run, secrets) as ready:
        if not consent(describe_plan(ready.plan, ready.party)):
            raise CopublishError("Not agreed to. Nothing was spent and nobody was called.")
        if not handlers or run.request.log is not None:
            handlers = (*handlers, log_to(log_place(run)))
        return run_logged(ready, *handlers, progress=progress, waiting=waiting, notice=notice).release


@contextmanager
def opened(run: ResolvedRun, secrets: Secrets, *, look: Look = lambda overview: None) -> Iterator[ReadyParty]:
    """One party's part with keys and ledger opened, checked and read; the ledger is closed at the end.

    A party without data charges a ledger in memory: what is opened costs the people in somebody's data.

    Args:
        run: What was asked for.
        secrets: What opens the party's keys.
        look: Shown what the rules did to the party's rows: for a person of this party.

    Raises:
        CopublishError: If the run cannot begin; nothing was spent and nobody was called.
    """
    passphrase = secrets.passphrase
    identity = None if run.identity is None else load_identity(run.identity, passphrase)
    signer = None
    if run.signer is not None:
        signer = load_signer(
            run.signer, passphrase=secrets.signer_passphrase or passphrase, pin=secrets.pin or passphrase
        )
    ledger = (
        throwaway_ledger(plan_of(run.agreement))
        if run.ledger is None
        else open_existing_ledger(run.ledger, run.agreement.dataset)
    )
    try:
        yield ready_party(
            run.agreement, run.party, run.source, identity, ledger, run.settings(), signer=signer, look=look
        )
    finally:
        ledger.close()


def log_place(run: ResolvedRun) -> Path:
    """The place of the log of a run that starts now."""
    return run.request.log or log_file(home_folder() / "logs", run.agreement.name, run.party)


def run_logged(
    ready: ReadyParty,
    *handlers: logging.Handler,
    progress: Progress,
    waiting: Waiting,
    notice: Notice = no_notice,
) -> RunResult:
    """Run one party's part and log how it went: phases and kinds of errors, never data."""
    agreement, log = ready.plan.agreement, EventLog(LOGGER, *handlers)
    secure = ready.identity is not None
    log("start", release=agreement.name, party=ready.party, agreement=agreement.hash, secure=secure)
    if (warning := warning_of(agreement)) is not None:
        log("warning", text=warning)
    start, phases = time.monotonic(), set()

    def tell(phase: str, done: int, of: int) -> None:
        if phase not in phases:
            phases.add(phase)
            log("phase", phase=phase)  # how far it is could tell how many records there are
        progress(phase, done, of)

    try:
        result = run_party(ready, progress=tell, waiting=waiting, log=log, notice=notice)
    except CopublishError as exc:
        # Which column breaks which rule is for this party's own person, and a log gets passed around.
        about_data = isinstance(exc, FragmentError | SourceError)
        log("failed", kind=type(exc).__name__, **({} if about_data else {"message": str(exc)}))
        raise
    except BaseException as exc:
        log("failed", kind=type(exc).__name__)
        raise
    else:
        # Not how much was sent: that tells the number of records, and a log gets passed around.
        log("complete", seconds=round(time.monotonic() - start, 1))
        return result
    finally:
        log.close()
