"""iDP-IR as its authors describe the system: owners microaggregate and perturb their columns, then records are joined.

Del Vasto-Terrientes, Martinez and Sanchez, "Privacy- & Utility-Preserving Data Releases over Fragmented Data Using
Individual Differential Privacy", ICISSP 2025. It is not differentially private, nor individually so: `run_idp_ir`
says why. The agreement plays the aggregator's part: it fixes k, epsilon and the schema, and parties compare it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.errors import FragmentError
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.microaggregation import Sensitivity
from copublish.mechanisms.noisy_clusters import noisy_categories, noisy_column
from copublish.mechanisms.record_order import order_without_meaning
from copublish.mechanisms.specialization import Progress
from copublish.privacy.accounting import UNLIMITED, Cost
from copublish.privacy.certificate import Method
from copublish.privacy.coins import Coins, IntArray
from copublish.privacy.described import show_exact
from copublish.privacy.disclosures import Disclosure, Unprotected
from copublish.secure.joint_counts import JointTable
from copublish.secure.own_columns import OwnColumns, published_columns

IDP_IR_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""


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
        return IdpIrPlan(agreement, {column: epsilons[column] for column in domains_of(agreement)})

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


@dataclass(frozen=True)
class IdpIrResult:
    """What the mechanism releases.

    Attributes:
        plan: How it was made.
        values: For every column each record's published value: steps above the lower bound, or a place of a category.
    """

    plan: IdpIrPlan
    values: Mapping[str, IntArray]


def domains_of(agreement: Agreement) -> dict[str, Domain]:
    """Return the domains of all columns in agreed order; the class is one more, the last."""
    return {**agreement.domains, agreement.class_.name: agreement.class_domain}


def refuse_unfit_clusters(agreement: Agreement, fragment: Fragment) -> None:
    """Check what an owner alone can see of its records: that they make a cluster, and that no column is constant.

    Raises:
        FragmentError: With every rule that they break; for this party's people alone.
    """
    columns, k = published_columns(agreement)[fragment.party], IdpIrPlan.of(agreement).k
    if not columns:
        return
    problems = []
    if fragment.n_records < k:
        problems.append(f"There are fewer records than mechanism.k = {k}. Agree on a smaller k.")
    else:
        problems += [
            f"Column '{column}' is constant, so there is nothing to rank. Agree to leave it out."
            for column in columns
            if np.ptp(_private_values(fragment, column)) == 0
        ]
    if problems:
        raise FragmentError(fragment.party, problems)


def run_idp_ir(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> IdpIrResult:
    """Run the mechanism at one party.

    Args:
        table: This party's aligned cells.
        engine: Its end of the engine.
        gate: Where perturbed columns are told.
        progress: Told about every step.
        public_total: The number of records, which is public.

    Privacy:
        Protects: nothing that can be relied on.
        Guarantee: none. Records of one cluster have one published value, so who is in which cluster of every column
            is published exactly, at any epsilon; somebody who knows the others finds a person's rank and so the value.
        Reveals: all records with the values of their clusters, to all parties and the public.
    """
    agreement, plan = table.agreement, IdpIrPlan.of(table.agreement)
    domains, layout = domains_of(agreement), published_columns(agreement)
    own = {}
    for number, column in enumerate(layout[engine.party]):
        progress("clusters", number, len(layout[engine.party]))
        own[column] = _perturbed(plan, column, domains[column], table.fragment, engine.own_coins)
    progress("clusters", 1, 1)
    n_values = {column: highest_of(domain) + 1 for column, domain in domains.items()}
    columns = OwnColumns(own, n_values, layout, rows_are_shared=agreement.partition != "horizontal")
    # Tells every record's perturbed cells to all parties; NOT covered by any budget, as the agreement acknowledges.
    told = gate.reveal_columns(columns, plan.disclosures())
    order = order_without_meaning(list(told.values()))  # the owners' own order would name the rows to the public
    return IdpIrResult(plan, {column: values[order] for column, values in told.items()})


def highest_of(domain: Domain) -> int:
    """Return the highest whole number that stands for a value of a column."""
    return domain.size - 1 if isinstance(domain, CategoricalDomain) else domain.steps


def _perturbed(plan: IdpIrPlan, column: str, domain: Domain, fragment: Fragment, coins: Coins) -> IntArray:
    values, epsilon = _private_values(fragment, column), plan.epsilon_of[column]
    by_frequency = plan.agreement.mechanism.order_of_categories == "frequency"
    if isinstance(domain, CategoricalDomain) and by_frequency:
        return noisy_categories(values, domain.size, plan.k, plan.sensitivity, epsilon, coins)
    return noisy_column(values, highest_of(domain), plan.k, plan.sensitivity, epsilon, coins)


def _private_values(fragment: Fragment, column: str) -> IntArray:
    if column in fragment.private_numbers:
        return fragment.private_numbers[column]
    return fragment.private_codes[column].astype(np.int64)
