"""What a run of copula releases. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from copublish.agreement.domain import Domain
from copublish.mechanisms.copula.model import CopulaModel
from copublish.mechanisms.shared.allocation import Allocation, Gains
from copublish.mechanisms.shared.drawing import key_of
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
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
