"""Messages between any number of parties, for what needs no secure engine: public values, shares and masked sums."""

from __future__ import annotations

from typing import Protocol


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
        """
        ...

    def receive(self, sender: str, topic: str) -> bytes:
        """Wait for the next message of one party.

        Raises:
            PartyLostError: If the party has left, or does not answer in time.
            ProgramMismatchError: If it is about something else: the parties are at different steps.
        """
        ...

    def has_left(self, party: str) -> bool:
        """Whether another party is known to have left; what it sent before may still be waiting."""
        ...
