"""The process in which SPU runs, as its party sees it: whatever ends that process becomes one of our errors."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_preparation_data
from typing import Any, Protocol, Self

from copublish.engines.spu.requests import NOTHING_YET, Call, ComputeSteps, FirstUses, LinkSettings, LoadMain
from copublish.errors import EngineError, OwnEngineError, PartyLostError, SilenceError, plain_text
from copublish.files.home import programs_folder
from copublish.files.interrupts import deaf_children
from copublish.files.scratch import Scratch

LOADING_SECONDS = 120
"""How long the worker may take to load SPU."""

LOOK_SECONDS = 1.0
"""How often a party that waits for its worker looks whether the other nodes are still there."""

GRACE_SECONDS = 15
"""The time for an answer beyond the link's own timeout: the worker computes, too. A party that gives
up then still ends its engine, listens for last words and asks who is silent, all within 30 s of the timeout."""


class EngineWorker(Protocol):
    """What a compute node asks of the process in which SPU runs, wherever that is.

    Attributes:
        bytes_sent: What it has sent to other parties so far.
        is_connected: Whether it has reached the other nodes' workers.
    """

    bytes_sent: int
    is_connected: bool

    @property
    def pid(self) -> int | None:
        """Its process on this machine, if it is here."""
        ...

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        ...

    def ask(self, request: object) -> Any:
        """Send a request and wait for its answer."""
        ...

    def wait_until_connected(self) -> None:
        """Wait, the first time, until it has reached the workers of the other nodes."""
        ...

    def kill(self) -> None:
        """End it at once, from another thread."""
        ...

    def end(self, *, at_once: bool = False) -> None:
        """Let it end, and make sure that it does."""
        ...


class StartWorker(Protocol):
    """Starts the worker of one compute node; see `WorkerProcess` for what is given."""

    def __call__(
        self,
        rank: int,
        addresses: Sequence[str],
        timeout_seconds: int,
        protocol: str,
        *,
        others: Sequence[str],
        node_that_left: Callable[[], str | None],
        first_uses: FirstUses = NOTHING_YET,
    ) -> EngineWorker:
        """A worker that has begun to load."""
        ...


FAREWELL_SECONDS = 2.0
"""How long a worker may take to end by itself after it was asked to."""

END_SECONDS = 5.0
"""The time that a worker which has closed its pipe may take to be gone."""

BEGIN = """
import sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
sys.path[:], scratch = connection.recv()
from copublish.engines.spu.worker import serve
serve(connection, scratch)
"""
"""The program of the worker's process. Unlike one that `multiprocessing` starts it does not load the party's own
program again, with all that this loads: it is told later if it needs it (`LoadMain`)."""

MAIN_MODULES = ("__main__", "__mp_main__")


class LoadingWorker:
    """A worker's process from its start on. It loads SPU and waits to be told whom to meet.

    So a party can start it while it still reads its data.

    Privacy:
        Until a `WorkerProcess` takes it over it knows nothing of this party's data and has no link to anybody. If none
        does, it ends without a word.
    """

    def __init__(self) -> None:
        self.scratch = Scratch("copublish-worker-")
        self.connection, other_end = multiprocessing.Pipe()
        with deaf_children(), other_end:
            self.process = subprocess.Popen(  # noqa: S603  # our own interpreter and a fixed program
                [sys.executable, "-P", "-c", BEGIN, str(other_end.fileno())],
                pass_fds=[other_end.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._finalizer = weakref.finalize(self, _kill, self.process, self.connection)
        self.connection.send((sys.path, str(self.scratch.path)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, *, patience_seconds: float = 0) -> None:
        """Make sure that the process ends, and remove its folder. May be called twice.

        Args:
            patience_seconds: How long it may take to end by itself.
        """
        self._finalizer.detach()
        self.connection.close()
        try:
            self.process.wait(timeout=patience_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        self.scratch.remove()


def _kill(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """End the worker of a party that has forgotten it: a person has said no, or its data could not be read."""
    connection.close()
    process.kill()
    process.wait()


class WorkerProcess:
    """The supervised child process of one compute node.

    Args:
        rank: Which of the nodes this is.
        addresses: Where each node's worker listens.
        timeout_seconds: How long to wait for the other nodes.
        protocol: What the nodes compute with.
        others: The other nodes.
        node_that_left: Names another node that is known to have left, if one has.
        loading: The worker, if it was started before.
        first_uses: What will be used, so that the nodes set it up as soon as they have met.
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[str],
        timeout_seconds: int,
        protocol: str,
        *,
        others: Sequence[str],
        node_that_left: Callable[[], str | None],
        loading: LoadingWorker | None = None,
        first_uses: FirstUses = NOTHING_YET,
    ) -> None:
        self.bytes_sent = 0
        self.is_connected = False
        self._worker = loading or LoadingWorker()
        self.process, self.scratch, self._connection = (
            self._worker.process,
            self._worker.scratch,
            self._worker.connection,
        )
        self._timeout, self._others, self._node_that_left = timeout_seconds, tuple(others), node_that_left
        self._has_main = self._was_ended_here = False
        scratch, programs = str(self.scratch.path), str(programs_folder())
        settings = LinkSettings(rank, tuple(addresses), timeout_seconds, scratch, protocol, programs, first_uses)
        with contextlib.suppress(OSError):  # whoever asks a worker that has ended hears of it
            self._connection.send(settings)

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self.process.pid

    def ask(self, request: object) -> Any:
        """Send a request to the worker and wait for its answer.

        Raises:
            PartyLostError: If the worker ended, or nobody answered in time.
            OwnEngineError: If somebody killed the worker.
            EngineError: If the worker failed.
        """
        self.wait_until_connected()
        try:
            self._load_main_for(request)
            self._connection.send(request)
            answer, self.bytes_sent = self._receive(self._timeout + GRACE_SECONDS)
        except (EOFError, OSError) as exc:
            raise self._ended() from exc
        return answer

    def wait_until_connected(self) -> None:
        """Wait, the first time, until the worker is loaded and has reached those of the other nodes."""
        if self.is_connected:
            return
        try:
            self._receive(LOADING_SECONDS)
            self._receive(self._timeout)
        except (EOFError, OSError) as exc:
            raise self._ended() from exc
        self.is_connected = True

    def kill(self) -> None:
        """End the worker at once, from another thread: whoever waits for it gets a `PartyLostError`."""
        self._was_ended_here = True
        self.process.kill()

    def end(self, *, at_once: bool = False) -> None:
        """Let the worker end, make sure that it does, and remove its folder."""
        self._worker.end(patience_seconds=0 if at_once else FAREWELL_SECONDS)

    def _load_main_for(self, request: object) -> None:
        """Let the worker load the program that this party runs, if it has a function of it to compute."""
        calls = [step for step in request.steps if isinstance(step, Call)] if isinstance(request, ComputeSteps) else []
        if not self._has_main and any(call.program.__module__ in MAIN_MODULES for call in calls):
            self._has_main = True
            found = get_preparation_data("worker")
            self._connection.send(LoadMain(found.get("init_main_from_name"), found.get("init_main_from_path")))

    def _receive(self, patience_seconds: float) -> Any:
        self._wait_for_word(patience_seconds)
        kind, content = self._connection.recv()
        if kind == "failed" and "timeout" in content:
            raise self._silent()
        if kind == "failed":
            raise EngineError(f"The secure engine failed ({plain_text(content, 300)}). Nothing is published.")
        return content

    def _wait_for_word(self, patience_seconds: float) -> None:
        """Wait until the worker has something to say.

        If another node leaves meanwhile, a worker that waits for it and has nothing to send to it would notice at its
        timeout alone, so the party is asked.

        Raises:
            PartyLostError: If another node has left, or the worker says nothing for too long.
        """
        deadline = time.monotonic() + patience_seconds
        while not self._connection.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            lost = self._node_that_left()
            # Perhaps it left after its last word, and the answer is on its way.
            if lost is not None and not self._connection.poll(LOOK_SECONDS):
                raise PartyLostError(f"Party '{lost}' stopped, or the link to it broke. Nothing is published.")
            if time.monotonic() >= deadline:
                raise self._silent()

    def _ended(self) -> EngineError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=END_SECONDS)
        if self.process.returncode == -signal.SIGKILL and not self._was_ended_here:
            # A link that breaks ends it in other ways, so no other party is to blame.
            return OwnEngineError(
                "The process of this party's own engine was killed (SIGKILL). Mostly that is the system, because "
                "memory ran out: look at its log. Nothing is published."
            )
        who = f"party '{self._others[0]}'" if len(self._others) == 1 else "another compute node"
        return PartyLostError(
            f"The secure engine ended (exit code {self.process.returncode}): {who} stopped, or the link to it broke. "
            "Nothing is published."
        )

    def _silent(self) -> SilenceError:
        if len(self._others) == 1:
            return SilenceError.of(self._others[0], self._timeout)
        return SilenceError(f"Another compute node did not answer in {self._timeout} s. Nothing is published.")
