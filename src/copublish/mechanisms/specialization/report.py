"""What the report on generalized records says: estimates with error bars, the tree of splits. Released values only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from copublish.agreement.columns import NOISY_COUNT
from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.mechanisms.base import Publication
from copublish.mechanisms.specialization.words import counts_of, details_of, noise_of_counts
from copublish.privacy.certificate import Certificate

NORMAL_95 = 1.96
LARGEST_CELLS = 12
MEMBERS_SHOWN = 8
LARGEST_SHARE_ERROR = 0.3
"""Shares that are less certain than this are not shown."""


@dataclass(frozen=True)
class CountNoise:
    """The noise of the published counts.

    Attributes:
        deviation: Standard deviation of one noisy count, in people.
        within_95_percent: How far 95 of 100 single counts are off at most.
    """

    deviation: float
    within_95_percent: int

    @staticmethod
    def of(certificate: Certificate) -> CountNoise:
        """The noise that the certificate states: discrete Laplace with p = exp(-1/scale)."""
        noise = noise_of_counts(certificate)
        p = math.exp(-1 / (noise.scale_in_people or 1))
        return CountNoise(math.sqrt(2 * p) / (1 - p), int(noise.within_95_percent or 0))

    def of_sum(self, cells: int) -> float:
        """How far a sum over cells is off at most, in 95 of 100 cases; sums are close to normal."""
        return float(self.within_95_percent) if cells == 1 else NORMAL_95 * self.deviation * math.sqrt(cells)


@dataclass(frozen=True)
class Estimate:
    """A number of people and how far it is off at most in 95 of 100 cases."""

    people: int
    error: float


@dataclass(frozen=True)
class ValueRow:
    """One published value: how many people have it, and which share of them is in the shown class."""

    label: str
    members: tuple[str, ...]
    count: Estimate
    share: float | None
    share_error: float | None


@dataclass(frozen=True)
class Cell:
    """One cell of the release: its values, without attributes that were not split, and its count."""

    values: tuple[tuple[str, str], ...]
    class_value: str
    count: Estimate


@dataclass(frozen=True)
class Node:
    """A generalized value in the tree of those above the published ones; published ones have no children."""

    label: str
    children: tuple[Node, ...] = ()
    count: Estimate | None = None


def estimates(release: Publication) -> dict[str, list[ValueRow]]:
    """Every published value of every attribute that was split, with error bars."""
    noise, counts = CountNoise.of(release.certificate), counts_of(release)
    details = details_of(release)
    class_name, shown = details.class_.name, details.shown_class
    found = {}
    for name in details.split_attributes:
        rows = []
        for value in details.attributes[name].values:
            here = counts[counts[name] == value.label]
            inside = here[class_name] == shown
            total, positive = int(here[NOISY_COUNT].sum()), int(here.loc[inside, NOISY_COUNT].sum())
            share, error = _share(positive, total, int(inside.sum()), len(here), noise)
            count = Estimate(total, noise.of_sum(len(here)))
            rows.append(ValueRow(value.label, value.members or (), count, share, error))
        found[name] = rows
    return found


def _share(positive: int, total: int, positive_cells: int, cells: int, noise: CountNoise) -> tuple[float | None, ...]:
    """A share and its error by the delta method; nothing where noise leaves nothing to say."""
    if total <= noise.of_sum(cells):
        return None, None
    share = min(max(positive / total, 0.0), 1.0)
    others = cells - positive_cells
    variance = noise.deviation**2 * (positive_cells * (1 - share) ** 2 + others * share**2)
    error = NORMAL_95 * math.sqrt(variance) / total
    return (share, error) if error < LARGEST_SHARE_ERROR else (None, None)


def total_people(release: Publication) -> Estimate:
    """How many people the release is about: exactly, if that is public, else the sum of all counts."""
    public = release.certificate.public_facts.number_of_records
    if public is not None:
        return Estimate(public, 0.0)
    counts = counts_of(release)[NOISY_COUNT]
    return Estimate(int(counts.sum()), CountNoise.of(release.certificate).of_sum(len(counts)))


def largest_cells(release: Publication) -> list[Cell]:
    """The cells with the largest counts, with error bars."""
    noise, details = CountNoise.of(release.certificate), details_of(release)
    counts = counts_of(release).sort_values(NOISY_COUNT, ascending=False, kind="stable").head(LARGEST_CELLS)
    return [
        Cell(
            tuple((name, str(row[name])) for name in details.split_attributes),
            str(row[details.class_.name]),
            Estimate(int(row[NOISY_COUNT]), float(noise.within_95_percent)),
        )
        for _, row in counts.iterrows()
    ]


def cells_like_empty(release: Publication) -> int:
    """How many cells have a count that an empty cell could have as well, in 95 of 100 cases."""
    counts = counts_of(release)[NOISY_COUNT]
    return int(np.sum(counts.abs() <= CountNoise.of(release.certificate).within_95_percent))


def partition_trees(release: Publication) -> dict[str, Node]:
    """For every attribute that was split the tree from all its values down to the published ones."""
    rows, details = estimates(release), details_of(release)
    trees = {}
    for name in details.split_attributes:
        attribute = details.attributes[name]
        published = {value.codes: row.count for value, row in zip(attribute.values, rows[name], strict=True)}
        domain = attribute.domain.domain(name)
        trees[name] = _node(domain, (0, domain.size), published)
    return trees


def _node(domain: Domain, part: CodeRange, published: Mapping[CodeRange, Estimate]) -> Node:
    if part in published:
        return Node(domain.label(part), count=published[part])
    # A taxonomy has one way down. Which interval was split first is not part of a release: all are drawn at once.
    children = domain.splits(part)[0] if isinstance(domain, CategoricalDomain) else tuple(published)
    return Node(domain.label(part), tuple(_node(domain, child, published) for child in children))


def facts(release: Publication) -> dict[str, Any]:
    """What the page says."""
    from copublish.mechanisms.specialization.figures import partition_figure
    from copublish.mechanisms.specialization.snippets import python_snippet, r_snippet

    details, trees = details_of(release), partition_trees(release)
    n_cells, n_classes = release.contents.tables["counts"].num_rows, len(details.class_.values)
    sizes = {name: len(attribute.values) for name, attribute in details.attributes.items()}
    return {
        "total": total_people(release),
        "noise": CountNoise.of(release.certificate),
        "n_cells": n_cells,
        "n_leaves": n_cells // n_classes,
        "n_classes": n_classes,
        "n_like_empty": cells_like_empty(release),
        "n_members_shown": MEMBERS_SHOWN,
        "class_name": details.class_.name,
        "shown_class": details.shown_class,
        "split": details.split_attributes,
        "unsplit": [name for name, size in sizes.items() if size == 1],
        "sizes": [size for size in sizes.values() if size > 1],
        "values": estimates(release),
        "trees": partition_figure(trees) if trees else None,
        "cells": largest_cells(release),
        "python": python_snippet(release),
        "r": r_snippet(release),
    }
