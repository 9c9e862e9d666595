"""Messages of the other parties during a run, from the moment all have met to their last words, and who is silent."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from copublish.agreement.protocol.message import Word, WrongWordError
from copublish.agreement.protocol.table import AGREED, ALIVE, DONE, HELLO, STOP
from copublish.errors import MeetingError, plain_text
from copublish.party.network.channel import SilentError, UnreachableError
from copublish.party.network.port import Log, Port
from copublish.party.network.rendezvous import Rendezvous, Waiting, left, lost_word
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

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
        end_after_seconds: How long the run may take from here on; without a bound unless given.

    Attributes:
        peers: The other parties.
        run: The id of this run, drawn by all.
        ran_out: Whether the run took longer than it may, and was ended here.
        workers: How many engine processes every party has at least.
        key_exchange: The groups with which its connections agreed on keys; none without TLS.
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
        end_after_seconds: float | None = None,
    ) -> None:
        self.peers = port.peers
        rendezvous = Rendezvous(port, facts, waiting, log, workers=workers)
        self._lines, self.run = rendezvous.keep(time.monotonic() + wait_seconds)
        self.workers = rendezvous.workers
        groups = {channel.key_exchange for line in self._lines.values() for channel in line}
        self.key_exchange = tuple(sorted(group for group in groups if group is not None))
        self._log = log
        self._lock, self._speaking = threading.Lock(), threading.Lock()
        self._lost: str | None = None
        self._first_lost = ""
        self._first_reason: str | None = None
        self._first_is_known = threading.Event()
        self._accuser = ""
        self._is_there: set[str] = set()
        self._on_loss: list[Callable[[], None]] = []
        self._over = self.ran_out = False
        log("met", peers=", ".join(self.peers), run=self.run, key_exchange=", ".join(self.key_exchange))
        self._port = port
        self._ends = threading.Event()
        for peer in self.peers:
            threading.Thread(target=self._listen, args=(peer,), daemon=True).start()
        threading.Thread(target=self._keep_alive, daemon=True).start()
        if end_after_seconds is not None:
            threading.Thread(target=self._watch_clock, args=(end_after_seconds,), daemon=True).start()

    def on_loss(self, act: Callable[[], None]) -> None:
        """Have something done as soon as a peer is known to have stopped."""
        with self._lock:
            self._on_loss.append(act)
            is_late = self._lost is not None or self.ran_out
        if is_late:
            act()

    def loss(self, *, patience_seconds: float | None = None) -> str | None:
        """Who stopped and why, if somebody did; the engine may have noticed a moment before their word came.

        Of several the one that stopped first: the others say that they lost it. Who says so of a party that answers
        here counts as the one that stopped, and its word is not passed on.
        """
        self._first_is_known.wait(LAST_WORD_SECONDS if patience_seconds is None else patience_seconds)
        with self._lock:
            if self._lost is not None and self._first_lost in self._is_there and self._accuser:
                self._lost = f"{self._lost.removesuffix('.')}, which still answers here."
                self._first_lost, self._first_reason = self._accuser, f"it lost '{self._first_lost}'"
                self._accuser = ""
            return self._lost

    def blame(self, peer: str, deed: str) -> None:
        """End the run because of what a peer sent on another connection. All others are told who it was.

        Args:
            peer: Which one.
            deed: What it did, in words that follow its name.
        """
        with self._lock:
            if not self._first_is_known.is_set():
                self._lost = f"Party '{peer}' {deed}: its software was changed or is broken."
                self._first_lost, self._first_reason = peer, f"it {deed}"
                self._first_is_known.set()
            acts = tuple(self._on_loss)
        for act in acts:
            act()

    def _listen(self, peer: str) -> None:
        """Wait for a peer's last word; before that it gives signs of life alone."""
        sentence, said = self._hear_last_word(peer)
        if sentence is None or self._over:
            return
        accused = said.get("lost", peer)
        if accused == self._port.party:
            sentence = f"{sentence.removesuffix('.')}, which is this party: it stood still, or its link was dead."
        with self._lock:
            if not self._first_is_known.is_set() and (self._lost is None or "lost" not in said):
                self._lost = sentence
                self._first_lost = accused if accused in self._lines else peer
                self._accuser = peer if self._first_lost != peer else ""
                why = said.get("why" if self._first_lost != peer else "reason")
                # As it is passed on: what a peer sent may hold what is not to be shown.
                self._first_reason = None if why is None else plain_text(why)
            if "lost" not in said:
                self._first_is_known.set()
            acts = tuple(self._on_loss)
        for act in acts:
            act()
        self._log("peer stopped", peer=peer, reason=plain_text(said.get("reason", "connection lost")))
        if accused in self._lines and accused != peer:
            # Asked at once: it is told the same now, and leaves soon.
            self._is_there |= {accused} if _answers(self._port, [accused])[accused] == "there" else set()

    def _hear_last_word(self, peer: str) -> tuple[str | None, dict[str, str]]:
        """A sentence on how a peer stopped, none if it has finished; and what it said about it, if anything."""
        _, from_peer = self._lines[peer]
        word: Word = ALIVE
        content: Any = None
        try:
            while word is ALIVE:
                word, content = from_peer.receive_word(
                    ALIVE, DONE, STOP, HELLO, AGREED, sender=f"Party '{peer}'", seconds=FOR_EVER_SECONDS
                )
        except WrongWordError as exc:
            return str(exc), {"reason": "it sent what is no message"}
        except (MeetingError, OSError, ValueError):  # the connection ended without a last word
            return left(peer, None, self._port.over(peer)), {}
        finally:
            from_peer.close()
        if word is STOP:
            return left(peer, content["reason"]), content
        return (None, {}) if word is DONE else (f"Party '{peer}' stopped (it is in another run).", {})

    def _keep_alive(self) -> None:
        """Say something now and then, so that nothing on the way ends what is idle."""
        while not self._ends.wait(SIGN_OF_LIFE_SECONDS):
            for to_peer, _ in self._lines.values():
                with self._speaking:
                    if not self._over and to_peer.is_idle():
                        with contextlib.suppress(MeetingError):  # it has left: whoever listens notices
                            to_peer.send_word(ALIVE)

    def _watch_clock(self, seconds: float) -> None:
        """End the run if it is not over in time: a party that is slow with every answer keeps nobody for ever."""
        if not self._ends.wait(seconds):
            with self._lock:
                self.ran_out = self._lost is None
                acts = tuple(self._on_loss) if self.ran_out else ()
            for act in acts:
                act()

    def say_stop(self, reason: str) -> None:
        """Tell the peers that we stop, and the kind of reason: nothing about our data."""
        self._last_word(STOP, {"reason": reason})

    def say_lost(self, silent: str | None = None) -> None:
        """Tell the peers that we stop because somebody else did, or is silent, so that all can name the first one."""
        lost = silent or self._first_lost
        why = self._first_reason if silent is None else "it was silent"
        self._last_word(STOP, lost_word(lost, why))

    def say_done(self) -> None:
        """Tell the peers that we are finished, so that our leaving is no loss."""
        self._last_word(DONE)

    def _last_word(self, word: Word, content: object = True) -> None:
        with self._speaking:  # no sign of life comes after it, or into it
            self._over = True
        self._ends.set()
        for to_peer, from_peer in self._lines.values():
            with contextlib.suppress(MeetingError):  # it has left already
                to_peer.send_word(word, content)
            to_peer.close()
            from_peer.break_off()  # the thread that listens closes it


ANSWER_SECONDS = 5.0
"""How long a party that is well may take to answer at its port, on a busy machine too."""


Answer = Literal["there", "gone", "silent"]
"""How a party answers at its port: as itself, be it with a refusal; by a connection that ends; not at all."""


def who_is_silent(port: Port, waited_for: str | None) -> str | None:
    """Name the party that does not even answer at its port; if all do, the one that was waited for, if it is known.

    A process that is stopped, and a machine that is gone, answer nothing. One that has ended closes its connections,
    and is no silence.
    """
    silent = [peer for peer, answer in _answers(port, port.peers).items() if answer == "silent"]
    return waited_for if waited_for in silent else next(iter(silent), waited_for)


def _answers(port: Port, peers: Sequence[str]) -> dict[str, Answer]:
    """How parties answer when all of them are asked at once."""
    answers: dict[str, Answer] = {}
    threads = [threading.Thread(target=_ask, args=(port, peer, answers), daemon=True) for peer in peers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + ANSWER_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {peer: answers.get(peer, "silent") for peer in peers}


def _ask(port: Port, peer: str, answers: dict[str, Answer]) -> None:
    """Note how a party answers."""
    try:
        port.dial(peer, "status").close()
    except SilentError:
        answers[peer] = "silent"
    except UnreachableError:
        answers[peer] = "gone"
    except MeetingError:
        answers[peer] = "there"
    else:
        answers[peer] = "there"
