"""A release of generalized records presented: README, terminal, report, and lines of code.

The report has estimates with error bars, and the tree of splits as SVG. Released values only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from rich.console import RenderableType
from rich.table import Table

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.mechanisms.base import About, Publication, in_words
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.shared.record_words import Snippets, columns_table, quoted, with_copublish
from copublish.mechanisms.shared.svg import Figure
from copublish.mechanisms.shared.text_tables import add_row, text_table
from copublish.mechanisms.specialization.values import (
    cells_told_apart,
    details_of,
    estimates,
    largest_cells,
    noise_of_counts,
)

BAR_WIDTH = 24

EXAMPLE = """\
[mechanism]
name = "specialization"
specializations = 8              # how often a value is split, at most
score = "auto"                   # how splits are compared
"""


def about(publication: Publication) -> About:
    """What the README of a release folder says."""
    noise = noise_of_counts(publication.certificate)
    scale, within = noise.scale_in_people or 0, noise.within_95_percent
    deviation = deviation_of(noise)
    return About(
        f"""This folder is a differentially private data set of {publication.sizes["records"]:,} records, made
together by {in_words(publication.certificate.parties)}. No record in it is a real person: it says how many people
there are, about, with each combination of generalized values.""",
        """| file | content |
| --- | --- |
| `counts.parquet`, `counts.csv` | one row per combination of generalized values and class (see below) |
| `records.parquet` | the same as records: every row of `counts` repeated `count` times |
| `cut.json` | what each generalized value stands for; `copublish generalize` applies it to other data |
| `certificate.json` | the guarantee, everything that was disclosed, and every assumption |

`count` is never negative and adds up to the number of records; `noisy_count` is the unbiased measurement.""",
        f"""Every count carries noise of scale {scale:g} people: 95 of 100 counts are off
by at most {within}. Empty combinations are in the table as well, so a count of {within} may well be nobody. Add up
`noisy_count`, not `count`, when you sum over many rows: a sum over r rows is off by about
{deviation:.3g} times the square root of r (one standard deviation).""",
    )


def show(publication: Publication, rows: int) -> Iterator[RenderableType]:
    """What a terminal shows of a release: every published value with its errors, and the largest cells."""
    yield columns_table(publication.reading.summaries())
    yield _values(publication)
    if rows:
        yield _largest(publication, rows)
    within = noise_of_counts(publication.certificate).within_95_percent
    yield f"95 of 100 noisy counts are within ±{within} of the truth."


def _values(publication: Publication) -> Table:
    """Each split attribute's published values: how many people have them, and the shown class's share among them."""
    details = details_of(publication)
    heading = f"{details.class_.name} = {details.shown_class}"
    title = f"Published values (people; share of all; share of '{details.shown_class}' among them)"
    table = text_table(title, ("attribute", "value", "people", "share", "", heading), right=(2, 3, 5))
    for name, values in estimates(publication).items():
        for number, row in enumerate(values):
            bar = "█" * round(BAR_WIDTH * (row.of_all.value or 0.0))
            first = name if number == 0 else ""
            add_row(table, first, row.label, row.people.words, row.of_all.words, bar, row.in_class.words)
    return table


def _largest(publication: Publication, rows: int) -> Table:
    details = details_of(publication)
    columns = [*details.split_attributes, details.class_.name, "people"]
    table = text_table("The largest cells", columns, right=(len(columns) - 1,))
    for cell in largest_cells(publication, rows):
        add_row(table, *cell.values, cell.class_value, cell.people.words)
    return table


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
    from copublish.mechanisms.specialization.report import snippets

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


PYTHON = """\
import pandas as pd

counts = pd.read_csv("counts.csv", dtype=str, keep_default_na=False)  # in the release folder
counts["noisy_count"] = counts["noisy_count"].astype(int)  # unbiased: sum these, never 'count'
sd = {deviation}  # standard deviation of the noise of one count, in people
rows = counts.groupby([{by}])["noisy_count"].agg(people="sum", cells="count")
rows["within"] = 1.96 * sd * rows["cells"] ** 0.5  # the truth is this near in 95 of 100 cases
shown = rows.xs({value}, level={class_name})
total = rows.groupby(level={attribute})[["people", "cells"]].sum()
share = shown["people"] / total["people"]
parts = shown["cells"] * (1 - share) ** 2 + (total["cells"] - shown["cells"]) * share**2
table = pd.DataFrame({{"share": share, "within": 1.96 * sd * parts**0.5 / total["people"]}})
print(rows, table, sep="\\n\\n")
"""

R = """\
counts <- read.csv("counts.csv", check.names = FALSE, colClasses = "character", na.strings = character())
noisy <- as.integer(counts$noisy_count)  # unbiased: sum these, never 'count'
sd <- {deviation}  # standard deviation of the noise of one count, in people
keys <- counts[c({by})]
rows <- aggregate(data.frame(people = noisy, cells = 1), keys, sum)
rows$within <- 1.96 * sd * sqrt(rows$cells)  # the truth is this near in 95 of 100 cases
shown <- rows[rows[[{class_name}]] == {value}, ]
total <- aggregate(rows[c("people", "cells")], rows[{attribute}], sum)
share <- shown$people / total$people
parts <- shown$cells * (1 - share)^2 + (total$cells - shown$cells) * share^2
print(rows)
print(data.frame(total[1], share = share, within = 1.96 * sd * sqrt(parts) / total$people))
"""


def example_attribute(release: Publication) -> str:
    """The attribute that the examples group by: one that was split, if any was."""
    details = details_of(release)
    return next(iter([*details.split_attributes, *details.attributes]))


def snippets(release: Publication) -> Snippets:
    """The lines about one attribute and the class."""
    return Snippets(with_copublish(release), _filled(PYTHON, release), _filled(R, release))


def _filled(template: str, release: Publication) -> str:
    attribute, class_name = example_attribute(release), details_of(release).class_.name

    return template.format(
        deviation=f"{deviation_of(noise_of_counts(release.certificate)):.4g}",
        by=f"{quoted(attribute)}, {quoted(class_name)}",
        attribute=quoted(attribute),
        class_name=quoted(class_name),
        value=quoted(details_of(release).shown_class),
    )
