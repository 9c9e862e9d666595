"""Runs in processes of their own: `start`, `runs`, `follow` and `stop`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Unpack

from copublish.agreement.model import Agreement
from copublish.engines.choice import refuse_missing_engine
from copublish.engines.spu.parallel_sessions import refuse_unfit_workers
from copublish.errors import ApprovalError, CopublishError, LedgerError, MeetingError
from copublish.files.home import home_folder
from copublish.kernel.checks import peers_of, refuse_by_what_ledger_says
from copublish.kernel.ledger.budget import price_in_words
from copublish.kernel.ledger.ledger import open_existing_ledger
from copublish.party.detached.jobs import jobs_folder
from copublish.party.detached.process import begin, refuse_wrong_id, remove_status_of_dead
from copublish.party.detached.process import stop as stop_process
from copublish.party.detached.status import Run, seen_run
from copublish.party.early_ends import after_early_end
from copublish.party.keys.signing_key import look_at_identity, look_at_signer
from copublish.party.request import ResolvedRun, RunOptions, RunRequest
from copublish.release.evidence.approvals import own_approvals
from copublish.release.folder import refuse_unwritable
from copublish.release.prepare import prepare
from copublish.rows.database import DatabaseTable
from copublish.rows.reading import refuse_unagreed_source
from copublish.rows.sources import Source

FOLLOW_SECONDS = 0.5

Lack = Literal["identity", "ledger", "limit", "budget", "approvals", "engine"]
"""What a run can lack before it can start."""


@dataclass(frozen=True)
class Missing:
    """What a run lacks, and what to do about it."""

    what: Lack
    sentence: str


@dataclass(frozen=True, kw_only=True)
class BeforeRun:
    """What is true before a run: its price, what it lacks, and by which state somebody decides.

    Attributes:
        run_id: The id of the run that would start from here. Who looks twice gets the same one, so a double click and
            two tabs start one run.
        agreement_hash: What would be run.
        ledger_state: The ledger's last entry; none for a party that pays nothing.
        price: What it costs, with what is left before and after, in words; none if that cannot be told.
        missing: What has to be there first.
        needs_passphrase: Whether the key that others know this party by has a passphrase.
        needs_signer_passphrase: Whether the key that signs is another one, and has a passphrase.
        needs_pin: Whether the key that signs is on a token.
        charged_before: When this agreement was charged to the ledger before; none if never.
        ended_early: A sentence if the last run with one of the other parties ended early: a person has to decide
            whether to run with it again. None if there is nothing to decide.
        wait_seconds: How long it would wait for the other parties to come.
        columns: The file of a mapping through which it would read the data, if party.toml or an option names one.
    """

    run_id: str
    agreement_hash: str
    ledger_state: str | None
    price: str | None
    missing: tuple[Missing, ...]
    needs_passphrase: bool
    needs_signer_passphrase: bool
    needs_pin: bool
    charged_before: str | None
    ended_early: str | None
    wait_seconds: int
    columns: Path | None = None


def runs_folder() -> Path:
    """Where runs live."""
    return home_folder().absolute() / "runs"


def before_run(agreement: Agreement | str | Path, **options: Unpack[RunOptions]) -> BeforeRun:
    """Price of a run and what it lacks. Calls nobody, reads no data, charges nothing.

    Args:
        agreement: The agreement, or the path of its file.
        options: The options of `copublish run` by their keywords, as `run` has them.

    Raises:
        CopublishError: If the agreement cannot be run, it is not clear which party this is, or party.toml cannot be
            used.
    """
    return look_before(RunRequest.of(agreement, options).resolve())


def data_of_run(agreement: str | Path, data: Source, **options: Unpack[RunOptions]) -> Source | None:
    """Data with the event tables and the mapping that a run would read them with, which options or party.toml name.

    Args:
        agreement: The agreement's file.
        data: The party's data.
        options: The options of `copublish run` by their keywords.

    Raises:
        CopublishError: If the agreement, the options or party.toml cannot be used.
    """
    return RunRequest.of(agreement, options, data).resolve().source


def look_before(run: ResolvedRun) -> BeforeRun:
    """Price and missing prerequisites of a run that was asked for; see `before_run`."""
    agreed, party = run.agreement, run.party
    missing, state, price, charged, ended_early = _looked_at_ledger(run)
    try:
        refuse_missing_engine(agreed, party)
    except CopublishError as exc:
        missing.append(Missing("engine", str(exc)))
    keys = _looked_at_keys(run)
    number = sum(one.agreement_hash == agreed.hash and one.party == party for one in list_runs())
    said = "\0".join(["run", party, agreed.hash, state or "", str(number)])
    return BeforeRun(
        run_id=hashlib.sha256(said.encode()).hexdigest()[:32],
        agreement_hash=agreed.hash,
        ledger_state=state,
        price=price,
        missing=(*missing, *keys.missing),
        needs_passphrase=keys.needs_passphrase,
        needs_signer_passphrase=keys.needs_signer_passphrase,
        needs_pin=keys.needs_pin,
        charged_before=charged,
        ended_early=ended_early,
        wait_seconds=run.wait_seconds,
        columns=run.request.columns,
    )


def ledger_problem(run: ResolvedRun) -> str | None:
    """A sentence on why a run's ledger does not let it begin; none if it does, or if there is none to charge."""
    missing, *_ = _looked_at_ledger(run)
    return missing[0].sentence if missing else None


def _looked_at_ledger(run: ResolvedRun) -> tuple[list[Missing], str | None, str | None, str | None, str | None]:
    """Problems of the ledger, its state, the price in words, and two words about earlier runs: see `BeforeRun`."""
    agreed, plan = run.agreement, prepare(run.agreement)
    if run.ledger is None:
        return [], None, None, None, None
    try:
        book = open_existing_ledger(run.ledger, agreed.dataset)
    except LedgerError as exc:
        return [Missing("ledger", str(exc))], None, None, None, None
    state, price, charged, ended_early = None, None, None, None
    try:
        state, limit = book.head(), book.limit(agreed.dataset)
        charged = max((one.reserved_at for one in book.entries() if one.agreement_hash == agreed.hash), default=None)
        ended_early = after_early_end(book, peers_of(agreed, run.party))
        if limit is not None:
            price = price_in_words(agreed, limit, plan.cost(), book.spent_by_account(agreed.dataset))
        refuse_by_what_ledger_says(plan, run.party, book)
    except LedgerError as exc:
        return [Missing("budget" if price is not None else "limit", str(exc))], state, price, charged, ended_early
    finally:
        book.close()
    return [], state, price, charged, ended_early


def start(
    agreement: str | Path,
    *,
    data: str | Path | DatabaseTable | None = None,
    passphrase: str | None = None,
    signer_passphrase: str | None = None,
    pin: str | None = None,
    run_id: str | None = None,
    agreement_hash: str | None = None,
    ledger_state: str | None = None,
    predicted_seconds: float | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Start a release in a process of its own, which goes on when this one ends. SPENDS BUDGET.

    It does what `run` does; `follow` tells how it goes, and `stop` ends it. Ask `before_run` first, show what it says
    to whoever decides, and hand back what was shown.

    Args:
        agreement: The path of the agreement's file.
        data: Your data: a file, or a `DatabaseTable` whose address holds no password. The process reads them itself.
        passphrase: Of your key, if it has one. It goes through a pipe and is written nowhere.
        signer_passphrase: Of the key that signs, likewise; that of your key unless given.
        pin: Of the token that signs, likewise.
        run_id: What `before_run` said. A run of this id that is there is returned, and no other one starts.
        agreement_hash: What `before_run` said. If the agreement has another one now, nothing starts.
        ledger_state: What `before_run` said. If the ledger has another one now, nothing starts.
        predicted_seconds: How long a plan says that it will take, for who watches it.
        options: The options of `copublish run` by their keywords, as `run` has them.

    Raises:
        CopublishError: If nothing can start. Nothing was spent and nobody was called.

    Privacy:
        Guarantee: that of the certificate.
        Reveals: as `run`. What a run keeps in its folder is for this user alone. Its log has public facts. How it ended
            is said as to a person of this party, and can tell which column of its data breaks which rule. Its status
            can tell numbers of records and goes when it ends; if it was killed, when the next run starts.
    """
    return start_resolved(
        RunRequest.of(agreement, options, data).resolve(),
        {"passphrase": passphrase, "signer_passphrase": signer_passphrase, "pin": pin},
        run_id=run_id,
        agreement_hash=agreement_hash,
        ledger_state=ledger_state,
        predicted_seconds=predicted_seconds,
    )


def start_resolved(
    run: ResolvedRun,
    secrets: Mapping[str, str | None],
    *,
    run_id: str | None = None,
    agreement_hash: str | None = None,
    ledger_state: str | None = None,
    predicted_seconds: float | None = None,
) -> Run:
    """Start a run that was asked for in a process of its own; see `start`."""
    for one in list_runs():
        remove_status_of_dead(one.folder)
    agreed, now = run.agreement, look_before(run)
    id_ = refuse_wrong_id(now.run_id if run_id is None else run_id)
    if (found := seen_run(runs_folder() / id_)) is not None:
        return found
    if agreement_hash not in (None, now.agreement_hash) or ledger_state not in (None, now.ledger_state):
        what = "agreement" if agreement_hash not in (None, now.agreement_hash) else "ledger"
        raise CopublishError(
            f"The {what} was changed after it was shown. Nothing was spent and nobody was called. Look at it again."
        )
    if any(one.is_alive and one.agreement_hash == agreed.hash and one.party == run.party for one in list_runs()):
        raise CopublishError("This agreement is running already. See: copublish runs. Nothing was started.")
    if now.ended_early is not None and not run.request.again:
        raise LedgerError(f"{now.ended_early} Nothing was started. To run again all the same: --again, or again=True")
    refuse_unagreed_source(agreed, run.party, run.source)
    refuse_unwritable(run.out, overwrite=run.request.overwrite)
    refuse_unfit_workers(agreed, run.workers)
    begin(
        runs_folder() / id_,
        {
            "kind": "run",
            "request": run.request.to_json(),
            "release": agreed.name,
            "dataset": agreed.dataset,
            "others": [name for name in agreed.parties if name != run.party],
            "agreement_hash": agreed.hash,
            "ledger_state": now.ledger_state,
            "data_words": None if run.request.data is None else str(run.request.data),
            "predicted_seconds": predicted_seconds,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
        {name: said for name, said in secrets.items() if said},
    )
    return run_of(id_)


def list_runs() -> list[Run]:
    """All runs in your copublish folder, newest first, as their files tell them now."""
    folder = runs_folder()
    found = [seen_run(path) for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []
    return sorted(filter(None, found), key=lambda one: (one.started_at, one.id), reverse=True)


def run_of(id_: str) -> Run:
    """One run, as its files tell it now.

    Args:
        id_: The id of its folder, or the id that all parties drew when they met; or the beginning of either.

    Raises:
        CopublishError: If there is none, or several begin like this.
    """
    found = seen_run(runs_folder() / id_) if len(id_) > 8 and id_.isalnum() else None
    if found is not None:
        return found
    like = [one for one in list_runs() if one.id.startswith(id_) or (one.met_as or "").startswith(id_)]
    if len(like) != 1:
        raise CopublishError(f"There {'is no run' if not like else 'are several runs'} '{id_}'. See: copublish runs")
    return like[0]


def follow(run: Run | str, *, every_seconds: float = FOLLOW_SECONDS) -> Iterator[Run]:
    """Yield a run whenever something about it changed, until it has ended.

    Args:
        run: The run, or its id.
        every_seconds: How often its files are looked at.
    """
    id_ = run.id if isinstance(run, Run) else run
    before = None
    while True:
        now = run_of(id_)
        # How long a phase takes changes all the time, and is no news.
        said = (now.state, now.waiting_for, now.met_at, [(phase.name, phase.done) for phase in now.phases])
        if said != before:
            before = said
            yield now
        if not now.is_alive:
            return
        time.sleep(every_seconds)


def stop(run: Run | str) -> bool:
    """End a run, or a job, by SIGTERM. The other parties' runs end, too. What was reserved stays spent.

    Args:
        run: The run, or the id of a run or a job.

    Returns:
        Whether it has ended. If not, it is still telling the others.
    """
    id_ = run.id if isinstance(run, Run) else run
    job = jobs_folder() / refuse_wrong_id(id_)
    return stop_process(job if job.is_dir() else run_of(id_).folder)


@dataclass(frozen=True, kw_only=True)
class _Keys:
    """What this party lacks of keys and approvals, and what its keys ask for; the fields are those of `BeforeRun`."""

    missing: tuple[Missing, ...]
    needs_passphrase: bool
    needs_signer_passphrase: bool
    needs_pin: bool


def _looked_at_keys(run: ResolvedRun) -> _Keys:
    """Look at keys and approvals as the run will. Certificates are public, so no key has to be opened for it."""
    missing: list[Missing] = []
    chain, own_secret, signer_secret = None, None, None
    if run.identity is not None:
        try:
            chain, own_secret = look_at_identity(run.identity)
        except MeetingError as exc:
            missing.append(Missing("identity", str(exc)))
    if run.signer is not None:
        try:
            chain, signer_secret = look_at_signer(run.signer)
        except MeetingError as exc:
            chain = None
            missing.append(Missing("identity", str(exc)))
    approvals = run.request.keys.approvals
    if chain is not None and approvals is not None:
        try:
            # Also where no approval is asked for: a refusal stops the run all the same.
            own_approvals(run.agreement, run.party, approvals, chain, today=datetime.now(UTC).date())
        except ApprovalError as exc:
            missing.append(Missing("approvals", str(exc)))
    return _Keys(
        missing=tuple(missing),
        needs_passphrase=own_secret is not None,
        needs_signer_passphrase=signer_secret == "passphrase",  # noqa: S105  # the name of a kind
        needs_pin=signer_secret == "pin",  # noqa: S105  # likewise
    )
