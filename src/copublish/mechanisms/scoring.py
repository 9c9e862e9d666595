"""Scores of all candidates of a round, as one secret vector.

What a party can compute alone it does: prefix sums over its own counts, and whole scores where it holds both the
attribute and the class. What does not change from round to round is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine, Secret
from copublish.fragments.fragment import Axis
from copublish.mechanisms.cut import Candidates
from copublish.privacy.coins import IntArray
from copublish.secure.joint_counts import JointTable
from copublish.secure.scores import concatenate, interleave, max_scores, range_counts, reshape

Spread = Literal["own", "added", "joint"]
"""How an attribute's counts by class are spread: with one party, as summands at several, or as a secret table."""


def class_axis(agreement: Agreement) -> Axis:
    """Return the axis of the class attribute."""
    size = agreement.class_domain.size
    return Axis(agreement.class_.name, np.arange(size, dtype=np.int64), size)


@dataclass
class CandidateScores:
    """Counts each attribute by class once, then scores any candidates from those tables."""

    table: JointTable
    engine: Engine
    _own_tables: dict[str, IntArray] = field(default_factory=dict, repr=False)
    _secret_tables: dict[str, Secret] = field(default_factory=dict)
    _own_scores: dict[tuple[str, int, int, int], IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        agreement = self.table.agreement
        for name, domain in agreement.domains.items():
            axes = [Axis(name, np.arange(domain.size, dtype=np.int64), domain.size), class_axis(agreement)]
            shape = (domain.size, agreement.class_domain.size)
            if self.table.is_additive(axes):
                self._own_tables[name] = self.table.count_locally(axes).reshape(shape)
            else:
                flat = self.table.count_jointly(axes, self.engine)
                self._secret_tables[name] = self.engine.compute(reshape, flat, shape=shape)

    def of(self, candidates: Sequence[Candidates]) -> Secret:
        """Return the secret score of each split of each candidate, shape (n_splits,)."""
        spreads = [self._spread(group.attribute) for group in candidates]
        positions = np.split(np.arange(count(candidates)), np.cumsum([len(g.splits) for g in candidates])[:-1])
        parts, order = [], []
        for spread, score in (("own", self._own), ("added", self._added), ("joint", self._joint)):
            chosen = [number for number, found in enumerate(spreads) if found == spread]
            if chosen:
                parts.append(score([candidates[number] for number in chosen]))
                order += [positions[number] for number in chosen]
        if len(parts) == 1:
            return parts[0]
        return self.engine.compute(interleave, *parts, order=np.argsort(np.concatenate(order)))

    def _spread(self, attribute: str) -> Spread:
        if attribute in self._secret_tables:
            return "joint"
        agreement = self.table.agreement
        return "own" if agreement.partition != "horizontal" and len(agreement.holders(attribute)) == 1 else "added"

    def _own(self, candidates: Sequence[Candidates]) -> Secret:
        """Scores of attributes that one party can score alone; the others put in zeros."""
        return self.engine.share(np.concatenate([self._own_score(group) for group in candidates]))

    def _own_score(self, group: Candidates) -> IntArray:
        if self.engine.party not in self.table.agreement.holders(group.attribute):
            return np.zeros(len(group.splits), dtype=np.int64)
        key = (group.attribute, *group.part, len(group.splits))
        if key not in self._own_scores:
            self._own_scores[key] = max_scores(np, self._child_counts([group]), fan_outs([group]))
        return self._own_scores[key]

    def _added(self, candidates: Sequence[Candidates]) -> Secret:
        """Scores of attributes of which every party has a part of the counts."""
        child_counts = self.engine.share(self._child_counts(candidates))
        return self.engine.compute(max_scores, child_counts, fan_outs=fan_outs(candidates))

    def _joint(self, candidates: Sequence[Candidates]) -> Secret:
        """Scores of attributes whose counts by class no party has any part of."""
        parts = []
        for group in candidates:
            starts, stops = child_ranges(group)
            table = self._secret_tables[group.attribute]
            parts.append(self.engine.compute(range_counts, table, starts=starts, stops=stops))
        joined = self.engine.compute(concatenate, *parts)
        return self.engine.compute(max_scores, joined, fan_outs=fan_outs(candidates))

    def _child_counts(self, candidates: Sequence[Candidates]) -> IntArray:
        return np.concatenate(
            [range_counts(np, self._own_tables[group.attribute], *child_ranges(group)) for group in candidates]
        )


def count(candidates: Sequence[Candidates]) -> int:
    """Return the number of splits on offer."""
    return sum(len(group.splits) for group in candidates)


def fan_outs(candidates: Sequence[Candidates]) -> IntArray:
    """Return the number of children of every split."""
    return np.array([len(split) for group in candidates for split in group.splits], dtype=np.int64)


def child_ranges(group: Candidates) -> tuple[IntArray, IntArray]:
    """Return where the children of all splits of a candidate start and stop."""
    ranges = np.array([child for split in group.splits for child in split], dtype=np.int64)
    return ranges[:, 0], ranges[:, 1]
