"""Lists in messages: one that is longer than a message may be goes in pieces.

A piece of full length is followed by another one, which may be empty. So whoever gets a list knows where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from copublish.agreement.protocol.message import Letter
from copublish.engines.messages import Messenger


def send_list(messenger: Messenger, to: str, message: Letter, content: bytes) -> None:
    """Send a list, however long.

    Raises:
        EngineError: If it is longer than any list may be. Nothing was sent.
    """
    for piece in _pieces(message, content):
        messenger.send(to, message, piece)


def receive_list(messenger: Messenger, sender: str, message: Letter) -> bytes:
    """Wait for a list.

    Raises:
        ProgramMismatchError: If it is longer than any list may be.
    """
    received = bytearray()
    while _takes_in(received, sender, message, messenger.receive(sender, message)):
        pass
    return bytes(received)


def pass_on_list(messenger: Messenger, to: str, sender: str, message: Letter, content: bytes) -> bytes:
    """Send a list to one party and get one of another, where all parties do so in a round.

    Pieces are sent and taken in by turns, so that nobody waits for room at a party that waits itself.
    """
    received, waiting = bytearray(), True
    pieces = _pieces(message, content)
    piece = next(pieces, None)
    while piece is not None or waiting:
        if piece is not None:
            messenger.send(to, message, piece)
            piece = next(pieces, None)
        if waiting:
            waiting = _takes_in(received, sender, message, messenger.receive(sender, message))
    return bytes(received)


def _pieces(message: Letter, content: bytes) -> Iterator[bytes]:
    if problem := message.refused_here(len(content)):
        raise problem
    for start in range(0, len(content) + 1, message.longest_piece):
        yield content[start : start + message.longest_piece]


def _takes_in(received: bytearray, sender: str, message: Letter, piece: bytes) -> bool:
    """Add a piece to what was received; return whether another one follows."""
    received += piece
    if len(received) > message.max_bytes:
        raise message.too_long(sender)
    return len(piece) == message.longest_piece
