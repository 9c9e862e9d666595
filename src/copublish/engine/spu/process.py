"""The process in which SPU runs, as its party sees it: whatever ends that process becomes one of our errors."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from copublish.engine.spu.requests import LinkSettings
from copublish.engine.spu.worker import serve
from copublish.errors import EngineError, PartyLostError, SilenceError, plain_text
from copublish.files.home import programs_folder
from copublish.files.interrupts import deaf_children
from copublish.files.scratch import Scratch

LOADING_SECONDS = 120
"""How long the worker may take to load SPU."""

LOOK_SECONDS = 1.0
"""How often a party that waits for its worker looks whether the other nodes are still there."""

GRACE_SECONDS = 30
"""How much longer than the link's own timeout a party waits for an answer: the worker computes, too."""


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

    def end(self) -> None:
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
        others: str,
        node_that_left: Callable[[], str | None],
    ) -> EngineWorker:
        """A worker that has begun to load."""
        ...


class WorkerProcess:
    """The supervised child process of one compute node.

    Args:
        rank: Which of the nodes this is.
        addresses: Where each node's worker listens.
        timeout_seconds: How long to wait for the other nodes.
        protocol: What the nodes compute with.
        others: Who else computes, in words for messages.
        node_that_left: Names another node that is known to have left, if one has.
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[str],
        timeout_seconds: int,
        protocol: str,
        *,
        others: str,
        node_that_left: Callable[[], str | None],
    ) -> None:
        self.bytes_sent = 0
        self.is_connected = False
        self.scratch = Scratch("copublish-worker-")
        self._timeout, self._others, self._node_that_left = timeout_seconds, others, node_that_left
        scratch, programs = str(self.scratch.path), str(programs_folder())
        settings = LinkSettings(rank, tuple(addresses), timeout_seconds, scratch, protocol, programs)
        context = multiprocessing.get_context("spawn")  # SPU's threads do not survive a fork
        self._connection, other_end = context.Pipe()
        self.process = context.Process(target=serve, args=(other_end, settings), daemon=True)
        with deaf_children():
            self.process.start()
        other_end.close()

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self.process.pid

    def is_alive(self) -> bool:
        """Whether the process is there."""
        return self.process.is_alive()

    def ask(self, request: object) -> Any:
        """Send a request to the worker and wait for its answer.

        Raises:
            PartyLostError: If the worker ended, or nobody answered in time.
            EngineError: If the worker failed.
        """
        self.wait_until_connected()
        try:
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
        self.process.kill()

    def end(self) -> None:
        """Let the worker end, make sure that it does, and remove its folder."""
        self._connection.close()
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.scratch.remove()

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

    def _ended(self) -> PartyLostError:
        self.process.join(timeout=5)
        return PartyLostError(
            f"The secure engine ended (exit code {self.process.exitcode}): {self._others} stopped, or the link to "
            "it broke. Nothing is published."
        )

    def _silent(self) -> SilenceError:
        who = f"{self._others[0].upper()}{self._others[1:]}"
        return SilenceError(f"{who} did not answer in {self._timeout} s. Nothing is published.")
