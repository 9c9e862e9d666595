"""Messages between any number of parties, for what needs no secure engine: public values, shares and masked sums."""

from __future__ import annotations

from typing import Any, Protocol

from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.protocol.message import Exchange, Letter, at_another_step
from copublish.kernel.protocol.table import entry_of

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
