"""Messages between any number of parties, for what needs no secure engine: public values, shares and masked sums."""

from __future__ import annotations

from typing import Protocol

from copublish.engine.public_values import MAX_BYTES_OF_TOPIC
from copublish.errors import EngineError

MAX_TOPIC_BYTES = 1000
MAX_CONTENT_BYTES = 128 * 2**20
"""Twice the largest table of counts, in words of 16 bytes."""


class Messenger(Protocol):
    """One party's connections to all others of a run. Every pair has its own, and messages arrive in order.

    What carries them (pipes, unix sockets or mutual TLS) decides who can read them: nobody but the two parties.
    """

    party: str
    parties: tuple[str, ...]

    def send(self, to: str, topic: str, content: bytes) -> None:
        """Send something to one party; returns when it is on its way.

        Raises:
            PartyLostError: If the party has left.
            EngineError: If it is too long for a message. Nothing was sent.
        """
        ...

    def receive(self, sender: str, topic: str) -> bytes:
        """Wait for the next message of one party.

        Raises:
            PartyLostError: If the party has left, or does not answer in time.
            ProgramMismatchError: If it is about something else: the parties are at different steps; or if it is longer
                than a message of its topic may be.
        """
        ...

    def has_left(self, party: str) -> bool:
        """Whether another party is known to have left; what it sent before may still be waiting."""
        ...


def refuse_to_send_long(topic: bytes, content: bytes) -> None:
    """Raise if a message is too long to be sent, whatever carries it.

    Raises:
        EngineError: Saying how long one may be.
    """
    if len(topic) > MAX_TOPIC_BYTES or len(content) > MAX_CONTENT_BYTES:
        raise EngineError(f"A message may have {MAX_CONTENT_BYTES // 2**20} MiB; a longer one was not sent.")


def longest_content(topic: bytes) -> int:
    """How many bytes a message about a topic may have. Whoever takes one in asks before it reads them."""
    return MAX_BYTES_OF_TOPIC.get(topic.decode(errors="replace"), MAX_CONTENT_BYTES)
