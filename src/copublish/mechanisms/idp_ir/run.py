"""iDP-IR as its authors describe the system: owners microaggregate and perturb their columns, then records are joined.

Del Vasto-Terrientes, Martinez and Sanchez, "Privacy- & Utility-Preserving Data Releases over Fragmented Data Using
Individual Differential Privacy", ICISSP 2025. It is not differentially private, nor individually so: `run_idp_ir`
says why. The agreement plays the aggregator's part: it fixes k, epsilon and the schema, and parties compare it first.
"""

from __future__ import annotations

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.errors import FragmentError
from copublish.kernel.noise.coins import Coins
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.engine import SumEngine
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.result import IdpIrResult
from copublish.mechanisms.idp_ir.run_noisy_clusters import noisy_categories, noisy_column
from copublish.mechanisms.shared.published_columns import published_columns
from copublish.mechanisms.shared.record_order import order_without_meaning
from copublish.progress import Progress
from copublish.types import IntArray


def refuse_unfit_clusters(plan: IdpIrPlan, fragment: Fragment) -> None:
    """Check what an owner alone can see of its records: that they make a cluster, and that no column is constant.

    Raises:
        FragmentError: With every rule that they break; for this party's people alone.
    """
    columns = published_columns(plan.agreement)[fragment.party]
    if not columns:
        return
    problems = []
    if fragment.n_records < plan.k:
        problems.append(f"There are fewer records than mechanism.k = {plan.k}. Agree on a smaller k.")
    else:
        problems += [
            f"Column '{column}' is constant, so there is nothing to rank. Agree to leave it out."
            for column in columns
            if np.ptp(_private_values(fragment, column)) == 0
        ]
    if problems:
        raise FragmentError(fragment.party, problems)


def run_idp_ir(
    plan: IdpIrPlan, table: JointTable, engine: SumEngine, gate: RevealGate, progress: Progress
) -> IdpIrResult:
    """Run the mechanism at one party.

    Args:
        plan: What is told, and how it is perturbed.
        table: This party's aligned cells.
        engine: Its end of the engine.
        gate: Where perturbed columns are told.
        progress: Told about every step.

    Privacy:
        Protects: nothing that can be relied on.
        Guarantee: none. Records of one cluster have one published value, so who is in which cluster of every column
            is published exactly, at any epsilon; somebody who knows the others finds a person's rank and so the value.
        Reveals: all records with the values of their clusters, to all parties and the public.
    """
    domains, layout = plan.agreement.columns, published_columns(plan.agreement)
    own = {}
    for number, column in enumerate(layout[engine.party]):
        progress("clusters", number, len(layout[engine.party]))
        own[column] = _perturbed(plan, domains[column], table.fragment, engine.own_coins)
    progress("clusters", 1, 1)
    n_values = {column: highest_of(domain) + 1 for column, domain in domains.items()}
    columns = OwnColumns(own, n_values, layout, rows_are_shared=plan.agreement.partition != "horizontal")
    # Tells every record's perturbed cells to all parties; NOT covered by any budget, as the agreement acknowledges.
    told = gate.reveal_columns(columns, plan.disclosures())
    order = order_without_meaning(list(told.values()))  # the owners' own order would name the rows to the public
    return IdpIrResult(plan, {column: values[order] for column, values in told.items()})


def highest_of(domain: Domain) -> int:
    """The highest whole number that stands for a value of a column."""
    return domain.size - 1 if isinstance(domain, CategoricalDomain) else domain.steps


def _perturbed(plan: IdpIrPlan, domain: Domain, fragment: Fragment, coins: Coins) -> IntArray:
    values, epsilon = _private_values(fragment, domain.name), plan.epsilon_of[domain.name]
    by_frequency = plan.settings.order_of_categories == "frequency"
    if isinstance(domain, CategoricalDomain) and by_frequency:
        return noisy_categories(
            values, n_categories=domain.size, k=plan.k, kind=plan.sensitivity, epsilon=epsilon, coins=coins
        )
    return noisy_column(
        values, highest=highest_of(domain), k=plan.k, kind=plan.sensitivity, epsilon=epsilon, coins=coins
    )


def _private_values(fragment: Fragment, column: str) -> IntArray:
    if column in fragment.private_numbers:
        return fragment.private_numbers[column]
    return fragment.private_codes[column].astype(np.int64)
