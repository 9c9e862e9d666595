"""A party's identifiers, as the kernel sees them: a sequence of text that never shows itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Self

from copublish.types import BoolArray, IntArray


class Identifiers(Sequence[str]):
    """Normalized identifiers, one for each record of a party. `rows` has the one that holds them as a column."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"  # a repr may end up in a log

    @abstractmethod
    def take(self, positions: IntArray) -> Self:
        """These identifiers in this order."""

    @abstractmethod
    def in_order(self) -> Iterator[list[str]]:
        """The identifiers in the order of their bytes in UTF-8, whatever the order of the records, in batches."""

    @abstractmethod
    def by_digest(self) -> IntArray:
        """The records in the order of digests of their identifiers: an order that follows from identifiers alone."""

    @abstractmethod
    def is_empty(self) -> BoolArray:
        """Mask of the records that have no identifier."""

    @abstractmethod
    def numbered(self) -> IntArray:
        """A number for every record, the same exactly where identifiers are."""

    @abstractmethod
    def has_repeated(self) -> bool:
        """True if two records have the same identifier."""
