"""One release at one party, between machines: checks before anybody is called, the port, and the release folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.engines.choice import engine_for, loading_seconds, loading_worker, refuse_missing_engine
from copublish.engines.spu.parallel_sessions import refuse_too_little_memory, refuse_unfit_workers, sessions_of
from copublish.engines.spu.process import LoadingWorker
from copublish.engines.spu.requests import EngineRecorder
from copublish.errors import (
    ApprovalError,
    BehindLedgerError,
    CopublishError,
    DoubtfulDataError,
    EngineError,
    FragmentError,
    GeneratorError,
    InvalidInputsError,
    LedgerError,
    LostAtTheLastStepError,
    MeetingError,
    OwnEngineError,
    PartyLostError,
    ReleaseError,
    SilenceError,
    SourceError,
)
from copublish.files.interrupts import forbid_core_dumps
from copublish.files.scratch import folder_for_sockets
from copublish.kernel.certificate.certificate import AuditStatement
from copublish.kernel.checks import peers_of, refuse_by_ledger
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.base import Plan
from copublish.party.audit_file import read_audit
from copublish.party.early_ends import refuse_after_early_end
from copublish.party.evidence_exchange import SigningContext, signer_problem
from copublish.party.keys.identity import Identity
from copublish.party.network.dialing import refuse_unfit_hosts
from copublish.party.network.meeting import Meeting, who_is_silent
from copublish.party.network.messenger import PortMessenger
from copublish.party.network.port import Log, Port
from copublish.party.network.rendezvous import Waiting
from copublish.party.own_ledger import refuse_wrong_receipts
from copublish.party.publishing import kept_beside, publish_release
from copublish.party.publishing_notes import noted
from copublish.party.request import RunSettings
from copublish.progress import Notice, Progress, no_notice
from copublish.release.evidence.approvals import own_approvals, refuse_too_few
from copublish.release.evidence.signing import Signer
from copublish.release.folder import Release, refuse_unwritable
from copublish.release.prepare import facts_of, prepare
from copublish.rows.overview import Overview
from copublish.rows.reading import check_columns
from copublish.rows.rows_or_counts import look_at_rows_or_counts
from copublish.rows.sources import Source


def preflight(
    agreement: Agreement, party: str, source: Source | None, ledger: Ledger, *, out: Path, overwrite: bool
) -> Plan[Any]:
    """Check one party's part of a run between machines, before anybody is asked or called. No row is read.

    Raises:
        CopublishError: If the agreement cannot run, columns are not as agreed, the ledger refuses, or the release
            could not be written.
    """
    plan = prepare(agreement)
    refuse_missing_engine(agreement, party)
    refuse_unwritable(out, overwrite=overwrite)
    check_columns(agreement, party, source)
    refuse_by_ledger(plan, party, ledger)
    refuse_wrong_receipts(ledger)
    return plan


Look = Callable[[Overview], None]
"""Shows the owner of rows what rules did to them. It says nothing to anybody else, and writes nothing down."""

SEE_IT_TOO_SECONDS = 2.0
"""How long a party that has seen a check of inputs fail stays, so that every other one sees it for itself: whoever is
told by somebody else locks nobody out."""


@dataclass(frozen=True)
class RunResult:
    """A release, and what it took."""

    release: Release
    bytes_sent: int
    bytes_received: int


@dataclass(frozen=True, kw_only=True)
class ReadyParty:
    """One party's part in a run, after everything was checked that can be checked alone. Nobody was called so far.

    Attributes:
        plan: What will be opened, at which price.
        party: Which party this is.
        fragment: Its rows, or counts of them, read and encoded completely: what is in them can change nothing that
            others see of the course of the run.
        identity: Its key and certificate; none for plain connections on loopback.
        ledger: Its ledger.
        settings: How it runs.
        witness: Who signs for it, with the approvals of its people; none for plain connections on loopback.
        audit: What its audit of the agreement found, if it has one.
        worker: The process of its engine, if it computes: it was loading while the rows were read, and ends with this
            object if it is not used.
    """

    plan: Plan[Any]
    party: str
    fragment: Fragment
    identity: Identity | None
    ledger: Ledger
    settings: RunSettings
    witness: SigningContext | None = None
    audit: AuditStatement | None = None
    worker: LoadingWorker | None = None


def ready_party(
    agreement: Agreement,
    party: str,
    source: Source | None,
    identity: Identity | None,
    ledger: Ledger,
    settings: RunSettings,
    *,
    signer: Signer | None = None,
    look: Look = lambda overview: None,
) -> ReadyParty:
    """Check one party's part in a run: agreement, network, columns, ledger, approvals and folder; then read its rows.

    Args:
        agreement: The agreement.
        party: Which party this is.
        source: Where its rows are.
        identity: Its key and certificate for the network.
        ledger: Its ledger.
        settings: How it runs.
        signer: Its key for signatures, if the agreement names another one for them.
        look: Shown what the rules did to its rows, as a person of this party may see it.

    Raises:
        DoubtfulDataError: If the data are hardly those that were agreed, and the settings do not accept them.
        CopublishError: If the run cannot begin; nothing was spent and nobody was called.

    Privacy:
        Reveals: nothing, if there is a run: it is the same one whatever was seen here. A run that does not begin tells
            the others that it did not, and two things here depend on rows: a source that cannot be read (bytes that
            are no text, a line that is longer than DuckDB reads), and doubts that the settings do not accept. Whoever
            wants nothing to depend on its rows looks at them with `check` before it agrees, and accepts them here.
    """
    forbid_core_dumps()  # before anything is read
    plan = preflight(agreement, party, source, ledger, out=settings.out, overwrite=settings.overwrite)
    if not settings.again:
        refuse_after_early_end(ledger, peers_of(agreement, party))
    refuse_unfit_hosts(agreement, party, identity)
    refuse_unfit_workers(agreement, settings.workers)
    witness = _witness(agreement, party, identity, signer, settings.approvals)
    audit = None if settings.audit is None else read_audit(settings.audit, agreement)
    worker = loading_worker(agreement, party)
    try:
        fragment, overview = look_at_rows_or_counts(agreement, party, source)
        if overview is not None:
            look(overview)
            if overview.doubts and not settings.accept:
                raise DoubtfulDataError(party, overview.doubts)
        refuse_too_little_memory(agreement, party, settings.workers)  # with the rows in memory already
    except BaseException:
        if worker is not None:
            worker.end()
        raise
    return ReadyParty(
        plan=plan,
        party=party,
        fragment=fragment,
        identity=identity,
        ledger=ledger,
        settings=settings,
        witness=witness,
        audit=audit,
        worker=worker,
    )


def _witness(
    agreement: Agreement, party: str, identity: Identity | None, signer: Signer | None, approvals: Path | None
) -> SigningContext | None:
    """Who signs for this party, after its own approvals were checked; nobody without identities.

    Raises:
        ApprovalError: If too few of its people have approved, or an approval is forged.
        MeetingError: If the key is not the one that the agreement names.
    """
    signs = signer or identity
    if signs is None:
        if any(other.approvals for other in agreement.parties.values()):
            raise ApprovalError("The agreement asks for approvals, which are signed: it cannot run with --insecure.")
        return None
    if problem := signer_problem(agreement, party, signs.chain):
        raise MeetingError(f"Your key for signatures does not fit the agreement: it {problem}. See --signer.")
    if approvals is None:
        refuse_too_few((), agreement.parties[party].approvals, party)
        return SigningContext(signs)
    return SigningContext(
        signs, own_approvals(agreement, party, approvals, signs.chain, today=datetime.now(UTC).date())
    )


def run_party(
    ready: ReadyParty,
    *,
    progress: Progress,
    waiting: Waiting,
    log: Log,
    notice: Notice = no_notice,
    coins: Coins | None = None,
    recorder: EngineRecorder | None = None,
) -> RunResult:
    """Meet the other parties, compute the release with them and write it.

    Args:
        ready: This party's part, checked.
        progress: Told about every step.
        waiting: Told what is being waited for.
        log: Told about events, never about data.
        notice: Told whose list of people is another one than before, and that few records are common: for a person, and
            not for the log.
        coins: Its coins; the system's, if not given.
        recorder: Told about the requests to a compute node's engine, for benchmarks.

    Raises:
        MeetingError: If the parties cannot meet, or differ in what they agreed to.
        CopublishError: Whatever else stopped the run; nothing is published then.

    Privacy:
        Reveals: to the other parties what the certificate lists, and if this party stops, the kind of reason.
    """
    with nullcontext() if ready.worker is None else ready.worker:
        return _meet_and_compute(ready, progress, waiting, log, notice, coins, recorder)


def _meet_and_compute(
    ready: ReadyParty,
    progress: Progress,
    waiting: Waiting,
    log: Log,
    notice: Notice,
    coins: Coins | None,
    recorder: EngineRecorder | None,
) -> RunResult:
    agreement, settings = ready.plan.agreement, ready.settings
    refuse_unwritable(settings.out, overwrite=settings.overwrite)  # something may have come while people decided
    with Port(
        agreement,
        ready.party,
        ready.identity,
        listen=settings.listen,
        way_out=settings.way_out,
        log=log,
    ) as port:
        facts = facts_of(agreement)
        meeting = Meeting(
            port,
            facts,
            wait_seconds=settings.wait_seconds,
            waiting=waiting,
            log=log,
            workers=settings.workers.number,
            end_after_seconds=settings.end_after_seconds,
        )
        try:
            release = _compute(ready, port, meeting, progress, notice, coins, recorder, log)
        except BaseException as exc:
            if isinstance(exc, InvalidInputsError):
                time.sleep(SEE_IT_TOO_SECONDS)
            loss = _told_loss(exc, port, meeting, settings)
            if loss is None:
                meeting.say_stop(_reason(exc))
            if loss and isinstance(exc, LostAtTheLastStepError):
                raise LostAtTheLastStepError(f"{loss} {exc}") from exc
            if loss:
                raise PartyLostError(f"{loss} Nothing is published.") from exc
            raise
        meeting.say_done()
        return RunResult(release, port.bytes_sent, port.bytes_received)


def _compute(
    ready: ReadyParty,
    port: Port,
    meeting: Meeting,
    progress: Progress,
    notice: Notice,
    coins: Coins | None,
    recorder: EngineRecorder | None,
    log: Log,
) -> Release:
    agreement, party, settings = ready.plan.agreement, ready.party, ready.settings
    loading = loading_seconds(agreement)
    with (
        folder_for_sockets() as folder,
        PortMessenger(port, meeting.run, settings.timeout_seconds, loading) as messenger,
    ):
        meeting.on_loss(messenger.abort)
        sessions = sessions_of(agreement, meeting.workers)
        log("engine", sessions=sessions)
        main, *lanes = (
            _link_nodes(agreement, party, port, meeting, folder, session=session) for session in range(sessions)
        )
        with (
            settings.workers.starter() as start,
            engine_for(
                agreement,
                party,
                main,
                messenger,
                coins,
                settings.timeout_seconds,
                recorder,
                ready.worker,
                lanes=lanes,
                start_lane=start,
            ) as engine,
        ):
            meeting.on_loss(engine.abort)
            staged = partial(_staged, settings=settings, ledger=ready.ledger)
            return publish_release(
                ready.plan,
                ready.fragment,
                engine,
                ready.ledger,
                progress,
                staged,
                notice,
                ready.witness,
                meeting.run,
                audit=ready.audit,
                key_exchange=meeting.key_exchange,
                keep=kept_beside(settings.ledger),
            )


@contextmanager
def _staged(release: Release, settings: RunSettings, ledger: Ledger) -> Iterator[Callable[[], None]]:
    """A release under a temporary name, with a note for the next command if this one cannot tell its ledger the end."""
    noting = noted(release, settings.out, ledger) if ledger.lasts else nullcontext()
    with noting, release.staged(settings.out, overwrite=settings.overwrite) as publish:
        yield publish


def _told_loss(error: BaseException, port: Port, meeting: Meeting, settings: RunSettings) -> str | None:
    """A sentence on the party that was lost, after the others were told which; none if it is no such error.

    An engine fails in many ways if another node stands still, so whatever its failure was, all parties are asked.
    """
    if not isinstance(error, EngineError) or isinstance(error, InvalidInputsError | OwnEngineError):
        return None
    if meeting.ran_out:
        meeting.say_stop("the run took longer than it may there")
        return f"The run took longer than {settings.end_after_seconds} s (--end-after), whoever was slow."
    silent = None
    if (loss := meeting.loss()) is None:
        # Asked before anything is said: who waits for a party that waits itself must not name it.
        silent = who_is_silent(port, _waited_for(error))
        loss = meeting.loss(patience_seconds=0)
    if loss is not None:
        meeting.say_lost()
    elif silent is not None:
        meeting.say_lost(silent)
        loss = f"Party '{silent}' did not answer{port.over(silent)} in {settings.timeout_seconds} s."
    return loss


def _waited_for(error: EngineError) -> str | None:
    """The party whose silence ended a run, if it is known; at its last step that is the cause of the error."""
    return next((found.party for found in (error, error.__cause__) if isinstance(found, SilenceError)), None)


def _link_nodes(
    agreement: Agreement, party: str, port: Port, meeting: Meeting, folder: Path, *, session: int = 0
) -> tuple[str, ...]:
    """Carry a session of the engine between the compute nodes; return where this one finds each, itself included.

    A party that is no compute node has no link and lets nobody in for one.
    """
    nodes = agreement.compute_nodes if agreement.engine.name == "spu" else ()
    if party not in nodes:
        return ()
    sockets = {
        node: folder / f"{session}-{'own' if node == party else number}.sock" for number, node in enumerate(nodes)
    }
    for node in nodes:
        if node != party:
            port.carry_engine(meeting.run, sockets[party], sockets[node], node, session=session, blame=meeting.blame)
    return tuple(f"unix:{sockets[node]}" for node in nodes)


REASONS: dict[type[BaseException], str] = {
    FragmentError: "its data do not fit the agreement",
    SourceError: "its data cannot be read",
    BehindLedgerError: "it holds a signature of a party whose ledger does not know of it (was it restored?)",
    LedgerError: "its ledger refuses",
    ApprovalError: "approvals are missing or do not count",
    ReleaseError: "it cannot write the release",
    InvalidInputsError: "what a party put in is not what the agreement allows",
    OwnEngineError: "its engine was killed",
    GeneratorError: "its random generator is broken",
    EngineError: "its engine failed or lost the link",
    CopublishError: "it found a problem",
    KeyboardInterrupt: "it was interrupted",
    SystemExit: "it was ended",
}
"""What the other parties are told: the kind of reason, and nothing about data."""


def _reason(error: BaseException) -> str:
    return next((said for kind, said in REASONS.items() if isinstance(error, kind)), "of an unexpected error")
