"""What the report on generalized records says: estimates with error bars, the tree of splits. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.specialization.values import (
    cells_told_apart,
    details_of,
    estimates,
    largest_cells,
    noise_of_counts,
)

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
    from copublish.mechanisms.specialization.figures import partition_figure
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
