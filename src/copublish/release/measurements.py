"""The files that hold what was published: `measurements.json`, `model.json`, `measured/` and `records.*`.

Counts of people by cells lie in tables of their own below `measured/`, as CSV and as Parquet. All other sums are values
in `measurements.json`, which also has the columns, and for every measurement its axes, its law and its disclosure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.columns import NOISY_COUNT, PublicColumns
from copublish.agreement.domain import CodeRange, DomainDescription
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.base import cells_of_table
from copublish.mechanisms.published import Axis, Measured, Model, PerturbedRows, Published, generalized_runs
from copublish.release.evidence.completeness import FOLDER, MEASUREMENTS_FILE
from copublish.release.pairs import PAIRS_FILE, PAIRS_KEY, Holders, in_words, pairs_of, pairs_table
from copublish.types import IntArray, TypedJson

MODEL_FILE, RECORDS_FILE = "model.json", "records.parquet"


ERROR = "within_95_percent"

NUMBERS = re.compile(r'\[\n\s*[-0-9][^\]\["]*\]')
"""A list of numbers as JSON is indented. No text matches: line breaks in texts are escaped."""

LONGEST_NAME = 80
"""Of a file, in characters."""


@typed(frozen=True, kw_only=True)
class StoredMeasurement(TypedJson):
    """One measurement as `measurements.json` describes it.

    Attributes:
        place: The disclosure that opened it, as in the certificate.
        axes: One for each column; none for the number of people.
        noise: The noise of each value, as in the certificate.
        points: How many points of that law stand for one person.
        times: What every sum was multiplied with. Values are to be divided by it.
        chosen: The number of the round that chose it; none if it was measured for sure.
        steered: True if later cells or later noise depend on its noise. Answers leave it out where others have the
            columns.
        table: The name of its files below `measured/`, where it counts people by cells.
        entries: How many values a table has.
        values: The noisy sums, the last axis fastest, where it does not.
    """

    place: Place
    axes: tuple[Axis, ...]
    noise: Noise
    points: int
    times: int
    chosen: int | None = None
    steered: Literal[True] | None = None
    table: str | None = None
    entries: int | None = None
    values: tuple[int, ...] | None = None


@typed(frozen=True, kw_only=True)
class StoredMeasurements(TypedJson):
    """The content of `measurements.json`.

    Attributes:
        warning: What everything about a release without a guarantee says first.
        measurements_format: Number of the format.
        columns: The published columns in agreed order, the class last.
        missing_spellings: Texts that stand for a missing value.
        has_class: False where no column is the class.
        measured: Everything that was opened as numbers, in order.
        rows_are_people: True if records are the measurement: each stands for a person.
        noise_of_rows: The noise of every value of such records, by column, where its law is stated.
    """

    warning: str | None = None
    measurements_format: Literal[1] = 1
    columns: dict[str, DomainDescription]
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None
    measured: tuple[StoredMeasurement, ...]
    rows_are_people: Literal[True] | None = None
    noise_of_rows: dict[str, Noise] | None = None

    @property
    def public_columns(self) -> PublicColumns:
        """The columns with their domains.

        Raises:
            ValueError, ArithmeticError: If they are none.
        """
        return PublicColumns.of_release(
            self.columns,
            self.missing_spellings,
            publishes_each_record=self.rows_are_people is not None,
            has_class=self.has_class is None,
        )

    @property
    def generalized(self) -> dict[str, tuple[CodeRange, ...]]:
        """The runs of codes of every generalized column.

        Raises:
            ValueError, ArithmeticError, LookupError: If there are no such columns, or runs do not divide their values.
        """
        axes = [axis for own in self.measured if own.steered is None for axis in own.axes]
        return generalized_runs(axes, self.public_columns)


def describe(published: Published) -> StoredMeasurements:
    """What `measurements.json` says of a release."""
    columns, files = published.columns, dict(_numbered(published))
    noise = None if published.rows is None else dict(published.rows.noise)
    return StoredMeasurements(
        warning=published.model.warning,
        columns={name: columns.describe(name) for name in columns.domains},
        missing_spellings=columns.missing_spellings,
        has_class=None if columns.has_class else False,
        measured=tuple(_describe(own, files.get(number)) for number, own in enumerate(published.measured)),
        rows_are_people=None if published.rows is None else True,
        noise_of_rows=noise or None,
    )


def measurements_json(published: Published) -> dict[str, Any]:
    """The content of `measurements.json` as plain JSON values."""
    return describe(published).to_json()


def _describe(measured: Measured, table: str | None) -> StoredMeasurement:
    return StoredMeasurement(
        place=measured.place,
        axes=measured.axes,
        noise=measured.noise,
        points=measured.points,
        times=measured.times,
        chosen=measured.chosen,
        steered=True if measured.steered else None,
        table=table,
        entries=None if table is None else measured.values.size,
        values=None if table is not None else tuple(measured.values.tolist()),
    )


def _numbered(published: Published) -> Iterator[tuple[int, str]]:
    """Yield the number of every measurement that is a table, and the name of its files."""
    tables = [number for number, own in enumerate(published.measured) if own.cells is not None]
    for place, number in enumerate(tables, start=1):
        yield number, table_name(place, published.measured[number].columns)


def table_files(published: Published) -> list[tuple[str, Measured]]:
    """Every table with the name of its files below `measured/`, without an ending."""
    return [(name, published.measured[number]) for number, name in _numbered(published)]


def table_name(number: int, columns: Sequence[str]) -> str:
    """The name of a table's files.

    Names of columns may hold anything, so a file has what every file system takes; the number tells files apart.
    """
    words = re.sub(r"[^A-Za-z0-9]+", "-", "-by-".join(columns)).strip("-")[:LONGEST_NAME]
    return f"{number:03d}{'-' if words else ''}{words}"


def counts_table(published: Published, measured: Measured) -> pa.Table:
    """A measured table: a column for each of its columns, the unbiased noisy count, and its error."""
    cells = cells_of_table(published, measured)
    counts = measured.values if measured.times == 1 else measured.values / measured.times
    found = {name: cells.column(name) for name in cells.column_names}
    for name, values in (
        (NOISY_COUNT, pa.array(counts)),
        (ERROR, pa.array(np.full(len(counts), measured.within_95_percent))),
    ):
        while name in found:  # an agreement may have a column of this name
            name += "_"
        found[name] = values
    return pa.table(found)


def data_files(
    published: Published, records: Iterator[pa.Table], *, holders: Holders, warns: bool, writes_records_csv: bool
) -> dict[str, bytes]:
    """The content of every file that holds released values.

    Args:
        published: What was published.
        records: The records, part by part.
        holders: The columns of which each party holds cells.
        warns: Whether the certificate has a warning, which a table in CSV cannot carry.
        writes_records_csv: Whether there is a CSV file of the records.
    """
    files = {
        MEASUREMENTS_FILE: json_file(measurements_json(published)),
        MODEL_FILE: json_file(published.model.to_json()),
    }
    for name, measured in table_files(published):
        table = counts_table(published, measured)
        files[f"{FOLDER}/{name}.parquet"] = parquet_file(iter([table]))
        if not warns:
            files[f"{FOLDER}/{name}.csv"] = csv_file(table)
    pairs = pairs_of(published, holders)
    if missing := in_words(pairs, has_file=not warns):
        records = (part.replace_schema_metadata({PAIRS_KEY: missing}) for part in records)
        if not warns:
            files[PAIRS_FILE] = csv_file(pairs_table(pairs))
    if writes_records_csv and not warns:
        whole = pa.concat_tables(records)
        return {**files, RECORDS_FILE: parquet_file(iter([whole])), "records.csv": csv_file(whole)}
    return {**files, RECORDS_FILE: parquet_file(records)}


def read_published(files: Mapping[str, bytes], model: type[Model], records: Callable[[], pa.Table]) -> Published:
    """What the files of a release hold.

    Args:
        files: Their content, by name.
        model: What the mechanism writes to `model.json`.
        records: Reads the records, where rows stand for people.

    Raises:
        ValueError, LookupError, ArithmeticError, OSError, pa.ArrowException: If they do not hold a release.
    """
    described = StoredMeasurements.from_json(json.loads(files[MEASUREMENTS_FILE]))
    fitted = model.from_json(json.loads(files[MODEL_FILE]))
    rows = None
    if described.rows_are_people is not None:
        rows = PerturbedRows(records=records(), noise=described.noise_of_rows or {})
    names = iter(_names(described))
    measured = tuple(
        Measured(
            place=own.place,
            axes=own.axes,
            values=_values(files, own, None if own.values is not None else next(names)),
            noise=own.noise,
            points=own.points,
            times=own.times,
            chosen=own.chosen,
            steered=own.steered is not None,
        )
        for own in described.measured
    )
    return Published(columns=described.public_columns, measured=measured, model=fitted, rows=rows)


def _names(described: StoredMeasurements) -> list[str]:
    """The names that the files of tables have to have."""
    tables = [own for own in described.measured if own.values is None]
    return [table_name(number, [axis.column for axis in own.axes]) for number, own in enumerate(tables, start=1)]


def _values(files: Mapping[str, bytes], measured: StoredMeasurement, name: str | None) -> IntArray:
    """The values of a measurement, as opened."""
    if name is None:
        return np.array(measured.values, dtype=np.int64)
    if measured.table != name:
        raise ValueError(f"the table {name!r} has another name in {MEASUREMENTS_FILE}")
    table = read_parquet(files[f"{FOLDER}/{name}.parquet"])
    if len(table.column_names) != len(measured.axes) + 2 or table.num_rows != measured.entries:
        raise ValueError(f"the table {name!r} does not have the columns and rows of its measurement")
    counts = table.column(len(measured.axes)).to_numpy()
    return np.asarray(np.rint(counts * float(measured.times)) if measured.times != 1 else counts, dtype=np.int64)


def json_file(content: Mapping[str, Any]) -> bytes:
    """A JSON file; a list of numbers is one line."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return (NUMBERS.sub(lambda found: " ".join(found[0].split()), text) + "\n").encode()


def read_parquet(content: bytes) -> pa.Table:
    """The table of a Parquet file."""
    # Not pq.read_table, whose threads may still be starting when a short command ends, which aborts it.
    return pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)


def parquet_file(parts: Iterator[pa.Table]) -> bytes:
    """The file of a table that comes in parts; the same bytes as of the whole if a part fills a row group."""
    first, sink = next(parts), BytesIO()
    with pq.ParquetWriter(sink, first.schema) as writer:
        for part in chain([first], parts):
            writer.write_table(part)
    return sink.getvalue()


def csv_file(table: pa.Table) -> bytes:
    """The CSV file of a table."""
    sink = BytesIO()
    plain = {
        name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    pa_csv.write_csv(pa.table(plain), sink)
    return sink.getvalue()
