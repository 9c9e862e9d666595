"""The cut: for every attribute, which generalized values the published table will have.

Everything here is public: it follows from the agreement and from selections already opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from copublish.agreement.axis import Axis
from copublish.agreement.domain import CodeRange, Domain, Split
from copublish.types import IntArray


@dataclass(frozen=True)
class Candidates:
    """The ways to specialize one generalized value: replace `part` of `attribute` by one of `splits`."""

    attribute: str
    part: CodeRange
    splits: tuple[Split, ...]


@dataclass(frozen=True)
class Cut:
    """A partition of every attribute's domain into code ranges."""

    domains: Mapping[str, Domain]
    parts: Mapping[str, tuple[CodeRange, ...]]

    @staticmethod
    def top(domains: Mapping[str, Domain]) -> Cut:
        """The cut at which every attribute has one value that stands for all."""
        return Cut(domains, {name: ((0, domain.size),) for name, domain in domains.items()})

    @property
    def n_leaves(self) -> int:
        """Number of combinations of generalized values, empty ones included."""
        return math.prod(len(parts) for parts in self.parts.values())

    def candidates(self, max_leaves: int) -> list[Candidates]:
        """Candidates for the next specialization, in public order: attribute, then value, then split.

        A value that has nothing below it is no candidate, nor is a split that would make too many leaves. The
        list never depends on private data.
        """
        found = []
        for name, domain in self.domains.items():
            parts = self.parts[name]
            most_children = max_leaves // (self.n_leaves // len(parts)) - (len(parts) - 1)
            for part in parts:
                splits = tuple(split for split in domain.splits(part) if len(split) <= most_children)
                if splits:
                    found.append(Candidates(name, part, splits))
        return found

    def specialize(self, candidates: Sequence[Candidates], winner: int) -> Cut:
        """The cut after taking the split with this number among all candidates' splits."""
        for group in candidates:
            if winner < len(group.splits):
                break
            winner -= len(group.splits)
        parts: list[CodeRange] = []
        for part in self.parts[group.attribute]:
            parts.extend(group.splits[winner] if part == group.part else [part])
        return Cut(self.domains, {**self.parts, group.attribute: tuple(parts)})

    def axes(self) -> list[Axis]:
        """The axes of the table of leaves, in agreed order."""
        return [Axis(name, self.part_of_code(name), len(self.parts[name])) for name in self.domains]

    def part_of_code(self, attribute: str) -> IntArray:
        """For each code of an attribute the number of the generalized value it falls into."""
        lengths = [stop - start for start, stop in self.parts[attribute]]
        return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)


def max_candidates(domains: Mapping[str, Domain], rounds: int) -> int:
    """A public bound on the number of splits on offer in any of so many rounds.

    A range of a fine grid that is split leaves two, which may offer as many points each as it did.
    """
    at_first = sum(domain.first_splits for domain in domains.values())
    more = max(0, rounds - 1) * max((domain.more_splits for domain in domains.values()), default=0)
    return min(at_first + more, sum(domain.max_splits for domain in domains.values()))
