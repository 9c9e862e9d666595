"""The measured tables with their error bars, as they are published. Released values only.

All are in one table, and each is in a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.columns import NOISY_COUNT
from copublish.mechanisms.base import MeasuredCounts
from copublish.mechanisms.marginals.records import MarginalsResult


def measured_counts(tables: pa.Table) -> Iterator[MeasuredCounts]:
    """Yield each measured table with the errors of its counts.

    Args:
        tables: The published table that holds every measured one.
    """
    for table in single_tables(tables).values():
        *columns, counts, errors = table.columns
        cells = pa.table(columns, names=table.column_names[:-2])
        yield MeasuredCounts(cells, tuple(counts.to_pylist()), tuple(errors.to_pylist()))


TABLES = "tables"
"""The published table that holds every measured one, cell by cell; and the folder with a file for each of them."""

ERROR = "within_95_percent"

LONGEST_NAME = 80
"""Of a file, in characters."""


def tables_table(result: MarginalsResult) -> pa.Table:
    """Every cell of every measured table in a row of its own, with its noisy count and its error.

    Tables have different columns, so a row names them: `column_1` is the name of the first one and `value_1` its cell.
    """
    names, widest = list(result.columns), max(len(table.columns) for table in result.tables)
    domains = list(result.columns.values())
    labels = [[domain.label((code, code + 1)) for code in range(domain.size)] for domain in domains]
    rounds = rounds_of(result)
    found: dict[str, list[object]] = {"table": [], "round": []}
    found |= {f"{what}_{place + 1}": [] for place in range(widest) for what in ("column", "value")}
    found |= {NOISY_COUNT: [], ERROR: []}
    for number, table in enumerate(result.tables):
        shape = [result.sizes[column] for column in table.columns]
        cells = [axis.ravel().tolist() for axis in np.indices(shape)]
        n_cells = len(table.values)
        found["table"] += [number + 1] * n_cells
        found["round"] += [rounds[number]] * n_cells
        for place in range(widest):
            own = place < len(table.columns)
            column = table.columns[place] if own else 0
            found[f"column_{place + 1}"] += [names[column] if own else None] * n_cells
            values = [labels[column][code] for code in cells[place]] if own else [None] * n_cells
            found[f"value_{place + 1}"] += values
        found[NOISY_COUNT] += table.values.tolist()
        found[ERROR] += [table.within_95_percent] * n_cells
    texts = {name for name in found if name.startswith(("column_", "value_"))}
    return pa.table(
        {name: pa.array(values, pa.string()) if name in texts else values for name, values in found.items()}
    )


def rounds_of(result: MarginalsResult) -> list[int]:
    """For every measured table the round in which it was chosen; 0 for the first ones."""
    found = [0] * len(result.tables)
    for number, choice in enumerate(result.choices, start=1):
        if choice.table is not None:
            found[choice.table] = number
    return found


def file_of(number: int, columns: Sequence[str]) -> str:
    """Where a measured table lies in the release folder, without its ending.

    Names of columns may hold anything, so a file has what every file system takes; the number tells files apart.
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", " by ".join(columns)).strip("-")[:LONGEST_NAME]
    return f"{TABLES}/{number:03d}{'-' if words else ''}{words}"


def single_tables(tables: pa.Table) -> dict[str, pa.Table]:
    """Each measured table on its own, by where it lies: a column for each of its columns, the count, and its error."""
    widest = sum(name.startswith("column_") for name in tables.column_names)
    found = {}
    for number in pc.unique(tables.column("table")).to_pylist():
        rows = tables.filter(pc.equal(tables.column("table"), number))
        named = [rows.column(f"column_{place}")[0].as_py() for place in range(1, widest + 1)]
        columns = [name for name in named if name is not None]
        values = [rows.column(f"value_{place}") for place in range(1, len(columns) + 1)]
        error = ERROR
        while error in columns:  # an agreement may have a column of this name
            error += "_"
        found[file_of(number, columns)] = pa.table(
            [*values, rows.column(NOISY_COUNT), rows.column(ERROR)], names=[*columns, NOISY_COUNT, error]
        )
    return found
