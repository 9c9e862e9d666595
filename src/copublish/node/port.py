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
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.errors import MeetingError
from copublish.node.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    ChannelClosedError,
    RefusedError,
    means_loopback,
    peer_problem,
    plain_channel,
    secure_channel,
)
from copublish.node.dialling import PROTOCOL, dial, refuse_unfit_hosts, tune
from copublish.node.identity import Identity
from copublish.node.pump import carry
from copublish.node.waiting_room import WaitingRoom

ENGINE_PATIENCE_SECONDS = 120.0
"""How long a connection of the engine waits for the worker at its end, which may still be loading."""

Log = Callable[..., None]
"""Called with the name of an event and public facts about it."""


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
        self.bytes_sent = self.bytes_received = 0
        self._timeout, self._log = timeout_seconds, log
        self._arrivals: queue.Queue[Channel] = queue.Queue()
        self._strangers = WaitingRoom(log)
        self._run: str | None = None
        self._engine_socket = Path()
        self._run_is_known, self._closed = threading.Event(), threading.Event()
        self._channels: set[Channel] = set()
        self._lock = threading.Lock()
        self._listener = _listen(listen, agreement.parties[party].address, secure=identity is not None)
        self._bridges: list[socket.socket] = []
        _in_background(self._accept)
        address = self._listener.getsockname()
        log("listening", address=f"{address[0]}:{address[1]}", secure=identity is not None)

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
        if (channel_left := self.newest_arrival()) is not None:
            channel_left.close()
        self._strangers.sum_up()

    @property
    def peers(self) -> tuple[str, ...]:
        """The other parties."""
        return tuple(name for name in self.agreement.parties if name != self.party)

    def dial(self, peer: str, purpose: str, run: str | None = None) -> Channel:
        """Connect to another party and say what for; see `dialling.dial`."""
        return dial(self.agreement, self.party, self.identity, peer, purpose, run=run, timeout_seconds=self._timeout)

    def newest_arrival(self) -> Channel | None:
        """Return the last connection for meeting that has come in and was not returned yet, if any."""
        newest = None
        with contextlib.suppress(queue.Empty):
            while True:
                channel = self._arrivals.get_nowait()
                if newest is not None:
                    newest.close()  # of a run that ended, or was dialled again
                newest = channel
        return newest

    def carry_engine(self, run: str, engine_socket: Path, bridge: Path, peer: str) -> None:
        """Let the engine's link of one run through: what comes in to our worker, what it sends to the peer's."""
        self._run, self._engine_socket = run, engine_socket
        self._run_is_known.set()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(bridge))
        listener.listen()
        self._bridges.append(listener)

        def out(local: socket.socket) -> None:
            try:
                channel = self.dial(peer, "engine", run)
            except MeetingError as exc:
                self._log("engine connection failed", peer=peer, reason=str(exc))
                local.close()
            else:
                self._carry(channel, local)

        def accept() -> None:
            while not self._closed.is_set():
                with contextlib.suppress(OSError):
                    _in_background(out, listener.accept()[0])

        _in_background(accept)

    def _carry(self, channel: Channel, local: socket.socket) -> None:
        self._channels.add(channel)
        try:
            for sent, received in carry(channel, local):
                with self._lock:
                    self.bytes_sent += sent
                    self.bytes_received += received
        finally:
            self._channels.discard(channel)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                sock, address = self._listener.accept()
            except OSError:
                time.sleep(0.05)  # out of files for a moment, say; the port stays open
                continue
            came_from = str(address[0])
            if not self._strangers.enter(came_from):
                sock.close()
                continue
            try:
                _in_background(self._attend, sock, came_from)
            except RuntimeError:  # out of threads
                self._strangers.leave(came_from)
                sock.close()

    def _attend(self, sock: socket.socket, came_from: str) -> None:
        """Find out who came in and what for; whatever a stranger sends ends its own connection and nothing else."""
        try:
            try:
                tune(sock, self._timeout)
                channel, purpose = self._greet(sock)
            finally:
                self._strangers.leave(came_from)
            if purpose == "engine":
                self._carry(channel, _connect_patiently(self._engine_socket, self._closed))
            elif purpose == "meeting":
                self._arrivals.put(channel)
            else:
                channel.close()  # "status": it knows now that we are here and accept it
        except MeetingError as exc:
            self._strangers.refused(came_from, str(exc))
            sock.close()
        except Exception as exc:
            self._strangers.refused(came_from, type(exc).__name__)
            sock.close()

    def _greet(self, sock: socket.socket) -> tuple[Channel, str]:
        """Return a channel to a party of the agreement, and what it came for.

        Raises:
            MeetingError: If it is somebody else, or does not say what it should.
        """
        peer, channel = self._recognize(sock)
        greeting = channel.receive_message(seconds=HANDSHAKE_SECONDS)
        purpose, named = str(greeting.get("purpose")), greeting.get("party")
        problem = None
        if greeting.get("copublish") != PROTOCOL:
            problem = "another version of copublish's protocol"
        elif named not in self.peers or (peer is not None and named != peer):  # on loopback its word is taken
            problem = "another party's name"
        elif purpose == "engine" and not self._is_our_run(greeting.get("run")):
            problem = "a run that is not under way here"
        if problem:
            channel.send_message({"refused": problem})
            channel.close()
            raise RefusedError(problem)
        channel.send_message({"ok": True})
        return channel, purpose

    def _is_our_run(self, run: object) -> bool:
        # The other party may have heard of the run a moment before we were told.
        return self._run_is_known.wait(HANDSHAKE_SECONDS) and run == self._run

    def _recognize(self, sock: socket.socket) -> tuple[str | None, Channel]:
        if self.identity is None:
            return None, plain_channel(sock)
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


def _in_background(work: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=work, args=arguments, daemon=True).start()


def _listen(listen: tuple[str, int] | None, own: tuple[str, int], *, secure: bool) -> socket.socket:
    """Listen where told, on loopback if that is the host's very name, else on every interface."""
    host, port = listen or own
    if not secure and not means_loopback(host):
        raise MeetingError("--insecure is for loopback alone, and so is its --listen.")
    host = "127.0.0.1" if host == "localhost" else host
    everywhere = listen is None and not means_loopback(host)
    try:
        if everywhere and socket.has_dualstack_ipv6():
            with contextlib.suppress(OSError):  # a machine without IPv6
                return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        host = "0.0.0.0" if everywhere else host  # noqa: S104  # the port is what a party offers
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as exc:
        raise MeetingError(
            f"Cannot listen at {host}:{port} ({getattr(exc, 'strerror', 'no address')}). Is another run using it? "
            "--listen ADDRESS:PORT chooses another one."
        ) from exc


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
