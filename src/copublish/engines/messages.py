"""Base of engines that run nothing at this party: everything goes to the others through a messenger.

Public values, shares and masked sums are sent. Nothing is pickled, since reading a pickle runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from copublish.agreement.protocol.message import COUNT_BYTES, PIECE_BYTES, Exchange, Letter, at_another_step
from copublish.agreement.protocol.table import entry_of
from copublish.engines.roles import Roles
from copublish.errors import EngineError, ProgramMismatchError

Carried = Letter | Exchange[Any]
"""What goes between two parties of a run: bytes, or public values in bytes."""


class Messenger(Protocol):
    """One party's connections to all others of a run. Every pair has its own, and messages arrive in order.

    What carries them (pipes, unix sockets or mutual TLS) decides who can read them: nobody but the two parties.
    """

    party: str
    parties: tuple[str, ...]

    def send(self, to: str, message: Carried, content: bytes) -> None:
        """Send something to one party; returns when it is on its way.

        Raises:
            PartyLostError: If the party has left.
            EngineError: If it is too long for such a message. Nothing was sent.
        """
        ...

    def receive(self, sender: str, message: Carried) -> bytes:
        """Wait for the next message of one party; what came has the type and bound of the entry.

        Raises:
            PartyLostError: If the party has left, or does not answer in time.
            ProgramMismatchError: If it is another message, or not one of its type and bound.
        """
        ...

    def has_left(self, party: str) -> bool:
        """Whether another party is known to have left; what it sent before may still be waiting."""
        ...


def refuse_to_send_long(message: Carried, content: bytes) -> None:
    """Raise if a message is too long to be sent, whatever carries it.

    Raises:
        EngineError: Saying how long one may be.
    """
    if len(content) > message.longest_piece:
        raise EngineError(
            f"A message '{message.topic}' may have {message.longest_piece:,} bytes; a longer one was not sent. Nothing "
            "is published."
        )


def refuse_announced(topic: bytes, n_bytes: int, sender: str) -> None:
    """Raise if a peer announces what the protocol does not have; asked before a byte of it is read.

    Raises:
        ProgramMismatchError: Naming the sender.
    """
    entry = entry_of(topic.decode(errors="replace"))
    if entry is None:
        raise ProgramMismatchError(
            f"Party '{sender}' sent what is no message of copublish. Its software was changed or is another version. "
            "Nothing is published."
        )
    if n_bytes > entry.longest_piece:
        raise entry.too_long(sender)


def taken(message: Carried, sender: str, topic: bytes, content: bytes) -> bytes:
    """Content that came, if it is what this party waits for.

    Raises:
        ProgramMismatchError: Naming the sender.
    """
    if topic != message.topic.encode():
        raise at_another_step(message, sender)
    return message.check(content, sender) if isinstance(message, Letter) else content


T = TypeVar("T")


def exchange_public(messenger: Messenger, message: Exchange[T], public: T) -> tuple[T, ...]:
    """Tell every party a public value; return all of them in party order.

    Raises:
        PartyLostError: If a party has left, or does not answer in time.
        ProgramMismatchError: If a party is at another step, or its value does not have the type and bound of the entry.
    """
    others = [party for party in messenger.parties if party != messenger.party]
    content = message.spelled(public)
    if message.is_array:
        received = _exchange_pieces(messenger, message, content, others)
    else:
        for party in others:
            messenger.send(party, message, content)
        received = {party: messenger.receive(party, message) for party in others}
    values = {party: message.read(received.pop(party), party) for party in others}
    return tuple(public if party == messenger.party else values[party] for party in messenger.parties)


def _exchange_pieces(messenger: Messenger, message: Exchange[T], content: bytes, others: list[str]) -> dict[str, bytes]:
    """Send an array in pieces, and take in what the others send."""
    pieces = [content[start : start + PIECE_BYTES] for start in range(0, max(1, len(content)), PIECE_BYTES)]
    for party in others:
        messenger.send(party, message, len(pieces).to_bytes(COUNT_BYTES, "big") + pieces[0])
    first = {party: messenger.receive(party, message) for party in others}
    # All others have begun, so what is long goes piece by piece and nobody's inbox overflows.
    n_pieces = {party: int.from_bytes(piece[:COUNT_BYTES], "big") for party, piece in first.items()}
    _refuse_long(message, n_pieces)
    received = {party: [_piece(message, party, piece[COUNT_BYTES:])] for party, piece in first.items()}
    for number in range(1, max([len(pieces), *n_pieces.values()])):
        for party in others:
            if number < len(pieces):
                messenger.send(party, message, pieces[number])
        for party in others:
            if number < n_pieces[party]:
                received[party].append(_piece(message, party, messenger.receive(party, message)))
    return {party: b"".join(received.pop(party)) for party in others}


def _refuse_long(message: Exchange[T], n_pieces: Mapping[str, int]) -> None:
    """Raise if all others together are about to send more than this party holds.

    Raises:
        ProgramMismatchError: Naming the party that announced most.
    """
    if sum(n_pieces.values()) * PIECE_BYTES > message.max_bytes:
        raise message.too_long(max(n_pieces, key=lambda party: n_pieces[party]))


def _piece(message: Exchange[T], party: str, content: bytes) -> bytes:
    """A piece of an array, of the length that pieces have at most."""
    if len(content) > PIECE_BYTES:
        raise message.too_long(party)
    return content


class EngineWithoutWorker(Roles):
    """An end of a run at a party that computes nothing on secrets. Whoever made the messenger closes it."""

    bytes_sent = 0
    """By an engine that runs here: there is none, and the messenger counts its own."""

    def __init__(self, messenger: Messenger) -> None:
        self.party, self.parties = messenger.party, tuple(messenger.parties)
        self._messenger = messenger

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing runs here."""

    def abort(self) -> None:
        """Nothing runs here that could be ended; the messenger notices who is lost."""

    def exchange(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""
        return exchange_public(self._messenger, message, public)
