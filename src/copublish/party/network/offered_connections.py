"""Connections that a party which nobody can dial opens itself, so that others can call it: offered, and parked.

Where another party can be dialed they are parked there, and checked first as any other: both certificates are the
agreed ones. At a relay they wait for the other party's call, and are checked then. Either way what comes is attended to
as at a port. `Parked` is the end where they are parked.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar, cast

from copublish.agreement.model import Agreement
from copublish.agreement.parties import way_between
from copublish.agreement.protocol.table import ALIVE, GREETING
from copublish.errors import MeetingError
from copublish.party.keys.identity import Identity
from copublish.party.network.channel import Channel, SilentError, UnreachableError
from copublish.party.network.dialing import dial, say_what_for
from copublish.party.network.proxy import WayOut
from copublish.party.network.relay_talk import enter_relay, wait_to_be_called
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

SPARE = 2
"""How many connections wait at once for calls of one party. One that is used is replaced at once."""

RETRY_SECONDS = 0.5

T = TypeVar("T")


class Offers:
    """Offers of one party to all others.

    Args:
        agreement: Names the parties and the relay.
        party: Which of them this is: one that nobody can dial.
        identity: Its key and certificate.
        way_out: How it reaches others.
        welcome: Does what a party wants that calls on a parked connection; it is known already.
        attend: Finds out who calls at the relay, and does what it wants.
        log: Told about what is in the way.
    """

    def __init__(
        self,
        agreement: Agreement,
        party: str,
        identity: Identity | None,
        *,
        way_out: WayOut,
        welcome: Callable[[Channel, str, dict[str, Any]], None],
        attend: Callable[[socket.socket, str], None],
        log: Callable[..., None],
    ) -> None:
        self._agreement, self._party, self._identity = agreement, party, identity
        self._way_out, self._welcome, self._attend, self._log = way_out, welcome, attend, log
        self._closed, self._lock, self._open = threading.Event(), threading.Lock(), set[Channel]()
        for peer in agreement.parties:
            if peer != party:
                wait = self._at_relay if way_between(agreement, peer, party) == "relay" else self._at_peer
                for number in range(SPARE):
                    threading.Thread(target=self._offer, args=(peer, wait, number == 0), daemon=True).start()

    def close(self) -> None:
        """Take back every offer."""
        self._closed.set()
        with self._lock:
            offered = tuple(self._open)
        for channel in offered:
            channel.break_off()

    def _offer(self, peer: str, wait: Callable[[str], Callable[[], None]], tells: bool) -> None:
        """Offer one connection after the other, and have every call attended to in a thread of its own."""
        in_the_way = None
        while not self._closed.is_set():
            try:
                attend = wait(peer)
            except (MeetingError, OSError) as exc:
                if tells and str(exc) != in_the_way and not self._closed.is_set():
                    in_the_way = str(exc)
                    self._log("cannot be called", peer=peer, reason=in_the_way)
                self._closed.wait(RETRY_SECONDS)
            else:
                in_the_way = None
                threading.Thread(target=attend, daemon=True).start()

    def _at_peer(self, peer: str) -> Callable[[], None]:
        """Park a connection at another party until it calls on it."""
        channel = dial(
            self._agreement,
            self._party,
            self._identity,
            peer,
            "parked",
            way_out=self._way_out,
        )
        greeting = self._while_open(channel, partial(_next_greeting, peer))
        return lambda: self._welcome(channel, peer, greeting)

    def _at_relay(self, peer: str) -> Callable[[], None]:
        """Wait at the relay until another party calls there."""
        channel = enter_relay(
            self._agreement,
            "wait",
            caller=peer,
            callee=self._party,
            way_out=self._way_out,
        )
        sock = self._while_open(channel, wait_to_be_called)
        return lambda: self._attend(sock, f"relay {self._agreement.network.relay}")

    def _while_open(self, channel: Channel, wait: Callable[[Channel], T]) -> T:
        """Wait on a connection that is taken back when the party leaves."""
        with self._lock:
            self._open.add(channel)
        try:
            if self._closed.is_set():
                raise MeetingError("the run has ended")
            return wait(channel)
        except BaseException:
            channel.close()
            raise
        finally:
            with self._lock:
                self._open.discard(channel)


def _next_greeting(peer: str, channel: Channel) -> dict[str, Any]:
    """What the other party wants, once it calls; signs of life are answered until then."""
    while True:
        word, content = channel.receive_word(
            ALIVE, GREETING, sender=f"Party '{peer}'", seconds=3 * SIGN_OF_LIFE_SECONDS
        )
        if word is GREETING:
            return cast(dict[str, Any], content)
        channel.send_word(ALIVE)


ANSWER_SECONDS = 5.0
MAX_PARKED = 6
"""Of one party. It keeps two there; more are left of a run that ended."""


class Parked:
    """What waits here to be called on, by party.

    Args:
        parties: Those that cannot be dialed.
    """

    def __init__(self, parties: Iterable[str]) -> None:
        self._waiting: dict[str, list[Channel]] = {party: [] for party in parties}
        self._changed, self._closed = threading.Condition(), threading.Event()
        if self._waiting:
            threading.Thread(target=self._keep_alive, daemon=True).start()

    def __contains__(self, party: str) -> bool:
        return party in self._waiting

    def park(self, party: str, channel: Channel) -> None:
        """Keep a connection of a party until somebody wants to call it."""
        with self._changed:
            mine = self._waiting[party]
            mine.append(channel)
            too_many = [mine.pop(0)] if len(mine) > MAX_PARKED else []
            if self._closed.is_set():
                too_many, mine[:] = list(mine), []
            self._changed.notify_all()
        for old in too_many:
            old.close()

    def call(self, party: str, peer: str, purpose: str, *, run: str | None, seconds: float) -> Channel:
        """Call a party on one of its connections and say what for; those that have ended are passed over.

        Raises:
            UnreachableError: If it has left none open in time, or does not answer.
            RefusedError: If it refuses.
        """
        deadline = time.monotonic() + seconds
        where = f"'{peer}' on a connection that it dialed"
        while True:
            channel = self._take(peer, deadline)
            if channel is None:
                raise SilentError(f"'{peer}', which dials in itself and has not done so")
            try:
                return say_what_for(channel, party, peer, purpose, run=run, where=where)
            except SilentError:
                raise
            except UnreachableError:
                if time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        """End all that wait here."""
        self._closed.set()
        with self._changed:
            waiting = [channel for mine in self._waiting.values() for channel in mine]
            for mine in self._waiting.values():
                mine.clear()
            self._changed.notify_all()
        for channel in waiting:
            channel.close()

    def _take(self, party: str, deadline: float) -> Channel | None:
        """The newest connection of a party that has not ended; none if there is none in time."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: bool(self._waiting[party]) or self._closed.is_set(), max(0.0, deadline - time.monotonic())
                )
                if not self._waiting[party]:
                    return None
                channel = self._waiting[party].pop()
            if not channel.has_ended():
                return channel
            channel.close()

    def _keep_alive(self) -> None:
        """Exchange a word on every connection now and then; one that is silent keeps no other one waiting."""
        while not self._closed.wait(SIGN_OF_LIFE_SECONDS):
            with self._changed:
                waiting = [(party, channel) for party, mine in self._waiting.items() for channel in mine]
            for party, channel in waiting:
                with contextlib.suppress(RuntimeError):  # out of threads: the next time, then
                    threading.Thread(target=self._exchange_words, args=(party, channel), daemon=True).start()

    def _exchange_words(self, party: str, channel: Channel) -> None:
        """Ask for a sign of life, and let go who gives none."""
        with self._changed:
            if channel not in self._waiting[party]:
                return  # somebody calls on it
            self._waiting[party].remove(channel)
        try:
            channel.send_word(ALIVE, seconds=ANSWER_SECONDS)
            channel.receive_word(ALIVE, sender=f"Party '{party}'", seconds=ANSWER_SECONDS)
        except MeetingError:
            channel.close()
        else:
            self.park(party, channel)
