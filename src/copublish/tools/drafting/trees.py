"""Values of a category as indented text: a line for each, below what it belongs to. Everybody can edit that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from copublish.agreement.taxonomy import ROOT_LABEL

INDENT = "  "

Section = dict[str, Any]


def tree_text(values: object) -> str:
    """A list or tree of values as indented text; nothing for what is neither.

    The root is left out, unless the text would be read as another tree without it.
    """
    if isinstance(values, list | tuple):
        return "\n".join(map(str, values))
    if not isinstance(values, Mapping):
        return ""
    if len(values) == 1:
        (root, below), *_ = values.items()
        is_plain = root == ROOT_LABEL and isinstance(below, Mapping)
        if is_plain and not (len(below) == 1 and next(iter(below.values()))):
            return "\n".join(_lines(below, 0))
    return "\n".join(_lines(values, 0))


def tree_from_text(text: str) -> list[str] | Section:
    """Values from indented text: a list if no line is indented, else a tree.

    A single line with all others below it is the root; without one the root is ANY.

    Raises:
        ValueError: With a sentence that names the line, if it does not say below what a value stands, or if a label
            stands twice at one place.
    """
    top: Section = {}
    open_levels: list[tuple[int, Section]] = [(-1, top)]
    is_tree = False
    for number, line in enumerate(text.expandtabs(len(INDENT)).splitlines(), 1):
        label = line.strip()
        if not label:
            continue
        depth = len(line) - len(line.lstrip())
        while depth <= open_levels[-1][0]:
            open_levels.pop()
        below = open_levels[-1][1]
        if depth and len(open_levels) == 1:
            raise ValueError(f"line {number} is indented, and there is nothing above it that it could belong to")
        if label in below:
            raise ValueError(f"line {number}: '{label}' stands twice at one place")
        is_tree = is_tree or depth > 0
        below[label] = {}
        open_levels.append((depth, below[label]))
    if not is_tree:
        return list(top)
    return top if len(top) == 1 else {ROOT_LABEL: top}


def _lines(below: Mapping[str, Any], depth: int) -> Iterator[str]:
    for label, rest in below.items():
        yield f"{INDENT * depth}{label}"
        if isinstance(rest, Mapping):
            yield from _lines(rest, depth + 1)
