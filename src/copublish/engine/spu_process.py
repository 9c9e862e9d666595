"""The process in which SPU runs, as its party sees it: whatever ends that process becomes one of our errors."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any

from copublish.engine.spu_requests import LinkSettings
from copublish.engine.spu_worker import serve
from copublish.errors import EngineError, PartyLostError, plain_text
from copublish.scratch import Scratch

LOADING_SECONDS = 120
"""How long the worker may take to load SPU."""

GRACE_SECONDS = 30
"""How much longer than the link's own timeout a party waits for an answer: the worker computes, too."""


class WorkerProcess:
    """The supervised child process of one compute node.

    Args:
        rank: Which of the nodes this is.
        addresses: Where each node's worker listens.
        timeout_seconds: How long to wait for the other nodes.
        protocol: What the nodes compute with.
        others: Who else computes, in words for messages.
    """

    def __init__(
        self, rank: int, addresses: Sequence[str], timeout_seconds: int, protocol: str, *, others: str
    ) -> None:
        self.bytes_sent = 0
        self.is_connected = False
        self.scratch = Scratch("copublish-worker-")
        self._timeout, self._others = timeout_seconds, others
        settings = LinkSettings(rank, tuple(addresses), timeout_seconds, str(self.scratch.path), protocol)
        context = multiprocessing.get_context("spawn")  # SPU's threads do not survive a fork
        self._connection, other_end = context.Pipe()
        self.process = context.Process(target=serve, args=(other_end, settings), daemon=True)
        self.process.start()
        other_end.close()

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
        if not self._connection.poll(patience_seconds):
            raise self._silent()
        kind, content = self._connection.recv()
        if kind == "failed" and "timeout" in content:
            raise self._silent()
        if kind == "failed":
            raise EngineError(f"The secure engine failed ({plain_text(content, 300)}). Nothing is published.")
        return content

    def _ended(self) -> PartyLostError:
        self.process.join(timeout=5)
        return PartyLostError(
            f"The secure engine ended (exit code {self.process.exitcode}): {self._others} stopped, or the link to "
            "it broke. Nothing is published."
        )

    def _silent(self) -> PartyLostError:
        who = f"{self._others[0].upper()}{self._others[1:]}"
        return PartyLostError(f"{who} did not answer in {self._timeout} s. Nothing is published.")
