"""What can be read from a release: every mechanism that states its noise answers these questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from copublish.errors import ReleaseError
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate

Values = str | Sequence[str]
Among = Mapping[str, Values]
"""Values of other columns that people must have to be counted."""


MOST_LISTED = 12
"""So many values of a column are listed in a message."""


@dataclass(frozen=True, kw_only=True)
class CellSummary:
    """One published value of a column: which share of people has it, and how many they are."""

    label: str
    share: Estimate
    people: Estimate


@dataclass(frozen=True, kw_only=True)
class ColumnSummary:
    """How a column is spread.

    Attributes:
        name: The column.
        is_number: Whether it holds numbers.
        mean: Of numbers, where they are not missing.
        median: The same.
        cells: Its values with their errors; none where single values were not measured.
        drawn: Shares of published records in equal parts of a number's range, where its spread was not measured.
        axis: Numbers, and where each lies among equally wide bars of the cells, from 0 to 1.
        note: What a reader should know.
    """

    name: str
    is_number: bool
    mean: Estimate | None = None
    median: Estimate | None = None
    cells: tuple[CellSummary, ...] = ()
    drawn: tuple[float, ...] = ()
    axis: tuple[tuple[float, float], ...] = ()
    note: str = ""

    @property
    def largest(self) -> CellSummary | None:
        """The value that most people have."""
        told = [cell for cell in self.cells if cell.share.value is not None]
        return max(told, key=lambda cell: cell.share.value or 0.0, default=None)

    @property
    def shares(self) -> list[float]:
        """What a picture shows: shares of the cells, 0 where nothing can be said."""
        return [max(cell.share.value or 0.0, 0.0) for cell in self.cells] or list(self.drawn)

    def to_dict(self) -> dict[str, Any]:
        """The estimates as plain values."""
        numbers = {"mean": self.mean, "median": self.median}
        cells = {cell.label: {"share": cell.share.to_dict(), "people": cell.people.to_dict()} for cell in self.cells}
        return {name: said.to_dict() for name, said in numbers.items() if said is not None} | {"values": cells}


class Reading(ABC):
    """Questions to one release. All answers are about the joint table's own values.

    Privacy:
        Post-processing: answers are functions of what was released, and cost nothing. There is no other input.
    """

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""

    @abstractmethod
    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; everybody if none are named."""

    @abstractmethod
    def share(self, column: str, values: Values, among: Among, confidence: float) -> Estimate:
        """Which share of people has one of some values of a column."""

    @abstractmethod
    def mean(self, column: str, among: Among, confidence: float) -> Estimate:
        """The mean of a column of numbers."""

    @abstractmethod
    def median(self, column: str, among: Among, confidence: float) -> Estimate:
        """The median of a column of numbers."""

    @abstractmethod
    def correlation(self, one: str, other: str, confidence: float) -> Estimate:
        """How two columns go together."""

    @abstractmethod
    def summary(self, column: str, confidence: float = CONFIDENCE) -> ColumnSummary:
        """How a column is spread."""

    def summaries(self) -> list[ColumnSummary]:
        """How every column is spread, the class last."""
        return self._summaries

    @cached_property
    def _summaries(self) -> list[ColumnSummary]:
        return [self.summary(column) for column in self.columns]

    def check(self, *names: str) -> None:
        """Refuse a column that the release does not have.

        Raises:
            ReleaseError: Naming those that it has.
        """
        for name in names:
            if name not in self.columns:
                known = ", ".join(f"'{column}'" for column in self.columns)
                raise ReleaseError(f"This release has no column '{name}'. It has {known}.")
        if len(set(names)) < len(names):
            raise ReleaseError(f"Column '{names[0]}' was named twice. Name each column once.")


def published_values(column: str, known: Sequence[str], values: Values) -> list[str]:
    """The values that were asked for, each once.

    Raises:
        ReleaseError: If there is none, or one that was not published.
    """
    wanted = list(dict.fromkeys([values] if isinstance(values, str) else values))
    listed = ", ".join(f"'{label}'" for label in known[:MOST_LISTED]) + (", ..." if len(known) > MOST_LISTED else "")
    if not wanted:
        raise ReleaseError(f"No value of column '{column}' was named. It has {listed}.")
    unknown = ", ".join(f"'{value}'" for value in wanted if value not in known)
    if unknown:
        raise ReleaseError(f"Column '{column}' has no published value {unknown}. It has {listed}.")
    return wanted


def no_order(column: str, categories: int) -> ReleaseError:
    """The error for a category that was taken for something with an order."""
    return ReleaseError(
        f"Column '{column}' has {categories} categories, which have no order. Ask for shares among the people with a "
        "value of the other column."
    )


def no_number(column: str, what: str) -> ReleaseError:
    """The error for a category that was taken for a number."""
    return ReleaseError(f"Column '{column}' holds categories, which have no {what}. Ask for the share of a value.")
