"""The report on generalized records: estimates with error bars, and the tree of splits as SVG. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.shared.svg import Figure
from copublish.mechanisms.specialization.values import (
    cells_told_apart,
    details_of,
    estimates,
    largest_cells,
    noise_of_counts,
)

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


LARGEST_CELLS = 12
MEMBERS_SHOWN = 8


@dataclass(frozen=True)
class TreeValue:
    """A generalized value in the tree of those above the published ones; published ones have no children."""

    label: str
    children: tuple[TreeValue, ...] = ()
    count: Estimate | None = None


def partition_trees(release: Publication) -> dict[str, TreeValue]:
    """For every attribute that was split the tree from all its values down to the published ones."""
    rows, details = estimates(release), details_of(release)
    trees = {}
    for name in details.split_attributes:
        attribute = details.attributes[name]
        published = {value.codes: row.people for value, row in zip(attribute.values, rows[name], strict=True)}
        domain = attribute.domain.domain(name)
        trees[name] = _node(domain, (0, domain.size), published)
    return trees


def _node(domain: Domain, part: CodeRange, published: Mapping[CodeRange, Estimate]) -> TreeValue:
    if part in published:
        return TreeValue(domain.label(part), count=published[part])
    # A taxonomy has one way down. Which interval was split first is not part of a release: all are drawn at once.
    children = domain.splits(part)[0] if isinstance(domain, CategoricalDomain) else tuple(published)
    return TreeValue(domain.label(part), tuple(_node(domain, child, published) for child in children))


def facts(release: Publication) -> dict[str, Any]:
    """What the page says."""
    from copublish.mechanisms.specialization.snippets import snippets

    details, trees = details_of(release), partition_trees(release)
    noise = noise_of_counts(release.certificate)
    n_cells, n_classes = release.contents.tables["counts"].num_rows, len(details.class_.values)
    sizes = {name: len(attribute.values) for name, attribute in details.attributes.items()}
    return {
        "total": release.reading.count({}, CONFIDENCE),
        "total_is_public": release.certificate.public_facts.number_of_records,
        "within": noise.within_95_percent,
        "deviation": deviation_of(noise),
        "n_cells": n_cells,
        "n_leaves": n_cells // n_classes,
        "n_classes": n_classes,
        "n_told_apart": cells_told_apart(release),
        "n_members_shown": MEMBERS_SHOWN,
        "class_name": details.class_.name,
        "shown_class": details.shown_class,
        "split": details.split_attributes,
        "unsplit": [name for name, size in sizes.items() if size == 1],
        "sizes": [size for size in sizes.values() if size > 1],
        "values": estimates(release),
        "trees": partition_figure(trees) if trees else None,
        "cells": largest_cells(release, LARGEST_CELLS),
        "snippets": snippets(release),
    }
