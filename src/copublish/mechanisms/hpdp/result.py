"""What a run of hpdp releases. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from copublish.agreement.domain import Domain
from copublish.agreement.model import Agreement
from copublish.mechanisms.hpdp.coordinates import Coordinates
from copublish.mechanisms.hpdp.model import MomentModel
from copublish.mechanisms.shared.drawing import key_of
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
class HpdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        agreement: What it was agreed on.
        coordinates: Where columns lie.
        noisy_sums: Weighted and unbiased, in units of 1/UNIT^2.
        deviation: Standard deviation of their noise, in people; where the weight is 1.
        model: What the records are drawn from.
        n_records: How many.
    """

    agreement: Agreement
    coordinates: Coordinates
    noisy_sums: IntArray
    deviation: float
    model: MomentModel
    n_records: int

    @property
    def columns(self) -> Mapping[str, Domain]:
        """Public domain of every column in agreed order; the class is the last."""
        return self.coordinates.columns

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        return key_of([self.noisy_sums])
