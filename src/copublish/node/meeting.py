"""Meeting the other party before data is touched, and hearing from it while the engine runs.

Each party dials the other one and speaks on the connection it dialled, so both directions are known to work before
anything begins. Everything said here is public between the parties.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from copublish.errors import MeetingError, PartyLostError
from copublish.node.channel import Channel, ChannelClosedError, plain_text
from copublish.node.dialling import UnreachableError
from copublish.node.port import Log, Port

RETRY_SECONDS = 0.5

LAST_WORD_SECONDS = 2.0

FOR_EVER_SECONDS = 10.0**7

Waiting = Callable[[str], None]
"""Called with what a party is waiting for, whenever that changes."""


class Meeting:
    """The connections to the other party, from rendezvous to the end of a run.

    Args:
        port: This party's port.
        facts: What has to be the same at both parties: parts of the agreement and versions.
        wait_seconds: How long the other party may take to come.
        waiting: Told what is being waited for.
        log: Told about events.
    """

    def __init__(self, port: Port, facts: dict[str, str], *, wait_seconds: float, waiting: Waiting, log: Log) -> None:
        (self.peer,) = port.peers
        self._log = log
        self._lost: str | None = None
        self._heard = threading.Event()
        self._on_loss: Callable[[], None] | None = None
        self._over = False
        deadline = time.monotonic() + wait_seconds
        self._to_peer = self._dial(port, deadline, waiting)
        nonce = os.urandom(16).hex()
        self._to_peer.send_message({"nonce": nonce, "facts": facts})
        waiting(f"'{self.peer}' to connect back")
        self._from_peer, hello = self._arrival(port, deadline)
        log("met", peer=self.peer)
        refuse_differences(facts, hello.get("facts"), self.peer)
        nonces = sorted([nonce, str(hello.get("nonce"))])
        self.run = hashlib.sha256("/".join(nonces).encode()).hexdigest()[:32]
        self._to_peer.send_message({"agreed": self.run})
        self._expect("agreed", self.run, deadline)
        threading.Thread(target=self._listen, daemon=True).start()

    def _dial(self, port: Port, deadline: float, waiting: Waiting) -> Channel:
        told = ""
        while True:
            try:
                return port.dial(self.peer, "meeting")
            except UnreachableError as exc:
                if str(exc) != told:
                    told = str(exc)
                    waiting(f"'{self.peer}' ({told})")
                    self._log("waiting", peer=self.peer, reason=told)
                if time.monotonic() > deadline:
                    raise MeetingError(
                        f"Party '{self.peer}' did not come: {told}. Nothing was measured. "
                        "Try: copublish node status AGREEMENT --party YOU"
                    ) from exc
                time.sleep(RETRY_SECONDS)

    def _arrival(self, port: Port, deadline: float) -> tuple[Channel, dict[str, Any]]:
        """Return the newest connection from the peer that says something; older ones are of a run that died."""
        while True:
            try:
                channel = port.arrivals.get(timeout=max(0.0, deadline - time.monotonic())).channel
            except queue.Empty:
                raise MeetingError(
                    f"Party '{self.peer}' can be reached but did not connect back in time. Can it reach "
                    f"{port.agreement.parties[port.party].host}? Nothing was measured."
                ) from None
            try:
                return channel, channel.receive_message(seconds=max(1.0, deadline - time.monotonic()))
            except ChannelClosedError:
                continue

    def _expect(self, key: str, value: str, deadline: float) -> None:
        try:
            answer = self._from_peer.receive_message(seconds=max(1.0, deadline - time.monotonic()))
        except ChannelClosedError:
            raise PartyLostError(f"Party '{self.peer}' left. Nothing was measured.") from None
        if "stop" in answer:
            raise PartyLostError(_left(self.peer, answer))
        if answer.get(key) != value:
            raise MeetingError(f"Party '{self.peer}' met somebody else, or another run. Nothing was measured.")

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
        try:
            message = self._from_peer.receive_message(seconds=FOR_EVER_SECONDS)
        except (MeetingError, OSError, ValueError):
            message = {}
        if "done" in message or self._over:
            return
        self._lost = _left(self.peer, message)
        self._heard.set()
        self._log("peer stopped", peer=self.peer, reason=plain_text(message.get("stop", "connection lost")))
        if self._on_loss is not None:
            self._on_loss()

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
            different.append(key if is_hash else f"{key} ({ours} here, {plain_text(theirs, 40)} there)")
    if different:
        raise MeetingError(
            f"You and party '{peer}' differ in: {', '.join(different)}. No data were touched. All parties need the "
            "same agreement and the same versions."
        )


def _left(peer: str, message: dict[str, Any]) -> str:
    reason = message.get("stop")
    said = f": {plain_text(reason)}" if reason else " (the connection ended)"
    return f"Party '{peer}' stopped{said}."
