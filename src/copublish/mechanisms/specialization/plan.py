"""What a run of specialization opens and costs, from the agreement alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.errors import AgreementError
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, Disclosure, Influence, Measure, Place, Select
from copublish.kernel.certificate.build import Method
from copublish.mechanisms.base import Plan
from copublish.mechanisms.specialization.cut import max_candidates
from copublish.mechanisms.specialization.score import WIDEST_RANGE, ScoreName, points_per_person
from copublish.mechanisms.specialization.settings import MAX_CELLS, SpecializationSettings

if TYPE_CHECKING:
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.specialization.result import SpecializationResult
    from copublish.progress import Progress

CLASSES, SPLITS, LEAVES = "class counts", "split", "leaf counts"
"""The steps of a run that open something."""

SHARE_FOR_CLASSES = Fraction(1, 20)
"""Of the selections' budget, what the class counts take if the score weighs classes by them."""

RECORDS_PER_NOISE = 50
"""`auto` compares gains if the expected records are this many times a selection's noise; else `max`, which has less."""


def split_number(number: int) -> Place:
    """The place of one selection."""
    return Place(SPLITS, number=number, common="which value is split, and where")


@dataclass(frozen=True, kw_only=True)
class SpecializationPlan(Plan["SpecializationResult"]):
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        score: What makes a split good; `auto` is resolved here.
        rounds: Number of specializations h.
        epsilon_for_classes: Budget of the class counts that the score weighs classes by; 0 if it needs none.
        epsilon_per_selection: Budget of each specialization.
        epsilon: Budget of the release; what selections do not use goes to the leaf counts.
        max_leaves: Cap on the number of leaves.
    """

    agreement: Agreement
    score: ScoreName
    rounds: int
    epsilon_for_classes: Fraction
    epsilon_per_selection: Fraction
    epsilon: Fraction
    max_leaves: int

    @staticmethod
    def of(agreement: Agreement) -> SpecializationPlan:
        """Choose the score, split the budget and size the table, by the agreement alone."""
        asked = agreement.settings(SpecializationSettings).score
        plan = SpecializationPlan._with_score(agreement, "balanced-gain" if asked == "auto" else asked)
        if asked == "auto" and not plan._tells_gains_apart():
            plan = SpecializationPlan._with_score(agreement, "max")
        return plan

    def refuse_too_much_noise(self) -> None:
        """Raise if a score that no noise lifts would be larger than what each party may put in.

        Raises:
            AgreementError: Naming what to change.
        """
        room = MAX_RECORDS * points_per_person(self.score) // 2 // len(self.agreement.parties)
        if (self.largest_selection_noise + 1).bit_length() >= room.bit_length():
            problem = (
                "privacy.epsilon: so little is left for each specialization that its noise does not fit the engine's "
                "integers. Raise epsilon or mechanism.selection_share, or take fewer specializations"
            )
            raise AgreementError(f"The agreement '{self.agreement.name}'", [problem])

    @staticmethod
    def _with_score(agreement: Agreement, score: ScoreName) -> SpecializationPlan:
        settings = agreement.settings(SpecializationSettings)
        for_selections = agreement.mechanism_epsilon * Fraction(settings.selection_share)
        max_leaves = max(1, _max_cells(agreement, score) // len(agreement.required_class.values))
        rounds = min(settings.specializations, max_leaves.bit_length() - 1)
        # Each round adds at least one value to one attribute, so no more rounds than codes can ever be used.
        rounds = min(rounds, sum(domain.size - 1 for domain in agreement.domains.values()))
        for_classes = for_selections * SHARE_FOR_CLASSES if rounds and score != "max" else Fraction(0)
        per_selection = (for_selections - for_classes) / rounds if rounds else Fraction(0)
        return SpecializationPlan(
            agreement=agreement,
            score=score,
            rounds=rounds,
            epsilon_for_classes=for_classes,
            epsilon_per_selection=per_selection,
            epsilon=agreement.mechanism_epsilon,
            max_leaves=max_leaves,
        )

    @property
    def settings(self) -> SpecializationSettings:
        """The agreed settings."""
        return self.agreement.settings(SpecializationSettings)

    def _tells_gains_apart(self) -> bool:
        """Whether a selection's noise is small beside the public estimate of the number of records."""
        if not self.rounds:
            return False
        people = Fraction(self._widest_range[self.agreement.privacy.neighbors], points_per_person(self.score))
        return RECORDS_PER_NOISE * people / self.epsilon_per_selection <= self.agreement.records.expected

    @property
    def _widest_range(self) -> Influence:
        return WIDEST_RANGE[self.score]

    @property
    def largest_selection_noise(self) -> int:
        """The largest noise that a selection can draw."""
        return int(2 ** self.selection(0, 1).noise.bits) if self.rounds else 0

    @property
    def most_candidates(self) -> int:
        """A bound on the number of splits on offer in any round."""
        return max_candidates(self.agreement.domains, self.rounds)

    def class_counts(self) -> Measure:
        """The disclosure of the class counts that a score weighs classes by."""
        return Measure(
            place=Place(CLASSES),
            label="number of records of every class, to weigh the classes when splits are compared",
            budget=self.epsilon_for_classes,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,
            changed_entries=HISTOGRAM_L1,
            entries=len(self.agreement.required_class.values),
        )

    def selection(self, number: int, candidates: int, score_range: Influence | None = None) -> Select:
        """The disclosure of one round; without a range with the widest that the score can have."""
        return Select(
            place=split_number(number + 1),
            label=f"specialization {number + 1} of at most {self.rounds}: which value is split, and where",
            budget=self.epsilon_per_selection,
            calibrated_to=self.agreement.privacy.neighbors,
            score_range=score_range or self._widest_range,
            candidates=candidates,
            points_per_person=points_per_person(self.score),
        )

    def leaf_counts(self, rounds_done: int, n_cells: int) -> Measure:
        """The disclosure of the leaf counts, with all budget that is left."""
        return Measure(
            place=Place(LEAVES),
            label="number of records in every leaf, by class",
            budget=self.epsilon - self.epsilon_for_classes - rounds_done * self.epsilon_per_selection,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,
            changed_entries=HISTOGRAM_L1,
            entries=n_cells,
        )

    def disclosures(self) -> list[Disclosure]:
        """Disclosures of a run that uses all rounds; noise, candidate and cell numbers are upper bounds."""
        classes = [self.class_counts()] if self.epsilon_for_classes else []
        selections = [self.selection(number, self.most_candidates) for number in range(self.rounds)]
        n_cells = self.max_leaves * len(self.agreement.required_class.values)
        return [*classes, *selections, self.leaf_counts(self.rounds, n_cells)]

    def cost(self) -> Cost:
        """Price that the ledger reserves: epsilon exactly, delta for however many rounds are used."""
        public = self.agreement.records.public
        planned = self.disclosures()
        # Stopping early moves budget to the leaves, which changes their delta in both directions.
        leaves = [self.leaf_counts(rounds_done, 1) for rounds_done in range(self.rounds + 1)]
        worst_leaves = max(leaves, key=lambda leaf: max(leaf.delta("add-remove"), leaf.delta("replace")))
        worst = cost_of([*planned[:-1], worst_leaves], number_of_records_is_public=public)
        return replace(cost_of(planned, number_of_records_is_public=public), delta=worst.delta)

    def method(self) -> Method:
        """Method in words, for the certificate."""
        weighs_classes = bool(self.epsilon_for_classes)
        counted, total = ("the class counts and ", " of every class") if weighs_classes else ("", "")
        return Method(
            product="Generalized microdata and a table of counts",
            mechanisms=f"Noisy maximum of the score {self.score} with one-sided geometric noise for every "
            f"specialization; discrete Laplace noise on {counted}every leaf count by class. All noise is drawn "
            "jointly; all arithmetic is on integers.",
            post_processing=f"Projection on non-negative counts with the same total{total}, rounding by largest "
            "remainder; the noisy counts are published as well.",
        )

    def describe(self) -> dict[str, Any]:
        """The size of the published table and how splits are compared."""
        return {
            "score": {"asked": self.settings.score, "used": self.score},
            "specializations": self.rounds,
            "most_leaves": self.max_leaves,
            "most_cells": self.max_leaves * len(self.agreement.required_class.values),
            "unused_selections": (
                "If nothing is left to split, the rest of the selections' budget goes to the leaf counts."
            ),
        }

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        asked, cells = self.settings.score, self.max_leaves * len(self.agreement.required_class.values)
        return {
            "Publishes": f"at most {self.max_leaves:,} combinations of values, {cells:,} counts",
            "Compares splits by": self.score if asked == self.score else f"{self.score}, chosen by {asked}",
        }

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> SpecializationResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.specialization.run import run_specialization

        return run_specialization(self, table, computer, gate, progress)

    def warnings(self) -> list[str]:
        """Points to think about before anything is spent."""
        agreement, found = self.agreement, []
        asked = self.settings.specializations
        if self.rounds < asked:
            found.append(
                f"{self.rounds} of {asked} specializations will be made: with about {agreement.records.expected:,} "
                "records and this epsilon, more cells would hold mostly noise. Raise epsilon or records.expected (if "
                "it is too low), or set mechanism.max_cells to insist."
            )
        if self.rounds == 0:
            found.append("Nothing will be split: the release will only tell how many records each class has.")
        return found


def _max_cells(agreement: Agreement, score: ScoreName) -> int:
    """The cap on leaves times classes: as agreed, or by the expected number of records and the leaves' noise."""
    settings = agreement.settings(SpecializationSettings)
    if settings.max_cells is not None:
        return settings.max_cells
    share_for_leaves = 1 - Fraction(settings.selection_share)
    leaf_rate = agreement.mechanism_epsilon * share_for_leaves / HISTOGRAM_L1[agreement.privacy.neighbors]
    half = Fraction(1, 2)
    # A mean cell then holds about two standard deviations of its noise; looser where noise is small.
    if score == "max":
        per_record = leaf_rate / 3 if agreement.mechanism_epsilon <= half else leaf_rate
    else:
        per_record = leaf_rate / 2 if agreement.mechanism_epsilon < half else leaf_rate
    return min(int(agreement.records.expected * per_record), MAX_CELLS)
