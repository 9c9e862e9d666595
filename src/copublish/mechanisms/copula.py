"""Synthetic records from noisy marginals and a Gaussian copula.

Every column, the class among them, is counted on its public grid or list. Each value then gets the normal score of its
cell in the released counts, and for every pair of columns the sum of products of scores is measured. The rest follows
from what was opened: a copula with those correlations, and records drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from copublish.agreement.budget import agreed_weights
from copublish.agreement.domain import Domain
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Axis
from copublish.mechanisms.allocation import Allocation, Gains, measure_gains
from copublish.mechanisms.copula_model import CopulaModel, fit_copula
from copublish.mechanisms.normal_scores import SCORE_LIMIT, normal_scores, score_limits
from copublish.mechanisms.post_processing import consistent_counts
from copublish.mechanisms.specialization import HISTOGRAM_L1, Progress
from copublish.mechanisms.synthetic_records import key_of
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.certificate import Method
from copublish.privacy.coins import IntArray
from copublish.privacy.described import show_exact
from copublish.privacy.disclosures import NEIGHBOURS, Disclosure, Divided, Influence, Measure
from copublish.privacy.masked_sums import how_noise_is_drawn
from copublish.privacy.noise_shares import NoiseShares
from copublish.secure.joint_counts import JointTable
from copublish.secure.products import joint_product_sums

SQUARED_SLOPE = 1 / 3
"""How fast a record's product of scores grows with the correlation, in squares of the limit, for columns with many
values: the square of (share of a normal variable within the clipping) / (clipping)."""

LARGE_CORRELATION_ERROR = 0.15
"""From here on people are warned."""

COPULA_VERSION = 1
"""Changes whenever the same fragments and coins would give another release."""


def products_l1(limits: Sequence[int]) -> Influence:
    """Return how far one person moves the sums of products of all pairs of columns together.

    Args:
        limits: How large each column's scores can be.

    Privacy:
        A record's score s_i in column i is a whole number from -B_i to B_i. Adding it moves the sum of a pair by
        |s_i s_j| <= B_i B_j; scores of B_i everywhere attain all of them together.
        Replacing s by t moves them by f(s, t) = sum over pairs of |s_i s_j - t_i t_j|. As a function of one coordinate
        of s or t each term is the size of something affine, so f is convex in it and largest at an end: all scores may
        be taken as B_i or -B_i. Then a pair moves by 2 B_i B_j if exactly one of its two columns changes sign, else by
        nothing. If the limits of the columns that change add up to q, and all limits to A, that is 2 q (A - q): most
        for the q next to A / 2 that some columns add up to. For l equal limits it is 2 B^2 floor(l/2) ceil(l/2).
        Scores follow from values that were opened before, so the argument holds for each value of them.
    """
    total, sums = sum(limits), 1
    for limit in limits:
        sums |= sums << limit  # bit q is set if some columns add up to q
    return {
        "add-remove": (total**2 - sum(limit**2 for limit in limits)) // 2,
        "replace": max(2 * q * (total - q) for q in range(total + 1) if sums >> q & 1),
    }


@dataclass(frozen=True)
class CopulaPlan:
    """Everything about a run that is fixed before any data is touched.

    Attributes:
        allocation: How the columns' counts share their budget.
        epsilon_for_products: Budget of the sums of products.
    """

    agreement: Agreement
    allocation: Allocation
    epsilon_for_products: Fraction

    @staticmethod
    def of(agreement: Agreement) -> CopulaPlan:
        """Split the budget: first for dependence, then between columns as agreed."""
        for_products = agreement.epsilon * Fraction(agreement.mechanism.share_for_dependence)
        return CopulaPlan(agreement, Allocation(agreement, agreement.epsilon - for_products), for_products)

    @property
    def n_columns(self) -> int:
        """Number of columns, the class included."""
        return len(self.agreement.columns)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of columns."""
        return self.n_columns * (self.n_columns - 1) // 2

    def marginal(self, column: str, budget: Fraction) -> Measure:
        """Return the disclosure of one column's counts."""
        return Measure(
            f"number of records in every cell of '{column}'",
            budget,
            self.agreement.privacy.neighbours,
            HISTOGRAM_L1,
            HISTOGRAM_L1,
            self.agreement.columns[column].size,
            shares=NoiseShares.of(self.agreement),
        )

    def products(self, limits: Sequence[int]) -> Measure:
        """Return the disclosure of the sums of products, given how large each column's scores can be."""
        return self._products(products_l1(limits))

    def _products(self, influence: Influence) -> Measure:
        return Measure(
            "sum over records of the product of the normal scores of every two columns",
            self.epsilon_for_products,
            self.agreement.privacy.neighbours,
            influence,
            {"add-remove": self.n_pairs, "replace": self.n_pairs},
            self.n_pairs,
            SCORE_LIMIT**2,
            NoiseShares.of(self.agreement),
        )

    @property
    def expected_limits(self) -> list[int]:
        """How large the scores can be: by agreed weights, or all alike where the run will tell."""
        weights = agreed_weights(self.agreement)
        return [SCORE_LIMIT] * self.n_columns if weights is None else list(score_limits(weights).values())

    def _planned_products(self) -> Disclosure:
        """Return the disclosure of the sums of products, or a bound on it where limits follow from opened values.

        Whatever the limits, replacing moves the sums by as much as adding or more, and by twice as much at most. Equal
        limits have the largest noise, and so the sampler's largest distance.
        """
        exact = self.products(self.expected_limits)
        if agreed_weights(self.agreement) is not None:
            return exact
        is_replace = self.agreement.privacy.neighbours == "replace"
        worst = self._products({"add-remove": 1, "replace": 1 if is_replace else 2})
        return Divided(
            exact.label, ((exact, worst),), {relation: worst.epsilon(relation) for relation in NEIGHBOURS}, exact
        )

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens."""
        what = "number of records in every cell of every column; budgets follow from the tables above"
        return [*self.allocation.disclosures(what, self.marginal), self._planned_products()]

    def cost(self) -> Cost:
        """Return what the ledger reserves."""
        return cost_of(self.disclosures(), number_of_records_is_public=self.agreement.records.public)

    @property
    def correlation_error(self) -> float:
        """About how far noise moves the correlation of two columns with many values, by the expected records."""
        limits = self.expected_limits
        usual = (sum(limits) / len(limits) / SCORE_LIMIT) ** 2
        scale = self.products(limits).scale_in_people / usual
        return 2**0.5 * scale / (SQUARED_SLOPE * self.agreement.records.expected)

    def method(self) -> Method:
        """Return what the mechanism does, in words for the certificate."""
        tables = "of every column by the label, " if self.allocation.for_tables else ""
        return Method(
            "Synthetic microdata",
            f"Discrete Laplace noise on the counts {tables}of every column's cells and on the sums of products of "
            f"normal scores of every two columns. {how_noise_is_drawn(self.agreement)}; all arithmetic on what is "
            "opened is on integers.",
            "Projection of the counts on non-negative ones with one total; a Gaussian copula with the correlations "
            "that the sums imply, made positive; records drawn from it under a key that is a hash of the noisy values.",
        )

    def describe(self) -> dict[str, Any]:
        """Return what is counted, and how the budget is split."""
        return {
            "columns": self.n_columns,
            "pairs": self.n_pairs,
            "dependence": show_exact(self.epsilon_for_products),
            "allocation": self.allocation.describe(self.marginal),
            "correlation_error": round(self.correlation_error, 3),
        }

    def warnings(self) -> list[str]:
        """Return what people should think about before they spend anything."""
        agreement, found = self.agreement, self.allocation.warnings()
        if self.correlation_error > LARGE_CORRELATION_ERROR:
            found.append(
                f"With about {agreement.records.expected:,} records and this epsilon, correlations of two columns will "
                f"be off by about {self.correlation_error:.2f}. Raise epsilon, mechanism.dependence_share or "
                "records.expected (if it is too low), or leave columns out."
            )
        noisy = [
            name
            for name, (_, most) in self.allocation.limits().items()
            if self.marginal(name, most).noise.scale * agreement.columns[name].size > agreement.records.expected
        ]
        if noisy:
            found.append(
                f"With about {agreement.records.expected:,} records and this epsilon, the counts of these columns will "
                f"hold mostly noise: {', '.join(noisy)}. Raise epsilon, take coarser grids, or leave columns out."
            )
        return found


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
