"""One party's end of an engine, in parts: each part of the program gets the part it needs and no more.

Mechanisms get the `Computer`, which opens nothing. The reveal gate gets the `Opener`. The main path alone has the whole
`Engine`, from which it compares people and exchanges what is public between the parties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from copublish.agreement.protocol.message import Exchange
from copublish.errors import EngineError
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.kernel.secrets.secret import Secret
from copublish.progress import Progress, no_progress
from copublish.types import IntArray

T = TypeVar("T")


class PublicExchange(Protocol):
    """Sends every party a public value and returns all of them in party order."""

    def __call__(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Send a value. All parties name the same entry of the protocol.

        Raises:
            ProgramMismatchError: If a party's value does not have the type and bound of the entry.

        Privacy:
            Reveals: the value, to all parties.
        """
        ...


@runtime_checkable
class Comparer(Protocol):
    """Compares people. Every comparison is written into the ledger first, so only the main path has one."""

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among this party's own, in an order that all parties share.

        A party without data gives none and gets none.

        Privacy:
            Reveals: to every party which of its records are common, and how many they are.
        """
        ...

    def place(self, identifiers: Sequence[str] | None, join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Rows for this party's people, the same row at every owner that lists a person.

        Args:
            identifiers: This party's people, no more than its public length; none at a party without data.
            join: What all parties know of it.
            progress: Called with the number of entries that are done.

        Privacy:
            Reveals: to every party the number of rows. Between two owners it tells each the number of common people
                plus noise, for which `join.size` says what it costs; with a helper it follows from the agreement.
                No owner learns which of its people another one lists.
            Charges: nothing. Whoever calls this has written the disclosure of the size into the ledger.
        """
        ...

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """True if any two parties list the same identifier.

        Privacy:
            Reveals: the answer; if it is true, possibly the identifiers too. Lists are padded to a public length, so
                that their own lengths stay secret.
        """
        ...


@dataclass(frozen=True)
class Opener:
    """Opens secrets. The reveal gate is the only code that gets one.

    Attributes:
        open: Opens a secret to all parties.
        take_checks: For each party a number that is 0 unless its inputs to products were invalid, for all inputs since
            the last call; None if there were none. Each number is a function of one party's own inputs and public
            shapes, and it is 0 for whoever follows the protocol. So opening it reveals nothing about data.
        exchange: Sends columns that their owner has perturbed.

    Privacy:
        Whoever has one can open everything. The main path hands it to the reveal gate and to nobody else.
    """

    open: Callable[[Secret], IntArray]
    take_checks: Callable[[], Secret | None]
    exchange: PublicExchange


class Engine(Protocol):
    """The whole engine at one party, for the main path."""

    @property
    def party(self) -> str:
        """This party."""
        ...

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in agreed order."""
        ...

    @property
    def computer(self) -> Computer:
        """The part for mechanisms."""
        ...

    @property
    def comparer(self) -> Comparer:
        """The part that compares people."""
        ...

    @property
    def opener(self) -> Opener:
        """The part for the reveal gate."""
        ...

    @property
    def exchange(self) -> PublicExchange:
        """The part that sends public values."""
        ...


def comparer_of(engine: object) -> Comparer:
    """The same engine as one that compares people.

    Raises:
        EngineError: If it cannot.
    """
    if not isinstance(engine, Comparer):
        raise EngineError("This engine cannot compare people, which the agreement needs. Nothing was computed.")
    return engine
