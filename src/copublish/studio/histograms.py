"""Columns of a release as small pictures: bars with whiskers, as numbers for a template to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import copublish as cp

WIDTH, HEIGHT = 300.0, 64.0
MOST_BARS = 60
"""More bars than this have no whiskers: they would touch each other."""

MOST_VALUES = 200
"""Values of a column that a page lists."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar, in units of the picture, with the ends of its whisker; none where noise leaves nothing to say."""

    x: float
    y: float
    width: float
    height: float
    label: str
    whisker: tuple[float, float] | None


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
    shares = summary.shares if len(summary.shares) > 1 else []
    reach = [cell.share.high for cell in summary.cells if cell.share.tells]
    most = max([*shares, *reach, 1e-9])
    step = WIDTH / max(len(shares), 1)
    bars = []
    for place, share in enumerate(shares):
        cell = summary.cells[place] if summary.cells else None
        height = max(HEIGHT * share / most, 0.5)
        whisker = None
        if cell is not None and cell.share.tells and len(shares) <= MOST_BARS:
            low, high = (round(HEIGHT * (1 - end / most), 2) for end in (cell.share.low, cell.share.high))
            whisker = (low, high)
        bars.append(
            Bar(
                x=round(place * step, 2),
                y=round(HEIGHT - height, 2),
                width=round(step - min(1.0, step / 5), 2),
                height=round(height, 2),
                label=f"{share:.1%} of published records" if cell is None else f"{cell.label}: {cell.share.words}",
                whisker=whisker,
            )
        )
    values = [Value(label=cell.label, people=cell.people.words, share=cell.share.words) for cell in summary.cells]
    return ColumnCard(
        name=summary.name,
        bars=tuple(bars),
        mean=None if summary.mean is None else summary.mean.with_range,
        median=None if summary.median is None else summary.median.in_range,
        values=tuple(values[:MOST_VALUES]),
        more=max(0, len(values) - MOST_VALUES),
        note=summary.note,
    )
