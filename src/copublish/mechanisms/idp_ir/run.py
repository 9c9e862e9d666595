"""iDP-IR as its authors describe the system: owners microaggregate and perturb their columns, then records are joined.

Del Vasto-Terrientes, Martinez and Sanchez, "Privacy- & Utility-Preserving Data Releases over Fragmented Data Using
Individual Differential Privacy", ICISSP 2025. It is not differentially private, nor individually so: `run_idp_ir`
says why. The agreement plays the aggregator's part: it fixes k, epsilon and the schema, and parties compare it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.own_columns import OwnColumns
from copublish.engine.reveal import RevealGate
from copublish.errors import FragmentError
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.run_noisy_clusters import noisy_categories, noisy_column
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.mechanisms.shared.published_columns import published_columns
from copublish.mechanisms.shared.record_order import order_without_meaning
from copublish.privacy.coins import Coins
from copublish.progress import Progress
from copublish.types import IntArray

IDP_IR_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""


@dataclass(frozen=True)
class IdpIrResult:
    """What the mechanism releases.

    Attributes:
        plan: How it was made.
        values: For every column each record's published value: steps above the lower bound, or a place of a category.
    """

    plan: IdpIrPlan
    values: Mapping[str, IntArray]


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
    domains, layout = agreement.columns, published_columns(agreement)
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
