"""Attributes as the papers have them: without categories for missing and unlisted values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def with_first_values(
    attributes: Mapping[str, Mapping[str, Any]], trees: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """Attributes of an agreement whose missing and unlisted values become the first listed one or the lower bound.

    Args:
        attributes: By name. What they say of missing and unlisted values stays.
        trees: The taxonomies of attributes that name a file.
    """
    return {name: _filled(attribute, (trees or {}).get(name)) for name, attribute in attributes.items()}


def _filled(attribute: Mapping[str, Any], tree: Mapping[str, Any] | None) -> dict[str, Any]:
    if attribute["kind"] == "numerical":
        return {"missing": attribute["bounds"][0], **attribute}
    first = next(_leaves(tree or attribute["taxonomy"])) if "taxonomy" in attribute else attribute["values"][0]
    return {"missing": first, "unlisted": first, **attribute}


def _leaves(tree: Mapping[str, Any]) -> Iterator[str]:
    for label, below in tree.items():
        yield from _leaves(below) if below else (label,)
