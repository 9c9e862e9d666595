"""The keys of copula in an agreement, and its rules."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal

from copublish.agreement.model import Agreement
from copublish.agreement.rules import constant_columns
from copublish.agreement.section import BudgetShare
from copublish.agreement.settings import MechanismSettings, Need, Partition

MAX_COLUMNS = 64
"""Columns of a release, the class included: their pairs share one budget."""

MIN_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums of products may no longer fit the engine's 62-bit integers."""

DEPENDENCE_SHARE = Decimal("0.6")
"""Of a release's budget, what the sums of products take unless agreed otherwise."""


class CopulaSettings(MechanismSettings):
    """How the budget is split between columns and their dependence."""

    name: Literal["copula"]
    dependence_share: BudgetShare | None = None

    counts_alone: ClassVar[bool] = True
    spends_by_column: ClassVar[bool] = True
    draws_records: ClassVar[bool] = True

    @property
    def share_for_dependence(self) -> Decimal:
        """The share of the budget for the sums of products."""
        return DEPENDENCE_SHARE if self.dependence_share is None else self.dependence_share

    def needs(self, partition: Partition) -> Need:
        """Sums alone where every owner has whole rows."""
        return "sums" if partition == "horizontal" else "joins"

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield one sentence for every rule of this mechanism that the agreement breaks."""
        if agreement.mechanism_epsilon < MIN_EPSILON:
            yield (
                f"privacy.epsilon: a copula release needs at least {float(MIN_EPSILON):g}, got "
                f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
            )
        n_columns = len(agreement.columns)
        if n_columns > MAX_COLUMNS:
            yield (
                f"attributes: a copula release has at most {MAX_COLUMNS} columns, the class included, and these are "
                f"{n_columns}. Leave some out: every pair of columns shares one budget"
            )
        yield from constant_columns(agreement)
