"""Questions to a release, answered by every mechanism that states its noise, and estimates with their intervals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from copublish.errors import ReleaseError

CONFIDENCE = 0.95

TOO_FEW = "too few to say"
"""What stands in the place of a number that noise leaves nothing of."""

LARGEST_PART = 0.6
"""An interval that covers more of what is possible than this tells nothing worth a number."""

MOSTLY_NOISE = 1.2
"""An interval that is not wider than noise by more than this is told as the value and its noise."""

Unit = Literal["people", "share", "correlation", "own"]
"""What a number counts: people, parts of a whole, a correlation, or whatever its column is measured in."""

MOST_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number about the people in the joint table, from a release alone.

    The interval is about the joint table's own value, its numbers as agreed (within their bounds): with the stated
    probability over the noise it holds that value. It does not cover that these people may be a sample of others.

    Attributes:
        value: The best guess; none where noise leaves nothing to say.
        standard_error: Of the noise alone; none like the value.
        within: How far noise moves the value at most, with the stated confidence; none like the value.
        low: Where the interval begins: noise, and what the agreed cells or rounding hide of single numbers.
        high: Where it ends.
        confidence: How often, at least, such an interval holds the joint table's own value.
        how: How it was computed, and what it leaves out.
        unit: What it counts.
        inside: Columns with cells of which only a part counts. In them people are taken to be spread evenly.

    Privacy:
        Post-processing of released values: computed without anybody's data, it costs nothing and may be published.
    """

    value: float | None
    standard_error: float | None
    within: float | None
    low: float
    high: float
    confidence: float
    how: str
    unit: Unit = "own"
    inside: tuple[str, ...] = ()

    @property
    def tells(self) -> bool:
        """Whether there is something to say."""
        return self.value is not None

    @property
    def words(self) -> str:
        """The value and how far noise moves it at most, or that there is too little to say."""
        if self.value is None or self.within is None:
            return self._untold
        return f"{_spelled(self.value, self.within, self.unit)} ± {_error(self.within, self.unit)}"

    @property
    def range_words(self) -> str:
        """Where the interval begins and ends."""
        width = self.high - self.low
        return " to ".join(_spelled(end, width / 3, self.unit).removesuffix(" %") for end in (self.low, self.high)) + (
            " %" if self.unit == "share" else ""
        )

    @property
    def with_range(self) -> str:
        """The words or, where noise is not all that the interval holds, the value with its interval and the noise."""
        if self.value is None or self.within is None:
            return self._untold
        if self.high - self.low <= MOSTLY_NOISE * 2 * self.within:
            return self.words
        return f"{self._rounded} ({self.range_words}; noise ± {_error(self.within, self.unit)})"

    @property
    def in_range(self) -> str:
        """The value with its interval, whatever makes it that wide."""
        return self._untold if self.value is None else f"{self._rounded} ({self.range_words})"

    @property
    def _untold(self) -> str:
        """Noise leaves nothing of a count; where a number of a column lies is known, though cells may be too wide."""
        return f"somewhere in {self.range_words}" if self.unit == "own" else TOO_FEW

    @property
    def _rounded(self) -> str:
        """The value, rounded by how wide the interval is."""
        return self.spelled(self.value or 0.0)

    def spelled(self, value: float) -> str:
        """Another value of what is estimated, rounded like this one."""
        return _spelled(value, (self.high - self.low) / 3, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"inside": list(self.inside)}

    def __str__(self) -> str:
        if self.value is None or self.within is None:
            return f"{TOO_FEW} ({self.range_words})"
        sure = f"{self.confidence:.0%}".replace("%", " %")
        noise = _error(self.within, self.unit)
        return f"{self._rounded} ({self.range_words} with {sure} confidence; noise ± {noise})"


def nothing_to_say(low: float, high: float, *, confidence: float, how: str, unit: Unit) -> Estimate:
    """What is possible at all, without a value."""
    return Estimate(
        value=None, standard_error=None, within=None, low=low, high=high, confidence=confidence, how=how, unit=unit
    )


def exactly(people: int, confidence: float) -> Estimate:
    """A number of people that is public."""
    n = float(people)
    return Estimate(
        value=n, standard_error=0.0, within=0.0, low=n, high=n, confidence=confidence, how="public", unit="people"
    )


def checked_confidence(confidence: float) -> float:
    """A confidence that an interval can have.

    Raises:
        ReleaseError: If it is none.
    """
    if not 0.5 <= confidence <= 0.999:  # beyond that the tails of sums of noise are not known well enough
        raise ReleaseError(f"confidence must be from 0.5 to 0.999, got {confidence}.")
    return confidence


def _decimals(error: float) -> int:
    """How many decimals show an error with two digits."""
    if not 0 < error < math.inf:
        return 2
    return min(max(1 - math.floor(math.log10(error)), 0), MOST_DIGITS)


def _spelled(value: float, error: float, unit: Unit) -> str:
    # `z` writes what rounds to zero without a sign.
    if unit == "people":
        return f"{round(value):,}"
    if unit == "share":
        return f"{100 * value:z.{min(_decimals(100 * error), 3) if error < 0.1 else 0}f} %"
    if unit == "correlation":
        return f"{value:+z.{2 if error >= 0.01 else _decimals(error)}f}"
    return f"{value:z,.{_decimals(error)}f}"


def _error(error: float, unit: Unit) -> str:
    if unit == "people":
        return f"{math.ceil(error - 1e-9):,}"
    return _spelled(error, error, unit).removeprefix("+").removesuffix(" %")


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
        axis: Borders of the cells, or of the drawn parts, that are intervals of numbers: one more than there are of
            them. They come first; cells after them are none, like `(missing)`. Empty where cells tell no numbers.
        note: What a reader should know.
    """

    name: str
    is_number: bool
    mean: Estimate | None = None
    median: Estimate | None = None
    cells: tuple[CellSummary, ...] = ()
    drawn: tuple[float, ...] = ()
    axis: tuple[float, ...] = ()
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
