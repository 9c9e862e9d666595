"""Dividing a budget between columns: equally, by agreed weights, or by what columns tell about a label.

The parts are fractions that add up exactly. For weights by information gain, noisy tables of every column by the
label are opened first, for a share of the budget; the weights follow from them, so later budgets depend on opened
values only. "use-informative" gives columns that tell more about the label more epsilon, "protect-informative" less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from statistics import median
from typing import Any

from pydantic.dataclasses import dataclass as typed

from copublish.agreement.budget import (
    LARGEST_GAIN_WEIGHT,
    LEAST_GAIN_WEIGHT,
    agreed_weights,
    group_sizes,
    group_weights,
    share_limits,
)
from copublish.agreement.model import Agreement
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, Disclosure, Divided, Measure, Neighbors, Place
from copublish.kernel.accounting.formatting import show_exact, state_noise
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.types import IntArray, TypedJson

TABLES = "table by label"
"""The step of a run that opens a table of every column by the label, where gains divide the budget."""

LARGE_NOISE = Fraction(1, 4)
"""Where a table's noise, of all its cells together, is more than this share of the records, gains tell little."""

RATIO_DIGITS = Decimal("0.000001")

WORDS_OF_RULES = {
    "uniform": "equal shares",
    "weights": "agreed shares",
    "use-informative": "more epsilon for columns that tell more about the label",
    "protect-informative": "less epsilon, so more noise, for columns that tell more about the label",
}


def divide(budget: Fraction, weights: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Each column's part of a budget; together they are the budget, exactly."""
    total = sum(weights.values())
    return {column: budget * weight / total for column, weight in weights.items()}


@dataclass(frozen=True)
class Gains:
    """What was opened to divide the budget, and what followed. Public from here on.

    Attributes:
        noisy_tables: For every column but the label, its noisy counts by label: shape (n_values, n_labels).
        ratios: The columns' information gain ratios.
        weights: Every column's weight; the label has that of the column that tells most, as it tells all of itself.
    """

    noisy_tables: Mapping[str, IntArray]
    ratios: Mapping[str, Decimal]
    weights: Mapping[str, Fraction]


@typed(frozen=True, kw_only=True)
class DividedColumn(TypedJson):
    """One column's part of the budget, and what it follows from.

    Attributes:
        epsilon: The part, exactly.
        gain_ratio: Its information gain ratio; none of the label, and none where the agreement divides the budget.
    """

    epsilon: str
    gain_ratio: float | None = None


@typed(frozen=True, kw_only=True)
class Division(TypedJson):
    """How a run divided the columns' budget.

    Attributes:
        rule: By which rule.
        columns: Every column's part.
        label: The agreed label, or the class; none without either. Gains, where they divide the budget, are about it.
        tables: Where gains divide it, what their tables took, exactly.
        group_weights: The weights of the groups of columns, from those that tell most to those that tell least.
    """

    rule: str
    columns: dict[str, DividedColumn]
    label: str | None = None
    tables: str | None = None
    group_weights: tuple[str, ...] | None = None

    @property
    def in_words(self) -> str:
        """How the budget was divided, in a few words."""
        return words_of_rule(self.rule, self.group_weights)


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
        if not self.agreement.budget.is_by_gain:
            return Fraction(0)
        return self.total * Fraction(self.agreement.budget.share_for_tables)

    @property
    def label(self) -> str:
        """The column that information gains are about.

        Raises:
            ValueError: If there is neither a label nor a class.
        """
        if self.agreement.budget_label is None:
            raise ValueError("information gains need a label or a class to be about")
        return self.agreement.budget_label

    @property
    def agreed(self) -> dict[str, Fraction] | None:
        """Each column's budget, or nothing if the run will tell."""
        weights = agreed_weights(self.agreement)
        return None if weights is None else divide(self.total, weights)

    def budgets(self, gains: Gains | None) -> dict[str, Fraction]:
        """Each column's budget, given what was opened to divide it."""
        return divide(self.total - self.for_tables, self.weights(gains))

    def weights(self, gains: Gains | None) -> Mapping[str, Fraction]:
        """Each column's weight, given what was opened to find it."""
        weights = agreed_weights(self.agreement) if gains is None else gains.weights
        if weights is None:
            raise ValueError("weights by information gain need the tables that were opened")
        return weights

    @property
    def group_weights(self) -> tuple[Fraction, ...] | None:
        """The weights of the groups that columns are put in; nothing if there are no groups."""
        is_grouped = self.agreement.budget.allocation == "protect-informative"
        return group_weights(self.agreement) if is_grouped else None

    def weights_by_gain(self, ratios: Mapping[str, Decimal]) -> dict[str, Fraction]:
        """Each column's weight by the agreed rule, given the gain ratios of all columns but the label."""
        columns, weights = list(self.agreement.columns), self.group_weights
        return weights_to_use(ratios, columns) if weights is None else weights_to_protect(ratios, columns, weights)

    def limits(self) -> dict[str, tuple[Fraction, Fraction]]:
        """The smallest and the largest budget that each column can get."""
        shares = share_limits(self.agreement)
        return {column: (self.total * least, self.total * most) for column, (least, most) in shares.items()}

    def tables(self) -> dict[str, Measure]:
        """The disclosure of every column's table by label; none unless gains are asked for."""
        if not self.for_tables:
            return {}
        label, columns = self.label, self.agreement.columns
        others = [column for column in columns if column != label]
        return {
            column: Measure(
                place=Place(TABLES, column=column),
                label=f"number of records with every value of '{column}' and of the label '{label}'",
                budget=self.for_tables / len(others),
                calibrated_to=self.agreement.privacy.neighbors,
                l1_sensitivity=HISTOGRAM_L1,
                changed_entries=HISTOGRAM_L1,
                entries=columns[column].size * columns[label].size,
                shares=NoiseShares.of(self.agreement),
            )
            for column in others
        }

    def disclosures(self, of: Callable[[str, Fraction], Disclosure], *, step: str, what: str) -> list[Disclosure]:
        """What the columns open, tables included.

        Args:
            of: The disclosure of a column, given its budget.
            step: The step of a run that opens the columns.
            what: What becomes known of all columns together, where the run divides the budget.
        """
        limits = self.limits()
        if not self.for_tables:
            return [of(column, budget) for column, (budget, _) in limits.items()]
        parts = tuple((of(column, least), of(column, most)) for column, (least, most) in limits.items())
        rest, relation = self.total - self.for_tables, self.agreement.privacy.neighbors
        budget = _costs(parts[0][0], budget=rest, calibrated_to=relation)
        return [*self.tables().values(), Divided(place=Place(step), label=what, parts=parts, budget=budget)]

    def describe(self, of: Callable[[str, Fraction], Disclosure]) -> dict[str, Any]:
        """Every column's share and noise, as plain JSON values."""
        described: dict[str, Any] = {"rule": self.agreement.budget.allocation}
        if self.for_tables:
            described |= {"label": self.agreement.budget_label, "tables": show_exact(self.for_tables)}
        if self.group_weights is not None:
            described["group_weights"] = [str(weight) for weight in self.group_weights]
        described["columns"] = {}
        for column, (least, most) in self.limits().items():
            ends = [self._describe_column(of(column, budget), budget) for budget in (least, most)]
            described["columns"][column] = ends[0] if least == most else {"least": ends[0], "most": ends[1]}
        return described

    def _describe_column(self, disclosure: Disclosure, budget: Fraction) -> dict[str, Any]:
        share = round(float(budget / self.agreement.epsilon), 6)
        return {"epsilon": show_exact(budget), "share": share, "noise": state_noise(disclosure).to_json()}

    @property
    def in_words(self) -> str:
        """How the budget is divided, in a few words."""
        return words_of_rule(self.agreement.budget.allocation, self.group_weights)

    def warnings(self) -> list[str]:
        """What people should think about before they let the data divide the budget."""
        expected = self.agreement.records.expected
        noise = [table.noise.scale * table.entries for table in self.tables().values()]
        if not noise or median(noise) <= expected * LARGE_NOISE:
            return []
        return [
            f"With about {expected:,} records and this epsilon, the tables for information gains hold mostly noise, so "
            'this allocation is useless at this size. Write allocation = "weights" or "uniform" in [budget].'
        ]


def _costs(part: Disclosure, *, budget: Fraction, calibrated_to: Neighbors) -> dict[Neighbors, Fraction | None]:
    """What a divided budget costs under both relations; all parts cost the same multiple of their budgets."""
    own = part.epsilon(calibrated_to)
    found: dict[Neighbors, Fraction | None] = {"add-remove": None, "replace": None}
    for relation in found:
        there = part.epsilon(relation)
        found[relation] = None if there is None or not own else budget * there / own
    return found


def weights_to_use(ratios: Mapping[str, Decimal], columns: Sequence[str]) -> dict[str, Fraction]:
    """Weights in proportion to gain ratios: whole numbers, none below the least; alike if no ratio is above 0.

    A column without a ratio, the label, gets the largest weight: it tells everything about itself.
    """
    largest = max(ratios.values())
    weights = {}
    for column in columns:
        share = ratios.get(column, largest) / largest if largest else Decimal(1)
        rounded = int((share * LARGEST_GAIN_WEIGHT).to_integral_value(ROUND_HALF_EVEN))
        weights[column] = Fraction(max(rounded, LEAST_GAIN_WEIGHT))
    return weights


def weights_to_protect(
    ratios: Mapping[str, Decimal], columns: Sequence[str], of_groups: Sequence[Fraction]
) -> dict[str, Fraction]:
    """Weights by groups: columns are ranked by gain ratio and divided into groups of equal size, the highest first.

    Columns with the same ratio are in one group, the first that any of them would be in. A column without a ratio, the
    label, is in the first group: it tells everything about itself.
    """
    ranked = sorted(ratios.values(), reverse=True)
    sizes = group_sizes(len(ranked), len(of_groups))
    by_rank = [weight for size, weight in zip(sizes, of_groups, strict=True) for _ in range(size)]
    return {column: by_rank[ranked.index(ratios[column])] if column in ratios else of_groups[0] for column in columns}


def words_of_rule(rule: str, of_groups: Sequence[Fraction | str] | None) -> str:
    """A rule by which a budget is divided, with a few words about it."""
    groups = "" if of_groups is None else f", in groups of weight {', '.join(map(str, of_groups))}"
    return f"{rule} ({WORDS_OF_RULES[rule]}{groups})" if rule in WORDS_OF_RULES else rule


def describe_division(allocation: Allocation, gains: Gains | None) -> Division:
    """How a run divided the budget."""
    budgets = allocation.budgets(gains)
    return Division(
        rule=allocation.agreement.budget.allocation,
        columns={column: _divided_column(column, budget, gains) for column, budget in budgets.items()},
        label=allocation.agreement.budget_label,
        tables=None if gains is None else show_exact(allocation.for_tables),
        group_weights=None if allocation.group_weights is None else tuple(map(str, allocation.group_weights)),
    )


def most_of_a_column(division: Division) -> Fraction:
    """The most that any column could have got of what columns have together, whatever it is divided by.

    It follows from what was agreed: all columns together have the same budget, however it is divided.
    """
    total = sum((Fraction(column.epsilon) for column in division.columns.values()), Fraction(0))
    weights = [Fraction(weight) for weight in division.group_weights or (LEAST_GAIN_WEIGHT, LARGEST_GAIN_WEIGHT)]
    return total * max(weights) / (max(weights) + (len(division.columns) - 1) * min(weights))


def _divided_column(column: str, budget: Fraction, gains: Gains | None) -> DividedColumn:
    ratio = None if gains is None else gains.ratios.get(column)
    return DividedColumn(
        epsilon=show_exact(budget), gain_ratio=None if ratio is None else float(ratio.quantize(RATIO_DIGITS))
    )
