"""Records with noise on every value, added by the owner of the column, each column with a budget of its own.

Nothing is computed on secrets, unless the budget is divided by information gains: the owners perturb their own cells
and tell them to each other. That protects each value from everybody but its owner, and costs far more accuracy than
noise on counts does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.allocation import Allocation, Gains, measure_gains
from copublish.mechanisms.perturbation import perturb_categories, perturb_numbers
from copublish.mechanisms.record_order import order_without_meaning
from copublish.mechanisms.specialization import Progress
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.certificate import Method
from copublish.privacy.coins import Coins, IntArray
from copublish.privacy.disclosures import Disclosure, Perturb, PerturbCategory, PerturbNumber
from copublish.secure.joint_counts import JointTable
from copublish.secure.own_columns import OwnColumns, published_columns

VHDP_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""

LITTLE_SIGNAL = 0.1
"""Where fewer records than this share tell their true category, people are warned."""


def n_values(domain: Domain) -> int:
    """Return how many values a published column may have: categories, or steps between the bounds and missing."""
    return domain.size if isinstance(domain, CategoricalDomain) else domain.steps + 1 + domain.missing


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


@dataclass(frozen=True)
class VhdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        values: The published values: codes of categories, steps of numbers; in an order without meaning.
        disclosures: What each column's noise was.
        allocation: How the budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    values: Mapping[str, IntArray]
    disclosures: Mapping[str, Perturb]
    allocation: Allocation
    gains: Gains | None

    @property
    def cells(self) -> dict[str, IntArray]:
        """The published values as codes of their domains: numbers as the cells of the grid they lie in."""
        return {name: cells_of(domain, self.values[name]) for name, domain in self.columns.items()}


def cells_of(domain: Domain, values: IntArray) -> IntArray:
    """Return the codes of published values."""
    if not isinstance(domain, NumericalDomain):
        return values
    # A threshold between two steps belongs to the upper one.
    scaled = [(edge - domain.lower).scaleb(domain.decimals_of_numbers) for edge in domain.thresholds]
    edges = np.array([int(edge.to_integral_value("ROUND_CEILING")) for edge in scaled], dtype=np.int64)
    return np.where(values > domain.steps, domain.number_codes, np.searchsorted(edges, values, side="right"))


def run_vhdp(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> VhdpResult:
    """Run the mechanism at one party.

    Privacy:
        Protects: the values of one person's cells, at every party, from everybody but the cells' owners.
        Guarantee: the budgets of `VhdpPlan` by sequential composition: the columns are one person's.
        Assumes: every owner's own coins are uniform and secret.
        Reveals: every column of every record, perturbed, to all parties; noisy tables if gains divide the budget.
    """
    agreement, plan = table.agreement, VhdpPlan.of(table.agreement)
    gains = measure_gains(plan.allocation, table, engine, gate, progress, public_total)
    budgets = plan.allocation.budgets(gains)
    disclosures = {column: plan.perturbation(column, budget) for column, budget in budgets.items()}
    layout = published_columns(agreement)
    own = {}
    for number, column in enumerate(layout[engine.party]):
        progress("noise", number, len(layout[engine.party]))
        own[column] = perturbed(table.fragment, column, disclosures[column], engine.own_coins)
    progress("noise", 1, 1)
    sizes = {column: n_values(domain) for column, domain in agreement.columns.items()}
    # Opens every column of every record as its owner perturbed it, to all parties; covered by the columns' budgets.
    columns = gate.reveal_columns(
        OwnColumns(own, sizes, layout, agreement.partition != "horizontal"), list(disclosures.values())
    )
    order = order_without_meaning(list(columns.values()))
    values = {column: found[order] for column, found in columns.items()}
    return VhdpResult(agreement.columns, values, disclosures, plan.allocation, gains)


def perturbed(fragment: Fragment, column: str, disclosure: Perturb, own_coins: Coins) -> IntArray:
    """Return one of this party's columns as it may leave."""
    if isinstance(disclosure, PerturbCategory):
        return perturb_categories(fragment.private_codes[column].astype(np.int64), disclosure, own_coins)
    return perturb_numbers(fragment.private_numbers[column], disclosure, own_coins)
