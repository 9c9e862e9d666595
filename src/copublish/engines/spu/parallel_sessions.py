"""Counting the shards of a table in several sessions of the secure engine at the same time.

A session is a pair of workers, one at each party, with a link of their own. The main session counts, too; each further
one is a lane. Shards go to sessions in turn, first to last, so that two parties which know how many sessions there are
agree on who counts what without a word. A lane's table leaves it as each node's own summand, which that node's party
puts into the main session as its private input.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from copublish.agreement.computation import MOST_SHARDS
from copublish.agreement.model import Agreement
from copublish.engines.spu.process import StartWorker, WorkerProcess
from copublish.engines.spu.ray_workers import AUTO, ray_workers, refuse_unreachable_cluster
from copublish.errors import EngineError
from copublish.files.memory import available_bytes
from copublish.files.regular import MIB
from copublish.kernel.secrets.shards import Done

HERE, RAY = "here", "ray"

WORKER_MIB = 1200
"""The largest worker, whatever the number of records; docs/scale.md has the measured number."""


@dataclass(frozen=True)
class Workers:
    """One party's engine processes; the other party's may be more or fewer.

    Attributes:
        number: How many count at the same time, the one included that does everything else.
        on: Where all but that one run: `here`; `ray`, the party's Ray cluster that is found by itself; or
            `ray=ADDRESS`.
    """

    number: int = 1
    on: str = HERE

    def starter(self) -> AbstractContextManager[StartWorker]:
        """What starts a worker where they run; connected for as long as the context lasts.

        Raises:
            EngineError: If they cannot run there.
        """
        return nullcontext(WorkerProcess) if self.cluster is None else ray_workers(self.cluster)

    @property
    def cluster(self) -> str | None:
        """The address of the Ray cluster on which they run, if they do."""
        return None if self.on == HERE else self.on.removeprefix(RAY).removeprefix("=") or AUTO


ONE_WORKER = Workers()


def refuse_unfit_workers(agreement: Agreement, workers: Workers) -> None:
    """Raise if there are to be workers that this agreement has nothing to do for, or that cannot run where they should.

    Raises:
        EngineError: Saying what to change.
    """
    if not 1 <= workers.number <= MOST_SHARDS:
        raise EngineError(f"The number of workers must be from 1 to {MOST_SHARDS}, got {workers.number}.")
    if workers.on not in (HERE, RAY) and not workers.on.startswith(f"{RAY}="):
        raise EngineError(f"Workers run on '{HERE}', '{RAY}' or '{RAY}=ADDRESS', got '{workers.on}'.")
    if workers.on != HERE and workers.number == 1:
        raise EngineError("One worker runs here. For workers on Ray ask for two or more.")
    if workers.number > 1 and agreement.engine.agreed_shards == 1:
        raise EngineError(
            f"{workers.number} workers were asked for, and by the agreement records are not cut into shards that they "
            f"could count. Agree on [engine] shards = {workers.number}, or more, or leave the workers out."
        )
    if workers.cluster is not None:
        refuse_unreachable_cluster(workers.cluster)


def refuse_too_little_memory(agreement: Agreement, party: str, workers: Workers) -> None:
    """Raise if the engine's processes here take more memory than is left, before anybody is called.

    A process that the system kills for lack of memory ends the run of all, and what was reserved by then stays spent.

    Raises:
        EngineError: With both numbers.
    """
    if agreement.engine.name != "spu" or party not in agreement.compute_nodes:
        return
    here = sessions_of(agreement, workers.number) if workers.cluster is None else 1
    needed, left = WORKER_MIB * here, available_bytes()
    if left is not None and left < needed * MIB:
        raise EngineError(
            f"The secure engine takes up to {needed:,} MiB of memory at this party, and {left // MIB:,} MiB are left. "
            "Nothing was spent and nobody was called. End other programs, or give this machine or container more."
        )


def sessions_of(agreement: Agreement, *numbers_of_workers: int) -> int:
    """How many sessions the engine has: as many as every party has workers for, and no more than there are shards."""
    return min(agreement.engine.agreed_shards, *numbers_of_workers)


S = TypeVar("S")
T = TypeVar("T")


class Abortable(Protocol):
    """What can be ended at once, from another thread."""

    def abort(self) -> None:
        """End it."""


def turns_of(shards: Sequence[slice], n_sessions: int) -> list[Sequence[slice]]:
    """The shards that each session counts, in this order: the first session has the first one, the next the second."""
    return [shards[number::n_sessions] for number in range(n_sessions)]


@dataclass
class Tally:
    """How many records are counted, over all sessions; told in the thread in which it was made."""

    n_records: int
    done: Done
    _counted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: int = field(default_factory=threading.get_ident)

    def add(self, n_records: int) -> None:
        """Note that some more are counted."""
        with self._lock:
            self._counted += n_records
        if threading.get_ident() == self._thread:
            self.tell()

    def tell(self) -> None:
        """Say how many are."""
        self.done(self._counted, self.n_records)


def all_at_once(own: Callable[[], S], others: Sequence[Callable[[], T]], whole: Abortable) -> tuple[S, list[T]]:
    """Do work in this thread, and other work in a thread each; return what came of the one and of the others.

    Raises:
        BaseException: What the first of them raised. Everything else is ended then: nobody waits for what is lost.
    """
    failures: list[BaseException] = []

    def attempt(work: Callable[[], Any], results: list[Any]) -> None:
        try:
            results.append(work())
        except BaseException as exc:
            failures.append(exc)
            whole.abort()

    of_own: list[S] = []
    of_others: list[list[T]] = [[] for _ in others]
    threads = [
        threading.Thread(target=attempt, args=pair, name="lane", daemon=True)
        for pair in zip(others, of_others, strict=True)
    ]
    for thread in threads:
        thread.start()
    attempt(own, of_own)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return of_own[0], [results[0] for results in of_others]
