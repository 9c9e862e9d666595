"""Figures of the report, drawn as inline SVG. Text goes in through ElementTree, which escapes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET  # builds XML and parses none

from markupsafe import Markup

from copublish.evaluation.report.contents import Estimate, Node

CHARACTER_WIDTH = 6.9
"""Of the small text of figures, in its units; labels are cut where they would run into something."""


class Figure:
    """An SVG picture with a name for people who cannot see it."""

    def __init__(self, name: str, width: float, height: float, title: str, description: str) -> None:
        ids = f"{name}-title {name}-description"
        self.root = ET.Element(
            "svg",
            {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria-labelledby": ids, "class": f"figure {name}"},
        )
        self.add("title", title, id=f"{name}-title")
        self.add("desc", description, id=f"{name}-description")

    def add(self, tag: str, text: str | None = None, tooltip: str | None = None, **attributes: object) -> None:
        """Add an element; numbers are rounded, underscores in attribute names become hyphens."""
        spelled = {
            name.rstrip("_").replace("_", "-"): f"{value:.2f}".rstrip("0").rstrip(".")
            if isinstance(value, float)
            else str(value)
            for name, value in attributes.items()
        }
        element = ET.SubElement(self.root, tag, spelled)
        element.text = text
        if tooltip is not None:
            ET.SubElement(element, "title").text = tooltip

    def markup(self) -> Markup:
        """Return the picture as text for a page; ElementTree has escaped what came in."""
        return Markup(ET.tostring(self.root, encoding="unicode"))  # noqa: S704


def budget_strip(disclosures: Sequence[Mapping[str, Any]], shares: Sequence[float], relation: str) -> Markup:
    """Draw the budget as one strip that stretches over the page, a segment for each disclosure."""
    width, height, gap = 1000.0, 26.0, 2.0
    described = "; ".join(f"{d['what']}: {share:.1%}" for d, share in zip(disclosures, shares, strict=True))
    figure = Figure("budget", width, height, "How the budget was spent", described)
    figure.root.set("preserveAspectRatio", "none")
    left = 0.0
    for disclosure, share in zip(disclosures, shares, strict=True):
        figure.add(
            "rect",
            tooltip=f"{disclosure['what']}: epsilon {disclosure['epsilon'][relation]}, {share:.1%}",
            class_=disclosure["kind"],
            x=left,
            y=0,
            width=max(share * width - gap, 0.5),
            height=height,
        )
        left += share * width
    return figure.markup()


ROW, GAP = 24.0, 14.0
"""Height of a published value, and between attributes."""
LABELS, BARS, NUMBERS = 200.0, 120.0, 120.0
"""Width of the published values' labels, their bars, and the numbers beside them."""


def partition_figure(trees: Mapping[str, Node]) -> Markup:
    """Draw each attribute's tree from all values at the left to the published ones at the right."""
    depth = max(_depth(tree) for tree in trees.values())
    column = max(70.0, min(140.0, 330.0 / depth))
    bars = depth * column + LABELS
    width = bars + BARS + NUMBERS
    height = sum(_leaves(tree) * ROW + GAP for tree in trees.values())
    described = "; ".join(f"{name}: {', '.join(_published(tree))}" for name, tree in trees.items())
    figure = Figure("partition", width, height, "What was split, attribute by attribute", described)
    figure.root.set("style", f"width:{width:.0f}px")
    most = max(leaf.count.people for tree in trees.values() for leaf in _leaf_nodes(tree) if leaf.count)
    top = 0.0
    for name, tree in trees.items():
        _draw_node(figure, Node(name, tree.children, tree.count), 0, top, column, bars)
        leaf_top = top
        for leaf in _leaf_nodes(tree):
            if leaf.count is not None:
                _draw_count(figure, leaf.count, bars, leaf_top + ROW / 2, max(most, 1))
            leaf_top += ROW
        top = leaf_top + GAP
        figure.add("line", class_="rule", x1=0, x2=width, y1=top - GAP / 2, y2=top - GAP / 2)
    return figure.markup()


def _draw_node(figure: Figure, node: Node, level: int, top: float, column: float, bars: float) -> None:
    """Draw a node and what is below it."""
    x, y = level * column + 6, top + _leaves(node) * ROW / 2
    child_top = top
    for child in node.children:
        child_y, end = child_top + _leaves(child) * ROW / 2, x + column
        bend = x + column / 2
        figure.add(
            "path",
            class_="branch",
            d=f"M{x:.1f} {y:.1f} C{bend:.1f} {y:.1f} {bend:.1f} {child_y:.1f} {end:.1f} {child_y:.1f}",
        )
        _draw_node(figure, child, level + 1, child_top, column, bars)
        child_top += _leaves(child) * ROW
    figure.add("circle", class_="node" if node.children else "leaf", cx=x, cy=y, r=3.5)
    shown = _cut(node.label, (column if node.children else bars - x) - 18)
    figure.add(
        "text",
        shown,
        tooltip=node.label if shown != node.label else None,
        class_="attribute" if level == 0 else "value",
        x=x + (0 if node.children else 9),
        y=y - 8 if node.children else y + 4,
    )


def _draw_count(figure: Figure, count: Estimate, x: float, y: float, most: int) -> None:
    """Draw a bar with its error bar, and the number beside it."""
    end = x + BARS * max(count.people, 0) / most
    whisker = BARS * count.error / most
    figure.add("rect", class_="bar", x=x, y=y - 6, width=max(end - x, 0.5), height=12)
    figure.add("line", class_="error", x1=max(end - whisker, x), x2=end + whisker, y1=y, y2=y)
    number = f"{count.people:,} ± {count.error:,.0f}"
    figure.add("text", number, class_="number", x=x + BARS + NUMBERS, y=y + 4, text_anchor="end")


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


def _depth(node: Node) -> int:
    return 1 + max((_depth(child) for child in node.children), default=-1)


def _leaves(node: Node) -> int:
    return sum(map(_leaves, node.children)) or 1


def _leaf_nodes(node: Node) -> list[Node]:
    return [leaf for child in node.children for leaf in _leaf_nodes(child)] or [node]


def _published(node: Node) -> list[str]:
    return [leaf.label for leaf in _leaf_nodes(node)]


def _cut(text: str, room: float) -> str:
    most = max(int(room / CHARACTER_WIDTH), 4)
    return text if len(text) <= most else text[: most - 1] + "…"
