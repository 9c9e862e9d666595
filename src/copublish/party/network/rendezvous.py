"""Meeting the other parties before data is touched: everybody with everybody, until all name the same run.

Each party dials every other one and speaks on the connection it dialed, so both directions between every two are known
to work before anything begins. Everything said here is public between the parties.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from copublish.agreement.protocol.message import Word, WrongWordError
from copublish.agreement.protocol.table import AGREED, ALIVE, HELLO, STOP
from copublish.errors import MeetingError, plain_text
from copublish.kernel.checks import differences
from copublish.party.network.channel import HANDSHAKE_SECONDS, Channel, UnreachableError
from copublish.party.network.port import Log, Port
from copublish.party.network.proxy import ProxyError
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS
from copublish.release.evidence.signing import spelled

NONCE_BYTES = 32

RETRY_SECONDS = 0.5
"""How long after one call the next one to a party is made that does not answer."""

LOOK_SECONDS = 0.02
"""How often it is looked whether somebody has called, or said something."""

MAX_WORDS = 10
"""How many words of one party are heard before the others have their turn."""


MAX_NAMED = 4
"""How many missing parties are named; the others are counted."""

Waiting = Callable[[str], None]
"""Called with what a party is waiting for, whenever that changes."""


@dataclass
class Line:
    """The two connections with one other party, one each way, and what was said on them.

    A party that is started again, or comes while another one is just leaving, leaves connections behind that lead
    nowhere. So a connection we dialed is dialed again when it ends, and of those that come in the newest counts.
    """

    peer: str
    to_peer: Channel | None = None
    from_peer: Channel | None = None
    nonce: str | None = None
    workers: int = 1
    we_agreed: str | None = None
    they_agreed: str | None = None
    has_spoken: bool = False
    trouble: str = ""
    refusal: MeetingError | None = None
    last_said: float = 0.0

    def say(self, word: Word, content: object = True) -> bool:
        """Whether it could be said."""
        if self.to_peer is None:
            return False
        self.last_said = time.monotonic()
        try:
            self.to_peer.send_word(word, content)
        except MeetingError:
            self.hang_up()
        return self.to_peer is not None

    def keep_alive(self) -> None:
        """Say a word if none was said for long, so that nothing on the way ends what is idle."""
        is_due = time.monotonic() - self.last_said >= SIGN_OF_LIFE_SECONDS
        if is_due and self.to_peer is not None and self.to_peer.is_idle():
            self.say(ALIVE)

    def hang_up(self) -> None:
        """Close the connection that we dialed, which leads nowhere."""
        if self.to_peer is not None:
            self.to_peer.close()
        self.to_peer, self.we_agreed = None, None

    def forget_arrival(self) -> None:
        """Close the connection that came in, and forget what was said on it."""
        if self.from_peer is not None:
            self.from_peer.close()
        self.from_peer, self.nonce, self.they_agreed = None, None, None

    def close(self) -> None:
        """Close both."""
        self.hang_up()
        self.forget_arrival()


class Rendezvous:
    """A line to every other party. They have met when each has said the same id of the run to each.

    The id is a hash of what every party drew, so nobody can bring back the id of an earlier run, and of the agreement
    and versions that all compared. A party that tells others different things leaves them with different ids, and they
    do not meet. Everything later belongs to this id: connections, what is shown of ledgers, what is signed.
    """

    def __init__(self, port: Port, facts: dict[str, str], waiting: Waiting, log: Log, *, workers: int = 1) -> None:
        self.lines = {peer: Line(peer) for peer in port.peers}
        self._own_workers = workers
        self._port, self._facts, self._waiting, self._log = port, facts, waiting, log
        self._nonce = os.urandom(NONCE_BYTES).hex()
        self._hello = {"nonce": self._nonce, "facts": facts, "workers": workers}
        HELLO.spelled(self._hello)  # raises here, before anybody is called, if it cannot be sent
        self._told = self._noticed = ""
        self._why_we_leave: str | None = None
        self._who_left: str | None = None

    @property
    def workers(self) -> int:
        """How many workers every party has at least, as they said."""
        return min([self._own_workers, *(line.workers for line in self.lines.values())])

    @property
    def run(self) -> str | None:
        """The id of the run, once every party has said what it drew."""
        drawn = {line.peer: line.nonce for line in self.lines.values()} | {self._port.party: self._nonce}
        if None in drawn.values():
            return None
        return hashlib.sha256(spelled(["copublish run", self._facts, drawn]).encode()).hexdigest()

    def keep(self, deadline: float) -> tuple[dict[str, tuple[Channel, Channel]], str]:
        """For every party the connection to speak on and the one to listen to, and the id of the run.

        Raises:
            MeetingError: If a party does not come in time, differs from us, or says that it leaves.
        """
        try:
            while not self._step():
                if time.monotonic() > deadline:
                    raise MeetingError(f"{self._missing()} Nothing was measured.")
        except BaseException:
            for line in self.lines.values():
                if self._who_left is not None:
                    line.say(STOP, lost_word(self._who_left, self._why_we_leave))
                elif self._why_we_leave is not None:
                    line.say(STOP, {"reason": self._why_we_leave})
                line.close()
            raise
        run = self.run
        lines = {line.peer: (line.to_peer, line.from_peer) for line in self.lines.values()}
        met = {peer: (there, back) for peer, (there, back) in lines.items() if there is not None and back is not None}
        if run is None or met.keys() != lines.keys():
            raise MeetingError("The parties have not met.")
        return met, run

    def _step(self) -> bool:
        """Do what can be done now, waiting a little; return whether the parties have met."""
        for line in self.lines.values():
            if (newest := self._port.newest_arrival(line.peer)) is not None:
                line.forget_arrival()
                line.from_peer = newest
            if line.to_peer is not None and line.to_peer.has_ended():
                line.hang_up()
            line.keep_alive()
            self._listen(line)
        self._dial()
        run = self.run
        for line in self.lines.values():
            if run is not None and line.we_agreed != run and line.say(AGREED, run):
                line.we_agreed = run
        if run is not None and all(line.we_agreed == line.they_agreed == run for line in self.lines.values()):
            return True
        self._tell()
        self._pause()
        return False

    def _pause(self) -> None:
        """Wait until it makes sense to dial again. A party that has just called us can be dialed at once."""
        all_reached = all(line.to_peer is not None for line in self.lines.values())
        latest = time.monotonic() + (0 if all_reached else RETRY_SECONDS)
        time.sleep(LOOK_SECONDS)
        while time.monotonic() < latest and not any(map(self._port.has_arrival, self.lines)):
            time.sleep(LOOK_SECONDS)

    def _listen(self, line: Line) -> None:
        """Hear what a party has said so far.

        Not before we have spoken to it, so that both hear of a difference before either leaves because of it. Once it
        has named the same run, what it says belongs to the run, unless it has hung up: then it says why.
        """
        for _ in range(MAX_WORDS):
            if not line.has_spoken or line.from_peer is None or not line.from_peer.has_something(0):
                return
            if line.to_peer is not None and line.they_agreed is not None and line.they_agreed == self.run:
                return
            self._hear(line, line.from_peer)

    def _hear(self, line: Line, from_peer: Channel) -> None:
        """Take the next message: what the peer agreed to, the id of the run, why it leaves, or a sign of life."""
        try:
            word, content = from_peer.receive_word(
                HELLO, AGREED, STOP, ALIVE, sender=f"Party '{line.peer}'", seconds=HANDSHAKE_SECONDS
            )
        except WrongWordError as exc:
            self._why_we_leave = f"'{line.peer}' sent what '{self._port.party}' does not understand"
            raise MeetingError(f"{exc} Nothing was measured.") from exc
        except MeetingError:
            line.forget_arrival()
            return
        if word is HELLO:
            self._why_we_leave = f"'{self._port.party}' and '{line.peer}' differ in the agreement or in versions"
            refuse_differences(self._facts, content["facts"], line.peer)
            self._why_we_leave = None
            line.nonce, line.workers = content["nonce"], content["workers"]
        elif word is AGREED:
            line.they_agreed = content
        elif word is STOP:
            self._who_left, reason = line.peer, content["reason"]
            if content.get("lost") in self.lines:  # who passes it on is not the one to be named
                self._who_left, reason = content["lost"], content.get("why")
            self._why_we_leave = None if reason is None else plain_text(reason)
            raise MeetingError(f"{left(self._who_left, self._why_we_leave)} Nothing was measured.")

    def _dial(self) -> None:
        """Dial whoever is not reached, all at once: a party that does not answer keeps nobody else waiting."""
        missing = [line for line in self.lines.values() if line.to_peer is None]
        reached = [line for line in self.lines.values() if line.to_peer is not None]
        threads = [threading.Thread(target=self._dial_one, args=(line,), daemon=True) for line in missing]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # for longer than what is idle may be
                thread.join(SIGN_OF_LIFE_SECONDS / 4)
                for line in reached:
                    line.keep_alive()
        for line in missing:
            if line.refusal is not None:
                is_proxy = isinstance(line.refusal, ProxyError)
                they = f"'{self._port.party}' and '{line.peer}'"
                self._why_we_leave = f"{they} {'are kept apart by a proxy' if is_proxy else 'do not accept each other'}"
                raise line.refusal

    def _dial_one(self, line: Line) -> None:
        try:
            line.to_peer = self._port.dial(line.peer, "meeting")
        except UnreachableError as exc:
            line.trouble = str(exc)
        except MeetingError as exc:
            line.refusal = exc
        else:
            line.has_spoken |= line.say(HELLO, self._hello)

    def _tell(self) -> None:
        """Say what is waited for, if it changed and is more than a passing moment."""
        missing = self._waits_for()
        what = in_words(missing[:MAX_NAMED] + ([f"{n} more"] if (n := len(missing) - MAX_NAMED) > 0 else []))
        has_settled = what == self._noticed
        self._noticed = what
        if has_settled and what and what != self._told:
            self._told = what
            self._waiting(what)
            self._log("waiting", what=what)

    def _waits_for(self) -> list[str]:
        """Name the parties that are missing and why; or else those that still miss somebody."""
        absent = [f"'{line.peer}' ({line.trouble})" for line in self.lines.values() if line.to_peer is None]
        silent = [
            f"'{line.peer}' to connect back"
            for line in self.lines.values()
            if line.to_peer is not None and line.nonce is None
        ]
        run = self.run
        apart = [f"'{line.peer}' to meet the others" for line in self.lines.values() if line.they_agreed != run]
        return absent + silent or apart

    def _missing(self) -> str:
        absent = [f"'{line.peer}' ({line.trouble})" for line in self.lines.values() if line.to_peer is None]
        silent = [f"'{line.peer}'" for line in self.lines.values() if line.to_peer is not None and line.nonce is None]
        host = self._port.agreement.parties[self._port.party].host
        if absent:
            said = f"{_parties(absent)} did not come. Try: copublish doctor AGREEMENT --party YOU."
        elif silent:
            it = "it" if len(silent) == 1 else "they"
            way = f"reach {host}" if host else "get out to where you meet"
            said = f"{_parties(silent)} can be reached but did not connect back in time. Can {it} {way}?"
        else:
            run = self.run
            apart = [f"'{line.peer}'" for line in self.lines.values() if line.they_agreed != run]
            said = f"{_parties(apart)} did not meet all the others in time. Can every party reach every other one?"
        return said


def refuse_differences(here: Mapping[str, str], there: Mapping[str, str], peer: str) -> None:
    """Raise if the parties differ in anything that has to be the same, and name it.

    Raises:
        MeetingError: Naming what differs.
    """
    different = differences(here, there)
    if different is not None:
        raise MeetingError(
            f"You and party '{peer}' differ in: {different}. No data were touched. All parties need the same agreement "
            "and the same versions."
        )


def lost_word(peer: str, why: str | None) -> dict[str, str]:
    """Content of the last word of a party that stops because another one did, so that all can name the first one."""
    return {"reason": f"it lost '{peer}'", "lost": peer, **({} if why is None else {"why": why})}


def left(peer: str, reason: str | None, over: str = "") -> str:
    """Sentence that a party has stopped, and why, as far as it said so."""
    if reason is not None:
        return f"Party '{peer}' stopped: {plain_text(reason)}."
    return f"Party '{peer}' stopped (the connection{over} ended)."


def in_words(names: list[str]) -> str:
    """A list as people write it: a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _parties(names: list[str]) -> str:
    return f"Part{'y' if len(names) == 1 else 'ies'} {in_words(names)}"
