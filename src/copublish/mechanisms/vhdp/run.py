"""Records with noise on every value, added by the owner of the column, each column with a budget of its own.

Nothing is computed on secrets, unless the budget is divided by information gains: the owners perturb their own cells
and tell them to each other. That protects each value from everybody but its owner, and costs far more accuracy than
noise on counts does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.engine.interface import Engine
from copublish.engine.own_columns import OwnColumns
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.shared.allocation import Allocation, Gains, measure_gains
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.mechanisms.shared.published_columns import published_columns
from copublish.mechanisms.shared.record_order import order_without_meaning
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.run_perturbation import perturb_categories, perturb_numbers
from copublish.privacy.coins import Coins
from copublish.privacy.disclosures import Perturb, PerturbCategory
from copublish.progress import Progress
from copublish.types import IntArray

VHDP_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""


def n_values(domain: Domain) -> int:
    """Return how many values a published column may have: categories, or steps between the bounds and missing."""
    return domain.size if isinstance(domain, CategoricalDomain) else domain.steps + 1 + domain.missing


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
