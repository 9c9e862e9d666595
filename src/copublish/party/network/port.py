"""The one port that a party opens, and the connections it makes: for meeting, for messages, for the engine's own link.

A party that only dials out opens none, and others call it on connections that it offers (`offered_connections.py`).

SPU's ports take messages from anybody, so SPU listens on a unix socket that this user alone can reach. What it sends
to another party goes through a second unix socket to this module, which carries it to that party's port over mutual
TLS; what comes from there is passed on only after the peer's certificate was checked.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

from copublish.agreement.model import Agreement
from copublish.agreement.parties import over_what, way_between
from copublish.agreement.protocol.table import ACCEPTED, GREETING, PROTOCOL, REFUSED, STATUS
from copublish.errors import MeetingError, plain_text
from copublish.party.keys.identity import Identity, common_name
from copublish.party.network.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    RefusedError,
    peer_problem,
    plain_channel,
    secure_channel,
)
from copublish.party.network.dialing import OnlyOneHere, dial, listen_at, refuse_unfit_hosts
from copublish.party.network.engine_link import Blame, EngineLinks
from copublish.party.network.measuring import answer_measurements
from copublish.party.network.offered_connections import Offers, Parked
from copublish.party.network.proxy import DIAL_SECONDS, DIRECT, WayOut
from copublish.party.network.sockets import MAX_OF_ONE_PARTY, ConnectionLimits, Places
from copublish.release.prepare import facts_of

Log = Callable[..., None]
"""Called with the name of an event and public facts about it."""


PURPOSES_OF_A_RUN = ("engine", "messages")
"""What connections are for that carry content; they name the run, and a port lets them in once it knows it, too.

After "engine" comes the number of the session, unless it is the main one."""


DOOR_SECONDS = HANDSHAKE_SECONDS
"""How long a party may come before this one knows of the run."""


@dataclass(frozen=True)
class Door:
    """Where connections of one party go that are for one purpose of one run."""

    run: str
    take: Callable[[Channel], None]


class Port:
    """A party's end of all connections.

    Args:
        agreement: Names the parties, their hosts and certificates.
        party: Which of them this is.
        identity: Its key and certificate; none for plain connections on loopback.
        listen: Address and port to listen at; by default the port of its own host.
        way_out: How it reaches others, and how long a connection may be dead before it counts as broken.
        log: Told about every connection; never about content.
    """

    def __init__(
        self,
        agreement: Agreement,
        party: str,
        identity: Identity | None,
        *,
        listen: tuple[str, int] | None = None,
        way_out: WayOut = DIRECT,
        log: Log = lambda event, **facts: None,
    ) -> None:
        refuse_unfit_hosts(agreement, party, identity)
        self.agreement, self.party, self.identity = agreement, party, identity
        self.bytes_sent = self.bytes_received = 0
        self._way_out, self._log = way_out, log
        self._arrivals: dict[str, queue.Queue[Channel]] = {peer: queue.Queue() for peer in self.peers}
        self._strangers, self._places = (
            ConnectionLimits(log),
            Places(MAX_OF_ONE_PARTY + agreement.engine.agreed_shards - 1),
        )
        self._doors: dict[tuple[str, str], Door] = {}
        self._door_opens, self._closed = threading.Condition(), threading.Event()
        self._lock = threading.Lock()
        self._links = EngineLinks(self.count, log)
        self._listener, self._only_one = self._hold(listen)
        self._parked = Parked(peer for peer in self.peers if way_between(agreement, party, peer) == "call back")
        self._offers = None if self._listener is not None else self._offer()
        if self._listener is not None:
            _in_background(self._accept, self._listener)
            address = self._listener.getsockname()
            log("listening", address=f"{address[0]}:{address[1]}", secure=identity is not None)

    def _hold(self, listen: tuple[str, int] | None) -> tuple[socket.socket | None, OnlyOneHere | None]:
        """Listen at the port, or hold what stands for it at a party that opens none."""
        own = self.agreement.parties[self.party]
        if not own.dials_out:
            return listen_at(listen, own.address, secure=self.identity is not None), None
        if listen is not None:
            raise MeetingError("--listen: by the agreement you only dial out, and open no port.")
        return None, OnlyOneHere(self.agreement, self.party)

    def _offer(self) -> Offers:
        """Open the connections that others may call us on."""
        self._log("dialing out")
        return Offers(
            self.agreement,
            self.party,
            self.identity,
            way_out=self._way_out,
            welcome=self._called,
            attend=self._attend_stranger,
            log=self._log,
        )

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the port and every connection."""
        self._closed.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        if self._only_one is not None:
            self._only_one.close()
        if self._offers is not None:
            self._offers.close()
        self._parked.close()
        self._links.close()
        self._close_arrivals()
        self._strangers.sum_up()

    def _close_arrivals(self) -> None:
        for peer in self.peers:
            if (channel_left := self.newest_arrival(peer)) is not None:
                channel_left.close()

    @property
    def peers(self) -> tuple[str, ...]:
        """The other parties."""
        return tuple(name for name in self.agreement.parties if name != self.party)

    def dial(self, peer: str, purpose: str, run: str | None = None) -> Channel:
        """Connect to another party and say what for; see `dialing.dial`.

        One that cannot be dialed is called on a connection that it has left open here.
        """
        if peer in self._parked:
            # In a run nobody asks again, and one that was just used is being replaced. Who meets asks again and again.
            seconds = (0.1 if purpose == "meeting" else DIAL_SECONDS) if run is None else 2 * HANDSHAKE_SECONDS
            return self._parked.call(self.party, peer, purpose, run=run, seconds=seconds)
        return dial(
            self.agreement,
            self.party,
            self.identity,
            peer,
            purpose,
            run=run,
            way_out=self._way_out,
        )

    def over(self, peer: str) -> str:
        """What is between this party and another one, for messages; nothing if nothing is."""
        return over_what(self.agreement, self.party, peer)

    def has_arrival(self, peer: str) -> bool:
        """Whether a party has called for a meeting since it was last asked for its newest connection."""
        return not self._arrivals[peer].empty()

    def newest_arrival(self, peer: str) -> Channel | None:
        """A party's last connection for meeting that has come in and was not returned yet, if any."""
        newest = None
        with contextlib.suppress(queue.Empty):
            while True:
                channel = self._arrivals[peer].get_nowait()
                if newest is not None:
                    newest.close()  # of a run that ended, or was dialed again
                newest = channel
        return newest

    def let_in(self, purpose: str, peer: str, run: str, take: Callable[[Channel], None]) -> None:
        """Let in a party's connections for one purpose of a run; each is taken in a thread of its own."""
        with self._door_opens:
            self._doors[purpose, peer] = Door(run, take)
            self._door_opens.notify_all()

    def carry_engine(
        self,
        run: str,
        engine_socket: Path,
        bridge: Path,
        peer: str,
        *,
        session: int = 0,
        blame: Blame = lambda party, deed: None,
    ) -> None:
        """Let the engine's link with one party through: what comes in to our worker, what it sends to the peer's.

        Args:
            run: The id of the run.
            engine_socket: Where our worker listens.
            bridge: Where it finds the peer's.
            peer: The other party.
            session: Which of the engine's sessions it is; each has a link of its own.
            blame: Called with the peer, and words for what it did, if it sends what no engine sends.
        """
        purpose = f"engine {session}" if session else "engine"
        self.let_in(purpose, peer, run, partial(self._links.bring_in, engine_socket, peer, blame))
        self._links.carry_out(bridge, peer, blame, partial(self.dial, peer, purpose, run))

    def count(self, sent: int, received: int) -> None:
        """Count content that was sent to other parties and received from them."""
        with self._lock:
            self.bytes_sent += sent
            self.bytes_received += received

    def _accept(self, listener: socket.socket) -> None:
        while not self._closed.is_set():
            try:
                sock, address = listener.accept()
            except OSError:
                time.sleep(0.05)  # out of files for a moment, say; the port stays open
                continue
            came_from = str(address[0])
            try:
                self._way_out.tune(sock)
            except OSError:
                sock.close()
                continue
            if not self._strangers.enter(came_from):
                sock.close()
                continue
            try:
                _in_background(self._attend, sock, came_from)
            except RuntimeError:  # out of threads
                self._strangers.leave(came_from)
                sock.close()

    def _attend_stranger(self, sock: socket.socket, came_from: str) -> None:
        """Attend to somebody who came another way than by our own port."""
        if self._strangers.enter(came_from):
            self._attend(sock, came_from)
        else:
            sock.close()

    def _called(self, channel: Channel, peer: str, greeting: dict[str, Any]) -> None:
        """Do what a party wants that calls on a connection of ours; it is known already."""
        try:
            self._welcome(channel, peer, greeting)
        except Exception as exc:
            self._strangers.refused(peer, str(exc) if isinstance(exc, MeetingError) else type(exc).__name__)
            channel.close()

    def _attend(self, sock: socket.socket, came_from: str) -> None:
        """Find out who came in and what for; whatever a stranger sends ends its own connection and nothing else."""
        try:
            try:
                known, channel = self._recognize(sock)
                _, greeting = channel.receive_word(GREETING, sender=_who(known), seconds=HANDSHAKE_SECONDS)
            finally:
                self._strangers.leave(came_from)
            self._welcome(channel, known, greeting)
        except MeetingError as exc:
            self._strangers.refused(came_from, str(exc))
            sock.close()
        except Exception as exc:
            self._strangers.refused(came_from, type(exc).__name__)
            sock.close()

    def _welcome(self, channel: Channel, known: str | None, greeting: dict[str, Any]) -> None:
        peer = self._greet(channel, known, greeting)
        try:
            self._serve(channel, peer, greeting)
        finally:
            self._places.leave(peer)

    def _greet(self, channel: Channel, known: str | None, greeting: dict[str, Any]) -> str:
        """Which party of the agreement came; it has taken one of its places.

        Raises:
            MeetingError: If it is somebody else, does not say what it should, or has too many connections.
        """
        if greeting["protocol"] != PROTOCOL:
            self._refuse(channel, "another version of copublish's protocol")
        named = greeting["party"]
        if named not in self.peers or (known is not None and named != known):  # on loopback its word is taken
            self._refuse(channel, "another party's name")
        if not self._places.enter(named):
            self._refuse(channel, "too many connections of one party at once")
        return cast(str, named)

    def _serve(self, channel: Channel, peer: str, greeting: dict[str, Any]) -> None:
        """Do what a party of the agreement came for; in a run, until the connection ends."""
        purpose = greeting["purpose"]
        is_of_a_run = purpose.partition(" ")[0] in PURPOSES_OF_A_RUN
        door = self._door(purpose, peer, greeting["run"]) if is_of_a_run else None
        if is_of_a_run and door is None:
            self._refuse(channel, "a run that is not under way here")
        if purpose == "parked" and peer not in self._parked:
            self._refuse(channel, "a connection to call it on, but by the agreement it can be dialed")
        channel.send_word(ACCEPTED)
        if door is not None:
            door.take(channel)
        elif purpose == "parked":
            self._parked.park(peer, channel)
        elif purpose == "meeting":
            if (older := self.newest_arrival(peer)) is not None:
                older.close()  # of several the newest counts, and none piles up
            self._arrivals[peer].put(channel)
            if self._closed.is_set():  # nobody will ask for it, and the other party has to notice
                self._close_arrivals()
        elif purpose == "measure":
            answer_measurements(channel, lambda: self.dial(peer, "status").close())
        else:
            # "status": it knows now that we are here and accept it. In a meeting it would hear the same.
            with contextlib.suppress(MeetingError):
                channel.send_word(STATUS, {"time": time.time(), "facts": facts_of(self.agreement)})
            channel.close()

    def _refuse(self, channel: Channel, problem: str) -> NoReturn:
        channel.send_word(REFUSED, problem)
        channel.close()
        raise RefusedError(problem)

    def _door(self, purpose: str, peer: str, run: object) -> Door | None:
        with self._door_opens:
            # The other party may have heard of the run a moment before we were told.
            self._door_opens.wait_for(lambda: (purpose, peer) in self._doors, DOOR_SECONDS)
            door = self._doors.get((purpose, peer))
        return door if door is not None and door.run == run else None

    def _recognize(self, sock: socket.socket) -> tuple[str | None, Channel]:
        if self.identity is None:
            return None, plain_channel(sock)
        channel, chain = secure_channel(sock, self.identity, is_server=True)
        problems = {peer: peer_problem(self.agreement, peer, chain) for peer in self.peers}
        known = [peer for peer, problem in problems.items() if problem is None]
        if known:
            return known[0], channel
        # What is wrong with who it says it is; that tells more than that it is none of the others.
        said = common_name(chain[0]) if chain else ""
        reason = problems.get(said) or next(problem for problem in problems.values() if problem)
        with contextlib.suppress(MeetingError):
            channel.send_word(REFUSED, plain_text(f"you {reason}", 1000))
        channel.close()
        raise RefusedError(reason)


def _who(party: str | None) -> str:
    return "Whoever called" if party is None else f"Party '{party}'"


def _in_background(work: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=work, args=arguments, daemon=True).start()
