"""The engine's links with other parties: bytes between our worker's unix sockets and channels to theirs."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from copublish.errors import MeetingError
from copublish.party.network.channel import HANDSHAKE_SECONDS, Channel, UnreachableError
from copublish.party.network.dialing import connect_patiently
from copublish.party.network.engine_frames import EngineFrames, StrangeFrameError
from copublish.party.network.forwarding import carry

PATIENCE_SECONDS = 2 * HANDSHAKE_SECONDS
"""How long another party is dialed again and again for the engine, which does so once."""

RETRY_SECONDS = 0.2

Blame = Callable[[str, str], None]
"""Called with the party that misbehaved, and what it did."""


class EngineLinks:
    """Every link of one party's engine. With several parties each has a bridge; what they send comes in at one socket.

    Args:
        count: Told how many bytes were sent to other parties and received from them.
        log: Told about what failed; never about content.
    """

    def __init__(self, count: Callable[[int, int], None], log: Callable[..., None]) -> None:
        self._count, self._log = count, log
        self._closed = threading.Event()
        self._bridges: list[socket.socket] = []
        self._channels: set[Channel] = set()

    def bring_in(self, engine_socket: Path, peer: str, blame: Blame, channel: Channel) -> None:
        """Bring what another party's engine sends to our worker, until either ends."""
        self._carry(channel, connect_patiently(engine_socket, self._closed), peer, blame)

    def carry_out(self, bridge: Path, peer: str, blame: Blame, dial: Callable[[], Channel]) -> None:
        """Listen at a bridge, and carry what our worker sends there to another party."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(bridge))
        listener.listen()
        self._bridges.append(listener)

        def accept() -> None:
            while not self._closed.is_set():
                with contextlib.suppress(OSError):
                    local = listener.accept()[0]
                    threading.Thread(target=self._connect, args=(local, peer, blame, dial), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def close(self) -> None:
        """End every link."""
        self._closed.set()
        for listener in self._bridges:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for channel in list(self._channels):
            channel.break_off()

    def _connect(self, local: socket.socket, peer: str, blame: Blame, dial: Callable[[], Channel]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                channel = dial()
            except MeetingError as exc:
                may_help = isinstance(exc, UnreachableError) and not self._closed.is_set()
                if may_help and time.monotonic() < deadline:
                    time.sleep(RETRY_SECONDS)
                    continue
                self._log("engine connection failed", peer=peer, reason=str(exc))
                local.close()
                return
            self._carry(channel, local, peer, blame)
            return

    def _carry(self, channel: Channel, local: socket.socket, peer: str, blame: Blame) -> None:
        self._channels.add(channel)
        try:
            for sent, received in carry(channel, local, EngineFrames()):
                self._count(sent, received)
        except StrangeFrameError as exc:
            self._log("engine connection refused", peer=peer, reason=str(exc))
            blame(peer, str(exc))
        finally:
            self._channels.discard(channel)
