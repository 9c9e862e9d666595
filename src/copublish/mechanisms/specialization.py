"""Top-down specialization: choose where to split, then publish every leaf's noisy count by class.

The sound form of DistDiffGen (vertical) and ArbDistDP (arbitrary), for any partition: scores need one attribute's
counts by class, so they add up over parties; only the leaf counts need the join. Selections draw cut and split point
in one step from public candidates; nothing but the winner's index is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from copublish.agreement.model import MAX_CELLS, Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Axis
from copublish.mechanisms.cut import Cut
from copublish.mechanisms.post_processing import consistent_counts
from copublish.mechanisms.scoring import CandidateScores, class_axis, count, max_candidates
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.coins import IntArray
from copublish.privacy.disclosures import Disclosure, Influence, Measure, Select
from copublish.secure.joint_counts import JointTable

MECHANISM_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""

MAX_SCORE_RANGE: Influence = {"add-remove": 1, "replace": 2}
"""Range of Max. A record adds 0 or 1 to every candidate (it is in one child, whose largest class count grows or
not); replacing one takes a record away and adds another: -1, 0 or 1."""

HISTOGRAM_L1: Influence = {"add-remove": 1, "replace": 2}
"""A person is in one cell, so a record adds 1 to one count; replacing one changes two counts."""

Progress = Callable[[str, int, int], None]
"""Called with a phase, how many steps are done and how many there are."""


@dataclass(frozen=True)
class Plan:
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        rounds: Number of specializations h.
        epsilon_per_selection: Budget of each.
        epsilon: Budget of the release; what selections do not use goes to the leaf counts.
        max_leaves: Cap on the number of leaves.
    """

    agreement: Agreement
    rounds: int
    epsilon_per_selection: Fraction
    epsilon: Fraction
    max_leaves: int

    @staticmethod
    def of(agreement: Agreement) -> Plan:
        """Split the budget and size the table by the agreement alone."""
        share = Fraction(agreement.mechanism.selection_share)
        leaf_rate = agreement.epsilon * (1 - share) / HISTOGRAM_L1[agreement.privacy.neighbours]
        max_cells = agreement.mechanism.max_cells
        if max_cells is None:
            # A mean cell then holds about two standard deviations of its noise; looser where noise is small.
            per_record = leaf_rate / 3 if agreement.epsilon <= Fraction(1, 2) else leaf_rate
            max_cells = min(int(agreement.records.expected * per_record), MAX_CELLS)
        max_leaves = max(1, max_cells // len(agreement.class_.values))
        rounds = min(agreement.mechanism.specializations, max_leaves.bit_length() - 1)
        # Each round adds at least one value to one attribute, so no more rounds than codes can ever be used.
        rounds = min(rounds, sum(domain.size - 1 for domain in agreement.domains.values()))
        per_selection = agreement.epsilon * share / rounds if rounds else Fraction(0)
        return Plan(agreement, rounds, per_selection, agreement.epsilon, max_leaves)

    @property
    def largest_selection_noise(self) -> int:
        """The largest noise that a selection can draw."""
        return int(2 ** self.selection(0, 1).noise.bits) if self.rounds else 0

    def selection(self, number: int, candidates: int) -> Select:
        """Return the disclosure of one round."""
        return Select(
            f"specialization {number + 1} of at most {self.rounds}: which value is split, and where",
            self.epsilon_per_selection,
            self.agreement.privacy.neighbours,
            MAX_SCORE_RANGE,
            candidates,
        )

    def leaf_counts(self, rounds_done: int, n_cells: int) -> Measure:
        """Return the disclosure of the leaf counts, with all budget that is left."""
        return Measure(
            "number of records in every leaf, by class",
            self.epsilon - rounds_done * self.epsilon_per_selection,
            self.agreement.privacy.neighbours,
            HISTOGRAM_L1,
            HISTOGRAM_L1,
            n_cells,
        )

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens if it uses all rounds; candidate and cell numbers are upper bounds."""
        candidates = max_candidates(self.agreement)
        selections = [self.selection(number, candidates) for number in range(self.rounds)]
        n_cells = self.max_leaves * len(self.agreement.class_.values)
        return [*selections, self.leaf_counts(self.rounds, n_cells)]

    def cost(self) -> Cost:
        """Return what the ledger reserves: epsilon exactly, delta for however many rounds are used."""
        public = self.agreement.records.public
        planned = self.disclosures()
        # Stopping early moves budget to the leaves, which changes their delta in both directions.
        leaves = [self.leaf_counts(rounds_done, 1) for rounds_done in range(self.rounds + 1)]
        worst_leaves = max(leaves, key=lambda leaf: max(leaf.delta("add-remove"), leaf.delta("replace")))
        worst = cost_of([*planned[:-1], worst_leaves], number_of_records_is_public=public)
        return replace(cost_of(planned, number_of_records_is_public=public), delta=worst.delta)


@dataclass(frozen=True)
class SpecializationResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        cut: The generalized values of every attribute.
        noisy_counts: Unbiased counts by leaf and class, shape (n_leaves, n_classes).
        counts: Non-negative integers with the same total, same shape.
    """

    cut: Cut
    noisy_counts: IntArray
    counts: IntArray


def run_specialization(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> SpecializationResult:
    """Run the mechanism at one party.

    Args:
        table: This party's aligned cells.
        engine: Its end of the engine.
        gate: Where the selections and counts are opened.
        progress: Told about every step.
        public_total: The number of records, if the agreement makes it public.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the budgets of `Plan` by adaptive composition; candidates depend on the agreement and on
            earlier outputs only.
        Reveals: the winner of every round and the noisy leaf counts, to all parties.
    """
    plan = Plan.of(table.agreement)
    scores = CandidateScores(table, engine, never_wins=-plan.largest_selection_noise - 1)
    cut, rounds_done = Cut.top(table.agreement.domains), 0
    if plan.rounds:
        gate.draw_selection_noise(plan.selection(0, 1), max_candidates(table.agreement), times=plan.rounds)
    while rounds_done < plan.rounds and (candidates := cut.candidates(plan.max_leaves)):
        progress("specialization", rounds_done, plan.rounds)
        secret_scores = scores.of(candidates)
        # Opens which value is split and where, to all parties; covered by the round's budget.
        winner = gate.reveal_selection(secret_scores, plan.selection(rounds_done, count(candidates)))
        cut, rounds_done = cut.specialize(candidates, winner), rounds_done + 1

    progress("leaf counts", 0, 1)
    axes: list[Axis] = [*cut.axes(), class_axis(table.agreement)]
    disclosure = plan.leaf_counts(rounds_done, cut.n_leaves * len(table.agreement.class_.values))
    counts = table.count_jointly(
        axes, engine, noise_bits=disclosure.noise.bits, progress=lambda done, of: progress("leaf counts", done, of)
    )
    progress("leaf noise", 0, 1)
    # Opens every cell's count plus noise, empty cells included, to all parties; covered by what is left.
    noisy = gate.reveal_measurement(counts, disclosure)
    progress("leaf noise", 1, 1)

    total = max(0, int(noisy.sum())) if public_total is None else public_total
    shape = (cut.n_leaves, len(table.agreement.class_.values))
    return SpecializationResult(cut, noisy.reshape(shape), consistent_counts(noisy, total).reshape(shape))
