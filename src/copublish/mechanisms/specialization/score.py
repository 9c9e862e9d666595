"""What makes a split good, and how far one person can move that. Public: programs, class weights, ranges.

Three scores of a candidate split, all in whole numbers. n_c^k is the number of records of class k in child c, n_c
their sum, and p stands for the parent, which the children make up.

- `max`: sum over children of max_k n_c^k, the records that a majority vote in every child gets right.
- `balanced-gain`: with a weight a_k for each class, sum over children of max_k a_k n_c^k, minus the same for the
  parent: what the split adds. Weights lower the largest class to the second largest, so a majority that every child
  shares hides nothing; with classes of one size they are equal and this is the gain of `max`.
- `tv-gain`: with class shares a_k / q, sum over children of sum_k (q n_c^k - a_k n_c)^+, minus the same for the parent:
  how much farther the children's classes are from the shares, in total variation.

For two classes the last two are the same but for a factor. Weights and shares come from one noisy measurement of the
class counts, which is charged like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from copublish.kernel.accounting.disclosures import Influence
from copublish.mechanisms.specialization.score_programs import balanced_gains, max_scores, tv_gains
from copublish.types import IntArray, Program

ScoreName = Literal["max", "tv-gain", "balanced-gain"]

POINTS_PER_PERSON = 64
"""Resolution q of weights and shares: a gain of one person is this many points."""

MAX_SCORE_RANGE: Influence = {"add-remove": 1, "replace": 2}
"""Range of Max. A record adds 0 or 1 to every candidate (it is in one child, whose largest class count grows or
not); replacing one takes a record away and adds another: -1, 0 or 1."""

WIDEST_RANGE: dict[ScoreName, Influence] = {
    "max": MAX_SCORE_RANGE,
    "balanced-gain": {"add-remove": 2 * POINTS_PER_PERSON, "replace": 4 * POINTS_PER_PERSON},
    "tv-gain": {"add-remove": 4 * POINTS_PER_PERSON, "replace": 8 * POINTS_PER_PERSON},
}
"""The range of each score whatever the class counts turn out to be, for planning; derived below."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """A score with the public numbers it needs.

    Attributes:
        name: Which one.
        points_per_person: How many points of the score stand for one person.
        score_range: For each relation, the largest value over neighbors of (largest change of any candidate's
            score) minus (smallest change): what `Select` calibrates its noise to.
        program: Scores of candidates from their children's counts.
        public: What the program takes besides.
    """

    name: ScoreName
    points_per_person: int
    score_range: Influence
    program: Program
    public: dict[str, Any]

    def of(self, child_counts: IntArray) -> IntArray:
        """The scores from counts that one party has in the clear, shape (n_candidates,)."""
        return self.program(np, child_counts, **self.public)


MAX = Score(name="max", points_per_person=1, score_range=MAX_SCORE_RANGE, program=max_scores, public={})


def points_per_person(name: ScoreName) -> int:
    """How many points of a score stand for one person."""
    return 1 if name == "max" else POINTS_PER_PERSON


def gain_score(name: ScoreName, noisy_class_counts: IntArray) -> Score:
    """A score that weighs classes by released counts of them."""
    return balanced_gain(noisy_class_counts) if name == "balanced-gain" else tv_gain(noisy_class_counts)


def balanced_gain(noisy_class_counts: IntArray) -> Score:
    """The balanced gain with weights from released class counts.

    Weights are a_k = q c_2 / c_k, at most q, where c_2 is the second largest count: the largest class weighs as much
    as the second largest, the others fully.

    Privacy:
        Let W(c) = max_k a_k n_c^k. A record of class k added to c raises one term of the maximum by a_k <= q and no
        other, so W(c) grows by something in 0 .. a_k; every other child stays. The score changes by that of the child
        it is in minus that of the parent: in -a_k .. a_k, and by 0 for candidates whose parent it is not in. So the
        range is at most 2 q; removing mirrors it. Replacing is one removal and one addition: at most 4 q.
        The weights follow from counts that were opened before, so the argument holds for each value of them.
    """
    counts = np.maximum(noisy_class_counts, 1)
    second = np.sort(counts)[-2]
    # Rounded to the nearest; the second largest class gets q, and no class weighs nothing.
    weights = np.clip((2 * POINTS_PER_PERSON * second + counts) // (2 * counts), 1, POINTS_PER_PERSON)
    return Score(
        name="balanced-gain",
        points_per_person=POINTS_PER_PERSON,
        score_range=WIDEST_RANGE["balanced-gain"],
        program=balanced_gains,
        public={"weights": weights},
    )


def tv_gain(noisy_class_counts: IntArray) -> Score:
    """The gain in total variation with shares from released class counts.

    Privacy:
        Let V(c) = sum_k (q n_c^k - a_k n_c)^+ with whole a_k >= 0 that add up to q. A record of class k added to c
        raises one term by at most q - a_k and lowers the others by at most the sum of their a_j, which is q - a_k as
        well. So V(c) changes by at most q - a_k either way, a score, child minus parent, by at most 2 (q - a_k), and
        the range is at most 4 (q - min a_k). Replacing is one removal and one addition: at most twice that.
    """
    counts = np.maximum(noisy_class_counts, 1)
    # In proportion, by largest remainder.
    shares, remainders = np.divmod(POINTS_PER_PERSON * counts, counts.sum())
    shares[np.argsort(-remainders, kind="stable")[: POINTS_PER_PERSON - int(shares.sum())]] += 1
    largest_change = POINTS_PER_PERSON - int(shares.min())
    score_range: Influence = {"add-remove": 4 * largest_change, "replace": 8 * largest_change}
    return Score(
        name="tv-gain",
        points_per_person=POINTS_PER_PERSON,
        score_range=score_range,
        program=tv_gains,
        public={"shares": shares},
    )
