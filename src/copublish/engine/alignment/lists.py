"""Lists in messages: one that is longer than a message may be goes in pieces.

A piece of full length is followed by another one, which may be empty. So whoever gets a list knows where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from copublish.engine.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError

PIECE_BYTES = 64 * 2**20

MAX_LIST_BYTES = 2 * 2**30
"""67 million points, or twice as many pseudonyms. Who sends more would fill the memory of the others."""


def send_list(messenger: Messenger, to: str, topic: str, content: bytes) -> None:
    """Send a list, however long.

    Raises:
        EngineError: If it is longer than any list may be. Nothing was sent.
    """
    for piece in _pieces(content):
        messenger.send(to, topic, piece)


def receive_list(messenger: Messenger, sender: str, topic: str) -> bytes:
    """Wait for a list.

    Raises:
        ProgramMismatchError: If it is longer than any list may be.
    """
    received = bytearray()
    while _takes_in(received, sender, messenger.receive(sender, topic)):
        pass
    return bytes(received)


def pass_on_list(messenger: Messenger, to: str, sender: str, topic: str, content: bytes) -> bytes:
    """Send a list to one party and get one of another, where all parties do so in a round.

    Pieces are sent and taken in by turns, so that nobody waits for room at a party that waits itself.
    """
    received, waiting = bytearray(), True
    pieces = _pieces(content)
    piece = next(pieces, None)
    while piece is not None or waiting:
        if piece is not None:
            messenger.send(to, topic, piece)
            piece = next(pieces, None)
        if waiting:
            waiting = _takes_in(received, sender, messenger.receive(sender, topic))
    return bytes(received)


def _pieces(content: bytes) -> Iterator[bytes]:
    if len(content) > MAX_LIST_BYTES:
        raise EngineError(f"A list may have {MAX_LIST_BYTES // 2**20} MiB; a longer one was not sent.")
    for start in range(0, len(content) + 1, PIECE_BYTES):
        yield content[start : start + PIECE_BYTES]


def _takes_in(received: bytearray, sender: str, piece: bytes) -> bool:
    """Add a piece to what was received; return whether another one follows."""
    received += piece
    if len(piece) > PIECE_BYTES or len(received) > MAX_LIST_BYTES:
        raise ProgramMismatchError(f"Party '{sender}' sent more than a list has. Nothing was compared.")
    return len(piece) == PIECE_BYTES
