"""Every column of a report at a glance: a small picture, mean and median with error bars. Released values only.

Pictures are inline SVG; text goes in through ElementTree, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
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
BARS_HEIGHT, ROW = 64.0, 18.0
ROOM_FOR_WORD = 60.0
"""What "median" needs beside its interval; where there is no room on either side, the words below say it."""

MOST_ROWS = 8
"""Values of a category that a picture has room for."""

MOST_BARS = 60
LABELS, NUMBERS = 88.0, 112.0
"""Width of the names and of the numbers beside bars."""


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
    if summary.is_number and len(summary.shares) > 1:
        figure, others = _histogram(name, summary), 0
    elif len(summary.cells) > 1:
        shown = sorted(summary.cells, key=lambda cell: -(cell.share.value or 0.0))[:MOST_ROWS]
        kept = [cell for cell in summary.cells if cell in shown]
        figure, others = _rows(name, summary.name, kept), len(summary.cells) - len(kept)
    else:
        figure, others = None, 0
    note = "published as one value" if len(summary.cells) == 1 else summary.note
    return Card(summary.name, figure, summary.mean, summary.median, summary.cells, others, note)


def _histogram(name: str, summary: ColumnSummary) -> Markup:
    """Bars of equal width, one for each cell, with whiskers; below them mean and median on the same axis."""
    shares = summary.shares
    reach = [cell.share.high if cell.share.tells else 0.0 for cell in summary.cells] or [0.0]
    most = max(*shares, *reach, 1e-9)
    marks = [(what, said) for what, said in (("mean", summary.mean), ("median", summary.median)) if said is not None]
    height = BARS_HEIGHT + 6 + ROW * len(marks)
    described = "; ".join(f"{what} {said.in_range}" for what, said in marks)
    figure = Figure(name, WIDTH, height, f"How '{summary.name}' is spread", described or "Shares of its values.")
    step = WIDTH / len(shares)
    for place, share in enumerate(shares):
        x, bar = place * step, BARS_HEIGHT * share / most
        cell = summary.cells[place] if summary.cells else None
        tooltip = f"{cell.label}: {cell.share.words}" if cell is not None else f"{share:.1%} of published records"
        gap = min(1.0, step / 5)
        figure.add(
            "rect",
            tooltip=tooltip,
            class_="bar" if cell is not None else "drawn",
            x=x,
            y=BARS_HEIGHT - bar,
            width=step - gap,
            height=max(bar, 0.5),
        )
        if cell is not None and cell.share.tells and len(shares) <= MOST_BARS:
            ends = [BARS_HEIGHT * (1 - end / most) for end in (cell.share.low, cell.share.high)]
            figure.add("line", class_="error", x1=x + step / 2, x2=x + step / 2, y1=ends[0], y2=ends[1])
    figure.add("line", class_="rule", x1=0, x2=WIDTH, y1=BARS_HEIGHT + 0.5, y2=BARS_HEIGHT + 0.5)
    for row, (what, said) in enumerate(marks):
        _mark(figure, what, said, summary.axis, BARS_HEIGHT + 6 + ROW * (row + 0.5))
    return figure.markup()


def _mark(figure: Figure, what: str, said: Estimate, axis: Sequence[tuple[float, float]], y: float) -> None:
    """Draw an estimate as a point with its interval, where its numbers lie among the bars."""

    def place(value: float) -> float:
        for (low, start), (high, stop) in pairwise(axis):
            if value <= high:
                part = (value - low) / (high - low) if high > low else 0.0
                return WIDTH * (start + (stop - start) * min(max(part, 0.0), 1.0))
        return WIDTH

    low, high = place(said.low), place(said.high)
    figure.add("line", tooltip=f"{what}: {said.in_range}", class_="interval", x1=low, x2=max(high, low + 2), y1=y, y2=y)
    if WIDTH - high >= ROOM_FOR_WORD:
        figure.add("text", what, class_="tick", x=high + 8, y=y + 4, text_anchor="start")
    elif low >= ROOM_FOR_WORD:
        figure.add("text", what, class_="tick", x=low - 8, y=y + 4, text_anchor="end")
    if said.value is not None:
        figure.add("circle", tooltip=f"{what}: {said.words}", class_="leaf", cx=place(said.value), cy=y, r=4.0)


def _rows(name: str, column: str, cells: Sequence[CellSummary]) -> Markup:
    """A bar for each value of a category, with its share and error."""
    described = "; ".join(f"{cell.label}: {cell.share.words}" for cell in cells)
    figure = Figure(name, WIDTH, ROW * len(cells), f"How '{column}' is spread", described)
    room = WIDTH - LABELS - NUMBERS
    most = max(max(cell.share.value or 0.0, cell.share.high if cell.share.tells else 0.0) for cell in cells) or 1.0
    for number, cell in enumerate(cells):
        y = ROW * number
        figure.add("text", shortened(cell.label, LABELS - 6), tooltip=cell.label, x=0, y=y + 13)
        figure.add("text", cell.share.words, class_="number", x=WIDTH, y=y + 13, text_anchor="end")
        if not cell.share.tells:
            continue
        share = max(cell.share.value or 0.0, 0.0)
        figure.add("rect", class_="bar", x=LABELS, y=y + 3, width=max(room * share / most, 0.5), height=12)
        ends = [LABELS + room * min(end / most, 1.0) for end in (cell.share.low, cell.share.high)]
        figure.add("line", class_="error", x1=ends[0], x2=ends[1], y1=y + 9, y2=y + 9)
    return figure.markup()
