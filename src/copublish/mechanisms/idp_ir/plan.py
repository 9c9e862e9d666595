"""What a run of idp-ir tells, from the agreement alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from copublish.agreement.model import Agreement
from copublish.agreement.settings import drawing_mechanisms
from copublish.kernel.accounting.cost import UNLIMITED, Cost
from copublish.kernel.accounting.disclosures import Disclosure, Place, Unprotected
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.certificate.build import Method
from copublish.mechanisms.base import Plan
from copublish.mechanisms.idp_ir.settings import IdpIrSettings
from copublish.mechanisms.shared.post_processing import order_without_meaning, published_columns
from copublish.types import IntArray

if TYPE_CHECKING:
    from copublish.kernel.records.fragment import Fragment
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.idp_ir.publish import IdpIrResult
    from copublish.progress import Progress

CLUSTERS = "clusters"
"""The step of a run that tells a column. There is one for each."""

Sensitivity = Literal["vector", "fixed", "gap", "global"]
"""How the noise of a centroid is scaled; iDP-IR does not say, and each of these is a reading.

`vector`: the exact local sensitivity of all sorted centroids together, in L1. The only one of the local readings that
    keeps iDP's own definition for the centroids.
`fixed`: the members of a cluster stay, and one value goes to an end of the domain.
`gap`: the exact local sensitivity of each centroid by itself: its cluster moves by one record. It forgets that one
    person can move all clusters at once.
`global`: the largest sensitivity of any table, which makes it DP-IR.
"""


@dataclass(frozen=True)
class IdpIrPlan(Plan["IdpIrResult"]):
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        epsilon_of: What the noise of every column is scaled with; it bounds nobody's privacy loss.
    """

    agreement: Agreement
    epsilon_of: Mapping[str, Fraction]

    checks_records: ClassVar[bool] = True

    @staticmethod
    def of(agreement: Agreement) -> IdpIrPlan:
        """The plan that divides epsilon as published: evenly among an owner's columns; their owners share it first."""
        owners = {party: columns for party, columns in published_columns(agreement).items() if columns}
        share = agreement.epsilon if agreement.partition == "horizontal" else agreement.epsilon / len(owners)
        epsilons = {column: share / len(columns) for columns in owners.values() for column in columns}
        return IdpIrPlan(agreement, {column: epsilons[column] for column in agreement.columns})

    @property
    def settings(self) -> IdpIrSettings:
        """The agreed settings."""
        return self.agreement.settings(IdpIrSettings)

    @property
    def k(self) -> int:
        """Records in a cluster."""
        if self.settings.k is None:
            raise ValueError("an agreement about idp-ir has k")
        return self.settings.k

    @property
    def sensitivity(self) -> Sensitivity:
        """How the noise is scaled."""
        agreed = self.settings.sensitivity
        return "vector" if agreed == "exact" else agreed

    def disclosures(self) -> list[Disclosure]:
        """What a run tells."""
        published = (
            "with noise of its own: NOT PROTECTED"
            if self.settings.is_plain
            else "as its cluster's noisy mean: NOT PROTECTED, clusters can be read off"
        )
        noisy = "values" if self.settings.is_plain else "cluster sums"
        return [
            Unprotected(
                place=Place(CLUSTERS, column=column),
                label=f"'{column}' of every record, {published}",
                kind_of_noise=f"discrete Laplace on {noisy}, scaled with {show_exact(epsilon)}",
            )
            for column, epsilon in self.epsilon_of.items()
        ]

    def cost(self) -> Cost:
        """What the ledger reserves: no finite epsilon holds."""
        return UNLIMITED

    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""
        if self.settings.is_plain:
            return self._plain_method()
        return Method(
            product="Microaggregated and perturbed microdata (iDP-IR), not differentially private",
            mechanisms=f"Every owner sorts each of its columns, cuts it into clusters of {self.k} records and adds "
            f"discrete Laplace noise to each cluster's sum (local_sensitivity '{self.settings.sensitivity}'). Every "
            "record gets its cluster's noisy mean. Owners draw and know their own noise.",
            post_processing="Means are rounded to the agreed steps and limited to the agreed domains. Records are put "
            "in an order that follows from their published values.",
            model="Perturbed by each owner; no guarantee",
        )

    def _plain_method(self) -> Method:
        return Method(
            product="Perturbed microdata (plain iDP), not differentially private",
            mechanisms="Every owner adds discrete Laplace noise to each value of its columns (local_sensitivity "
            f"'{self.settings.sensitivity}'; k = 1, no microaggregation). Owners draw and know their own noise.",
            post_processing="Values are limited to the agreed domains. Records are put in an order that follows from "
            "their published values.",
            model="Perturbed by each owner; no guarantee",
        )

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> IdpIrResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.idp_ir.run import run_idp_ir

        return run_idp_ir(self, table, computer, gate, progress)

    def refuse_unfit_records(self, fragment: Fragment) -> None:
        """Check that one party's records make a cluster, and that none of its columns is constant.

        Raises:
            FragmentError: With every rule that they break, for this party's people alone.
        """
        from copublish.mechanisms.idp_ir.run import refuse_unfit_clusters

        refuse_unfit_clusters(self, fragment)

    def places_of_records(self, opened: Sequence[IntArray]) -> IntArray:
        """For every joined record its place in the release: the inverse of the order in which `run_idp_ir` puts them.

        Args:
            opened: The perturbed columns as they were opened, in agreed order.
        """
        places: IntArray = np.argsort(order_without_meaning(opened), kind="stable").astype(np.int64)
        return places

    @property
    def publishes(self) -> str:
        """What is published, in a few words."""
        how = "every value with noise of its own" if self.settings.is_plain else f"clusters of {self.k}"
        return f"one perturbed record per person, in {len(self.epsilon_of)} columns; {how}"

    @property
    def noise_scaled_with(self) -> dict[str, str]:
        """What the noise of every column is scaled with, exactly."""
        return {column: show_exact(epsilon) for column, epsilon in self.epsilon_of.items()}

    def describe(self) -> dict[str, Any]:
        """How columns are clustered, and what their noise is scaled with."""
        return {
            "publishes": self.publishes,
            "k": self.k,
            "local_sensitivity": self.settings.sensitivity,
            "category_order": self.settings.order_of_categories,
            "noise_scaled_with": self.noise_scaled_with,
        }

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        return {"Publishes": self.publishes, "Guarantee": "none"}

    def warnings(self) -> list[str]:
        """What people should think about before they publish anything."""
        return [
            f"Think of the mechanism {drawing_mechanisms(self.agreement.partition)}: synthetic records of the same "
            "columns, with differential privacy."
        ]
