"""Telling every party a public value by messages. Never pickled: whoever reads a pickle runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from copublish.kernel.protocol.message import COUNT_BYTES, PIECE_BYTES, Exchange

if TYPE_CHECKING:
    from copublish.engines.messages import Messenger

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
