"""What the report says in numbers, from released values alone: estimates with error bars, budget shares, trees."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain
from copublish.release.folder import NOISY_COUNT, GeneralizedRelease
from copublish.release.generalize import domain_of

NORMAL_95 = 1.96
LARGEST_CELLS = 12
LARGE_BELIEF = 0.99
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
    def of(certificate: Mapping[str, Any]) -> CountNoise:
        """Read the noise off the certificate: discrete Laplace with p = exp(-1/scale)."""
        noise = certificate["disclosures"][-1]["noise"]
        p = math.exp(-1 / noise["scale_in_people"])
        return CountNoise(math.sqrt(2 * p) / (1 - p), int(noise["within_95_percent"]))

    def of_sum(self, cells: int) -> float:
        """Return how far a sum over cells is off at most, in 95 of 100 cases; sums are close to normal."""
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


def estimates(release: GeneralizedRelease) -> dict[str, list[ValueRow]]:
    """Return every published value of every attribute that was split, with error bars."""
    noise, counts = CountNoise.of(release.certificate), release.to_pandas("counts")
    class_name, shown = release.cut["class"]["name"], shown_class(release)
    found = {}
    for name in split_attributes(release):
        rows = []
        for value in release.cut["attributes"][name]["values"]:
            here = counts[counts[name] == value["label"]]
            inside = here[class_name] == shown
            total, positive = int(here[NOISY_COUNT].sum()), int(here.loc[inside, NOISY_COUNT].sum())
            share, error = _share(positive, total, int(inside.sum()), len(here), noise)
            count = Estimate(total, noise.of_sum(len(here)))
            rows.append(ValueRow(value["label"], tuple(value.get("members", ())), count, share, error))
        found[name] = rows
    return found


def _share(positive: int, total: int, positive_cells: int, cells: int, noise: CountNoise) -> tuple[float | None, ...]:
    """Return a share and its error by the delta method; nothing where noise leaves nothing to say."""
    if total <= noise.of_sum(cells):
        return None, None
    share = min(max(positive / total, 0.0), 1.0)
    others = cells - positive_cells
    variance = noise.deviation**2 * (positive_cells * (1 - share) ** 2 + others * share**2)
    error = NORMAL_95 * math.sqrt(variance) / total
    return (share, error) if error < LARGEST_SHARE_ERROR else (None, None)


def total_people(release: GeneralizedRelease) -> Estimate:
    """Return how many people the release is about: exactly, if that is public, else the sum of all counts."""
    public = release.certificate["public_facts"]["number_of_records"]
    if isinstance(public, int):
        return Estimate(public, 0.0)
    counts = release.to_pandas("counts")[NOISY_COUNT]
    return Estimate(int(counts.sum()), CountNoise.of(release.certificate).of_sum(len(counts)))


def largest_cells(release: GeneralizedRelease) -> list[Cell]:
    """Return the cells with the largest counts, with error bars."""
    noise, class_name = CountNoise.of(release.certificate), release.cut["class"]["name"]
    counts = release.to_pandas("counts").sort_values(NOISY_COUNT, ascending=False, kind="stable").head(LARGEST_CELLS)
    split = split_attributes(release)
    return [
        Cell(
            tuple((name, str(row[name])) for name in split),
            str(row[class_name]),
            Estimate(int(row[NOISY_COUNT]), float(noise.within_95_percent)),
        )
        for _, row in counts.iterrows()
    ]


def cells_like_empty(release: GeneralizedRelease) -> int:
    """Return how many cells have a count that an empty cell could have as well, in 95 of 100 cases."""
    counts: pd.Series = release.to_pandas("counts")[NOISY_COUNT]
    return int(np.sum(counts.abs() <= CountNoise.of(release.certificate).within_95_percent))


def shown_class(release: GeneralizedRelease) -> str:
    """Return the class whose share is shown: the last one listed."""
    return str(release.cut["class"]["values"][-1])


def split_attributes(release: GeneralizedRelease) -> list[str]:
    """Return the attributes with more than one published value."""
    return [name for name, described in release.cut["attributes"].items() if len(described["values"]) > 1]


def partition_trees(release: GeneralizedRelease) -> dict[str, Node]:
    """Return for every attribute that was split the tree from all its values down to the published ones."""
    rows = estimates(release)
    trees = {}
    for name in split_attributes(release):
        described = release.cut["attributes"][name]
        published = {
            tuple(value["codes"]): row.count for value, row in zip(described["values"], rows[name], strict=True)
        }
        domain = domain_of(name, described["domain"])
        trees[name] = _node(domain, (0, domain.size), published)
    return trees


def _node(domain: Domain, part: CodeRange, published: Mapping[CodeRange, Estimate]) -> Node:
    if part in published:
        return Node(domain.label(part), count=published[part])
    # A taxonomy has one way down. Which interval was split first is not part of a release: all are drawn at once.
    children = domain.splits(part)[0] if isinstance(domain, CategoricalDomain) else tuple(published)
    return Node(domain.label(part), tuple(_node(domain, child, published) for child in children))


def budget_shares(certificate: Mapping[str, Any]) -> list[float]:
    """Return the share of each disclosure in the epsilon of the release, under the relation it is calibrated to."""
    relation = certificate["epsilon"]["calibrated_to"]
    parts = [Fraction(disclosure["epsilon"][relation]) for disclosure in certificate["disclosures"]]
    return [float(part / sum(parts)) for part in parts]


def belief_bound(epsilon: str) -> float | None:
    """Return how far even odds can move to, e^epsilon / (1 + e^epsilon), or nothing if there is no protection.

    In whole percent, near certainty in tenths of one, rounded up: people are told that it cannot be more.
    """
    try:
        value = float(Fraction(epsilon))
    except ValueError:
        return None
    belief = 1 / (1 + math.exp(-value))
    steps = 100 if belief <= LARGE_BELIEF else 1000
    return min(math.ceil(belief * steps) / steps, 1.0)
