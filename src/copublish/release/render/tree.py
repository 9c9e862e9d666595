"""Trees of generalized values as a picture: from all values of a column to the published ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.release.publication import Publication
from copublish.release.questions.estimate import Estimate
from copublish.release.render.parts import ValueRow
from copublish.release.render.svg import Figure, shortened

ROW, GAP = 24.0, 14.0
"""Height of a published value, and between columns."""
LABELS, BARS, NUMBERS = 200.0, 120.0, 120.0
"""Width of the published values' labels, their bars, and the numbers beside them."""


@dataclass(frozen=True)
class TreeValue:
    """A generalized value in the tree of those above the published ones; published ones have no children."""

    label: str
    children: tuple[TreeValue, ...] = ()
    count: Estimate | None = None

    @property
    def leaves(self) -> list[TreeValue]:
        """The published values below it, or it itself."""
        return [leaf for child in self.children for leaf in child.leaves] or [self]

    @property
    def depth(self) -> int:
        """How many levels there are below it."""
        return 1 + max((child.depth for child in self.children), default=-1)


def partition_trees(publication: Publication, values: Mapping[str, list[ValueRow]]) -> dict[str, TreeValue]:
    """For every column with several published values the tree from all values down to these."""
    trees = {}
    for name, rows in values.items():
        domain, runs = publication.published.columns.domains[name], publication.published.generalized[name]
        counts = {run: row.people for run, row in zip(runs, rows, strict=True)}
        trees[name] = _node(domain, (0, domain.size), counts)
    return trees


def _node(domain: Domain, part: CodeRange, published: Mapping[CodeRange, Estimate]) -> TreeValue:
    if part in published:
        return TreeValue(domain.label(part), count=published[part])
    # A taxonomy has one way down. Which interval was split first is not part of a release: all are drawn at once.
    children = domain.splits(part)[0] if isinstance(domain, CategoricalDomain) else tuple(published)
    return TreeValue(domain.label(part), tuple(_node(domain, child, published) for child in children))


def partition_figure(trees: Mapping[str, TreeValue]) -> Markup:
    """Draw each column's tree from all values at the left to the published ones at the right."""
    depth = max(tree.depth for tree in trees.values())
    column = max(70.0, min(140.0, 330.0 / depth))
    bars = depth * column + LABELS
    counts = [leaf.count for tree in trees.values() for leaf in tree.leaves if leaf.count is not None]
    reach = max((_reach(count) for count in counts), default=0.0)
    most = max(*(count.value or 0.0 for count in counts), reach / 2, 1.0)  # a whisker is at most a bar's room longer
    end = bars + BARS * max(reach / most, 1.0)
    width = end + NUMBERS
    height = sum(len(tree.leaves) * ROW + GAP for tree in trees.values())
    described = "; ".join(f"{name}: {', '.join(leaf.label for leaf in tree.leaves)}" for name, tree in trees.items())
    figure = Figure("partition", width, height, "What was split, column by column", described)
    figure.root.set("style", f"width:{width:.0f}px")
    top = 0.0
    for name, tree in trees.items():
        _draw_node(figure, TreeValue(name, tree.children, tree.count), 0, top, column, bars)
        for place, leaf in enumerate(tree.leaves):
            if leaf.count is not None:
                _draw_count(figure, leaf.count, bars, top + ROW * (place + 0.5), most=most, right=width)
        top += len(tree.leaves) * ROW + GAP
        figure.add("line", class_="rule", x1=0, x2=width, y1=top - GAP / 2, y2=top - GAP / 2)
    return figure.markup()


def _draw_node(figure: Figure, node: TreeValue, level: int, top: float, column: float, bars: float) -> None:
    """Draw a node and everything below it."""
    x, y = level * column + 6, top + len(node.leaves) * ROW / 2
    child_top = top
    for child in node.children:
        child_y, end, bend = child_top + len(child.leaves) * ROW / 2, x + column, x + column / 2
        figure.add(
            "path",
            class_="branch",
            d=f"M{x:.1f} {y:.1f} C{bend:.1f} {y:.1f} {bend:.1f} {child_y:.1f} {end:.1f} {child_y:.1f}",
        )
        _draw_node(figure, child, level + 1, child_top, column, bars)
        child_top += len(child.leaves) * ROW
    figure.add("circle", class_="node" if node.children else "leaf", cx=x, cy=y, r=3.5)
    shown = shortened(node.label, (column if node.children else bars - x) - 18)
    figure.add(
        "text",
        shown,
        tooltip=node.label if shown != node.label else None,
        class_="attribute" if level == 0 else "value",
        x=x + (0 if node.children else 9),
        y=y - 8 if node.children else y + 4,
    )


def _reach(count: Estimate) -> float:
    """The number of people up to which a bar and its whisker reach."""
    return max(count.value or 0.0, 0.0) + (count.within or 0.0)


def _draw_count(figure: Figure, count: Estimate, x: float, y: float, *, most: float, right: float) -> None:
    """Draw a bar with its error bar, and the number beside it."""
    end = x + BARS * max(count.value or 0.0, 0.0) / most
    low = end - BARS * (count.within or 0.0) / most
    figure.add("rect", class_="bar", x=x, y=y - 6, width=max(end - x, 0.5), height=12)
    figure.add("line", class_="error", x1=max(low, x), x2=x + BARS * _reach(count) / most, y1=y, y2=y)
    figure.add("text", count.words, class_="number", x=right, y=y + 4, text_anchor="end")
