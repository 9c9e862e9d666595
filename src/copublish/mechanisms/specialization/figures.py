"""The tree of splits, drawn as inline SVG. Released values only."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from copublish.mechanisms.reading.estimate import Estimate
from copublish.mechanisms.shared.svg import Figure
from copublish.mechanisms.specialization.report import TreeValue

CHARACTER_WIDTH = 6.9
"""Of the small text of figures, in its units; labels are cut where they would run into something."""

ROW, GAP = 24.0, 14.0
"""Height of a published value, and between attributes."""
LABELS, BARS, NUMBERS = 200.0, 120.0, 120.0
"""Width of the published values' labels, their bars, and the numbers beside them."""


def partition_figure(trees: Mapping[str, TreeValue]) -> Markup:
    """Draw each attribute's tree from all values at the left to the published ones at the right."""
    depth = max(_depth(tree) for tree in trees.values())
    column = max(70.0, min(140.0, 330.0 / depth))
    bars = depth * column + LABELS
    width = bars + BARS + NUMBERS
    height = sum(_leaves(tree) * ROW + GAP for tree in trees.values())
    described = "; ".join(f"{name}: {', '.join(_published(tree))}" for name, tree in trees.items())
    figure = Figure("partition", width, height, "What was split, attribute by attribute", described)
    figure.root.set("style", f"width:{width:.0f}px")
    most = max(leaf.count.value or 0.0 for tree in trees.values() for leaf in _leaf_nodes(tree) if leaf.count)
    top = 0.0
    for name, tree in trees.items():
        _draw_node(figure, TreeValue(name, tree.children, tree.count), 0, top, column, bars)
        leaf_top = top
        for leaf in _leaf_nodes(tree):
            if leaf.count is not None:
                _draw_count(figure, leaf.count, bars, leaf_top + ROW / 2, max(most, 1))
            leaf_top += ROW
        top = leaf_top + GAP
        figure.add("line", class_="rule", x1=0, x2=width, y1=top - GAP / 2, y2=top - GAP / 2)
    return figure.markup()


def _draw_node(figure: Figure, node: TreeValue, level: int, top: float, column: float, bars: float) -> None:
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


def _draw_count(figure: Figure, count: Estimate, x: float, y: float, most: float) -> None:
    """Draw a bar with its error bar, and the number beside it."""
    end = x + BARS * max(count.value or 0.0, 0.0) / most
    whisker = BARS * (count.within or 0.0) / most
    figure.add("rect", class_="bar", x=x, y=y - 6, width=max(end - x, 0.5), height=12)
    figure.add("line", class_="error", x1=max(end - whisker, x), x2=end + whisker, y1=y, y2=y)
    figure.add("text", count.words, class_="number", x=x + BARS + NUMBERS, y=y + 4, text_anchor="end")


def _depth(node: TreeValue) -> int:
    return 1 + max((_depth(child) for child in node.children), default=-1)


def _leaves(node: TreeValue) -> int:
    return sum(map(_leaves, node.children)) or 1


def _leaf_nodes(node: TreeValue) -> list[TreeValue]:
    return [leaf for child in node.children for leaf in _leaf_nodes(child)] or [node]


def _published(node: TreeValue) -> list[str]:
    return [leaf.label for leaf in _leaf_nodes(node)]


def _cut(text: str, room: float) -> str:
    most = max(int(room / CHARACTER_WIDTH), 4)
    return text if len(text) <= most else text[: most - 1] + "…"
