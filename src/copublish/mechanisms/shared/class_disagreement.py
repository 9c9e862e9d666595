"""Counting on how many records two parties' class columns differ, before a mechanism spends what is left of epsilon.

Where two parties hold the class, nothing compares their columns: joint tables take one of them. Whoever wants to know
how far they agree pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure, Influence, Measure, Place
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.certificate import ClassDisagreement
from copublish.mechanisms.base import Plan
from copublish.types import IntArray

if TYPE_CHECKING:
    from copublish.kernel.records.fragment import Fragment
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.progress import Progress

STEP = "class disagreement"

INFLUENCE: Influence = {"add-remove": 1, "replace": 1}
"""The count is a sum over records of 0 or 1: whether this record's two classes differ, where no listed class is a
class like the others. A record that is added or removed brings or takes one such term; one whose values are replaced
changes one, from 0 to 1 or back. So either moves the one number by at most 1, and no more noise is needed for
replace than for add-remove."""


def class_disagreement(agreement: Agreement) -> Measure:
    """The disclosure of on how many records the two class columns differ.

    Privacy:
        Protects: one person, with all their cells, the classes at both parties included.
        Guarantee: the agreed share of epsilon, under both relations; `INFLUENCE` has the sensitivity.
        Reveals: the noisy number, to all parties and in the certificate.
    """
    first, second = agreement.holders(agreement.required_class.name)
    return Measure(
        place=Place(STEP),
        label=f"number of records on which the classes at '{first}' and '{second}' differ",
        budget=agreement.epsilon_for_class_disagreement,
        calibrated_to=agreement.privacy.neighbors,
        l1_sensitivity=INFLUENCE,
        changed_entries=INFLUENCE,
        entries=1,
    )


@dataclass(frozen=True)
class CountsDisagreementFirst(Plan[Any]):
    """A plan that counts disagreement of class columns first, then does what the mechanism's own plan says."""

    agreement: Agreement
    rest: Plan[Any]

    def disclosures(self) -> list[Disclosure]:
        """What a run opens: one number more than the mechanism does."""
        return [class_disagreement(self.agreement), *self.rest.disclosures()]

    def cost(self) -> Cost:
        """What the ledger reserves: both prices, by sequential composition."""
        public = self.agreement.records.public
        return cost_of([class_disagreement(self.agreement)], number_of_records_is_public=public) + self.rest.cost()

    def method(self) -> Method:
        """Method in words, for the certificate."""
        method = self.rest.method()
        return replace(
            method,
            mechanisms="First, discrete Laplace noise on the number of records on which two class columns differ. "
            + method.mechanisms,
        )

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> Any:
        """Count disagreement, then run the mechanism. The count stays with the gate, and changes nothing after it."""
        from copublish.mechanisms.shared.run_class_disagreement import run_class_disagreement

        run_class_disagreement(class_disagreement(self.agreement), table, computer, gate, progress)
        return self.rest.run(table, computer, gate, progress)

    @property
    def checks_records(self) -> bool:  # type: ignore[override]  # a class variable of other plans
        """Whether the mechanism asks something of one party's records."""
        return self.rest.checks_records

    def refuse_unfit_records(self, fragment: Fragment) -> None:
        """Check what the mechanism asks of one party's records."""
        self.rest.refuse_unfit_records(fragment)

    def places_of_records(self, opened: Sequence[IntArray]) -> IntArray | None:
        """For every joined record its place in the release; the disagreement comes first and decides nothing."""
        return self.rest.places_of_records(opened[1:])

    def describe(self) -> dict[str, Any]:
        """What the mechanism has to say, and what is measured first."""
        said = {
            "holders": list(self.agreement.holders(self.agreement.required_class.name)),
            "counts": self.agreement.class_owner,
            "epsilon": show_exact(self.agreement.epsilon_for_class_disagreement),
            "mechanism_epsilon": show_exact(self.agreement.mechanism_epsilon),
        }
        return {"class_disagreement": said, **self.rest.describe()}

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        spent = show_exact(self.agreement.epsilon_for_class_disagreement)
        return {**self.rest.headline(), "Measures": f"how far class columns agree, with epsilon {spent}"}

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        return self.rest.warnings()

    def typical_noise(self) -> tuple[str, float] | None:
        """What noise does to the release."""
        return self.rest.typical_noise()


def counts_disagreement_first(plan: Plan[Any]) -> Plan[Any]:
    """The plan of an agreement whose mechanism has one: the same, unless disagreement is to be counted first.

    Raises:
        ValueError: If the mechanism would spend what is not its own.
    """
    agreement = plan.agreement
    if agreement.privacy.class_disagreement is None:
        return plan
    spent = plan.cost().under(agreement.privacy.neighbors)
    if spent is None or spent > agreement.mechanism_epsilon:
        raise ValueError("a mechanism spends no more than agreement.mechanism_epsilon")
    return CountsDisagreementFirst(agreement, plan)


def measured_disagreement(
    agreement: Agreement, opened: Sequence[tuple[Disclosure, IntArray]]
) -> ClassDisagreement | None:
    """What was measured, for the certificate; nothing if it was not agreed. Released values only."""
    for disclosure, values in opened:
        if disclosure.place.step == STEP and isinstance(disclosure, Measure):
            first, second = agreement.holders(agreement.required_class.name)
            return ClassDisagreement(
                class_name=agreement.required_class.name,
                holders=(first, second),
                counts=agreement.class_owner,
                noisy_count=int(values[0]),
                within_95_percent=disclosure.within(0.95),
            )
    return None
