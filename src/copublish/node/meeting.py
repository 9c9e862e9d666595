"""Hearing from the other parties while a run is under way, from the moment all have met to their last words."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from copublish.errors import MeetingError, plain_text
from copublish.node.port import Log, Port
from copublish.node.rendezvous import Rendezvous, Waiting, left, lost_word
from copublish.node.tuning import SIGN_OF_LIFE_SECONDS

LAST_WORD_SECONDS = 2.0
FOR_EVER_SECONDS = 10.0**7


class Meeting:
    """The connections to the other parties, from rendezvous to the end of a run.

    Args:
        port: This party's port.
        facts: What has to be the same at all parties: parts of the agreement and versions.
        wait_seconds: How long the other parties may take to come.
        waiting: Told what is being waited for.
        log: Told about events.
        workers: How many engine processes of this party count at the same time.

    Attributes:
        peers: The other parties.
        run: The number of this run, drawn by all.
        workers: How many engine processes every party has at least.
    """

    def __init__(
        self,
        port: Port,
        facts: dict[str, str],
        *,
        wait_seconds: float,
        waiting: Waiting,
        log: Log,
        workers: int = 1,
    ) -> None:
        self.peers = port.peers
        rendezvous = Rendezvous(port, facts, waiting, log, workers=workers)
        self._lines, self.run = rendezvous.keep(time.monotonic() + wait_seconds)
        self.workers = rendezvous.workers
        self._log = log
        self._lock, self._speaking = threading.Lock(), threading.Lock()
        self._lost: str | None = None
        self._first_lost = ""
        self._first_reason: str | None = None
        self._first_is_known = threading.Event()
        self._on_loss: list[Callable[[], None]] = []
        self._over = False
        log("met", peers=", ".join(self.peers))
        self._over_what = port.over
        self._ends = threading.Event()
        for peer in self.peers:
            threading.Thread(target=self._listen, args=(peer,), daemon=True).start()
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def on_loss(self, act: Callable[[], None]) -> None:
        """Have something done as soon as a peer is known to have stopped."""
        with self._lock:
            self._on_loss.append(act)
            is_late = self._lost is not None
        if is_late:
            act()

    def loss(self) -> str | None:
        """Who stopped and why, if somebody did; the engine may have noticed a moment before their word came.

        Of several the one that stopped first: the others say that they lost it.
        """
        self._first_is_known.wait(LAST_WORD_SECONDS)
        return self._lost

    def _listen(self, peer: str) -> None:
        """Wait for a peer's last word; before that it gives signs of life alone."""
        _, from_peer = self._lines[peer]
        message: dict[str, Any] = {"alive": True}
        while "alive" in message:
            message = {}  # if the connection ends without a last word
            with contextlib.suppress(MeetingError, OSError, ValueError):
                message = from_peer.receive_message(seconds=FOR_EVER_SECONDS)
        from_peer.close()
        if "done" in message or self._over:
            return
        with self._lock:
            if not self._first_is_known.is_set() and (self._lost is None or "lost" not in message):
                named = message.get("lost")
                self._lost = left(peer, message, self._over_what(peer))
                self._first_lost = named if isinstance(named, str) and named in self._lines else peer
                why = message.get("why" if self._first_lost != peer else "stop")
                # As it is passed on: what a peer sent may be too much for others, or not to be written at all.
                self._first_reason = None if why is None else plain_text(why)
            if "lost" not in message:
                self._first_is_known.set()
            acts = tuple(self._on_loss)
        for act in acts:
            act()
        self._log("peer stopped", peer=peer, reason=plain_text(message.get("stop", "connection lost")))

    def _keep_alive(self) -> None:
        """Say something now and then, so that nothing on the way ends what is idle."""
        while not self._ends.wait(SIGN_OF_LIFE_SECONDS):
            for to_peer, _ in self._lines.values():
                with self._speaking:
                    if not self._over and to_peer.is_idle():
                        with contextlib.suppress(MeetingError):  # it has left: whoever listens notices
                            to_peer.send_message({"alive": True})

    def say_stop(self, reason: str) -> None:
        """Tell the peers that we stop, and the kind of reason: nothing about our data."""
        self._last_word({"stop": reason})

    def say_lost(self, silent: str | None = None) -> None:
        """Tell the peers that we stop because somebody else did, or is silent, so that all can name the first one."""
        lost = silent or self._first_lost
        why = self._first_reason if silent is None else "it was silent"
        self._last_word(lost_word(lost, why))

    def say_done(self) -> None:
        """Tell the peers that we are finished, so that our leaving is no loss."""
        self._last_word({"done": True})

    def _last_word(self, message: dict[str, Any]) -> None:
        with self._speaking:  # no sign of life comes after it, or into it
            self._over = True
        self._ends.set()
        for to_peer, from_peer in self._lines.values():
            with contextlib.suppress(MeetingError):  # it has left already
                to_peer.send_message(message)
            to_peer.close()
            from_peer.break_off()  # the thread that listens closes it
