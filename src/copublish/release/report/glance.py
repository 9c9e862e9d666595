"""Every column of a report at a glance: a small picture, mean and median with error bars. Released values only.

Pictures are inline SVG; text goes in through ElementTree, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.statements import DisclosureStatement
from copublish.kernel.certificate.certificate import Certificate
from copublish.release.questions.estimate import CellSummary, ColumnSummary, Estimate
from copublish.release.render.svg import Figure, shortened

LARGE_BELIEF = 0.99


def budget_shares(certificate: Certificate) -> list[float]:
    """The share of each disclosure in the budget of the release, under the relation it is calibrated to.

    In rho where that is what adds up, else in epsilon.
    """
    relation = certificate.epsilon.calibrated_to
    parts = [
        Fraction(disclosure.epsilon[relation]) if disclosure.rho is None else Fraction(disclosure.rho[relation])
        for disclosure in certificate.disclosures
    ]
    return [float(part / sum(parts)) for part in parts]


def adds_up_in_rho(certificate: Certificate) -> bool:
    """Whether several disclosures share one budget of zero-concentrated differential privacy."""
    disclosures = certificate.disclosures
    return len(disclosures) > 1 and all(disclosure.rho is not None for disclosure in disclosures)


def belief_bound(epsilon: Fraction | None) -> float | None:
    """How far even odds can move to, e^epsilon / (1 + e^epsilon), or nothing if there is no protection.

    In whole percent, near certainty in tenths of one, rounded up: people are told that it cannot be more.
    """
    if epsilon is None:
        return None
    belief = 1 / (1 + math.exp(-float(epsilon)))
    steps = 100 if belief <= LARGE_BELIEF else 1000
    return min(math.ceil(belief * steps) / steps, 1.0)


def budget_strip(disclosures: Sequence[DisclosureStatement], shares: Sequence[float], relation: Neighbors) -> Markup:
    """Draw the budget as one strip that stretches over the page, a segment for each disclosure."""
    width, height, gap = 1000.0, 26.0, 2.0
    described = "; ".join(f"{d.what}: {share:.1%}" for d, share in zip(disclosures, shares, strict=True))
    figure = Figure("budget", width, height, "How the budget was spent", described)
    figure.root.set("preserveAspectRatio", "none")
    left = 0.0
    for disclosure, share in zip(disclosures, shares, strict=True):
        figure.add(
            "rect",
            tooltip=f"{disclosure.what}: epsilon {disclosure.epsilon[relation]}, {share:.1%}",
            class_=disclosure.kind,
            x=left,
            y=0,
            width=max(share * width - gap, 0.5),
            height=height,
        )
        left += share * width
    return figure.markup()


def utility_figure(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw for every classifier the largest class (LA), the release (CA) with its error bar and raw data (BA)."""
    width, row, left, right = 440.0, 40.0, 122.0, 20.0
    values = [row_[key] for row_ in rows for key in ("BA", "CA", "LA") if row_[key] is not None]
    ticks = 20 if max(values) - min(values) < 0.4 else 10  # of a whole: more of them would not fit side by side
    low, high = math.floor(min(values) * ticks) / ticks, math.ceil(max(values) * ticks) / ticks
    high = max(high, low + 1 / ticks)
    figure = Figure(
        "utility",
        width,
        row * len(rows) + 34,
        "Accuracy: raw data, release, largest class",
        "; ".join(
            f"{r['classifier']}: largest class {r['LA']:.3f}, release {r['CA']:.3f}"
            + ("" if r["BA"] is None else f", raw data {r['BA']:.3f}")
            for r in rows
        ),
    )

    def place(value: float) -> float:
        return float(left + (width - left - right) * (value - low) / (high - low))

    bottom = row * len(rows) + 6
    for step in range(round((high - low) * ticks) + 1):
        value = low + step / ticks
        figure.add("line", class_="rule", x1=place(value), x2=place(value), y1=6, y2=bottom)
        figure.add("text", f"{value:.2f}", class_="tick", x=place(value), y=bottom + 16, text_anchor="middle")
    for number, r in enumerate(rows):
        y = row * number + row / 2 + 6
        figure.add("text", r["classifier"], x=0, y=y + 4)
        reach = r["CA"] if r["BA"] is None else max(r["BA"], r["CA"])
        figure.add("line", class_="range", x1=place(r["LA"]), x2=place(reach), y1=y, y2=y)
        error = 1.96 * r["standard_error_of_CA"]
        figure.add("line", class_="error", x1=place(max(r["CA"] - error, low)), x2=place(r["CA"] + error), y1=y, y2=y)
        for key in ("LA", "CA", "BA"):
            if r[key] is not None:
                label = f"{key} {r[key]:.3f}"
                figure.add("circle", tooltip=label, class_=key.lower(), cx=place(r[key]), cy=y, r=5.5)
                figure.add("text", key, class_="tick", x=place(r[key]), y=y - 10, text_anchor="middle")
    return figure.markup()


WIDTH = 300.0
BARS_HEIGHT, LINE = 64.0, 18.0
"""Height of a histogram's bars, and of a line of text."""

BAR, BELOW_BAR = 8.0, 7.0
"""Height of a category's bar, which stands below its words, and the room below that."""

APART, SLOT = 36.0, 90.0
"""Width of the bar of a cell that is no interval, and of its place beside the axis: its name stands below it."""

DIGIT = 8.6
"""Width of a digit in the widest of the usual fonts: numbers get so much room that no font can make them meet."""

ROOM_FOR_WORD = 60.0
"""What "median" needs beside its interval; where there is no room on either side, the words below say it."""

MOST_ROWS = 8
"""Values of a category that a picture has room for."""

NARROWEST = 5.0
"""The narrowest bar that has a whisker. Noise on few people in a narrow cell would dwarf everything else."""

AREA = "area of a bar: share of people"
AREA_OF_RECORDS = "area of a bar: share of records"


@dataclass(frozen=True)
class Card:
    """One column: its picture, and what is known of it in words.

    Attributes:
        name: The column.
        figure: How it is spread; none if there is nothing to compare.
        mean: Of a number.
        median: The same.
        cells: Its values with their errors; none where single values were not measured.
        others: How many values the picture has no room for.
        note: What a reader should know.
    """

    name: str
    figure: Markup | None
    mean: Estimate | None
    median: Estimate | None
    cells: tuple[CellSummary, ...]
    others: int
    note: str


def cards(summaries: Sequence[ColumnSummary]) -> list[Card]:
    """A card for every column."""
    return [_card(number, summary) for number, summary in enumerate(summaries)]


def _card(number: int, summary: ColumnSummary) -> Card:
    name = f"glance-{number}"
    if summary.axis and len(summary.shares) > 1:
        figure, others = _histogram(name, summary), 0
    elif len(summary.cells) > 1:
        shown = sorted(summary.cells, key=lambda cell: -(cell.share.value or 0.0))[:MOST_ROWS]
        kept = [cell for cell in summary.cells if cell in shown]
        figure, others = _rows(name, summary.name, kept), len(summary.cells) - len(kept)
    else:
        figure, others = None, 0
    note = "published as one value" if len(summary.cells) == 1 else summary.note
    return Card(summary.name, figure, summary.mean, summary.median, summary.cells, others, note)


@dataclass(frozen=True)
class _Axis:
    """Places of a histogram: intervals by their numbers from the left, and other cells apart at the right.

    Attributes:
        edges: Borders of the intervals, in order.
        apart: How many cells are no interval.
    """

    edges: tuple[float, ...]
    apart: int

    @property
    def width(self) -> float:
        """Room for the intervals."""
        return WIDTH - SLOT * self.apart

    def place(self, number: float) -> float:
        """Where a number lies; one beyond the axis at its end."""
        low, high = self.edges[0], self.edges[-1]
        return self.width * min(max((number - low) / (high - low), 0.0), 1.0)

    def bar(self, cell: int) -> tuple[float, float]:
        """Where a cell's bar begins and ends."""
        beyond = cell - (len(self.edges) - 1)
        if beyond < 0:
            return self.place(self.edges[cell]), self.place(self.edges[cell + 1])
        middle = self.width + SLOT * (beyond + 0.5)
        return middle - APART / 2, middle + APART / 2

    def ticks(self) -> list[tuple[str, float, str]]:
        """The ends of the axis, and other borders that there is room for: text, place and anchor."""
        *inner, last = [f"{edge:,.6g}" for edge in self.edges]
        found, end = [(inner[0], 0.0, "start")], DIGIT * len(inner[0])
        for text, edge in zip(inner[1:], self.edges[1:], strict=False):
            half = DIGIT * len(text) / 2
            if end + DIGIT < self.place(edge) - half and self.place(edge) + half < self.width - DIGIT * (len(last) + 1):
                found.append((text, self.place(edge), "middle"))
                end = self.place(edge) + half
        return [*found, (last, self.width, "end")]


def _histogram(name: str, summary: ColumnSummary) -> Markup:
    """A bar over each interval, as wide as it is, with its share as area; mean and median below on the same axis.

    Cells that are no interval stand apart, and their areas are shares, too.
    """
    shares, edges = summary.shares, summary.axis
    while edges[-1] <= edges[-2] and len(edges) > 2:  # a cell of the upper bound alone has no width
        edges = edges[:-1]
    axis = _Axis(edges, len(shares) - (len(edges) - 1))
    bars = [axis.bar(cell) for cell in range(len(shares))]
    heights = [share / max(stop - start, 1e-9) for share, (start, stop) in zip(shares, bars, strict=True)]
    whiskers = _whiskers(summary, bars)
    most = max(*heights, *(high for _, high in whiskers.values()), 1e-12)
    marks = [(what, said) for what, said in (("mean", summary.mean), ("median", summary.median)) if said is not None]
    base = LINE + BARS_HEIGHT
    described = "; ".join(f"{what} {said.in_range}" for what, said in marks)
    figure = Figure(
        name,
        WIDTH,
        base + LINE * (1 + len(marks)) + 2,
        f"How '{summary.name}' is spread",
        described or "Shares of its values.",
    )
    figure.add("text", AREA if summary.cells else AREA_OF_RECORDS, class_="tick", x=0, y=12)
    for cell, (share, (start, stop)) in enumerate(zip(shares, bars, strict=True)):
        told = summary.cells[cell] if summary.cells else None
        height = BARS_HEIGHT * heights[cell] / most
        figure.add(
            "rect",
            tooltip=f"{share:.1%} of published records" if told is None else f"{told.label}: {told.share.words}",
            class_="drawn" if told is None else "bar",
            x=start,
            y=base - height,
            width=max(stop - start - min(1.0, (stop - start) / 5), 0.5),
            height=max(height, 0.5),
        )
        if cell in whiskers:
            ends = [base - BARS_HEIGHT * end / most for end in whiskers[cell]]
            middle = (start + stop) / 2
            figure.add("line", class_="error", x1=middle, x2=middle, y1=ends[0], y2=ends[1])
    figure.add("line", class_="rule", x1=0, x2=axis.width, y1=base + 0.5, y2=base + 0.5)
    for text, x, anchor in axis.ticks():
        figure.add("text", text, class_="tick", x=x, y=base + 14, text_anchor=anchor)
    for label, (start, stop) in zip([cell.label for cell in summary.cells], bars, strict=False):
        if start >= axis.width:
            shown, x = shortened(label, SLOT - 2), (start + stop) / 2
            figure.add("line", class_="rule", x1=start, x2=stop, y1=base + 0.5, y2=base + 0.5)
            figure.add("text", shown, tooltip=label, class_="tick", x=x, y=base + 14, text_anchor="middle")
    for row, (what, said) in enumerate(marks):
        _mark(figure, what, said, axis, base + LINE * (row + 1.5) + 2)
    return figure.markup()


def _whiskers(summary: ColumnSummary, bars: Sequence[tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """The ends of each cell's share that noise leaves, as heights of its bar."""
    return {
        place: (cell.share.low / (stop - start), cell.share.high / (stop - start))
        for place, (cell, (start, stop)) in enumerate(zip(summary.cells, bars, strict=False))
        if cell.share.tells and stop - start >= NARROWEST
    }


def _mark(figure: Figure, what: str, said: Estimate, axis: _Axis, y: float) -> None:
    """Draw an estimate as a point with its interval, where its numbers lie among the bars."""
    low, high = axis.place(said.low), axis.place(said.high)
    figure.add("line", tooltip=f"{what}: {said.in_range}", class_="interval", x1=low, x2=max(high, low + 2), y1=y, y2=y)
    if WIDTH - high >= ROOM_FOR_WORD:
        figure.add("text", what, class_="tick", x=high + 8, y=y + 4, text_anchor="start")
    elif low >= ROOM_FOR_WORD:
        figure.add("text", what, class_="tick", x=low - 8, y=y + 4, text_anchor="end")
    if said.value is not None:
        figure.add("circle", tooltip=f"{what}: {said.words}", class_="leaf", cx=axis.place(said.value), cy=y, r=4.0)


def _rows(name: str, column: str, cells: Sequence[CellSummary]) -> Markup:
    """A line of words for each value, with its share and error, and below it a bar that no text can meet."""
    described = "; ".join(f"{cell.label}: {cell.share.words}" for cell in cells)
    step = LINE + BAR + BELOW_BAR
    figure = Figure(name, WIDTH, step * len(cells), f"How '{column}' is spread", described)
    most = max(max(cell.share.value or 0.0, cell.share.high if cell.share.tells else 0.0) for cell in cells) or 1.0
    for number, cell in enumerate(cells):
        y, words = step * number, cell.share.words
        room = WIDTH - DIGIT * (len(words) + 1)
        figure.add("text", shortened(cell.label, room), tooltip=cell.label, x=0, y=y + 13)
        figure.add("text", words, class_="number", x=WIDTH, y=y + 13, text_anchor="end")
        if not cell.share.tells:
            continue
        share, top = max(cell.share.value or 0.0, 0.0), y + LINE
        figure.add("rect", class_="bar", x=0, y=top, width=max(WIDTH * share / most, 0.5), height=BAR)
        ends = [WIDTH * min(end / most, 1.0) for end in (cell.share.low, cell.share.high)]
        figure.add("line", class_="error", x1=ends[0], x2=ends[1], y1=top + BAR / 2, y2=top + BAR / 2)
    return figure.markup()
