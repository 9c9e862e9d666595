"""The measured tables with their error bars. Released values only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from copublish.mechanisms.base import MeasuredCounts
from copublish.mechanisms.marginals.tables import single_tables


def measured_counts(tables: pa.Table) -> Iterator[MeasuredCounts]:
    """Yield each measured table with the errors of its counts.

    Args:
        tables: The published table that holds every measured one.
    """
    for table in single_tables(tables).values():
        *columns, counts, errors = table.columns
        cells = pa.table(columns, names=table.column_names[:-2])
        yield MeasuredCounts(cells, tuple(counts.to_pylist()), tuple(errors.to_pylist()))
