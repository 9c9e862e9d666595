"""The section [budget] of an agreement: how a mechanism that spends column by column divides epsilon between them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from copublish.agreement.section import BudgetShare, Section, Weight
from copublish.agreement.settings import known_settings

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

SHARE_FOR_TABLES = Decimal("0.2")
"""Of the columns' budget, what the tables of values by label take unless agreed otherwise."""

KEYS_OF_ALLOCATION: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "weights": ("weights",),
    "use-informative": ("label", "share"),
}
"""Keys of the section that mean something to one allocation alone."""

LARGEST_GAIN_WEIGHT, LEAST_GAIN_WEIGHT = 1000, 100
"""Weights by information gain are whole numbers; the least keeps a column from getting nothing."""


class Budget(Section):
    """Which column gets how much of the columns' budget."""

    allocation: Literal["uniform", "weights", "use-informative"] = "uniform"
    weights: dict[str, Weight] | None = None
    label: str | None = None
    share: BudgetShare | None = None

    @property
    def share_for_tables(self) -> Decimal:
        """The share of the columns' budget for the tables that information gains are computed from."""
        return SHARE_FOR_TABLES if self.share is None else self.share


def broken_budget_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule of the section [budget] that the agreement breaks."""
    budget, mechanism = agreement.budget, agreement.mechanism.name
    if not agreement.mechanism.spends_by_column:
        if budget != Budget():
            spenders = " and ".join(f"'{name}'" for name, known in known_settings().items() if known.spends_by_column)
            yield (
                f"budget: the mechanism '{mechanism}' does not spend column by column, so there is nothing to divide. "
                f"Remove the section; it is for {spenders}"
            )
        return
    for allocation, keys in KEYS_OF_ALLOCATION.items():
        for key in keys:
            if allocation != budget.allocation and getattr(budget, key) is not None:
                yield (
                    f'budget.{key}: it means nothing to allocation = "{budget.allocation}". Remove it, or write '
                    f'allocation = "{allocation}"'
                )
    if budget.allocation == "weights":
        yield from _weights(agreement)
    if budget.allocation == "use-informative":
        yield from _by_gain(agreement)


def agreed_weights(agreement: Agreement) -> dict[str, Fraction] | None:
    """Every column's weight, or nothing if the run will tell."""
    budget, columns = agreement.budget, agreement.columns
    if budget.allocation == "use-informative":
        return None
    return {column: Fraction((budget.weights or {}).get(column, 1)) for column in columns}


def least_shares(agreement: Agreement) -> dict[str, Fraction]:
    """The smallest share of the columns' budget that each column can get."""
    weights = agreed_weights(agreement)
    if weights is not None:
        return {column: weight / sum(weights.values()) for column, weight in weights.items()}
    others = len(agreement.columns) - 1
    least = Fraction(LEAST_GAIN_WEIGHT, LEAST_GAIN_WEIGHT + others * LARGEST_GAIN_WEIGHT)
    return dict.fromkeys(agreement.columns, (1 - Fraction(agreement.budget.share_for_tables)) * least)


def _weights(agreement: Agreement) -> Iterator[str]:
    columns, weights = tuple(agreement.columns), agreement.budget.weights or {}
    for name in weights:
        if name not in columns:
            yield f"budget.weights.{name}: there is no such column. Columns: {_listed(columns)}"
    missing = [column for column in columns if column not in weights]
    if missing:
        yield (
            f"budget.weights: these columns have no weight: {_listed(missing)}. Name every column, the class included; "
            "equal numbers are equal shares"
        )


def _by_gain(agreement: Agreement) -> Iterator[str]:
    columns, label = tuple(agreement.columns), agreement.budget.label
    if agreement.budget_label is None:
        yield (
            f'budget.allocation: allocation = "{agreement.budget.allocation}" needs a [class], the column that gains '
            f'are about. Add the section, or name another column, like label = "{columns[0]}"'
        )
    if label is not None and label not in columns:
        yield f"budget.label: there is no column '{label}'. Columns: {_listed(columns)}"
    if agreement.engine.name == "masked-sum":
        yield (
            'budget.allocation: "use-informative" opens tables first with noise that nobody knows, which the engine '
            "'masked-sum' cannot draw. Write allocation = \"weights\" or \"uniform\", or take the engine 'spu'"
        )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
