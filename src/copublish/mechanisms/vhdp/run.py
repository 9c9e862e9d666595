"""Records with noise on every value, added by the owner of the column, each column with a budget of its own.

Nothing is computed on secrets, unless the budget is divided by information gains: the owners perturb their own cells
and tell them to each other. That protects each value from everybody but its owner, and costs far more accuracy than
noise on counts does.
"""

from __future__ import annotations

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.kernel.accounting.perturbations import Perturb, PerturbCategory
from copublish.kernel.noise.coins import Coins
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.engine import SumEngine
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.mechanisms.shared.published_columns import published_columns
from copublish.mechanisms.shared.record_order import order_without_meaning
from copublish.mechanisms.shared.run_gains import measure_gains
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.result import VhdpResult
from copublish.mechanisms.vhdp.run_perturbation import perturb_categories, perturb_numbers
from copublish.progress import Progress
from copublish.types import IntArray


def n_values(domain: Domain) -> int:
    """How many values a published column may have: categories, or steps between the bounds and missing."""
    return domain.size if isinstance(domain, CategoricalDomain) else domain.steps + 1 + domain.missing


def run_vhdp(plan: VhdpPlan, table: JointTable, engine: SumEngine, gate: RevealGate, progress: Progress) -> VhdpResult:
    """Run the mechanism at one party.

    Args:
        plan: What is published, at which price.
        table: This party's aligned cells.
        engine: Its end of the engine.
        gate: Where columns are told to all parties.
        progress: Told about every step.

    Privacy:
        Protects: the values of one person's cells, at every party, from everybody but the cells' owners.
        Guarantee: the budgets of `VhdpPlan` by sequential composition: the columns are one person's.
        Assumes: every owner's own coins are uniform and secret.
        Reveals: every column of every record, perturbed, to all parties; noisy tables if gains divide the budget.
    """
    agreement = plan.agreement
    gains = measure_gains(plan.allocation, table, engine, gate, progress)
    budgets = plan.allocation.budgets(gains)
    disclosures = {column: plan.perturbation(column, budget) for column, budget in budgets.items()}
    layout = published_columns(agreement)
    own = {}
    for number, column in enumerate(layout[engine.party]):
        progress("noise", number, len(layout[engine.party]))
        own[column] = perturbed(table.fragment, column, disclosures[column], engine.own_coins)
    progress("noise", 1, 1)
    told = OwnColumns(
        values=own,
        n_values={column: n_values(domain) for column, domain in agreement.columns.items()},
        columns_of=layout,
        rows_are_shared=agreement.partition != "horizontal",
    )
    # Opens every column of every record as its owner perturbed it, to all parties; covered by the columns' budgets.
    columns = gate.reveal_columns(told, list(disclosures.values()))
    order = order_without_meaning(list(columns.values()))
    return VhdpResult(
        columns=agreement.columns,
        values={column: found[order] for column, found in columns.items()},
        disclosures=disclosures,
        allocation=plan.allocation,
        gains=gains,
    )


def perturbed(fragment: Fragment, column: str, disclosure: Perturb, own_coins: Coins) -> IntArray:
    """One of this party's columns as it may leave."""
    if isinstance(disclosure, PerturbCategory):
        return perturb_categories(fragment.private_codes[column].astype(np.int64), disclosure, own_coins)
    return perturb_numbers(fragment.private_numbers[column], disclosure, own_coins)
