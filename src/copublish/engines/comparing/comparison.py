"""How people are compared by messages: by a helper if the agreement names one, else by the owners themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from copublish.engines.comparing.padded_chain import PaddedChain
from copublish.engines.comparing.pseudonyms import PseudonymJoin
from copublish.engines.comparing.rounds import RoundsOfLists
from copublish.engines.messages import Messenger
from copublish.errors import EngineError
from copublish.types import IntArray


class Comparison(Protocol):
    """One party's part in comparing the owners' identifiers."""

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        ...

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        ...


class AmongOwners:
    """Owners compare among themselves. Every comparison has factors of its own."""

    def __init__(self, messenger: Messenger, owners: Sequence[str]) -> None:
        self._messenger, self._owners = messenger, tuple(owners)

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        return PaddedChain(self._messenger, self._owners).common(identifiers)

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        return RoundsOfLists(self._messenger, self._owners).any_shared(identifiers, padded_to)


def comparison_by(messenger: Messenger, owners: Sequence[str], helper: str | None) -> Comparison:
    """The agreed way to compare people.

    Args:
        messenger: A party's connections to all others.
        owners: The parties that hold data, in agreed order.
        helper: The party without data that compares pseudonyms; none if owners compare among themselves.
    """
    return AmongOwners(messenger, owners) if helper is None else PseudonymJoin(messenger, owners, helper)


class ComparesByMessages:
    """Part of an engine: what makes it a `Comparer` wherever there are messengers.

    Attributes:
        comparison: How people are compared; whoever makes the engine says it, if they are.
    """

    comparison: Comparison | None = None

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own; none at a party without data."""
        return self._comparison().common(identifiers or [])

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """Whether any two owners list the same identifier."""
        return self._comparison().any_shared(identifiers, padded_to)

    def _comparison(self) -> Comparison:
        if self.comparison is None:
            raise EngineError("There is no agreed way to compare people. Nothing was compared.")
        return self.comparison
