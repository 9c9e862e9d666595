"""What a run of vhdp opens and costs, from the agreement alone."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from copublish.agreement.domain import CategoricalDomain
from copublish.agreement.model import Agreement
from copublish.mechanisms.shared.allocation import Allocation
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.certificate import Method
from copublish.privacy.disclosures import Disclosure, Perturb, PerturbCategory, PerturbNumber

LITTLE_SIGNAL = 0.1
"""Where fewer records than this share tell their true category, people are warned."""


@dataclass(frozen=True)
class VhdpPlan:
    """Everything about a run that is fixed before any data is touched."""

    agreement: Agreement
    allocation: Allocation

    @staticmethod
    def of(agreement: Agreement) -> VhdpPlan:
        """Give the whole budget to the columns, and divide it as agreed."""
        return VhdpPlan(agreement, Allocation(agreement, agreement.epsilon))

    def perturbation(self, column: str, budget: Fraction) -> Perturb:
        """Return the disclosure of one column, record by record."""
        domain, what = self.agreement.columns[column], f"'{column}' of every record, perturbed by its owner"
        if isinstance(domain, CategoricalDomain):
            return PerturbCategory(what, budget, domain.size)
        step = float(Decimal(1).scaleb(-domain.decimals_of_numbers))
        return PerturbNumber(what, budget, domain.steps, step, domain.missing)

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens."""
        what = "every column of every record, perturbed by its owner; budgets follow from the tables above"
        return self.allocation.disclosures(what, self.perturbation)

    def cost(self) -> Cost:
        """Return what every party's ledger reserves: the whole, because all columns are one person's."""
        return cost_of(self.disclosures(), number_of_records_is_public=self.agreement.records.public)

    def method(self) -> Method:
        """Return what the mechanism does, in words for the certificate."""
        tables = "Discrete Laplace noise, drawn jointly, on the counts of every column by the label. "
        return Method(
            "Perturbed microdata",
            f"{tables if self.allocation.for_tables else ''}Every owner perturbs its own columns: discrete Laplace "
            "noise on numbers, randomized response on categories, from its own coins; all arithmetic is on integers.",
            "Numbers are clipped to their bounds. Records are in an order that follows from their published values.",
            "Noise added by each owner",
        )

    def describe(self) -> dict[str, Any]:
        """Return what is published, and how the budget is divided."""
        return {"columns": len(self.agreement.columns), "allocation": self.allocation.describe(self.perturbation)}

    def warnings(self) -> list[str]:
        """Return what people should think about before they spend anything."""
        found = self.allocation.warnings()
        swamped = [column for column, (_, most) in self.allocation.limits().items() if self._is_swamped(column, most)]
        if swamped:
            found.append(
                f"Noise swamps the range of these columns: {', '.join(swamped)}. Hardly any of their values tells "
                "something about its record. Raise epsilon, leave columns out, or take the mechanism 'copula', whose "
                "noise is on counts of many people and not on every value."
            )
        return found

    def _is_swamped(self, column: str, budget: Fraction) -> bool:
        disclosure = self.perturbation(column, budget)
        if isinstance(disclosure, PerturbCategory):
            return disclosure.response.signal < LITTLE_SIGNAL
        return disclosure.noise.scale >= disclosure.steps
