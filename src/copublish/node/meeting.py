"""Meeting the other party before data is touched, and hearing from it while the engine runs.

Each party dials the other one and speaks on the connection it dialled, so both directions are known to work before
anything begins. Everything said here is public between the parties.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from copublish.errors import MeetingError, plain_text
from copublish.node.channel import HANDSHAKE_SECONDS, Channel
from copublish.node.dialling import UnreachableError
from copublish.node.port import Log, Port

RETRY_SECONDS = 0.5
LAST_WORD_SECONDS = 2.0
FOR_EVER_SECONDS = 10.0**7
MAX_DIFFERENCES = 12

Waiting = Callable[[str], None]
"""Called with what a party is waiting for, whenever that changes."""


class Rendezvous:
    """Two connections, one each way, that may have to be made anew until both parties are there at the same time.

    A party that is started again, or comes while the other one is just leaving, leaves connections behind that lead
    nowhere. So a connection we dialled is dialled again when it ends, and of those that come in the newest counts.
    The parties have met when each has said the same number of the run, drawn by both.
    """

    def __init__(self, port: Port, facts: dict[str, str], waiting: Waiting, log: Log) -> None:
        (self.peer,) = port.peers
        self.to_peer: Channel | None = None
        self.from_peer: Channel | None = None
        self.run: str | None = None
        self._port, self._facts, self._waiting, self._log = port, facts, waiting, log
        self._nonce = os.urandom(16).hex()
        self._we_agreed: str | None = None
        self._they_agreed: str | None = None
        self._has_spoken = False
        self._told = ""

    def keep(self, deadline: float) -> tuple[Channel, Channel, str]:
        """Return the connection to speak on, the one to listen to, and the number of the run.

        Raises:
            MeetingError: If the other party does not come in time, or differs from us.
        """
        try:
            while not self._step():
                if time.monotonic() > deadline:
                    raise MeetingError(f"{self._missing()} Nothing was measured.")
        except BaseException:
            for channel in filter(None, (self.to_peer, self.from_peer)):
                channel.close()
            raise
        if self.to_peer is None or self.from_peer is None or self.run is None:
            raise MeetingError("The parties have not met.")
        return self.to_peer, self.from_peer, self.run

    def _step(self) -> bool:
        """Do what can be done now, waiting a little; return whether the parties have met."""
        if (newest := self._port.newest_arrival()) is not None:
            self._forget_arrival()
            self.from_peer = newest
        # Listened to as soon as we have spoken, so that both hear of a difference before either leaves because of it,
        # and before anything is dialled again.
        while (
            self._has_spoken
            and self.from_peer is not None
            and not self._they_are_ready()
            and self.from_peer.has_something(0)
        ):
            self._hear(self.from_peer)
        if self.to_peer is not None and self.to_peer.has_ended():
            self._hang_up()
        if self.to_peer is None:
            self._dial()
        if self.run is not None and self._we_agreed != self.run and self._say({"agreed": self.run}):
            self._we_agreed = self.run
        if self._they_are_ready() and self._we_agreed == self.run:
            return True
        time.sleep(RETRY_SECONDS / 10 if self.to_peer is not None else RETRY_SECONDS)
        return False

    def _they_are_ready(self) -> bool:
        """Whether the peer has named the same run; what it says after that belongs to the run."""
        return self.run is not None and self._they_agreed == self.run

    def _hear(self, from_peer: Channel) -> None:
        """Take the next message: what the peer has agreed to, or the number of the run."""
        try:
            message = from_peer.receive_message(seconds=HANDSHAKE_SECONDS)
        except MeetingError:
            self._forget_arrival()
            return
        if "nonce" in message:
            refuse_differences(self._facts, message.get("facts"), self.peer)
            nonces = sorted([self._nonce, str(message["nonce"])])
            self.run = hashlib.sha256("/".join(nonces).encode()).hexdigest()[:32]
        elif "agreed" in message:
            self._they_agreed = str(message["agreed"])

    def _dial(self) -> None:
        try:
            self.to_peer = self._port.dial(self.peer, "meeting")
        except UnreachableError as exc:
            self._tell(f"'{self.peer}' ({exc})")
            return
        if self._say({"nonce": self._nonce, "facts": self._facts}):
            self._has_spoken = True
            if self.from_peer is None:
                self._tell(f"'{self.peer}' to connect back")

    def _say(self, message: dict[str, Any]) -> bool:
        if self.to_peer is None:
            return False
        try:
            self.to_peer.send_message(message)
        except MeetingError:
            self._hang_up()
        return self.to_peer is not None

    def _hang_up(self) -> None:
        if self.to_peer is not None:
            self.to_peer.close()
        self.to_peer, self._we_agreed = None, None

    def _forget_arrival(self) -> None:
        if self.from_peer is not None:
            self.from_peer.close()
        self.from_peer, self.run, self._they_agreed = None, None, None

    def _tell(self, what: str) -> None:
        if what != self._told:
            self._told = what
            self._waiting(what)
            self._log("waiting", what=what)

    def _missing(self) -> str:
        if self.to_peer is None:
            return (
                f"Party {self._told or repr(self.peer)} did not come. Try: copublish node status AGREEMENT --party YOU."
            )
        host = self._port.agreement.parties[self._port.party].host
        return f"Party '{self.peer}' can be reached but did not connect back in time. Can it reach {host}?"


class Meeting:
    """The connections to the other party, from rendezvous to the end of a run.

    Args:
        port: This party's port.
        facts: What has to be the same at both parties: parts of the agreement and versions.
        wait_seconds: How long the other party may take to come.
        waiting: Told what is being waited for.
        log: Told about events.

    Attributes:
        peer: The other party.
        run: The number of this run, drawn by both.
    """

    def __init__(self, port: Port, facts: dict[str, str], *, wait_seconds: float, waiting: Waiting, log: Log) -> None:
        rendezvous = Rendezvous(port, facts, waiting, log)
        self.peer = rendezvous.peer
        self._to_peer, self._from_peer, self.run = rendezvous.keep(time.monotonic() + wait_seconds)
        self._log = log
        self._lost: str | None = None
        self._heard = threading.Event()
        self._on_loss: Callable[[], None] | None = None
        self._over = False
        log("met", peer=self.peer)
        threading.Thread(target=self._listen, daemon=True).start()

    def on_loss(self, act: Callable[[], None]) -> None:
        """Have something done as soon as the peer is known to have stopped."""
        self._on_loss = act
        if self._lost is not None:
            act()

    def loss(self) -> str | None:
        """Why the peer stopped, if it did; the engine may have noticed a moment before its word came."""
        self._heard.wait(LAST_WORD_SECONDS)
        return self._lost

    def _listen(self) -> None:
        """Wait for the peer's last word; it says nothing before."""
        message: dict[str, Any] = {}
        with contextlib.suppress(MeetingError, OSError, ValueError):
            message = self._from_peer.receive_message(seconds=FOR_EVER_SECONDS)
        self._from_peer.close()
        if "done" in message or self._over:
            return
        self._lost = _left(self.peer, message)
        self._heard.set()
        if self._on_loss is not None:
            self._on_loss()
        self._log("peer stopped", peer=self.peer, reason=plain_text(message.get("stop", "connection lost")))

    def say_stop(self, reason: str) -> None:
        """Tell the peer that we stop, and the kind of reason: nothing about our data."""
        self._last_word({"stop": reason})

    def say_done(self) -> None:
        """Tell the peer that we are finished, so that our leaving is no loss."""
        self._last_word({"done": True})

    def _last_word(self, message: dict[str, Any]) -> None:
        self._over = True
        with contextlib.suppress(MeetingError):  # it has left already
            self._to_peer.send_message(message)
        self._to_peer.close()
        self._from_peer.break_off()  # the thread that listens closes it


def refuse_differences(here: dict[str, str], there: object, peer: str) -> None:
    """Raise if the parties differ in anything that has to be the same, and name it.

    Raises:
        MeetingError: Naming what differs.
    """
    if not isinstance(there, dict):
        raise MeetingError(f"Party '{peer}' did not say what it has agreed to. Nothing was measured.")
    different = []
    for key in sorted(here.keys() | there.keys()):
        ours, theirs = here.get(key, "missing"), str(there.get(key, "missing"))
        if ours != theirs:
            is_hash = len(ours) == 64 or len(theirs) == 64
            name = plain_text(key, 80)
            different.append(name if is_hash else f"{name} ({ours} here, {plain_text(theirs, 40)} there)")
    if different:
        more = f" and {len(different) - MAX_DIFFERENCES} more" if len(different) > MAX_DIFFERENCES else ""
        raise MeetingError(
            f"You and party '{peer}' differ in: {', '.join(different[:MAX_DIFFERENCES])}{more}. No data were touched. "
            "All parties need the same agreement and the same versions."
        )


def _left(peer: str, message: dict[str, Any]) -> str:
    reason = message.get("stop")
    said = f": {plain_text(reason)}" if reason else " (the connection ended)"
    return f"Party '{peer}' stopped{said}."
