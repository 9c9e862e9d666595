"""What a run of vhdp releases. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.kernel.accounting.perturbations import Perturb
from copublish.mechanisms.shared.allocation import Allocation, Gains
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
class VhdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        values: The published values: codes of categories, steps of numbers; in an order without meaning.
        disclosures: What each column's noise was.
        allocation: How the budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    values: Mapping[str, IntArray]
    disclosures: Mapping[str, Perturb]
    allocation: Allocation
    gains: Gains | None = None

    @property
    def cells(self) -> dict[str, IntArray]:
        """The published values as codes of their domains: numbers as the cells of the grid they lie in."""
        return {name: cells_of(domain, self.values[name]) for name, domain in self.columns.items()}


def cells_of(domain: Domain, values: IntArray) -> IntArray:
    """The codes of published values."""
    if not isinstance(domain, NumericalDomain):
        return values
    # A threshold between two steps belongs to the upper one.
    scaled = [(edge - domain.lower).scaleb(domain.decimals_of_numbers) for edge in domain.thresholds]
    edges = np.array([int(edge.to_integral_value("ROUND_CEILING")) for edge in scaled], dtype=np.int64)
    return np.where(values > domain.steps, domain.number_codes, np.searchsorted(edges, values, side="right"))
