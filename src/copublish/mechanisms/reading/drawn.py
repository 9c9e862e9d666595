"""How a column is spread where cells of numbers were not counted: by the published records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.mechanisms.reading.interface import CellSummary, ColumnSummary, Reading

PARTS = 24
"""Of a number's range, in a picture of the published records."""


def summary_of_records(
    reading: Reading, domain: Domain, records: pa.Table, confidence: float, *, note: str
) -> ColumnSummary:
    """A column's mean and median beside how published records are spread; of a category the share of every value.

    Args:
        reading: Answers what was measured.
        domain: The column's.
        records: The published ones.
        confidence: Of the intervals.
        note: What the records' spread is worth.
    """
    column = domain.name
    if isinstance(domain, NumericalDomain):
        bounds = float(domain.lower), float(domain.upper)
        values = np.asarray(records.column(column).drop_null().to_numpy(), dtype=np.float64)
        drawn, _ = np.histogram(values, bins=PARTS, range=bounds)
        return ColumnSummary(
            name=column,
            is_number=True,
            mean=reading.mean(column, {}, confidence),
            median=reading.median(column, {}, confidence),
            drawn=tuple((drawn / max(len(values), 1)).tolist()),
            axis=((bounds[0], 0.0), (bounds[1], 1.0)),
            note=note,
        )
    return summary_of_category(reading, domain, confidence)


def summary_of_category(reading: Reading, domain: CategoricalDomain, confidence: float) -> ColumnSummary:
    """The share of every value of a category, and how many people have it."""
    column = domain.name
    cells = tuple(
        CellSummary(
            label=value,
            share=reading.share(column, value, {}, confidence),
            people=reading.count({column: value}, confidence),
        )
        for value in domain.values
    )
    return ColumnSummary(name=column, is_number=False, cells=cells)
