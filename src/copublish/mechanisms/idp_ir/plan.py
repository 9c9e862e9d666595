"""What a run of idp-ir tells, from the agreement alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from copublish.agreement.model import Agreement
from copublish.mechanisms.idp_ir.run_microaggregation import Sensitivity
from copublish.mechanisms.shared.published_columns import published_columns
from copublish.privacy.accounting import UNLIMITED, Cost
from copublish.privacy.certificate import Method
from copublish.privacy.described import show_exact
from copublish.privacy.disclosures import Disclosure, Unprotected


@dataclass(frozen=True)
class IdpIrPlan:
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        epsilon_of: What the noise of every column is scaled with; it bounds nobody's privacy loss.
    """

    agreement: Agreement
    epsilon_of: Mapping[str, Fraction]

    @staticmethod
    def of(agreement: Agreement) -> IdpIrPlan:
        """Divide epsilon as published: evenly among an owner's columns; owners of columns share it first."""
        owners = {party: columns for party, columns in published_columns(agreement).items() if columns}
        share = agreement.epsilon if agreement.partition == "horizontal" else agreement.epsilon / len(owners)
        epsilons = {column: share / len(columns) for columns in owners.values() for column in columns}
        return IdpIrPlan(agreement, {column: epsilons[column] for column in agreement.columns})

    @property
    def k(self) -> int:
        """Records in a cluster."""
        if self.agreement.mechanism.k is None:
            raise ValueError("an agreement about idp-ir has k")
        return self.agreement.mechanism.k

    @property
    def sensitivity(self) -> Sensitivity:
        """How the noise is scaled."""
        agreed = self.agreement.mechanism.sensitivity
        return "vector" if agreed == "exact" else agreed

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens."""
        return [
            Unprotected(
                f"'{column}' of every record, as its cluster's noisy mean: NOT PROTECTED, clusters can be read off",
                f"discrete Laplace on cluster sums, scaled with {show_exact(epsilon)}; no guarantee",
            )
            for column, epsilon in self.epsilon_of.items()
        ]

    def cost(self) -> Cost:
        """Return what the ledger reserves: no finite epsilon holds."""
        return UNLIMITED

    def method(self) -> Method:
        """Return what the mechanism does, in words for the certificate."""
        return Method(
            "Microaggregated and perturbed microdata (iDP-IR), not differentially private",
            f"Every owner sorts each of its columns, cuts it into clusters of {self.k} records and adds discrete "
            f"Laplace noise to each cluster's sum (local_sensitivity '{self.agreement.mechanism.sensitivity}'). Every "
            "record gets its cluster's noisy mean. Owners draw and know their own noise.",
            "Means are rounded to the agreed steps and limited to the agreed domains. Records are put in an order that "
            "follows from their published values.",
            "Perturbed by each owner; no guarantee",
        )

    def describe(self) -> dict[str, Any]:
        """Return how columns are clustered, and what their noise is scaled with."""
        return {
            "publishes": f"one perturbed record per person, in {len(self.epsilon_of)} columns; clusters of {self.k}",
            "k": self.k,
            "local_sensitivity": self.agreement.mechanism.sensitivity,
            "category_order": self.agreement.mechanism.order_of_categories,
            "noise_scaled_with": {column: show_exact(epsilon) for column, epsilon in self.epsilon_of.items()},
        }

    def warnings(self) -> list[str]:
        """Return what people should think about before they publish anything."""
        return ['Think of name = "copula": synthetic records of the same columns, with differential privacy.']
