"""Taxonomy trees of categorical attributes, as people write them.

A tree is a nested mapping `{"ANY": {"Worker": {"Cook": {}, "Clerk": {}}, "Doctor": {}}}`: one root, and an
empty mapping marks a value as the data write it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

ROOT_LABEL = "ANY"

MAX_DEPTH = 50


@dataclass(frozen=True)
class TaxonomyNode:
    """A label and what it splits into; a node without children is a value of the data."""

    label: str
    children: tuple[TaxonomyNode, ...] = ()

    def leaves(self) -> Iterator[str]:
        """Yield the values below this node, in written order."""
        if not self.children:
            yield self.label
        for child in self.children:
            yield from child.leaves()

    def labels(self) -> Iterator[str]:
        """Yield this node's label and all labels below it."""
        yield self.label
        for child in self.children:
            yield from child.labels()

    def as_mapping(self) -> dict[str, object]:
        """The nested mapping this tree was written as."""
        return {child.label: child.as_mapping() for child in self.children}


def flat_taxonomy(values: tuple[str, ...]) -> TaxonomyNode:
    """The tree whose root splits straight into all values."""
    return TaxonomyNode(ROOT_LABEL, tuple(TaxonomyNode(value) for value in values))


def parse_taxonomy(tree: object) -> TaxonomyNode:
    """Read a nested mapping with one root.

    Raises:
        ValueError: If the tree has no single root, a node is not a mapping, or a label occurs twice.
    """
    if not isinstance(tree, Mapping) or len(tree) != 1:
        raise ValueError('a taxonomy is one tree with one root, like {"ANY": {"a": {}, "b": {}}}')
    root_label, below = next(iter(tree.items()))
    root = _parse_node(root_label, below, depth=1)
    if not root.children:
        raise ValueError("the taxonomy holds no value: its root needs at least two values below it")
    repeated = sorted(label for label, times in Counter(root.labels()).items() if times > 1)
    if repeated:
        raise ValueError(f"these labels occur twice in the taxonomy: {', '.join(map(repr, repeated))}")
    return root


def _parse_node(label: object, below: object, depth: int) -> TaxonomyNode:
    if depth > MAX_DEPTH:
        raise ValueError(f"a taxonomy has at most {MAX_DEPTH} levels")
    if not isinstance(label, str) or not label or label != label.strip():
        raise ValueError(f"taxonomy labels are texts without surrounding space, got {label!r}")
    if not isinstance(below, Mapping):
        raise ValueError(
            f'below {label!r} the taxonomy needs a mapping, like {{"cook": {{}}, "clerk": {{}}}}; {{}} marks a value'
        )
    return TaxonomyNode(label, tuple(_parse_node(name, rest, depth + 1) for name, rest in below.items()))
