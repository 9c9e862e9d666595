"""The published records and measured tables, from what was opened. Released values only.

Measured tables have error bars. All are in one table, and each is in a file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import NOISY_COUNT, PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription, NumericalDomain
from copublish.kernel.accounting.formatting import NORMAL_95
from copublish.mechanisms.base import Contents, Details, MeasuredCounts
from copublish.mechanisms.marginals.model import FACTOR_UNIT, MeasuredTable
from copublish.mechanisms.marginals.records import MarginalsResult, draw_codes, spread_evenly
from copublish.mechanisms.shared.post_processing import categories, numbers
from copublish.types import IntArray, TypedJson


@dataclass(frozen=True, kw_only=True)
class ColumnDetails(TypedJson):
    """A column and how it is spread.

    Attributes:
        domain: Its public domain.
        cells: How every cell is named, in agreed order.
        counts: How many published records each has.
        noisy_counts: The unbiased measurement: of the most exact measured table that has the column, summed over its
            other columns.
        within_95_percent: How far each of those is off at most in 95 of 100 cases.
        mean: Of the published numbers, where they are not missing; nothing for categories.
        median: The same.
        decimals: With how many decimals numbers are written; nothing for categories.
    """

    domain: DomainDescription
    cells: tuple[str, ...]
    counts: tuple[int, ...]
    noisy_counts: tuple[int, ...]
    within_95_percent: float
    mean: float | None = None
    median: float | None = None
    decimals: int | None = None


@dataclass(frozen=True, kw_only=True)
class TableDetails(TypedJson):
    """A measured table.

    Attributes:
        columns: Its columns.
        round: In which round it was chosen; 0 if it was measured for sure.
        noise_deviation_in_people: Standard deviation of the noise of each count.
        within_95_percent: How far a count is off at most in 95 of 100 cases.
        factors: Of the model, last column fastest, in units.
    """

    columns: tuple[str, ...]
    round: int
    noise_deviation_in_people: float
    within_95_percent: float
    factors: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class MarginalsDetails(Details):
    """Everything that the records were drawn from.

    Attributes:
        marginals_format: Number of the format.
        columns: How every column is spread, in agreed order, the class last.
        has_class: False where no column is the class.
        tables: Every measured table; its counts are in the published table of tables, in the same order.
        rounds: What every round chose: the columns of a table, or nothing if none was worth its noise.
        cliques: The sets of columns that the model keeps as a whole.
        factor_unit: The model's probability of a record is proportional to e to this times the sum of its factors.
        estimated_records: The number of records, public or estimated.
        missing_spellings: Texts that stand for a missing value.
    """

    marginals_format: Literal[1] = 1
    columns: dict[str, ColumnDetails]
    tables: tuple[TableDetails, ...]
    rounds: tuple[tuple[str, ...], ...]
    cliques: tuple[tuple[str, ...], ...]
    factor_unit: float = FACTOR_UNIT
    estimated_records: int
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the records with their domains."""
        described = {name: column.domain for name, column in self.columns.items()}
        return PublicColumns.of_release(described, self.missing_spellings, has_class=self.has_class is None)


def contents_of(result: MarginalsResult) -> Contents:
    """The synthetic records, the measured tables, and what else was made of them."""
    codes = draw_codes(result.tree, result.cliques, result.n_records, result.key)
    records = records_table(result.columns, codes, result.key)
    return Contents({"records": records, TABLES: tables_table(result)}, _details(result, codes, records))


def records_table(columns: Mapping[str, Domain], codes: IntArray, key: bytes) -> pa.Table:
    """Records from the codes of their cells."""
    return pa.table(
        {
            name: _column(domain, codes[number], key + number.to_bytes(8, "big"))
            for number, (name, domain) in enumerate(columns.items())
        }
    )


def _column(domain: Domain, codes: IntArray, key: bytes) -> pa.Array:
    """A column of records: categories as text, numbers as numbers spread evenly over their cells, missing ones null."""
    if isinstance(domain, CategoricalDomain):
        return categories(domain, codes)
    edges = _edges(domain)
    cells = codes.clip(max=domain.number_codes - 1)
    counts = np.bincount(codes, minlength=domain.size)[codes]
    start, width = edges[:-1][cells], np.diff(edges)[cells]
    # The k-th of c records of a cell lies at start + width (2k + 1) / (2c), rounded down to a unit; without overflow.
    odd, parts = 2 * spread_evenly(codes, key) + 1, 2 * np.maximum(counts, 1)
    whole, rest = np.divmod(width, parts)
    units = start + odd * whole + odd * rest // parts
    return numbers(domain, units, codes >= domain.number_codes)


def _edges(domain: NumericalDomain) -> IntArray:
    """A grid's edges in units of the last decimal; the last cell includes the upper bound."""
    edges = [domain.lower, *domain.thresholds, domain.upper]
    units = [int(edge.scaleb(domain.decimals_of_numbers)) for edge in edges]
    return np.array([*units[:-1], units[-1] + 1], dtype=np.int64)


def _details(result: MarginalsResult, codes: IntArray, records: pa.Table) -> MarginalsDetails:
    names, rounds = list(result.columns), rounds_of(result)
    ends = np.cumsum([len(table.values) for table in result.tables]).tolist()
    return MarginalsDetails(
        columns={
            name: _describe_column(result, number, codes[number], records.column(name))
            for number, name in enumerate(names)
        },
        tables=tuple(
            TableDetails(
                columns=tuple(names[column] for column in table.columns),
                round=rounds[number],
                noise_deviation_in_people=round(table.deviation, 3),
                within_95_percent=table.within_95_percent,
                factors=tuple(result.factors[end - len(table.values) : end].tolist()),
            )
            for number, (table, end) in enumerate(zip(result.tables, ends, strict=True))
        ),
        rounds=tuple(tuple(names[column] for column in choice.columns or ()) for choice in result.choices),
        cliques=tuple(tuple(names[column] for column in clique) for clique in result.tree.cliques),
        estimated_records=result.total,
        missing_spellings=result.agreement.records.missing_spellings,
        has_class=False if result.agreement.class_ is None else None,
    )


def _describe_column(
    result: MarginalsResult, number: int, codes: IntArray, published: pa.ChunkedArray
) -> ColumnDetails:
    domain = list(result.columns.values())[number]
    noisy, within = _most_exact(result, number)
    mean = median = decimals = None
    if isinstance(domain, NumericalDomain):
        decimals = domain.decimals_of_numbers
        values = np.sort(published.drop_null().to_numpy().astype(np.float64))
        if len(values):
            mean = round(float(values.mean()), decimals + 3)
            median = float(values[(len(values) - 1) // 2])  # the lower one of two: a value that occurs
    return ColumnDetails(
        domain=describe_column(result.agreement, domain.name),
        cells=tuple(domain.label((code, code + 1)) for code in range(domain.size)),
        counts=tuple(np.bincount(codes, minlength=domain.size).tolist()),
        noisy_counts=tuple(noisy.tolist()),
        within_95_percent=within,
        mean=mean,
        median=median,
        decimals=decimals,
    )


def _most_exact(result: MarginalsResult, number: int) -> tuple[IntArray, float]:
    """The counts of one column from the table whose sums are most exact, and their error in 95 of 100 cases."""

    def deviation(table: MeasuredTable) -> float:
        others = len(table.values) // result.sizes[number]
        return table.deviation * float(np.sqrt(others))

    best = min((table for table in result.tables if number in table.columns), key=deviation)
    shape = [result.sizes[column] for column in best.columns]
    away = tuple(axis for axis, column in enumerate(best.columns) if column != number)
    counts: IntArray = best.values.reshape(shape).sum(axis=away)
    # Noise that was added up is normal, about.
    return counts, best.within_95_percent if len(best.columns) == 1 else round(NORMAL_95 * deviation(best), 3)


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
