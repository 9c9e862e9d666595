"""Runs in processes of their own: `start`, `runs`, `follow` and `stop`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.errors import (
    ApprovalError,
    CopublishError,
    LedgerError,
    MeetingError,
    SourceError,
)
from copublish.evidence.approvals import default_approvals_folder, own_approvals
from copublish.files.home import default_ledger, home_folder
from copublish.fragments.database import DatabaseTable, scheme_of
from copublish.node.identity import identity_folder
from copublish.node.signers import look_at_identity, look_at_signer
from copublish.privacy.ledger import open_existing_ledger
from copublish.privacy.prices import price_in_words
from copublish.release.engines import refuse_missing_engine
from copublish.release.folder import refuse_unwritable
from copublish.release.preflight import prepare, refuse_by_what_ledger_says
from copublish.release.workers import Workers, refuse_unfit_workers
from copublish.running.jobs import jobs_folder
from copublish.running.process import begin, refuse_wrong_id, remove_status_of_dead
from copublish.running.process import stop as stop_process
from copublish.running.seen import Run, seen_run

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


def runs_folder() -> Path:
    """Where runs live."""
    return home_folder().absolute() / "runs"


def before_run(
    agreement: str | Path, *, party: str, ledger: str | Path | None = None, identity: str | Path | None = None
) -> BeforeRun:
    """What is true before a run of this party. Calls nobody, reads no data, charges nothing.

    Args:
        agreement: The path of the agreement's file.
        party: Which party you are.
        ledger: File of your ledger; the one in your copublish folder unless given.
        identity: Folder with your key and certificate; made by `copublish identity new` unless given.
    """
    agreed = _agreement_of(agreement, party)
    plan = prepare(agreed)
    missing: list[Missing] = []
    state, price, charged = None, None, None
    if agreed.parties[party].data or ledger is not None:
        try:
            book = open_existing_ledger(_ledger_file(ledger), agreed.dataset)
        except LedgerError as exc:
            missing.append(Missing("ledger", str(exc)))
        else:
            try:
                state, limit = book.head(), book.limit(agreed.dataset)
                charged = max(
                    (one.reserved_at for one in book.entries() if one.agreement_hash == agreed.hash), default=None
                )
                if limit is not None:
                    price = price_in_words(agreed, limit, plan.cost(), book.spent_by_account(agreed.dataset))
                refuse_by_what_ledger_says(plan, party, book)
            except LedgerError as exc:
                missing.append(Missing("budget" if price is not None else "limit", str(exc)))
            finally:
                book.close()
    try:
        refuse_missing_engine(agreed, party)
    except CopublishError as exc:
        missing.append(Missing("engine", str(exc)))
    keys = _looked_at_keys(agreed, party, Path(agreement), identity)
    number = sum(one.agreement_hash == agreed.hash and one.party == party for one in runs())
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
    )


def start(
    agreement: str | Path,
    *,
    party: str,
    out: str | Path,
    data: str | Path | DatabaseTable | None = None,
    ledger: str | Path | None = None,
    identity: str | Path | None = None,
    signer: str | Path | None = None,
    passphrase: str | None = None,
    signer_passphrase: str | None = None,
    pin: str | None = None,
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
    run_id: str | None = None,
    agreement_hash: str | None = None,
    ledger_state: str | None = None,
    predicted_seconds: float | None = None,
) -> Run:
    """Start a release in a process of its own, which goes on when this one ends. SPENDS BUDGET.

    It does what `run` does; `follow` tells how it goes, and `stop` ends it. Ask `before_run` first, show what it says
    to whoever decides, and hand back what was shown.

    Args:
        agreement: The path of the agreement's file.
        party: Which party you are.
        out: Folder for the release.
        data: Your data: a file, or a `DatabaseTable` whose address holds no password. The process reads them itself.
        ledger: File of your ledger; the one in your copublish folder unless given.
        identity: Folder with your key and certificate; made by `copublish identity new` unless given.
        signer: Folder of the identity that signs, if the agreement names another one for it; PARTY-signer beside your
            identity unless given.
        passphrase: Of your key, if it has one. It goes through a pipe and is written nowhere.
        signer_passphrase: Of the key that signs, likewise; that of your key unless given.
        pin: Of the token that signs, likewise.
        approvals: Folder with your people's approvals; beside the agreement unless given.
        insecure: No TLS and no certificates; for parties on loopback alone.
        listen: Address and port to listen at, if not the port of your host in the agreement.
        wait_seconds: How long the other parties may take to come.
        timeout_seconds: How long they may take to answer, and a link may be dead.
        proxy: The HTTP proxy through which others are reached, or `none`; that of the environment unless given.
        proxy_credentials: File with the proxy's `user:password`.
        workers: How many of your engine processes count at the same time, if the agreement has shards.
        workers_on: Where all of them but one run: `here`, or on your own Ray cluster: `ray`, or `ray=ADDRESS`.
        overwrite: Whether a release that is in the folder may be replaced.
        run_id: What `before_run` said. A run of this id that is there is returned, and no other one starts.
        agreement_hash: What `before_run` said. If the agreement has another one now, nothing starts.
        ledger_state: What `before_run` said. If the ledger has another one now, nothing starts.
        predicted_seconds: How long a plan says that it will take, for who watches it.

    Raises:
        CopublishError: If nothing can start. Nothing was spent and nobody was called.

    Privacy:
        Guarantee: that of the certificate.
        Reveals: as `run`. What a run keeps in its folder is for this user alone. Its log has public facts. How it ended
            is said as to a person of this party, and can tell which column of its data breaks which rule. Its status
            can tell numbers of records and goes when it ends; if it was killed, when the next run starts.
    """
    for one in runs():
        remove_status_of_dead(one.folder)
    file = Path(agreement).absolute()
    agreed = _agreement_of(file, party)
    now = before_run(file, party=party, ledger=ledger, identity=identity)
    id_ = refuse_wrong_id(now.run_id if run_id is None else run_id)
    if (found := seen_run(runs_folder() / id_)) is not None:
        return found
    if agreement_hash not in (None, now.agreement_hash) or ledger_state not in (None, now.ledger_state):
        what = "agreement" if agreement_hash not in (None, now.agreement_hash) else "ledger"
        raise CopublishError(
            f"The {what} was changed after it was shown. Nothing was spent and nobody was called. Look at it again."
        )
    if any(one.is_alive and one.agreement_hash == agreed.hash and one.party == party for one in runs()):
        raise CopublishError("This agreement is running already. See: copublish runs. Nothing was started.")
    refuse_unwritable(Path(out), overwrite=overwrite)
    refuse_unfit_workers(agreed, Workers(workers, workers_on))
    has_own_signer = agreed.parties[party].signer is not None and not insecure
    folder = None if signer is None and not has_own_signer else signer or identity_folder(f"{party}-signer")
    secrets = {"passphrase": passphrase, "signer_passphrase": signer_passphrase, "pin": pin}
    begin(
        runs_folder() / id_,
        {
            "kind": "run",
            "party": party,
            "release": agreed.name,
            "dataset": agreed.dataset,
            "others": [name for name in agreed.parties if name != party],
            "agreement": str(file),
            "agreement_hash": agreed.hash,
            "out": str(Path(out).absolute()),
            **_place_of(data),
            "ledger": str(_ledger_file(ledger).absolute()),
            "ledger_state": now.ledger_state,
            "pays": agreed.parties[party].data or ledger is not None,
            "predicted_seconds": predicted_seconds,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "settings": {
                "identity": _absolute(identity),
                "signer": _absolute(folder),
                "approvals": _absolute(approvals),
                "insecure": insecure,
                "listen": listen,
                "wait_seconds": wait_seconds,
                "timeout_seconds": timeout_seconds,
                "proxy": proxy,
                "proxy_credentials": _absolute(proxy_credentials),
                "workers": workers,
                "workers_on": workers_on,
                "overwrite": overwrite,
            },
        },
        {name: said for name, said in secrets.items() if said},
    )
    return run_of(id_)


def runs() -> list[Run]:
    """All runs in your copublish folder, newest first, as their files tell them now."""
    folder = runs_folder()
    found = [seen_run(path) for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []
    return sorted(filter(None, found), key=lambda one: (one.started_at, one.id), reverse=True)


def run_of(id_: str) -> Run:
    """One run, by its id or the beginning of it, as its files tell it now.

    Raises:
        CopublishError: If there is none, or several begin like this.
    """
    found = seen_run(runs_folder() / id_) if len(id_) > 8 and id_.isalnum() else None
    if found is not None:
        return found
    like = [one for one in runs() if one.id.startswith(id_)]
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


def _agreement_of(file: str | Path, party: str) -> Agreement:
    agreed = load_agreement(file)
    if party not in agreed.parties:
        known = ", ".join(agreed.parties)
        raise CopublishError(f"There is no party '{party}' in the agreement. Its parties: {known}.")
    return agreed


@dataclass(frozen=True, kw_only=True)
class _Keys:
    """What this party lacks of keys and approvals, and what its keys ask for; the fields are those of `BeforeRun`."""

    missing: tuple[Missing, ...]
    needs_passphrase: bool
    needs_signer_passphrase: bool
    needs_pin: bool


def _looked_at_keys(agreed: Agreement, party: str, file: Path, identity: str | Path | None) -> _Keys:
    """Look at keys and approvals as the run will. Certificates are public, so no key has to be opened for it."""
    missing: list[Missing] = []
    chain, own_secret, signer_secret = None, None, None
    try:
        chain, own_secret = look_at_identity(identity_folder(party) if identity is None else Path(identity))
    except MeetingError as exc:
        missing.append(Missing("identity", str(exc)))
    if agreed.parties[party].signer is not None:
        try:
            chain, signer_secret = look_at_signer(identity_folder(f"{party}-signer"))
        except MeetingError as exc:
            chain = None
            missing.append(Missing("identity", str(exc)))
    if chain is not None:
        try:
            # Also where no approval is asked for: a refusal stops the run all the same.
            own_approvals(agreed, party, default_approvals_folder(file), chain, today=_today())
        except ApprovalError as exc:
            missing.append(Missing("approvals", str(exc)))
    return _Keys(
        missing=tuple(missing),
        needs_passphrase=own_secret is not None,
        needs_signer_passphrase=signer_secret == "passphrase",  # noqa: S105  # the name of a kind
        needs_pin=signer_secret == "pin",  # noqa: S105  # likewise
    )


def _place_of(data: str | Path | DatabaseTable | None) -> Mapping[str, str | None]:
    """Where data are, as a request says it; a password is not written down."""
    if data is None:
        return {"data": None, "table": None, "data_words": None}
    if not isinstance(data, DatabaseTable):
        return {"data": str(Path(data).absolute()), "table": None, "data_words": str(data)}
    is_file = scheme_of(data.database) is None
    if not is_file and data.address != str(data.database):
        raise SourceError(
            "The address of the database holds a password or settings, which a run would write down. Leave them out "
            "here: put the password into ~/.pgpass, a token of Spark Connect into SPARK_CONNECT_AUTHENTICATE_TOKEN."
        )
    where = str(Path(data.database).absolute()) if is_file else str(data.database)
    return {"data": where, "table": data.table, "data_words": str(data)}


def _ledger_file(ledger: str | Path | None) -> Path:
    return default_ledger() if ledger is None else Path(ledger)


def _absolute(path: str | Path | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def _today() -> date:
    return datetime.now(UTC).date()
