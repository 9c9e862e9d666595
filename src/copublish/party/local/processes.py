"""A release between real processes on this machine: one per party, each with its own end of the secure engine.

For trying out the secure engine without several machines. Each process reads its own party's data; they meet over unix
sockets in a folder that only this user can enter and over nameless ones, so no port is opened.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.engines.choice import (
    engine_for,
    loading_seconds,
    loading_worker,
    needs_messenger,
    refuse_missing_engine,
)
from copublish.engines.spu.parallel_sessions import ONE_WORKER, Workers, refuse_unfit_workers, sessions_of
from copublish.engines.spu.requests import EngineRecorder
from copublish.errors import (
    CopublishError,
    EngineError,
    InvalidInputsError,
    OwnEngineError,
    PartyLostError,
    SilenceError,
    combined_error,
)
from copublish.files.interrupts import deaf_children, forbid_core_dumps
from copublish.files.scratch import folder_for_sockets
from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.geometric import Coins
from copublish.mechanisms.base import Plan
from copublish.party.local.messenger import Ends, PipeMessenger, pipes_between
from copublish.party.publishing import kept_beside, publish_release
from copublish.progress import Notice, Progress, no_notice
from copublish.release.folder import Release
from copublish.release.prepare import prepare
from copublish.rows.rows_or_counts import read_rows_or_counts
from copublish.rows.sources import Source, without_connection

PROCESSES = multiprocessing.get_context("spawn")
"""How a party's process starts: anew, with nothing of this one."""

FAREWELL_SECONDS = 2.0

SEE_IT_TOO_SECONDS = 2.0
"""How long a party stays that has seen a check of inputs fail, so that every other one sees it for itself."""

LAST_WORDS_SECONDS = 8.0
"""How long the other parties have, after one failed, to say what is wrong with their own data."""


def simulate_in_processes(
    agreement: Agreement,
    data: Mapping[str, Source],
    *,
    ledger_files: Mapping[str, str | Path] | None = None,
    progress: Progress,
    notice: Notice = no_notice,
    timeout_seconds: int = 600,
    coins: Mapping[str, Coins] | None = None,
    recorders: Mapping[str, EngineRecorder] | None = None,
    bytes_sent: dict[str, int] | None = None,
    workers: Workers = ONE_WORKER,
) -> Release:
    """Run every party in its own process on the agreed engine and return the release they all hold.

    Coins are for tests and recorders for benchmarks; a party's go to its process. `bytes_sent` takes what each party
    sent to all others.

    Raises:
        CopublishError: What stopped the party that stopped first.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise EngineError(
            "Every party runs in a process of its own, which loads your script again. Put what calls copublish under "
            "'if __name__ == \"__main__\":'."
        )
    prepare(agreement)
    for party in agreement.compute_nodes:
        refuse_missing_engine(agreement, party)
    pipes = (
        pipes_between(agreement.party_names)
        if needs_messenger(agreement)
        else {party: {} for party in agreement.parties}
    )
    refuse_unfit_workers(agreement, workers)
    with folder_for_sockets() as folder:
        nodes = range(len(agreement.compute_nodes))
        # The first session is the main one.
        sessions = [
            tuple(f"unix:{folder}/{number}-{node}.sock" for node in nodes)
            for number in range(sessions_of(agreement, workers.number))
        ]
        processes: dict[str, Any] = {}
        connections: dict[str, Connection] = {}
        try:
            for party in agreement.parties:
                connections[party], other_end = PROCESSES.Pipe()
                ledger_file = (ledger_files or {}).get(party)
                own = (
                    party,
                    without_connection(data[party]) if party in data else None,
                    pipes[party],
                    ledger_file,
                    (coins or {}).get(party),
                    (recorders or {}).get(party),
                )
                # Not a daemon: the party has a child of its own, the engine's worker.
                processes[party] = PROCESSES.Process(
                    target=_party, args=(other_end, agreement, sessions, workers, timeout_seconds, *own)
                )
                with deaf_children():
                    processes[party].start()
                other_end.close()
                for end in pipes[party].values():
                    end.close()  # so that the end of the process is the end of its pipes
            results = _collect(connections, progress, notice, {} if bytes_sent is None else bytes_sent)
        except (KeyboardInterrupt, SystemExit):
            _end_at_once(processes.values())
            raise
        finally:
            for process in processes.values():
                process.join(timeout=FAREWELL_SECONDS)
                if process.is_alive():
                    process.kill()
                    process.join()
    first, *others = (results[party] for party in agreement.parties)
    if any(other.digest() != first.digest() for other in others):
        raise EngineError("The parties ended with different releases. Nothing is published.")
    return first


def _end_at_once(processes: Iterable[Any]) -> None:
    """End processes that have not heard what ended this one. Their folders, and their workers, go with them."""
    for process in processes:
        if process.is_alive():
            process.terminate()


def _party(
    connection: Connection,
    agreement: Agreement,
    sessions: Sequence[Sequence[str]],
    workers: Workers,
    timeout_seconds: int,
    party: str,
    source: Source | None,
    pipes: Ends,
    ledger_file: str | Path | None,
    coins: Coins | None,
    recorder: EngineRecorder | None,
) -> None:
    """Run the main path of one party and send what came of it."""
    forbid_core_dumps()
    gc.freeze()  # what was loaded is no garbage, now and later
    loading = loading_seconds(agreement)
    messenger = PipeMessenger(party, agreement.party_names, pipes, timeout_seconds, loading) if pipes else None

    def tell(phase: str, done: int, of: int) -> None:
        connection.send(("progress", (phase, done, of)))

    try:
        plan, worker = prepare(agreement), loading_worker(agreement, party)
        fragment = read_rows_or_counts(agreement, party, source)  # before anybody is called
        main, *lanes = sessions
        with (
            workers.starter() as start,
            engine_for(
                agreement,
                party,
                main,
                messenger,
                coins,
                timeout_seconds,
                recorder,
                worker,
                lanes=lanes,
                start_lane=start,
            ) as engine,
        ):
            ledger = open_ledger(plan, ledger_file)
            release = publish_release(
                plan,
                fragment,
                engine,
                ledger,
                tell,
                notice=lambda said: connection.send(("notice", said)),
                keep=kept_beside(ledger_file),
            )
        sent = engine.bytes_sent + (0 if messenger is None else messenger.bytes_sent)
        others = "the other party" if len(agreement.parties) == 2 else "the other parties"
        tell(f"sent {sent / 2**20:.1f} MiB to {others}", 1, 1)
        connection.send(("sent", sent))
        connection.send(("release", release))
    except CopublishError as exc:
        if isinstance(exc, InvalidInputsError):
            time.sleep(SEE_IT_TOO_SECONDS)
        about = exc.party if isinstance(exc, SilenceError | InvalidInputsError) else None
        connection.send(("error", (type(exc), str(exc), about)))
    except Exception as exc:  # its message could hold private values, so only its kind is passed on
        connection.send(("error", (EngineError, f"Party '{party}' stopped unexpectedly ({type(exc).__name__}).")))


def open_ledger(plan: Plan[Any], file: str | Path | None) -> Ledger:
    """The ledger in a file, or one that is forgotten."""
    return throwaway_ledger(plan) if file is None else Ledger(file)


def throwaway_ledger(plan: Plan[Any], *, file: str | Path = ":memory:") -> Ledger:
    """A ledger with just the budget of one release; in memory, where no file is named."""
    ledger = Ledger(file)
    neighbors = plan.agreement.privacy.neighbors
    cost = sum(costs_of_run(plan.agreement, plan.cost()), NOTHING)
    ledger.set_limit(
        plan.agreement.dataset, Limit(cost.under(neighbors), neighbors, cost.delta)
    )  # none: it is unbounded
    return ledger


def _collect(
    connections: Mapping[str, Connection], progress: Progress, notice: Notice, bytes_sent: dict[str, int]
) -> dict[str, Release]:
    """Wait for every party; if one fails, give the others a moment to say why, and raise the cause."""
    results: dict[str, Release] = {}
    errors: list[CopublishError] = []
    open_ends: dict[Any, str] = {connection: party for party, connection in connections.items()}
    first_party, deadline = next(iter(connections)), None
    while open_ends and (deadline is None or time.monotonic() < deadline):
        for ready in wait(list(open_ends), timeout=0.2):
            party = open_ends[ready]
            try:
                kind, content = connections[party].recv()
            except EOFError:
                kind, content = (
                    "error",
                    (PartyLostError, f"The process of party '{party}' ended. Nothing is published."),
                )
            if kind == "progress":
                if party == first_party:
                    progress(*content)
                continue
            if kind == "sent":
                bytes_sent[party] = content
                continue
            if kind == "notice":
                notice(f"At '{party}': {content}")
                continue
            del open_ends[ready]
            if kind == "release":
                results[party] = content
            else:
                errors.append(_error(*content))
                deadline = deadline or time.monotonic() + LAST_WORDS_SECONDS
    if errors:
        # A party that was lost is seldom the cause: what the others say about themselves is. Then who is silent: who
        # waited for a party that waited itself may have been the first to give up.
        causes = [error for error in errors if not isinstance(error, EngineError)]
        silent = [error for error in errors if isinstance(error, SilenceError) and error.party in open_ends.values()]
        # Before all that comes who put in what is not allowed, because it is why the others stopped.
        cheated = [error for error in errors if isinstance(error, InvalidInputsError)]
        killed = [error for error in errors if isinstance(error, OwnEngineError)]
        raise combined_error(cheated[:1] or causes or killed[:1] or silent[:1] or errors[:1])
    return results


def _error(kind: type[CopublishError], message: str, about: str | None = None) -> CopublishError:
    """Rebuild an error of another process with its message and exit code, and the party that it is about."""
    error = kind.__new__(kind)
    with suppress(TypeError):
        Exception.__init__(error, message)
    if isinstance(error, SilenceError):
        error.party = about
    if isinstance(error, InvalidInputsError) and about is not None:
        error.party = about
    return error
