"""What a run of copula opens and costs, from the agreement alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from copublish.agreement.budget import agreed_weights
from copublish.agreement.domain import CategoricalDomain
from copublish.agreement.model import Agreement
from copublish.kernel.accounting.disclosures import (
    HISTOGRAM_L1,
    NEIGHBORS,
    Disclosure,
    Divided,
    Influence,
    Measure,
    Place,
)
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.comparing import how_noise_is_drawn
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.mechanisms.base import Plan
from copublish.mechanisms.copula.model import SCORE_LIMIT, score_limits
from copublish.mechanisms.copula.settings import CopulaSettings
from copublish.mechanisms.shared.allocation import Allocation
from copublish.mechanisms.shared.normal import deviation
from copublish.mechanisms.shared.number_cells import (
    NumberError,
    counts_of_records,
    number_errors,
    number_warnings,
    rounded_means,
)
from copublish.types import IntArray

if TYPE_CHECKING:
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.copula.model import CopulaResult
    from copublish.progress import Progress

MARGINALS, PRODUCTS = "marginal", "products"
"""The steps of a run that open something: one for every column, and one for all pairs of columns."""

SQUARED_SLOPE = 1 / 3
"""How fast a record's product of scores grows with the correlation, in squares of the limit, for columns with many
values: the square of (share of a normal variable within the clipping) / (clipping)."""

LARGE_CORRELATION_ERROR = 0.15
"""From here on people are warned."""


def products_l1(limits: Sequence[int]) -> Influence:
    """How far one person moves the sums of products of all pairs of columns together.

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
class CopulaPlan(Plan["CopulaResult"]):
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
        for_products = agreement.mechanism_epsilon * Fraction(agreement.settings(CopulaSettings).share_for_dependence)
        for_columns = Allocation(agreement, agreement.mechanism_epsilon - for_products)
        return CopulaPlan(agreement=agreement, allocation=for_columns, epsilon_for_products=for_products)

    @property
    def n_columns(self) -> int:
        """Number of columns, the class included."""
        return len(self.agreement.columns)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of columns."""
        return self.n_columns * (self.n_columns - 1) // 2

    def marginal(self, column: str, budget: Fraction) -> Measure:
        """The disclosure of one column's counts."""
        return Measure(
            place=Place(MARGINALS, column=column),
            label=f"number of records in every cell of '{column}'",
            budget=budget,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,
            changed_entries=HISTOGRAM_L1,
            entries=self.agreement.columns[column].size,
            shares=NoiseShares.of(self.agreement),
        )

    def counts_of(self, column: str, budget: Fraction, noisy_counts: IntArray, total: int) -> IntArray:
        """Counts that can be records, from a column's released ones."""
        noise = deviation(self.marginal(column, budget))
        return counts_of_records(self.agreement.columns[column], noisy_counts, total, noise=noise)

    def products(self, limits: Sequence[int]) -> Measure:
        """The disclosure of the sums of products, given how large each column's scores can be."""
        return self._products(products_l1(limits))

    def _products(self, influence: Influence) -> Measure:
        return Measure(
            place=Place(PRODUCTS),
            label="sum over records of the product of the normal scores of every two columns",
            budget=self.epsilon_for_products,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=influence,
            changed_entries={"add-remove": self.n_pairs, "replace": self.n_pairs},
            entries=self.n_pairs,
            points_per_person=SCORE_LIMIT**2,
            shares=NoiseShares.of(self.agreement),
        )

    @property
    def expected_limits(self) -> list[int]:
        """How large the scores can be: by agreed weights, or all alike where the run will tell."""
        weights = agreed_weights(self.agreement)
        return [SCORE_LIMIT] * self.n_columns if weights is None else list(score_limits(weights).values())

    def _planned_products(self) -> Disclosure:
        """The disclosure of the sums of products, or a bound on it where limits follow from opened values.

        Whatever the limits, replacing moves the sums by as much as adding or more, and by twice as much at most. Equal
        limits have the largest noise, and so the sampler's largest distance.
        """
        exact = self.products(self.expected_limits)
        if agreed_weights(self.agreement) is not None:
            return exact
        is_replace = self.agreement.privacy.neighbors == "replace"
        worst = self._products({"add-remove": 1, "replace": 1 if is_replace else 2})
        return Divided(
            place=exact.place,
            label=exact.label,
            parts=((exact, worst),),
            budget={relation: worst.epsilon(relation) for relation in NEIGHBORS},
            usual=exact,
        )

    def disclosures(self) -> list[Disclosure]:
        """What a run opens."""
        what = "number of records in every cell of every column; budgets follow from the tables above"
        columns = self.allocation.disclosures(self.marginal, step=MARGINALS, what=what)
        return [*columns, self._planned_products()]

    @property
    def correlation_error(self) -> float:
        """About how far noise moves the correlation of two columns with many values, by the expected records."""
        limits = self.expected_limits
        usual = (sum(limits) / len(limits) / SCORE_LIMIT) ** 2
        scale = self.products(limits).scale_in_people / usual
        return 2**0.5 * scale / (SQUARED_SLOPE * self.agreement.records.expected)

    def number_errors(self) -> dict[str, NumberError]:
        """What noise does to every number, by the agreed budgets, or by equal ones where the run will tell."""
        columns, allocation = self.agreement.columns, self.allocation
        equal = (allocation.total - allocation.for_tables) / len(columns)
        budgets = allocation.agreed or dict.fromkeys(columns, equal)
        deviations = {name: deviation(self.marginal(name, budgets[name])) for name in columns}
        return number_errors(columns, deviations, records=self.agreement.records.expected)

    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""
        tables = "of every column by the label, " if self.allocation.for_tables else ""
        return Method(
            product="Synthetic microdata",
            mechanisms=f"Discrete Laplace noise on the counts {tables}of every column's cells and on the sums of "
            f"products of normal scores of every two columns. {how_noise_is_drawn(self.agreement)}; all arithmetic on "
            "what is opened is on integers.",
            post_processing="Projection of the counts on non-negative ones with one total; a Gaussian copula with the "
            "correlations that the sums imply, made positive; records drawn from it under a key that is a hash of the "
            "noisy values.",
        )

    def describe(self) -> dict[str, Any]:
        """What is counted, and how the budget is split."""
        return {
            "columns": self.n_columns,
            "pairs": self.n_pairs,
            "dependence": show_exact(self.epsilon_for_products),
            "allocation": self.allocation.describe(self.marginal),
            "correlation_error": round(self.correlation_error, 3),
            "mean_within_95_percent": rounded_means(self.number_errors()),
        }

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        dependence = show_exact(self.epsilon_for_products)
        return {
            "Publishes": f"synthetic records with {self.n_columns} columns",
            "Epsilon": f"{dependence} of it for how {self.n_pairs:,} pairs of columns depend",
        }

    def typical_noise(self) -> tuple[str, float]:
        """How far noise moves a correlation, in words and as a number."""
        return "a correlation is off by about", round(self.correlation_error, 4)

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> CopulaResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.copula.run import run_copula

        return run_copula(self, table, computer, gate, progress)

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        agreement, found = self.agreement, self.allocation.warnings()
        if self.correlation_error > LARGE_CORRELATION_ERROR:
            found.append(
                f"With about {agreement.records.expected:,} records and this epsilon, correlations of two columns will "
                f"be off by about {self.correlation_error:.2f}. Raise epsilon, mechanism.dependence_share or "
                "records.expected (if it is too low), or leave columns out."
            )
        found += number_warnings(self.number_errors(), records=agreement.records.expected)
        noisy = [
            name
            for name, (_, most) in self.allocation.limits().items()
            if isinstance(agreement.columns[name], CategoricalDomain)
            and self.marginal(name, most).noise.scale * agreement.columns[name].size > agreement.records.expected
        ]
        if noisy:
            found.append(
                f"With about {agreement.records.expected:,} records and this epsilon, the counts of these columns will "
                f"hold mostly noise: {', '.join(noisy)}. Raise epsilon, take coarser grids, or leave columns out."
            )
        return found
