"""Scores of all candidates of a round, as one secret vector of a fixed length.

What a party can compute alone it does: sums over ranges of its own counts, and whole scores where it holds both the
attribute and the class. Where membership is hidden it can compute nothing alone, and all tables are secret. Every round
has the same shapes, so that an engine compiles one program for all of them: places that no candidate takes get a score
that never wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from copublish.agreement.axis import Axis
from copublish.agreement.domain import Domain
from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.errors import EngineError
from copublish.kernel.programs.packing import add, bits_within, in_agreed_order
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import ProgramComputer
from copublish.kernel.secrets.secret import Secret
from copublish.mechanisms.shared.run_tables import divided, secret_tables
from copublish.mechanisms.specialization.cut import Candidates
from copublish.mechanisms.specialization.score import MAX, Score
from copublish.mechanisms.specialization.score_programs import range_counts
from copublish.types import IntArray

Spread = Literal["own", "added", "joint"]
"""How an attribute's counts by class are spread: with one party, as summands at several, or as a secret table."""


FEW_CODES = 130
"""Of a domain that is counted on one axis: a written grid and missing. Finer ones are counted on two shorter axes."""


def digits(domain: Domain) -> tuple[Axis, Axis]:
    """A domain's codes as the two digits of a number, so that a record is marked on few cells twice, not on all once.

    Together they are the codes in order, with some behind them that no value has.
    """
    base = math.isqrt(domain.size - 1) + 1
    codes = np.arange(domain.size, dtype=np.int64)
    return Axis(domain.name, codes // base, base), Axis(domain.name, codes % base, base)


@dataclass
class CandidateScores:
    """Counts each attribute by class once, then scores any candidates from those tables.

    Attributes:
        never_wins: A score so low that no noise lifts it to 0, for places without a candidate. No candidate scores
            below 0: gains are sums of convex functions that vanish at 0.
        length: The number of scores in a round, those included.
        score: What makes a split good.
    """

    table: JointTable
    computer: ProgramComputer
    never_wins: int
    length: int
    score: Score = MAX
    _own_tables: dict[str, IntArray] = field(default_factory=dict, repr=False)
    _secret_tables: dict[str, Secret] = field(default_factory=dict)

    def __post_init__(self) -> None:
        agreement = self.table.agreement
        if agreement.hides_membership:
            self._secret_tables = self._tables_at_once()
            return
        for name, domain in agreement.domains.items():
            axes = [Axis.of(domain), Axis.of(agreement.class_domain)]
            shape = (domain.size, agreement.class_domain.size)
            if self.table.is_additive(axes):
                self._own_tables[name] = self.table.count_locally(axes).reshape(shape)
            else:
                if agreement.partition == "arbitrary" and domain.size > FEW_CODES:
                    axes[:1] = digits(domain)
                    shape = (axes[0].n_cells * axes[1].n_cells, shape[1])  # codes that do not exist count nobody
                counts = self.table.count_jointly(axes, self.computer, noise_bits=None)
                self._secret_tables[name] = self.computer.compute(
                    in_agreed_order, counts.secret, place_of_cell=counts.place_of_cell(), shape=shape
                )

    def _tables_at_once(self) -> dict[str, Secret]:
        """Each attribute by class, of the records that are common to all owners, none of whom counts alone."""
        domains, classes = self.table.agreement.domains, Axis.of(self.table.agreement.class_domain)
        groups = [[Axis.of(domain), classes] for domain in domains.values()]
        counts = secret_tables(self.table, groups, self.computer)
        shapes = [(domain.size, classes.n_cells) for domain in domains.values()]
        return dict(zip(domains, divided(counts, shapes, self.computer), strict=True))

    def of(self, candidates: Sequence[Candidates]) -> Secret:
        """The secret score of each split of each candidate, shape (length,)."""
        own = np.zeros(self.length, dtype=np.int64)
        added = np.zeros((self.length, self._most_children, self.table.agreement.class_domain.size), dtype=np.int64)
        joint: list[Secret] = []
        place = 0
        for group in candidates:
            places = slice(place, place + len(group.splits))
            place = places.stop
            spread = self._spread(group.attribute)
            if spread == "own" and self.computer.party in self.table.agreement.holders(group.attribute):
                own[places] = self.score.of(self._child_counts(group))
            elif spread == "added":
                added[places] = self._child_counts(group)
            elif spread == "joint":
                joint.append(self._joint_child_counts(group, places))
        if self.computer.party == self.computer.parties[0]:
            own[place:] = self.never_wins
        parts = [self.computer.share_within(own, self._score_bits)]
        if any(self._spread(name) == "added" for name in self.table.agreement.attributes):
            parts.append(self._secret_scores(self.computer.share_within(added, self._count_bits)))
        if joint:
            parts.append(self._secret_scores(self.computer.compute(add, *joint)))
        return self.computer.compute(add, *parts) if len(parts) > 1 else parts[0]

    def _secret_scores(self, secret_child_counts: Secret) -> Secret:
        return self.computer.compute(self.score.program, secret_child_counts, **self.score.public)

    @cached_property
    def _score_bits(self) -> int:
        """Of the scores that each party puts in: all parties' stay within half of what a selection has room for."""
        within = bits_within(MAX_RECORDS * self.score.points_per_person // 2, len(self.computer.parties))
        if abs(self.never_wins).bit_length() >= within:  # the plan has refused it
            raise EngineError("The noise of a selection does not fit beside scores. Nothing was opened.")
        return within

    @cached_property
    def _count_bits(self) -> int:
        """Of the counts that each party puts in: their scores, child minus parent, stay within the other half."""
        entries = self._most_children * self.table.agreement.class_domain.size
        return bits_within(MAX_RECORDS // 4, entries * len(self.computer.parties))

    @cached_property
    def _most_children(self) -> int:
        """Upper bound on the number of parts of any split: of a taxonomy's node, or three for numbers and missing."""
        return max(domain.most_children for domain in self.table.agreement.domains.values())

    def _spread(self, attribute: str) -> Spread:
        if attribute in self._secret_tables:
            return "joint"
        agreement = self.table.agreement
        return "own" if agreement.partition != "horizontal" and len(agreement.holders(attribute)) == 1 else "added"

    def _child_counts(self, group: Candidates) -> IntArray:
        return range_counts(np, self._own_tables[group.attribute], *self._child_ranges(group))

    def _joint_child_counts(self, group: Candidates, places: slice) -> Secret:
        """The children's counts at their places in a tensor for all candidates."""
        starts = np.zeros((self.length, self._most_children), dtype=np.int64)
        stops = np.zeros_like(starts)
        starts[places], stops[places] = self._child_ranges(group)
        table = self._secret_tables[group.attribute]
        return self.computer.compute(range_counts, table, starts=starts, stops=stops)

    def _child_ranges(self, group: Candidates) -> tuple[IntArray, IntArray]:
        """Where the children of all splits start and stop, shape (n_splits, most_children), padded empty."""
        none = (0, 0)
        padded = [[*split, *[none] * (self._most_children - len(split))] for split in group.splits]
        ranges = np.array(padded, dtype=np.int64)
        return ranges[..., 0], ranges[..., 1]


def count(candidates: Sequence[Candidates]) -> int:
    """The number of splits on offer."""
    return sum(len(group.splits) for group in candidates)
