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
        return _spelled(self.value or 0.0, (self.high - self.low) / 3, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

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
