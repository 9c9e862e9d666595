"""Dividing a budget between columns: equally, by agreed weights, or by what columns tell about a label.

The parts are fractions that add up exactly. For weights by information gain, noisy tables of every column by the
label are opened first, for a share of the budget; the weights follow from them, so later budgets depend on opened
values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np

from copublish.agreement.budget import LARGEST_GAIN_WEIGHT, LEAST_GAIN_WEIGHT, agreed_weights
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Axis
from copublish.mechanisms.shared.information import gain_ratio
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.privacy.described import describe_noise, show_exact
from copublish.privacy.disclosures import HISTOGRAM_L1, Disclosure, Divided, Measure, Neighbours
from copublish.progress import Progress
from copublish.types import IntArray

LARGE_NOISE = Fraction(1, 4)
"""Where a table's noise, of all its cells together, is more than this share of the records, gains tell little."""

RATIO_DIGITS = Decimal("0.000001")


def divide(budget: Fraction, weights: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return each column's part of a budget; together they are the budget, exactly."""
    total = sum(weights.values())
    return {column: budget * weight / total for column, weight in weights.items()}


@dataclass(frozen=True)
class Gains:
    """What was opened to divide the budget, and what followed. Public from here on.

    Attributes:
        noisy_tables: For every column but the label, its noisy counts by label: shape (n_values, n_labels).
        ratios: The columns' information gain ratios.
        weights: Every column's weight; the label has that of the column that tells most.
    """

    noisy_tables: Mapping[str, IntArray]
    ratios: Mapping[str, Decimal]
    weights: Mapping[str, Fraction]


@dataclass(frozen=True)
class Allocation:
    """How much each column may spend of what they have together.

    Attributes:
        agreement: It says by which rule.
        total: What all columns may spend, the tables for information gains included.
    """

    agreement: Agreement
    total: Fraction

    @property
    def for_tables(self) -> Fraction:
        """What the tables of values by label take: nothing unless gains are asked for."""
        if self.agreement.budget.allocation != "information-gain":
            return Fraction(0)
        return self.total * Fraction(self.agreement.budget.share_for_tables)

    @property
    def agreed(self) -> dict[str, Fraction] | None:
        """Each column's budget, or nothing if the run will tell."""
        weights = agreed_weights(self.agreement)
        return None if weights is None else divide(self.total, weights)

    def budgets(self, gains: Gains | None) -> dict[str, Fraction]:
        """Return each column's budget, given what was opened to divide it."""
        return divide(self.total - self.for_tables, self.weights(gains))

    def weights(self, gains: Gains | None) -> Mapping[str, Fraction]:
        """Return each column's weight, given what was opened to find it."""
        weights = agreed_weights(self.agreement) if gains is None else gains.weights
        if weights is None:
            raise ValueError("weights by information gain need the tables that were opened")
        return weights

    def limits(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Return the smallest and the largest budget that each column can get."""
        if self.agreed is not None:
            return {column: (budget, budget) for column, budget in self.agreed.items()}
        columns, rest = self.agreement.columns, self.total - self.for_tables
        low, high, others = LEAST_GAIN_WEIGHT, LARGEST_GAIN_WEIGHT, len(columns) - 1
        least, most = Fraction(low, low + others * high), Fraction(high, high + others * low)
        return dict.fromkeys(columns, (rest * least, rest * most))

    def tables(self) -> dict[str, Measure]:
        """Return the disclosure of every column's table by label; none unless gains are asked for."""
        if not self.for_tables:
            return {}
        label, columns = self.agreement.budget_label, self.agreement.columns
        others = [column for column in columns if column != label]
        return {
            column: Measure(
                f"number of records with every value of '{column}' and of the label '{label}'",
                self.for_tables / len(others),
                self.agreement.privacy.neighbours,
                HISTOGRAM_L1,
                HISTOGRAM_L1,
                columns[column].size * columns[label].size,
            )
            for column in others
        }

    def disclosures(self, what: str, of: Callable[[str, Fraction], Disclosure]) -> list[Disclosure]:
        """Return what the columns open, tables included.

        Args:
            what: What becomes known of all columns together, where the run divides the budget.
            of: The disclosure of a column, given its budget.
        """
        limits = self.limits()
        if not self.for_tables:
            return [of(column, budget) for column, (budget, _) in limits.items()]
        parts = tuple((of(column, least), of(column, most)) for column, (least, most) in limits.items())
        rest = self.total - self.for_tables
        return [*self.tables().values(), Divided(what, parts, _costs(parts[0][0], rest, self._relation))]

    @property
    def _relation(self) -> Neighbours:
        return self.agreement.privacy.neighbours

    def describe(self, of: Callable[[str, Fraction], Disclosure]) -> dict[str, Any]:
        """Return every column's share and noise, as plain JSON values."""
        described: dict[str, Any] = {"rule": self.agreement.budget.allocation}
        if self.for_tables:
            described |= {"label": self.agreement.budget_label, "tables": show_exact(self.for_tables)}
        described["columns"] = {}
        for column, (least, most) in self.limits().items():
            ends = [self._describe_column(of(column, budget), budget) for budget in (least, most)]
            described["columns"][column] = ends[0] if least == most else {"least": ends[0], "most": ends[1]}
        return described

    def _describe_column(self, disclosure: Disclosure, budget: Fraction) -> dict[str, Any]:
        share = round(float(budget / self.agreement.epsilon), 6)
        return {"epsilon": show_exact(budget), "share": share, "noise": describe_noise(disclosure)}

    def warnings(self) -> list[str]:
        """Return what people should think about before they let the data divide the budget."""
        expected = self.agreement.records.expected
        noise = [table.noise.scale * table.entries for table in self.tables().values()]
        if not noise or median(noise) <= expected * LARGE_NOISE:
            return []
        return [
            f"With about {expected:,} records and this epsilon, the tables for information gains hold mostly noise, so "
            'this allocation is useless at this size. Write allocation = "weights" or "uniform" in [budget].'
        ]


def _costs(part: Disclosure, budget: Fraction, calibrated_to: Neighbours) -> dict[Neighbours, Fraction | None]:
    """Return what a divided budget costs under both relations; all parts cost the same multiple of their budgets."""
    own = part.epsilon(calibrated_to)
    found: dict[Neighbours, Fraction | None] = {"add-remove": None, "replace": None}
    for relation in found:
        there = part.epsilon(relation)
        found[relation] = None if there is None or not own else budget * there / own
    return found


def measure_gains(
    allocation: Allocation,
    table: JointTable,
    engine: Engine,
    gate: RevealGate,
    progress: Progress,
    public_total: int | None,
) -> Gains | None:
    """Open the tables that the budget is divided by; nothing if the agreement has divided it.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: what `Allocation.for_tables` takes, by composition over the tables. What follows from them is
            post-processing, so later budgets may depend on it.
        Reveals: noisy counts of every column by the label, to all parties.
    """
    disclosures, columns = allocation.tables(), table.agreement.columns
    if not disclosures:
        return None
    label, noisy_tables = table.agreement.budget_label, {}
    for number, (column, disclosure) in enumerate(disclosures.items()):
        progress("gains", number, len(disclosures))
        axes = [Axis(name, np.arange(columns[name].size), columns[name].size) for name in (column, label)]
        secret_counts = table.count_jointly(axes, engine, noise_bits=disclosure.noise.bits)
        # Opens the count of every value of a column and of the label plus noise, to all parties; covered by its budget.
        noisy = gate.reveal_measurement(secret_counts, disclosure)
        noisy_tables[column] = noisy.reshape(columns[column].size, columns[label].size)
    progress("gains", len(disclosures), len(disclosures))
    total = _estimated_total(list(noisy_tables.values())) if public_total is None else public_total
    ratios = {}
    for column, noisy in noisy_tables.items():
        counts = consistent_counts(noisy.ravel(), total).reshape(noisy.shape)
        ratios[column] = gain_ratio(counts, 2 / disclosures[column].noise.rate ** 2)
    return Gains(noisy_tables, ratios, weights_by_gain(ratios, list(columns)))


def weights_by_gain(ratios: Mapping[str, Decimal], columns: Sequence[str]) -> dict[str, Fraction]:
    """Return weights in proportion to gain ratios: whole numbers, none below the least; alike if no ratio is above 0.

    A column without a ratio, the label, gets the largest weight: it tells everything about itself.
    """
    largest = max(ratios.values())
    weights = {}
    for column in columns:
        share = ratios.get(column, largest) / largest if largest else Decimal(1)
        rounded = int((share * LARGEST_GAIN_WEIGHT).to_integral_value(ROUND_HALF_EVEN))
        weights[column] = Fraction(max(rounded, LEAST_GAIN_WEIGHT))
    return weights


def describe_division(allocation: Allocation, gains: Gains | None) -> dict[str, Any]:
    """Return how a run divided the budget, with everything that was opened for it, as plain JSON values."""
    budgets = allocation.budgets(gains)
    described: dict[str, Any] = {"rule": allocation.agreement.budget.allocation, "columns": {}}
    for column, budget in budgets.items():
        described["columns"][column] = {"epsilon": show_exact(budget)}
    if gains is not None:
        described |= {"label": allocation.agreement.budget_label, "tables": show_exact(allocation.for_tables)}
        for column, noisy in gains.noisy_tables.items():
            ratio = float(gains.ratios[column].quantize(RATIO_DIGITS))
            described["columns"][column] |= {"gain_ratio": ratio, "noisy_counts_by_label": noisy.tolist()}
    return described


def _estimated_total(noisy_tables: Sequence[IntArray]) -> int:
    """Return the number of records from all tables, each weighted by how exact its sum is: all noise has one scale."""
    weights = [Fraction(1, noisy.size) for noisy in noisy_tables]
    weighted = sum(weight * int(noisy.sum()) for weight, noisy in zip(weights, noisy_tables, strict=True))
    return max(0, round(weighted / sum(weights)))
