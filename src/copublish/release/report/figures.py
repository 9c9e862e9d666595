"""Figures of the report, drawn as inline SVG. Text goes in through ElementTree, which escapes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.statements import DisclosureStatement
from copublish.mechanisms.shared.svg import Figure


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
