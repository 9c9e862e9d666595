"""What the secure engine tells those who measure it: every request to its worker, how long it took and what it sent."""

from __future__ import annotations

from typing import Protocol

CONNECT = "connect"
"""What waiting for the workers is called among the requests: they load, and reach each other."""


class EngineRecorder(Protocol):
    """Told about one node's engine, in the process of its party.

    Privacy:
        Requests hold this party's own data. A recorder that writes something down leaves them out.
    """

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """A request was answered after so long, and the worker has sent so much since the answer before.

        Work that a request only begins goes on after its answer: its bytes are told with later ones, and so is the
        time that somebody waits for it.
        """

    def ends(self, process: int) -> None:
        """The worker with this process number is about to end."""
