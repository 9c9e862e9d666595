"""The section [budget] of an agreement: how a mechanism that spends column by column divides epsilon between them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from copublish.agreement.section import BudgetShare, Section, Weight, Whole
from copublish.agreement.settings import MechanismSettings, known_settings

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

SHARE_FOR_TABLES = Decimal("0.2")
"""Of the columns' budget, what the tables of values by label take unless agreed otherwise."""

KEYS_OF_ALLOCATION: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "weights": ("weights",),
    "use-informative": ("label", "share"),
    "protect-informative": ("label", "share", "groups", "group_weights"),
}
"""Keys of the section that mean something to some allocations only."""

BY_GAIN = ("use-informative", "protect-informative")
"""Allocations by what columns tell about a label, for which noisy tables are opened first."""

USUAL_GROUPS = 3
"""Groups of columns for "protect-informative", unless agreed otherwise or fewer columns are there: as in the paper."""

MAX_GROUPS = 64
"""As many as columns can be."""

LARGEST_GAIN_WEIGHT, LEAST_GAIN_WEIGHT = 1000, 100
"""Weights by information gain are whole numbers; the least keeps a column from getting nothing."""


class ColumnBudget(Section):
    """The section [budget]: which column gets how much of the columns' budget."""

    allocation: Literal["uniform", "weights", "use-informative", "protect-informative"] = "uniform"
    weights: dict[str, Weight] | None = None
    label: str | None = None
    share: BudgetShare | None = None
    groups: Annotated[Whole, Field(ge=1, le=MAX_GROUPS)] | None = None
    group_weights: tuple[Weight, ...] | None = None

    @property
    def is_by_gain(self) -> bool:
        """True if the run divides the budget by what columns tell about a label."""
        return self.allocation in BY_GAIN

    @property
    def share_for_tables(self) -> Decimal:
        """The share of the columns' budget for the tables that information gains are computed from."""
        return SHARE_FOR_TABLES if self.share is None else self.share


def broken_budget_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule of the section [budget] that the agreement breaks."""
    budget, mechanism = agreement.budget, agreement.mechanism.name
    if not agreement.mechanism.spends_by_column:
        if budget != ColumnBudget():
            spenders = " and ".join(f"'{name}'" for name, known in known_settings().items() if known.spends_by_column)
            yield (
                f"budget: the mechanism '{mechanism}' does not spend column by column, so there is nothing to divide. "
                f"Remove the section; it is for {spenders}"
            )
        return
    yield from _keys_of_other_allocations(budget)
    if budget.allocation == "weights":
        yield from _weights(agreement)
    if budget.is_by_gain:
        yield from _by_gain(agreement)
    if budget.allocation == "protect-informative":
        yield from _groups(agreement)


def agreed_weights(agreement: Agreement) -> dict[str, Fraction] | None:
    """Every column's weight, or nothing if the run will tell."""
    budget, columns = agreement.budget, agreement.columns
    if budget.is_by_gain:
        return None
    return {column: Fraction((budget.weights or {}).get(column, 1)) for column in columns}


def share_limits(agreement: Agreement) -> dict[str, tuple[Fraction, Fraction]]:
    """The smallest and the largest share of the columns' budget that each column can get."""
    weights = agreed_weights(agreement)
    if weights is not None:
        total = sum(weights.values())
        return {column: (weight / total, weight / total) for column, weight in weights.items()}
    rest = 1 - Fraction(agreement.budget.share_for_tables)
    if agreement.budget.allocation == "use-informative":
        low, high, others = LEAST_GAIN_WEIGHT, LARGEST_GAIN_WEIGHT, len(agreement.columns) - 1
        least, most = Fraction(low, low + others * high), Fraction(high, high + others * low)
        return dict.fromkeys(agreement.columns, (rest * least, rest * most))
    return {column: (rest * least, rest * most) for column, (least, most) in _limits_by_group(agreement).items()}


def _limits_by_group(agreement: Agreement) -> dict[str, tuple[Fraction, Fraction]]:
    """The shares that columns can get by the group they are in.

    The label has the smallest weight. Columns that tell equally much are in one group, the first of those they would be
    divided between, so that weights add up to the most where no two tell the same, and to the least where all but one
    do.
    """
    weights, label, others = group_weights(agreement), agreement.budget_label, len(agreement.columns) - 1
    sizes = group_sizes(others, len(weights))
    largest_total = weights[0] + sum(size * weight for size, weight in zip(sizes, weights, strict=True))
    least, most = weights[0] / largest_total, weights[-1] / (weights[-1] + others * weights[0])
    of_label = (least, Fraction(1, others + 1))
    return {column: of_label if column == label else (least, most) for column in agreement.columns}


def group_weights(agreement: Agreement) -> tuple[Fraction, ...]:
    """The weights of the groups of columns, from the one that tells most about the label to the one that tells least.

    Unless agreed otherwise each is twice the one before, up to 1: 1/4, 1/2, 1 for three groups (Xia et al. 2019,
    Section 5.1.1).
    """
    budget, others = agreement.budget, len(agreement.columns) - 1
    if budget.group_weights is not None:
        return tuple(Fraction(weight) for weight in budget.group_weights)
    groups = min(USUAL_GROUPS, others) if budget.groups is None else budget.groups
    return tuple(Fraction(1, 2**halvings) for halvings in reversed(range(groups)))


def group_sizes(columns: int, groups: int) -> list[int]:
    """The number of columns in each group: equal, with one more in the first groups where they do not divide."""
    return [columns // groups + (number < columns % groups) for number in range(groups)]


def _keys_of_other_allocations(budget: ColumnBudget) -> Iterator[str]:
    for key in dict.fromkeys(key for keys in KEYS_OF_ALLOCATION.values() for key in keys):
        if getattr(budget, key) is None or key in KEYS_OF_ALLOCATION[budget.allocation]:
            continue
        meant = " or ".join(f'"{allocation}"' for allocation, keys in KEYS_OF_ALLOCATION.items() if key in keys)
        yield (
            f'budget.{key}: it means nothing to allocation = "{budget.allocation}". Remove it, or write '
            f"allocation = {meant}"
        )


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
    if label is not None and label not in columns:
        yield f"budget.label: there is no column '{label}'. Columns: {_listed(columns)}"
    if len(columns) < 2:
        yield (
            f'budget.allocation: "{agreement.budget.allocation}" divides epsilon by what columns tell about a label, '
            f"and {_listed(columns)} is the only column. Remove the section: one column gets all of epsilon"
        )
    elif agreement.budget_label is None:
        yield (
            f'budget.allocation: allocation = "{agreement.budget.allocation}" needs a [class], the column that gains '
            f'are about. Add the section, or name another column, like label = "{columns[0]}"'
        )
    if agreement.engine.name == "masked-sum" and agreement.partition != "horizontal":
        yield (
            f'budget.allocation: "{agreement.budget.allocation}" opens tables of every column by the label first, '
            "which different owners hold, and the engine 'masked-sum' adds up what every owner counts by itself. Write "
            'allocation = "weights" or "uniform", or take the engine \'spu\'; horizontal data need sums only'
        )


def _groups(agreement: Agreement) -> Iterator[str]:
    budget, others = agreement.budget, len(agreement.columns) - 1
    if not agreement.publishes_each_record:
        protecting = _listed([name for name, known in known_settings().items() if _protects_values(known)])
        yield (
            'budget.allocation: "protect-informative" gives single values of informative columns more noise, and the '
            f"mechanism '{agreement.mechanism.name}' opens sums over many people only. It is for {protecting}. Write "
            'allocation = "use-informative", "weights" or "uniform"'
        )
    weights, place = budget.group_weights, "budget.group_weights"
    if weights is not None and budget.groups is not None and len(weights) != budget.groups:
        yield f"{place}: these are {len(weights)} weights for {budget.groups} groups. Write one weight for every group"
    elif others > 0 and (found := len(weights) if weights is not None else budget.groups or 1) > others:
        yield (
            f"{'budget.groups' if weights is None else place}: {found} groups, and {others} columns beside the label. "
            f"Every group needs a column: write at most {others}"
        )
    if weights is not None and not weights:
        yield f"{place}: write one weight for every group, like [0.25, 0.5, 1]"
    if weights is not None and list(weights) != sorted(weights):
        yield (
            f"{place}: the first group tells most about the label and is protected most, so its weight is the "
            f"smallest. Write them in rising order: [{', '.join(f'{weight:f}' for weight in sorted(weights))}]. To "
            'give informative columns more of epsilon, write allocation = "use-informative"'
        )


def _protects_values(settings: type[MechanismSettings]) -> bool:
    return settings.spends_by_column and settings.publishes_each_record


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
