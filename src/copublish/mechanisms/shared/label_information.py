"""What each column of a release tells about the label, and what that cost. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.domain import Domain
from copublish.mechanisms.shared.information import BITS_DIGITS, bits, entropy, information_kept
from copublish.types import Codes, IntArray, TypedJson

LEAST_BITS = 1e-9
"""A label that holds nothing has no share to tell of."""


@dataclass(frozen=True)
class Told:
    """What a column of published records tells about the label: bits, their share of the label's, bits per epsilon."""

    column: str
    bits: float
    share: float
    bits_per_epsilon: float


@typed(frozen=True, kw_only=True)
class ColumnInformation(TypedJson):
    """How many bits a column tells about the label, and how many a unit of its own epsilon bought."""

    bits: float
    bits_per_epsilon: float


@typed(frozen=True, kw_only=True)
class LabelInformation(TypedJson):
    """What every other column tells about the label.

    Attributes:
        label: The column that is told about.
        label_bits: How much it holds.
        columns: What each of the others tells.
    """

    label: str
    label_bits: float
    columns: dict[str, ColumnInformation]

    def told(self) -> list[Told]:
        """What each column tells, the most first."""
        whole = max(self.label_bits, LEAST_BITS)
        rows = [
            Told(column=name, bits=row.bits, share=row.bits / whole, bits_per_epsilon=row.bits_per_epsilon)
            for name, row in self.columns.items()
        ]
        return sorted(rows, key=lambda told: -told.bits)


def describe_information(
    columns: Mapping[str, Domain], cells: Mapping[str, Codes | IntArray], label: str, budgets: Mapping[str, Fraction]
) -> LabelInformation:
    """How many bits every column's published values tell about the published label.

    It is the plain estimate from published records, less what chance alone would show. Noise on either column lowers
    it: it says what is left for somebody who has the release, not how much the true values would tell.

    Args:
        columns: Public domain of every column.
        cells: The published records: for each column the code of every record.
        label: The column that is told about.
        budgets: What each column's own budget was.
    """
    sizes = {name: domain.size for name, domain in columns.items()}
    kept = information_kept(cells, sizes, label)
    per_epsilon = {name: kept[name] * budgets[name].denominator / budgets[name].numerator for name in kept}
    return LabelInformation(
        label=label,
        label_bits=float(bits(entropy(np.bincount(cells[label], minlength=sizes[label])))),
        columns={
            name: ColumnInformation(
                bits=float(kept[name]), bits_per_epsilon=float(per_epsilon[name].quantize(BITS_DIGITS))
            )
            for name in kept
        },
    )
