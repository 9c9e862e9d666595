"""Records with noise on every value, which the owner of the column adds from its own coins before they leave it.

Each column has a budget of its own. Nothing is computed on secrets, unless the budget is divided by information gains:
the owners perturb their own cells, in integers, and tell them to each other. That protects each value from everybody
but its owner, and costs far more accuracy than noise on counts does.
"""

from __future__ import annotations

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.kernel.accounting.perturbations import Perturb, PerturbCategory, PerturbNumber
from copublish.kernel.noise.geometric import COIN_BITS, Coins, Geometric
from copublish.kernel.noise.randomized_response import RandomizedResponse
from copublish.kernel.programs.noise import geometric
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.mechanisms.shared.post_processing import order_without_meaning, published_columns
from copublish.mechanisms.shared.run_gains import measure_gains
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.publish import VhdpResult
from copublish.progress import Progress
from copublish.types import IntArray

RECORDS_PER_BLOCK = 65_536
"""Coins are drawn for so many records at a time, so that memory does not grow with their number."""


def perturb_categories(private_codes: IntArray, law: PerturbCategory, coins: Coins) -> IntArray:
    """A column of categories by randomized response.

    Privacy:
        Guarantee: see `PerturbCategory`. The result may leave the owner; what it was made of may not.
    """
    return _respond(private_codes, law.response, coins)


def perturb_numbers(private_steps: IntArray, law: PerturbNumber, coins: Coins) -> IntArray:
    """A column of numbers, in steps above the lower bound, with noise and within the bounds.

    Args:
        private_steps: The numbers, 0 .. law.steps; -1 where one is missing.
        law: The noise.
        coins: The owner's own.

    Returns:
        Numbers from 0 to law.steps; law.steps + 1 where one is said to be missing.

    Privacy:
        Guarantee: see `PerturbNumber`. The result may leave the owner; what it was made of may not.
    """
    is_missing = private_steps < 0
    if is_missing.any() and not law.missing:
        raise ValueError("a column without a missing category has missing numbers")
    numbers = np.where(is_missing, law.steps // 2, private_steps)
    noisy: IntArray = np.clip(numbers + _laplace(law.noise, len(numbers), coins), 0, law.steps)
    if law.response is None:
        return noisy
    said_missing = _respond(is_missing.astype(np.int64), law.response, coins)
    return np.where(said_missing == 1, law.steps + 1, noisy)


def _respond(private_codes: IntArray, response: RandomizedResponse, coins: Coins) -> IntArray:
    words = coins.words((len(private_codes),)).view(np.uint64) >> np.uint64(64 - COIN_BITS)
    number = (words // np.uint64(response.words_per_other)).astype(np.int64)
    # The others are numbered from 0 without the true one; a number past them stands for the true one.
    other = number + (number >= private_codes)
    return np.where(words < np.uint64(response.words_for_others), other, private_codes)


def _laplace(noise: Geometric, n: int, coins: Coins) -> IntArray:
    found = np.empty(n, dtype=np.int64)
    for start in range(0, n, RECORDS_PER_BLOCK):
        size = min(RECORDS_PER_BLOCK, n - start)
        drawn = geometric(np, coins.words(noise.coin_shape(2 * size)), noise.threshold_planes)
        found[start : start + size] = drawn[:size] - drawn[size : 2 * size]
    return found


def n_values(domain: Domain) -> int:
    """How many values a published column may have: categories, or steps between the bounds and missing."""
    return domain.size if isinstance(domain, CategoricalDomain) else domain.steps + 1 + domain.missing


def run_vhdp(plan: VhdpPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> VhdpResult:
    """Run the mechanism at one party.

    Args:
        plan: What is published, at which price.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where columns are told to all parties.
        progress: Told about every step.

    Privacy:
        Protects: the values of one person's cells, at every party, from everybody but the cells' owners.
        Guarantee: the budgets of `VhdpPlan` by sequential composition: the columns are one person's.
        Assumes: every owner's own coins are uniform and secret.
        Reveals: every column of every record, perturbed, to all parties; noisy tables if gains divide the budget.
    """
    agreement = plan.agreement
    gains = measure_gains(plan.allocation, table, computer, gate, progress)
    budgets = plan.allocation.budgets(gains)
    disclosures = {column: plan.perturbation(column, budget) for column, budget in budgets.items()}
    layout = published_columns(agreement)
    own = {}
    for number, column in enumerate(layout[computer.party]):
        progress("noise", number, len(layout[computer.party]))
        own[column] = perturbed(table.fragment, column, disclosures[column], computer.own_coins)
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
        allocation=plan.allocation,
        gains=gains,
    )


def perturbed(fragment: Fragment, column: str, disclosure: Perturb, own_coins: Coins) -> IntArray:
    """One of this party's columns as it may leave."""
    if isinstance(disclosure, PerturbCategory):
        return perturb_categories(fragment.private_codes[column].astype(np.int64), disclosure, own_coins)
    return perturb_numbers(fragment.private_numbers[column], disclosure, own_coins)
