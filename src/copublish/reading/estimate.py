"""One number read from a release, with its interval, and how people are told it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from copublish.errors import ReleaseError

CONFIDENCE = 0.95

TOO_FEW = "too few to say"
"""What stands in the place of a number that noise leaves nothing of."""

LARGEST_PART = 0.6
"""An interval that covers more of what is possible than this tells nothing worth a number."""

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

    @property
    def tells(self) -> bool:
        """Whether there is something to say."""
        return self.value is not None

    @property
    def words(self) -> str:
        """The value and how far noise moves it at most, or that there is too little to say."""
        if self.value is None or self.within is None:
            return TOO_FEW
        return f"{_spelled(self.value, self.within, self.unit)} ± {_error(self.within, self.unit)}"

    @property
    def range_words(self) -> str:
        """Where the interval begins and ends."""
        width = self.high - self.low
        return " to ".join(_spelled(end, width / 10, self.unit).removesuffix(" %") for end in (self.low, self.high)) + (
            " %" if self.unit == "share" else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        return f"{self.words} ({self.range_words} with {self.confidence:.0%} confidence)"


def nothing_to_say(low: float, high: float, *, confidence: float, how: str, unit: Unit) -> Estimate:
    """What is possible at all, without a value."""
    return Estimate(
        value=None, standard_error=None, within=None, low=low, high=high, confidence=confidence, how=how, unit=unit
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
    if unit == "people":
        return f"{round(value):,}"
    if unit == "share":
        return f"{100 * value:.{min(_decimals(100 * error), 3) if error < 0.1 else 0}f} %"
    if unit == "correlation":
        return f"{value:+.2f}" if error >= 0.01 else f"{value:+.{_decimals(error)}f}"
    return f"{value:,.{_decimals(error)}f}"


def _error(error: float, unit: Unit) -> str:
    if unit == "people":
        return f"{math.ceil(error - 1e-9):,}"
    return _spelled(error, error, unit).removeprefix("+").removesuffix(" %")
