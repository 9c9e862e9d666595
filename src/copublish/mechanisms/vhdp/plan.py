"""What a run of vhdp opens and costs, from the agreement alone."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from copublish.agreement.domain import CategoricalDomain
from copublish.agreement.model import Agreement
from copublish.agreement.settings import drawing_mechanisms
from copublish.kernel.accounting.disclosures import Disclosure, Place
from copublish.kernel.accounting.perturbations import Perturb, PerturbCategory, PerturbNumber
from copublish.kernel.certificate.build import Method
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.mechanisms.base import Plan
from copublish.mechanisms.shared.allocation import Allocation

if TYPE_CHECKING:
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.vhdp.publish import VhdpResult
    from copublish.progress import Progress

PERTURBED = "perturbed"
"""The step of a run that publishes something: one for every column."""

LITTLE_SIGNAL = 0.1
"""Where fewer records than this share tell their true category, people are warned."""


@dataclass(frozen=True)
class VhdpPlan(Plan["VhdpResult"]):
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        allocation: How the columns share the budget.
    """

    agreement: Agreement
    allocation: Allocation

    @staticmethod
    def of(agreement: Agreement) -> VhdpPlan:
        """Give the whole budget to the columns, and divide it as agreed."""
        return VhdpPlan(agreement=agreement, allocation=Allocation(agreement, agreement.mechanism_epsilon))

    def perturbation(self, column: str, budget: Fraction) -> Perturb:
        """The disclosure of one column, record by record."""
        domain, place = self.agreement.columns[column], Place(PERTURBED, column=column)
        what = f"'{column}' of every record, perturbed by its owner"
        if isinstance(domain, CategoricalDomain):
            return PerturbCategory(place=place, label=what, budget=budget, n_values=domain.size)
        return PerturbNumber(
            place=place,
            label=what,
            budget=budget,
            steps=domain.steps,
            step=float(Decimal(1).scaleb(-domain.decimals_of_numbers)),
            missing=domain.missing,
        )

    def disclosures(self) -> list[Disclosure]:
        """What a run opens. Every party's ledger reserves the whole, because all columns are one person's."""
        what = "every column of every record, perturbed by its owner; budgets follow from the tables above"
        return self.allocation.disclosures(self.perturbation, step=PERTURBED, what=what)

    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""
        return Method(
            product="Perturbed microdata",
            mechanisms=f"{self._tables_in_words()}Every owner perturbs its own columns: discrete "
            "Laplace noise on numbers, randomized response on categories, from its own coins; all arithmetic is on "
            "integers.",
            post_processing="Numbers are clipped to their bounds. Records are in an order that follows from their "
            "published values.",
            model="Noise added by each owner",
        )

    def _tables_in_words(self) -> str:
        if not self.allocation.for_tables:
            return ""
        how = "drawn jointly" if NoiseShares.of(self.agreement) is None else "the sum of shares that owners draw"
        return (
            f"Discrete Laplace noise, {how}, on the counts of every column by the label. Epsilon is divided between "
            f"columns by what follows: {self.allocation.in_words}. "
        )

    def describe(self) -> dict[str, Any]:
        """What is published, and how the budget is divided."""
        return {"columns": len(self.agreement.columns), "allocation": self.allocation.describe(self.perturbation)}

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        return {
            "Publishes": f"every record, perturbed, with {len(self.agreement.columns)} columns",
            "Epsilon": f"divided between columns: {self.allocation.in_words}",
        }

    def typical_noise(self) -> tuple[str, float]:
        """How many classes noise leaves as they are, beyond chance, in words and as a number.

        Without a class: how many categories, as a mean of the columns that have them; else the noise of numbers.
        """
        told = {name: self.perturbation(name, least) for name, (least, _) in self.allocation.limits().items()}
        signals = {name: one.response.signal for name, one in told.items() if isinstance(one, PerturbCategory)}
        if self.agreement.class_ is not None:
            signal = signals[self.agreement.class_.name]
            return "the share of classes that tell the truth is", round(float(signal), 4)
        if signals:
            mean = float(sum(signals.values()) / len(signals))
            return "the mean share of categories that tell the truth is", round(mean, 4)
        scales = [float(one.noise.scale / one.steps) for one in told.values() if isinstance(one, PerturbNumber)]
        return "the mean scale of noise, in ranges of the numbers, is", round(sum(scales) / len(scales), 4)

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> VhdpResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.vhdp.run import run_vhdp

        return run_vhdp(self, table, computer, gate, progress)

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        found = self.allocation.warnings()
        swamped = [column for column, (_, most) in self.allocation.limits().items() if self._is_swamped(column, most)]
        if swamped:
            found.append(
                f"Noise swamps the range of these columns: {', '.join(swamped)}. Hardly any of their values tells "
                "something about its record. Raise epsilon, leave columns out, or take the mechanism "
                f"{drawing_mechanisms(self.agreement.partition)}, whose noise is on sums over many people and not on "
                "every value."
            )
        return found

    def _is_swamped(self, column: str, budget: Fraction) -> bool:
        disclosure = self.perturbation(column, budget)
        if isinstance(disclosure, PerturbCategory):
            return disclosure.response.signal < LITTLE_SIGNAL
        return disclosure.noise.scale >= disclosure.steps
