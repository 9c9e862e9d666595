"""Numbered streams that join unix sockets of SPU workers on two machines, and a common start of workers on one machine.

Something else carries the streams. Each end listens where one side dials, and dials where the other one listens, so
that two workers of SPU reach each other without knowing of it. Memory does not grow with what is carried: an end that
is not asked for more stops reading. Workers of several parties on one machine begin to listen at the same moment.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

UNIX = "unix:"
ABOUT_TO_LISTEN = ".soon"
BESIDE_SECONDS = 2.0
"""How long somebody who comes late is waited for. SPU then goes on by itself."""


def wait_for_those_beside(addresses: Sequence[str], rank: int) -> None:
    """Wait until all others listen, or are about to.

    SPU lets nobody through for three seconds who called before the other listened. Over a network the party itself
    listens at the other's address from the beginning, so nobody waits.
    """
    if not all(address.startswith(UNIX) for address in addresses):
        return
    listens = [Path(address.removeprefix(UNIX)) for address in addresses]
    soon = [path.with_name(path.name + ABOUT_TO_LISTEN) for path in listens]
    try:
        soon[rank].touch()
    except OSError:  # then nobody can listen there either, which SPU says
        return
    others, latest = [number for number in range(len(addresses)) if number != rank], time.monotonic() + BESIDE_SECONDS
    while not all(listens[other].exists() or soon[other].exists() for other in others):
        if time.monotonic() > latest:
            return
        time.sleep(0.0005)  # whoever is late by more than a moment calls too late


CHUNK = 2**18
MOST_WAITING = 32
"""Chunks that wait to be carried; beyond it sockets are not read."""

MOST_AT_ONCE = 16
WAIT_SECONDS = 5.0
PATIENCE_SECONDS = 150.0
"""How long a worker may take to load and listen."""

Pieces = Sequence[tuple[int, bytes]]
"""What was read on streams, each with the number of its stream; nothing read means that the stream has ended."""


class Streams:
    """One end of all streams.

    Args:
        listen_at: Where streams begin at this end.
        connect_to: Where those lead to that began at the other one.
        first: The number of the first stream that begins here, 0 or 1; the other end has the other one.
    """

    def __init__(self, listen_at: Path, connect_to: Path, *, first: int) -> None:
        self._connect_to, self._next = connect_to, first
        self._arrived: queue.Queue[tuple[int, bytes]] = queue.Queue(MOST_WAITING)
        self._sockets: dict[int, socket.socket] = {}
        self._ended: set[int] = set()
        self._closed = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(listen_at))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def take(self) -> Pieces:
        """What has been read here, to be put at the other end; nothing if there is nothing for some seconds."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._arrived.get(timeout=WAIT_SECONDS))
            while len(found) < MOST_AT_ONCE:
                found.append(self._arrived.get_nowait())
        return found

    def put(self, pieces: Pieces) -> None:
        """Pass on what was taken at the other end, in this order."""
        for number, content in pieces:
            if number in self._ended:
                continue
            try:
                if not content:
                    self._end(number)
                    continue
                if number not in self._sockets:
                    self._begin(number, self._connect())
                self._sockets[number].sendall(content)
            except OSError:
                self._end(number)

    def close(self) -> None:
        """End every stream."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for number in list(self._sockets):
            self._end(number)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                local = self._listener.accept()[0]
            except OSError:
                return
            self._begin(self._next, local)
            self._next += 2

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            local = socket.socket(socket.AF_UNIX)
            try:
                local.connect(str(self._connect_to))
            except OSError:
                local.close()
                if self._closed.is_set() or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return local

    def _begin(self, number: int, local: socket.socket) -> None:
        self._sockets[number] = local
        threading.Thread(target=self._read, args=(number, local), daemon=True).start()

    def _read(self, number: int, local: socket.socket) -> None:
        content = b"-"
        while content:
            try:
                content = local.recv(CHUNK)
            except OSError:
                content = b""
            self._pass_on(number, content)

    def _pass_on(self, number: int, content: bytes) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._arrived.put((number, content), timeout=WAIT_SECONDS)
                return

    def _end(self, number: int) -> None:
        self._ended.add(number)
        local = self._sockets.pop(number, None)
        if local is not None:
            with contextlib.suppress(OSError):
                local.shutdown(socket.SHUT_RDWR)
            local.close()
