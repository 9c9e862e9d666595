"""Messages between parties that are processes of one user on one machine, over pairs of nameless sockets."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BufferedIOBase
from itertools import combinations

from copublish.agreement.protocol.message import MAX_TOPIC_BYTES
from copublish.engines.messages import Carried, refuse_announced, refuse_to_send_long, taken
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError, SilenceError

Ends = dict[str, socket.socket]
"""One party's ends of the pipes to all others, by their names. They can be given to a process that is spawned."""

LENGTH_BYTES = 8


def pipes_between(parties: Sequence[str]) -> dict[str, Ends]:
    """Every party's ends of a pipe for each pair. Whoever hands them to processes closes its own copies."""
    ends: dict[str, Ends] = {party: {} for party in parties}
    for one, other in combinations(parties, 2):
        ends[one][other], ends[other][one] = socket.socketpair()
    return ends


class PipeMessenger:
    """One party's pipes to all others.

    A message is a topic and its content, each after its length, and as long at most as one between machines. A thread
    for each pipe takes in what arrives, so that two parties may send each other any amount at the same time.

    Args:
        party: Which party this is.
        parties: All parties in agreed order.
        ends: This party's ends, from `pipes_between`.
        timeout_seconds: How long to wait for a message.
        loading_seconds: How much longer to wait for the first one of some parties, because something loads there.
    """

    def __init__(
        self,
        party: str,
        parties: Sequence[str],
        ends: Ends,
        timeout_seconds: float = 600,
        loading_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self.party, self.parties = party, tuple(parties)
        self.bytes_sent = 0
        self._ends, self._timeout = dict(ends), timeout_seconds
        self._loading_seconds = dict(loading_seconds or {})
        self._left: set[str] = set()
        self._arrived: Mapping[str, queue.SimpleQueue[tuple[bytes, bytes] | EngineError]] = {
            peer: queue.SimpleQueue() for peer in ends
        }
        for peer in ends:
            threading.Thread(target=self._take_in, args=(peer,), name=f"from {peer}", daemon=True).start()

    def send(self, to: str, message: Carried, content: bytes) -> None:
        """Send something to one party; returns when it is on its way.

        Raises:
            PartyLostError: If the party has left.
            EngineError: If it is too long for a message. Nothing was sent.
        """
        refuse_to_send_long(message, content)
        parts = (message.topic.encode(), content)
        framed = b"".join(len(part).to_bytes(LENGTH_BYTES, "big") + part for part in parts)
        try:
            self._ends[to].sendall(framed)
        except OSError:
            raise _lost(to) from None
        self.bytes_sent += len(framed)

    def receive(self, sender: str, message: Carried) -> bytes:
        """Wait for the next message of one party.

        Raises:
            PartyLostError: If the party has left, or does not answer in time.
            ProgramMismatchError: If it is another message, or not of its type and bound.
        """
        patience = self._timeout + self._loading_seconds.get(sender, 0)
        try:
            arrived = self._arrived[sender].get(timeout=patience)
        except queue.Empty:
            raise SilenceError.of(sender, patience) from None
        self._loading_seconds.pop(sender, None)
        if isinstance(arrived, EngineError):
            self._arrived[sender].put(arrived)  # it stays lost
            raise arrived
        return taken(message, sender, *arrived)

    def has_left(self, party: str) -> bool:
        """Whether another party is known to have left; what it sent before may still be waiting."""
        return party in self._left

    def close(self) -> None:
        """Leave: whoever waits for this party learns that it is gone."""
        for end in self._ends.values():
            with suppress(OSError):  # the other end is closed already
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _take_in(self, peer: str) -> None:
        arrived = self._arrived[peer]
        problem: EngineError = _lost(peer)
        with suppress(EOFError, OSError), self._ends[peer].makefile("rb") as stream:
            try:
                while True:
                    arrived.put(_next_message(stream, peer))
            except ProgramMismatchError as exc:
                problem = exc
        self._left.add(peer)
        arrived.put(problem)


def _next_message(stream: BufferedIOBase, peer: str) -> tuple[bytes, bytes]:
    topic = _exactly(stream, min(_length(stream), MAX_TOPIC_BYTES + 1))  # no entry has a longer one
    length = _length(stream)
    refuse_announced(topic, length, peer)
    return topic, _exactly(stream, length)


def _length(stream: BufferedIOBase) -> int:
    return int.from_bytes(_exactly(stream, LENGTH_BYTES), "big")


def _exactly(stream: BufferedIOBase, length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


def _lost(party: str) -> PartyLostError:
    return PartyLostError(f"Party '{party}' stopped, or the link to it broke. Nothing is published.")
