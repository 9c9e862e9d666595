"""Synthetic records from noisy marginals and a Gaussian copula.

Every column, the class among them, is counted on its public grid or list. Each value then gets the normal score of its
cell in the released counts, and for every pair of columns the sum of products of scores is measured. The rest follows
from what was opened: a copula with those correlations, and records drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from copublish.agreement.domain import Domain
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Axis
from copublish.mechanisms.copula.model import CopulaModel, fit_copula
from copublish.mechanisms.copula.normal_scores import normal_scores, score_limits
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.copula.run_products import joint_product_sums
from copublish.mechanisms.shared.allocation import Allocation, Gains, measure_gains
from copublish.mechanisms.shared.drawing import key_of
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.progress import Progress
from copublish.types import IntArray

COPULA_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""


@dataclass(frozen=True)
class CopulaResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        noisy_counts: Unbiased counts of every column's cells.
        counts: Non-negative integers with one total.
        scores: Score of every cell, within limits that go with the columns' weights.
        noisy_products: Unbiased sums of products of scores for every pair of columns.
        products_within: How far a noisy sum is off at most, in 95 of 100 cases.
        model: What the records are drawn from.
        allocation: How the columns' budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    noisy_counts: Mapping[str, IntArray]
    counts: Mapping[str, IntArray]
    scores: Mapping[str, IntArray]
    noisy_products: IntArray
    products_within: int
    model: CopulaModel
    allocation: Allocation
    gains: Gains | None = None

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        return key_of([*self.noisy_counts.values(), self.noisy_products])


def run_copula(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> CopulaResult:
    """Run the mechanism at one party.

    Args:
        table: This party's aligned cells.
        engine: Its end of the engine.
        gate: Where counts and sums are opened.
        progress: Told about every step.
        public_total: The number of records, if the agreement makes it public.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: the budgets of `CopulaPlan` by adaptive composition: scores depend on opened counts only.
        Reveals: noisy counts of every column and noisy sums of products, to all parties; noisy tables if gains divide
            the budget.
    """
    plan, columns = CopulaPlan.of(table.agreement), table.agreement.columns
    gains = measure_gains(plan.allocation, table, engine, gate, progress, public_total)
    budgets, limits = plan.allocation.budgets(gains), score_limits(plan.allocation.weights(gains))
    products = plan.products(list(limits.values()))
    noisy_counts: dict[str, IntArray] = {}
    for number, (name, domain) in enumerate(columns.items()):
        progress("marginals", number, len(columns))
        disclosure = plan.marginal(name, budgets[name])
        axis = Axis(name, np.arange(domain.size, dtype=np.int64), domain.size)
        secret_counts = table.count_jointly([axis], engine, noise_bits=disclosure.noise.bits)
        # Opens the count of every cell of one column plus noise, to all parties; covered by the column's budget.
        noisy_counts[name] = gate.reveal_measurement(secret_counts, disclosure)
    total = estimated_total(budgets, noisy_counts) if public_total is None else public_total
    counts = {name: consistent_counts(noisy, total) for name, noisy in noisy_counts.items()}
    scores = {name: normal_scores(own, limits[name]) for name, own in counts.items()}

    progress("products", 0, 1)
    secret_products = joint_product_sums(
        table, scores, engine, progress=lambda done, of: progress("products", done, of)
    )
    # Opens the sum of products of every pair of columns plus noise, to all parties; covered by the rest.
    noisy_products = gate.reveal_measurement(secret_products, products)
    progress("products", 1, 1)
    model = fit_copula(list(counts.values()), list(scores.values()), noisy_products)
    within = products.within(0.95)
    return CopulaResult(columns, noisy_counts, counts, scores, noisy_products, within, model, plan.allocation, gains)


def estimated_total(budgets: Mapping[str, Fraction], noisy_counts: Mapping[str, IntArray]) -> int:
    """Return the number of records from all columns' noisy counts, each weighted by how exact its sum is."""
    weights = {name: budgets[name] ** 2 / len(noisy) for name, noisy in noisy_counts.items()}
    weighted = sum(weights[name] * int(noisy.sum()) for name, noisy in noisy_counts.items())
    return max(0, round(weighted / sum(weights.values())))
