"""Mutual information of columns from released counts alone, to the last digit the same on every machine.

It also describes what each column of a release tells about the label, and what that cost. Logarithms are decimal ones,
which Python rounds correctly; floating-point logarithms may differ between libraries, and parties compare what follows
from them byte by byte.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.domain import Domain
from copublish.types import Codes, IntArray, TypedJson

_CONTEXT = decimal.Context(prec=40)

BITS_DIGITS = Decimal("0.000001")


def mutual_information(counts: IntArray) -> Decimal:
    """Information of the rows of a table of counts about its columns, in nats: shape (n_rows, n_columns)."""
    total = int(counts.sum())
    if total == 0:
        return Decimal(0)
    with decimal.localcontext(_CONTEXT):
        sides = _sum_of_logs(counts.sum(axis=0)) + _sum_of_logs(counts.sum(axis=1))
        return max(Decimal(0), (_sum_of_logs(counts) - sides + _times_log(total)) / total)


def entropy(counts: IntArray) -> Decimal:
    """How much a column with these counts can tell, in nats."""
    total = int(counts.sum())
    with decimal.localcontext(_CONTEXT):
        return (_times_log(total) - _sum_of_logs(counts)) / total if total else Decimal(0)


def gain_ratio(counts: IntArray, noise_variance: Fraction) -> Decimal:
    """The information gain ratio of a table of noisy counts, less what noise alone would make of it.

    Args:
        counts: Non-negative counts of values (rows) by label (columns), made consistent from noisy ones.
        noise_variance: Of each noisy count.
    """
    spread = entropy(counts.sum(axis=1))
    if spread == 0:
        return Decimal(0)
    with decimal.localcontext(_CONTEXT):
        gain = mutual_information(counts) - information_of_noise(counts, noise_variance)
        return max(Decimal(0), gain) / spread


def information_of_noise(counts: IntArray, noise_variance: Fraction) -> Decimal:
    """How much noise adds to the mutual information of counts, about, in nats.

    By the second-order term of x ln x: noise of variance v adds v / (2 x) to it on average. Counts below the noise's
    deviation are taken as large as that, where the expansion ends.
    """
    rows, columns = counts.shape
    with decimal.localcontext(_CONTEXT):
        variance = Decimal(noise_variance.numerator) / Decimal(noise_variance.denominator)
        cells = _added(counts, variance)
        sides = _added(counts.sum(axis=1), columns * variance) + _added(counts.sum(axis=0), rows * variance)
        return max(Decimal(0), (cells - sides) / max(int(counts.sum()), 1))


def information_kept(
    columns: Mapping[str, Codes | IntArray], sizes: Mapping[str, int], label: str
) -> dict[str, Decimal]:
    """For every other column of some records how many bits it tells about the label.

    What columns that have nothing to do with each other would show by chance, (a - 1) (b - 1) / 2n nats for a and b
    values (Miller and Madow), is taken off.
    """
    found, n = {}, len(columns[label])
    for name, cells in columns.items():
        if name == label:
            continue
        shape = sizes[name], sizes[label]
        numbers = cells.astype(np.int64) * shape[1] + columns[label]
        counts = np.bincount(numbers, minlength=shape[0] * shape[1]).reshape(shape)
        in_use = [int((counts.sum(axis=axis) > 0).sum()) for axis in (0, 1)]
        with decimal.localcontext(_CONTEXT):
            by_chance = Decimal((in_use[0] - 1) * (in_use[1] - 1)) / (2 * max(n, 1))
            found[name] = bits(max(Decimal(0), mutual_information(counts) - by_chance))
    return found


def bits(nats: Decimal) -> Decimal:
    """An amount of information in bits, rounded."""
    with decimal.localcontext(_CONTEXT):
        return (nats / Decimal(2).ln()).quantize(BITS_DIGITS)


def _added(counts: IntArray, variance: Decimal) -> Decimal:
    deviation = variance.sqrt()
    return sum((variance / (2 * max(Decimal(int(count)), deviation)) for count in counts.ravel()), Decimal(0))


def _sum_of_logs(counts: IntArray) -> Decimal:
    return sum((_times_log(int(count)) for count in counts.ravel()), Decimal(0))


@lru_cache(maxsize=2**16)
def _times_log(count: int) -> Decimal:
    return _CONTEXT.multiply(Decimal(count), _CONTEXT.ln(Decimal(count))) if count else Decimal(0)


LEAST_BITS = 1e-9
"""A label that holds nothing has no share to tell of."""


@dataclass(frozen=True)
class InformationRow:
    """Information on the label in one published column: bits, their share of the label's, and bits per epsilon."""

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

    def told(self) -> list[InformationRow]:
        """What each column tells, the most first."""
        whole = max(self.label_bits, LEAST_BITS)
        rows = [
            InformationRow(column=name, bits=row.bits, share=row.bits / whole, bits_per_epsilon=row.bits_per_epsilon)
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
