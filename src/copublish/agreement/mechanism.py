"""The section [mechanism] of an agreement: which algorithm makes the release, and its public parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from copublish.agreement.numbers import BudgetShare, Number, Whole
from copublish.agreement.section import Section

MAX_CELLS = 2**22
"""Cells of a release: more would not fit into memory."""

MAX_SYNTHETIC_RECORDS = 10**7

DEPENDENCE_SHARE = Decimal("0.6")
"""Of a copula release's budget, what the sums of products take unless agreed otherwise."""

SPECIALIZATION_KEYS = ("specializations", "score", "selection_share", "max_cells")
KEYS_OF_MECHANISM: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("specialization", "distdiffgen", "arbdistdp"), SPECIALIZATION_KEYS),
    "copula": ("dependence_share",),
    "hpdp": ("noise", "records"),
    "vhdp": (),
    "idp-ir": ("k", "local_sensitivity", "category_order", "acknowledge"),
}
"""Keys of the section [mechanism] that mean something to a mechanism, besides its name."""

MAKERS_OF_NUMBERS: tuple[str, ...] = ("copula", "hpdp", "vhdp", "idp-ir")
"""Mechanisms that publish numbers, which the agreement may say the decimals of."""

NUMBER_READERS: tuple[str, ...] = ("hpdp", "vhdp", "idp-ir")
"""Mechanisms that need numbers, in steps of 10^-decimals, and not only the cells of the grid they lie in."""

RECORD_PUBLISHERS: tuple[str, ...] = ("vhdp", "idp-ir")
"""Mechanisms that publish a row for every record, with noise that the owners of its cells add."""

NOT_PRIVATE: tuple[str, ...] = ("idp-ir",)
"""Mechanisms that no epsilon can be stated for."""

LocalSensitivity = Literal["exact", "vector", "fixed", "gap", "global"]
CategoryOrder = Literal["schema", "frequency"]


class Mechanism(Section):
    """Which algorithm makes the release, and its public parameters."""

    name: Literal["specialization", "distdiffgen", "arbdistdp", "copula", "hpdp", "vhdp", "idp-ir"]
    specializations: Whole = Field(default=10, ge=0, le=100)
    score: Literal["max", "tv-gain", "balanced-gain", "auto"] = "max"
    selection_share: Number = Field(default=Decimal("0.4"), ge=Decimal("0.01"), le=Decimal("0.99"))
    max_cells: Whole | None = Field(default=None, ge=2, le=MAX_CELLS)
    dependence_share: BudgetShare | None = None
    noise: Literal["laplace", "gaussian"] | None = None
    records: Whole | None = Field(default=None, ge=1, le=MAX_SYNTHETIC_RECORDS)
    k: Whole | None = None
    local_sensitivity: LocalSensitivity | None = None
    category_order: CategoryOrder | None = None
    acknowledge: str | None = None

    @property
    def is_differentially_private(self) -> bool:
        """Whether a release has the promised epsilon; without, the agreement has to acknowledge it in words."""
        return self.name not in NOT_PRIVATE

    @property
    def sensitivity(self) -> LocalSensitivity:
        """How the noise of an idp-ir release is scaled."""
        return self.local_sensitivity or "exact"

    @property
    def order_of_categories(self) -> CategoryOrder:
        """In which order an idp-ir release ranks categories."""
        return self.category_order or "schema"

    @property
    def reads_numbers(self) -> bool:
        """Whether numbers are needed as such, and not only the cells of the grid they lie in."""
        return self.name in NUMBER_READERS

    @property
    def share_for_dependence(self) -> Decimal:
        """The share of a copula release's budget for the sums of products."""
        return DEPENDENCE_SHARE if self.dependence_share is None else self.dependence_share
