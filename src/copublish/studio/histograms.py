"""Columns of a release as small pictures: bars with whiskers, as numbers for a template to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import copublish as cp

WIDTH, HEIGHT = 300.0, 64.0
ROW, LABELS, NUMBERS = 18.0, 88.0, 96.0
"""Of a bar with its name before it and its number behind it."""

LONGEST_NAME = 12
MOST_ROWS = 8
MOST_BARS = 60
"""More bars than this have no whiskers: they would touch each other."""

MOST_VALUES = 200
"""Values of a column that a page lists."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar, in units of the picture.

    Attributes:
        x, y, width, height: Where it lies.
        label: What it says, in words.
        whisker: Where its whisker begins and ends (x, y, x, y); none where noise leaves nothing to say.
        name, number: What stands before and behind a lying bar; nothing at a standing one.
    """

    x: float
    y: float
    width: float
    height: float
    label: str
    whisker: tuple[float, float, float, float] | None = None
    name: str = ""
    number: str = ""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value of a column in words."""

    label: str
    people: str
    share: str


@dataclass(frozen=True, kw_only=True)
class ColumnCard:
    """One column: its picture, and the same in numbers."""

    name: str
    bars: tuple[Bar, ...]
    height: float
    mean: str | None
    median: str | None
    values: tuple[Value, ...]
    more: int
    note: str

    @property
    def said(self) -> str:
        """What the picture shows, for who does not see it."""
        numbers = [f"mean {self.mean}" if self.mean else "", f"median {self.median}" if self.median else ""]
        return "; ".join(filter(None, numbers)) or "The table below has its numbers."


def column_cards(release: cp.Release) -> list[ColumnCard]:
    """A card for every column; none where the mechanism states no law of noise."""
    try:
        summaries = release.reading.summaries()
    except cp.ReleaseError:
        return []
    return [_card(summary) for summary in summaries]


def _card(summary: Any) -> ColumnCard:
    bars = standing_bars(summary) if summary.is_number else lying_bars(summary.cells)
    values = [Value(label=cell.label, people=cell.people.words, share=cell.share.words) for cell in summary.cells]
    return ColumnCard(
        name=summary.name,
        bars=tuple(bars),
        height=HEIGHT + 2 if summary.is_number else ROW * len(bars),
        mean=None if summary.mean is None else summary.mean.with_range,
        median=None if summary.median is None else summary.median.in_range,
        values=tuple(values[:MOST_VALUES]),
        more=max(0, len(values) - MOST_VALUES),
        note=summary.note,
    )


def standing_bars(summary: Any) -> list[Bar]:
    """A bar for every cell of a column of numbers, side by side; none if there is one cell alone."""
    shares = summary.shares if len(summary.shares) > 1 else []
    most = max([*shares, *(cell.share.high for cell in summary.cells if cell.share.tells), 1e-9])
    step, found = WIDTH / max(len(shares), 1), []
    for place, share in enumerate(shares):
        cell = summary.cells[place] if summary.cells else None
        height, whisker, middle = max(HEIGHT * share / most, 0.5), None, round((place + 0.5) * step, 2)
        if cell is not None and cell.share.tells and len(shares) <= MOST_BARS:
            low, high = (round(HEIGHT * (1 - end / most), 2) for end in (cell.share.low, cell.share.high))
            whisker = (middle, low, middle, high)
        found.append(
            Bar(
                x=round(place * step, 2),
                y=round(HEIGHT - height, 2),
                width=round(step - min(1.0, step / 5), 2),
                height=round(height, 2),
                label=f"{share:.1%} of published records" if cell is None else f"{cell.label}: {cell.share.words}",
                whisker=whisker,
            )
        )
    return found


def lying_bars(cells: Sequence[Any]) -> list[Bar]:
    """A bar for every value of a category, the largest of many, each with its name and number."""
    largest = sorted(cells, key=lambda cell: -(cell.share.value or 0.0))[:MOST_ROWS]
    shown = [cell for cell in cells if cell in largest] if len(cells) > 1 else []
    most = max([cell.share.high for cell in shown if cell.share.tells] + [1e-9])
    room, found = WIDTH - LABELS - NUMBERS, []
    for row, cell in enumerate(shown):
        whisker, middle = None, ROW * row + 9
        if cell.share.tells:
            low, high = (round(LABELS + room * max(end, 0.0) / most, 2) for end in (cell.share.low, cell.share.high))
            whisker = (low, middle, high, middle)
        found.append(
            Bar(
                x=LABELS,
                y=ROW * row + 3,
                width=round(max(room * max(cell.share.value or 0.0, 0.0) / most, 0.5), 2),
                height=12,
                label=f"{cell.label}: {cell.share.words}",
                whisker=whisker,
                name=cell.label if len(cell.label) <= LONGEST_NAME else f"{cell.label[: LONGEST_NAME - 1]}…",
                number=cell.share.words,
            )
        )
    return found
