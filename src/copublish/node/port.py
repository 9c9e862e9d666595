"""The one port that a party opens, and the connections it makes: for meeting, and for the engine's own link.

SPU's ports take messages from anybody, so SPU listens on a unix socket that this user alone can reach. What it sends
goes through a second unix socket to this module, which carries it to the other party's port over mutual TLS; what
comes from there is passed on only after the peer's certificate was checked.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.errors import MeetingError
from copublish.node.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    ChannelClosedError,
    RefusedError,
    peer_problem,
    resolves_to_loopback,
    secure_channel,
)
from copublish.node.dialling import PROTOCOL, dial, refuse_unfit_hosts, tune
from copublish.node.identity import Identity
from copublish.node.pump import carry

MAX_CONNECTIONS = 32
"""More at once are turned away, so that strangers cannot use up threads or files."""

ENGINE_PATIENCE_SECONDS = 120.0
"""How long a connection of the engine waits for the worker at its end, which may still be loading."""

Log = Callable[..., None]
"""Called with the name of an event and public facts about it."""


@dataclass(frozen=True)
class Arrival:
    """A peer that came in to meet us."""

    peer: str
    channel: Channel


class Port:
    """A party's end of all connections.

    Args:
        agreement: Names the parties, their hosts and certificates.
        party: Which of them this is.
        identity: Its key and certificate; none for plain connections on loopback.
        listen: Address and port to listen at; by default the port of its own host.
        timeout_seconds: How long a connection may be dead before it counts as broken.
        log: Told about every connection; never about content.
    """

    def __init__(
        self,
        agreement: Agreement,
        party: str,
        identity: Identity | None,
        *,
        listen: tuple[str, int] | None = None,
        timeout_seconds: int = 600,
        log: Log = lambda event, **facts: None,
    ) -> None:
        refuse_unfit_hosts(agreement, party, identity)
        self.agreement, self.party, self.identity = agreement, party, identity
        self.arrivals: queue.Queue[Arrival] = queue.Queue()
        self.bytes_sent = self.bytes_received = 0
        self._timeout, self._log = timeout_seconds, log
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._run: str | None = None
        self._engine_socket: Path | None = None
        self._closed = threading.Event()
        self._channels: set[Channel] = set()
        host, port = listen or _own_address(agreement.parties[party].address)
        try:
            self._listener = socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=MAX_CONNECTIONS
            )
        except OSError as exc:
            raise MeetingError(
                f"Cannot listen at {host}:{port} ({exc.strerror}). Is another run using it? "
                "--listen ADDRESS:PORT chooses another one."
            ) from exc
        self._bridges: list[socket.socket] = []
        self._in_background(self._accept, self._listener, self._serve)
        log("listening", address=f"{host}:{port}", secure=identity is not None)

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the port and every connection."""
        self._closed.set()
        for listener in (self._listener, *self._bridges):
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for channel in list(self._channels):
            channel.break_off()

    @property
    def peers(self) -> tuple[str, ...]:
        """The other parties."""
        return tuple(name for name in self.agreement.parties if name != self.party)

    def dial(self, peer: str, purpose: str, run: str | None = None) -> Channel:
        """Connect to another party and say what for; see `dialling.dial`."""
        return dial(self.agreement, self.party, self.identity, peer, purpose, run=run, timeout_seconds=self._timeout)

    def carry_engine(self, run: str, engine_socket: Path, bridge: Path, peer: str) -> None:
        """Let the engine's link of one run through: what comes in to our worker, what it sends to the peer's."""
        self._run, self._engine_socket = run, engine_socket
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(bridge))
        listener.listen(MAX_CONNECTIONS)
        self._bridges.append(listener)

        def out(local: socket.socket, _: Any) -> None:
            try:
                channel = self.dial(peer, "engine", run)
            except MeetingError as exc:
                self._log("engine connection failed", peer=peer, reason=str(exc))
                local.close()
                return
            self._carry(channel, local)

        self._in_background(self._accept, listener, out)

    def _carry(self, channel: Channel, local: socket.socket) -> None:
        self._channels.add(channel)
        try:
            for sent, received in carry(channel, local):
                self.bytes_sent += sent
                self.bytes_received += received
        finally:
            self._channels.discard(channel)

    def _accept(self, listener: socket.socket, handle: Callable[[socket.socket, Any], None]) -> None:
        while not self._closed.is_set():
            try:
                sock, address = listener.accept()
            except OSError:
                if not self._closed.is_set():
                    time.sleep(0.05)  # out of files for a moment, say; the port stays open
                    continue
                return
            if not self._slots.acquire(blocking=False):
                sock.close()
                continue
            self._in_background(self._attend, handle, sock, address)

    def _attend(self, handle: Callable[[socket.socket, Any], None], sock: socket.socket, address: Any) -> None:
        try:
            handle(sock, address)
        except Exception as exc:  # whatever a stranger sends ends its own connection and nothing else
            self._log("connection ended", reason=type(exc).__name__)
            sock.close()
        finally:
            self._slots.release()

    def _serve(self, sock: socket.socket, address: Any) -> None:
        """Find out who came in and what for."""
        came_from = str(address[0])
        tune(sock, self._timeout)
        try:
            peer, channel = self._recognize(sock)
            greeting = channel.receive_message(seconds=HANDSHAKE_SECONDS)
        except MeetingError as exc:
            self._log("refused", address=came_from, reason=str(exc))
            sock.close()
            return
        problem = None
        if greeting.get("copublish") != PROTOCOL:
            problem = "another version of copublish's protocol"
        elif peer is None and greeting.get("party") in self.peers:
            peer = str(greeting["party"])  # without TLS, on loopback, its word is taken
        elif greeting.get("party") != peer:
            problem = "another party's name than the certificate's"
        elif greeting.get("purpose") == "engine" and (self._run is None or greeting.get("run") != self._run):
            problem = "a run that is not under way here"
        if problem or peer is None:
            self._log("refused", address=came_from, reason=problem or "no party of the agreement")
            channel.send_message({"refused": problem or "no party of the agreement"})
            channel.close()
            return
        channel.send_message({"ok": True})
        if greeting.get("purpose") == "engine" and self._engine_socket is not None:
            self._carry(channel, _connect_patiently(self._engine_socket, self._closed))
        elif greeting.get("purpose") == "meeting":
            self._channels.add(channel)
            self.arrivals.put(Arrival(peer, channel))
        else:
            channel.close()  # "status": it knows now that we are here and accept it

    def _recognize(self, sock: socket.socket) -> tuple[str | None, Channel]:
        if self.identity is None:
            sock.setblocking(False)
            return None, Channel(sock, None)
        channel, chain = secure_channel(sock, self.identity, is_server=True)
        problems = {peer: peer_problem(self.agreement, peer, chain) for peer in self.peers}
        known = [peer for peer, problem in problems.items() if problem is None]
        if known:
            return known[0], channel
        reason = next(problem for problem in problems.values() if problem)
        with contextlib.suppress(MeetingError):
            channel.send_message({"refused": f"you {reason}"})
        channel.close()
        raise RefusedError(reason)

    def _in_background(self, work: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()


def _own_address(address: tuple[str, int]) -> tuple[str, int]:
    """Listen on loopback if that is all the host means; a name may be translated, so else on every interface."""
    host, port = address
    if resolves_to_loopback(host):
        return ("::1" if ":" in host else "127.0.0.1"), port
    return ("::" if ":" in host else "0.0.0.0"), port  # noqa: S104  # the port is what a party offers


def _connect_patiently(path: Path, closed: threading.Event) -> socket.socket:
    """Connect to our worker, which may not listen yet."""
    deadline = time.monotonic() + ENGINE_PATIENCE_SECONDS
    while not closed.is_set():
        local = socket.socket(socket.AF_UNIX)
        try:
            local.connect(str(path))
        except OSError:
            local.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return local
    raise ChannelClosedError("the run has ended")
