"""Synthetic records from noisy marginals and a Gaussian copula.

Every column, the class among them, is counted on its public grid or list. Each value then gets the normal score of its
cell in the released counts, and for every pair of columns the sum of products of scores is measured. The rest follows
from what was opened: a copula with those correlations, and records drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from copublish.agreement.axis import Axis
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.mechanisms.copula.model import CopulaResult, fit_copula, normal_scores, score_limits
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.copula.run_products import joint_product_sums
from copublish.mechanisms.shared.run_gains import measure_gains
from copublish.mechanisms.shared.run_tables import tables_one_by_one
from copublish.progress import Progress
from copublish.types import IntArray


def run_copula(plan: CopulaPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> CopulaResult:
    """Run the mechanism at one party.

    Args:
        plan: What is opened, at which price.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where counts and sums are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the budgets of `CopulaPlan` by adaptive composition: scores depend on opened counts only.
        Reveals: noisy counts of every column and noisy sums of products, to all parties; noisy tables if gains divide
            the budget.
    """
    columns = plan.agreement.columns
    gains = measure_gains(plan.allocation, table, computer, gate, progress)
    budgets, limits = plan.allocation.budgets(gains), score_limits(plan.allocation.weights(gains))
    products = plan.products(list(limits.values()))
    noisy_counts: dict[str, IntArray] = {}
    marginals = {name: plan.marginal(name, budgets[name]) for name in columns}
    noise_bits = [disclosure.noise.bits for disclosure in marginals.values()]
    counted = tables_one_by_one(table, [[Axis.of(domain)] for domain in columns.values()], computer, noise_bits)
    for number, (name, disclosure) in enumerate(marginals.items()):
        progress("marginals", number, len(columns))
        secret_counts = next(counted)
        # Opens the count of every cell of one column plus noise, to all parties; covered by the column's budget.
        noisy_counts[name] = gate.reveal_measurement(secret_counts, disclosure)
    total = estimated_total(budgets, noisy_counts) if table.public_total is None else table.public_total
    counts = {name: plan.counts_of(name, budgets[name], noisy, total) for name, noisy in noisy_counts.items()}
    scores = {name: normal_scores(own, limits[name]) for name, own in counts.items()}

    progress("products", 0, 1)
    secret_products = joint_product_sums(
        table, scores, computer, progress=lambda done, of: progress("products", done, of)
    )
    # Opens the sum of products of every pair of columns plus noise, to all parties; covered by the rest.
    noisy_products = gate.reveal_measurement(secret_products, products)
    progress("products", 1, 1)
    return CopulaResult(
        columns=columns,
        noisy_counts=noisy_counts,
        counts=counts,
        scores=scores,
        noisy_products=noisy_products,
        loadings=fit_copula(list(counts.values()), list(scores.values()), noisy_products),
        allocation=plan.allocation,
        gains=gains,
    )


def estimated_total(budgets: Mapping[str, Fraction], noisy_counts: Mapping[str, IntArray]) -> int:
    """The number of records from all columns' noisy counts, each weighted by how exact its sum is."""
    weights = {name: budgets[name] ** 2 / len(noisy) for name, noisy in noisy_counts.items()}
    weighted = sum(weights[name] * int(noisy.sum()) for name, noisy in noisy_counts.items())
    return max(0, round(weighted / sum(weights.values())))
