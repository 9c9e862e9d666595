"""Connections that a party which nobody can dial leaves open at those that it can dial, so that they can call it back.

They are checked as any other before they are parked: both certificates are the agreed ones. Here is the end where they
are parked; the other end is in `offers.py`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable

from copublish.agreement.protocol.table import ALIVE
from copublish.errors import MeetingError
from copublish.party.network.channel import Channel, SilentError, UnreachableError
from copublish.party.network.dialing import say_what_for
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

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
