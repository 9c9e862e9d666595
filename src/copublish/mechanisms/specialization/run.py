"""Top-down specialization: choose where to split, then publish every leaf's noisy count by class.

The sound form of DistDiffGen (vertical) and ArbDistDP (arbitrary), for any partition: scores need one attribute's
counts by class, so they add up over parties; only the leaf counts need the join. Selections draw cut and split point
in one step from public candidates; nothing but the winner's index is opened.
"""

from __future__ import annotations

from copublish.agreement.axis import Axis
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer, ProgramComputer, computer_as
from copublish.kernel.secrets.gate import Gate
from copublish.mechanisms.shared.post_processing import consistent_counts, consistent_counts_by_class
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.result import SpecializationResult
from copublish.mechanisms.specialization.run_scores import CandidateScores, count
from copublish.mechanisms.specialization.score import MAX, gain_score
from copublish.progress import Progress


def run_specialization(
    plan: SpecializationPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress
) -> SpecializationResult:
    """Run the mechanism at one party.

    Args:
        plan: What is opened, at which price.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where the selections and counts are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the budgets of the plan by adaptive composition; candidates depend on the agreement and on
            earlier outputs only.
        Reveals: noisy class counts if the score weighs classes, the winner of every round and the noisy leaf counts, to
            all parties.
    """
    computing, classes = computer_as(ProgramComputer, computer), Axis.of(table.agreement.class_domain)
    score, noisy_class_counts = MAX, None
    if plan.epsilon_for_classes:
        progress("class counts", 0, 1)
        noise_bits = plan.class_counts().noise.bits
        class_counts = table.count_jointly([classes], computer, noise_bits=noise_bits)
        # Opens every class's count plus noise, to all parties; covered by the budget for classes.
        noisy_class_counts = gate.reveal_measurement(class_counts, plan.class_counts())
        score = gain_score(plan.score, noisy_class_counts)
    scores = CandidateScores(table, computing, -plan.largest_selection_noise - 1, plan.most_candidates, score)
    cut, rounds_done = Cut.top(table.agreement.domains), 0
    if plan.rounds:
        gate.draw_selection_noise(plan.selection(0, 1, score.score_range), plan.most_candidates, times=plan.rounds)
    while rounds_done < plan.rounds and (candidates := cut.candidates(plan.max_leaves)):
        progress("specialization", rounds_done, plan.rounds)
        secret_scores = scores.of(candidates)
        # Opens which value is split and where, to all parties; covered by the round's budget.
        disclosed = plan.selection(rounds_done, count(candidates), score.score_range)
        winner = gate.reveal_selection(secret_scores, disclosed)
        cut, rounds_done = cut.specialize(candidates, winner), rounds_done + 1

    progress("leaf counts", 0, 1)
    disclosure = plan.leaf_counts(rounds_done, cut.n_leaves * len(table.agreement.required_class.values))
    gate.draw_measurement_noise(disclosure)
    secret_counts = table.count_jointly(
        [*cut.axes(), classes],
        computer,
        noise_bits=disclosure.noise.bits,
        progress=lambda done, of: progress("leaf counts", done, of),
    )
    progress("leaf noise", 0, 1)
    # Opens every cell's count plus noise, empty cells included, to all parties; covered by what is left.
    noisy = gate.reveal_measurement(secret_counts, disclosure)
    progress("leaf noise", 1, 1)

    total = max(0, int(noisy.sum())) if table.public_total is None else table.public_total
    shape = (cut.n_leaves, len(table.agreement.required_class.values))
    noisy = noisy.reshape(shape)
    by_class = plan.score != "max"  # whose post-processing stays as it was published
    counts = consistent_counts_by_class(noisy, total) if by_class else consistent_counts(noisy.ravel(), total)
    return SpecializationResult(
        agreement=table.agreement,
        cut=cut,
        score=score,
        noisy_class_counts=noisy_class_counts,
        noisy_counts=noisy,
        counts=counts.reshape(shape),
    )
