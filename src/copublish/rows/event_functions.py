"""Functions of each person's rows in event tables, computed by DuckDB in little memory.

Every function is one of a multiset of rows. Ties go by content: the smaller value, or for `last` the larger one. Sums
add whole millionths, since sums of floats depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from copublish.agreement.derived import NO, YES, Function
from copublish.files.scratch import Scratch
from copublish.rows.csv_files import ROWS_PER_BATCH

if TYPE_CHECKING:
    pass

LARGEST_SUMMAND = 10**12
"""Numbers of events past it, on either side of zero, add as much as it does to sums and means: enough for money of any
kind, and a sum of all rows that there are fits 128 bits."""

UNITS = 10**6
"""Sums and means add numbers with six decimals."""

MEMORY_MIB, PEOPLE_PER_MIB = 128, 8_000
"""What DuckDB keeps in memory, more with more than a million people; the rest is in a folder that only this user can
enter."""

THREADS = 1


@dataclass(frozen=True)
class Chosen:
    """A function and the columns of the store that it reads.

    Attributes:
        function: Which.
        keep: The column that says which rows count.
        column: The values; none for functions of rows.
        by: The order, as text; beside it `order_` has what of it is a number.
    """

    function: Function
    keep: str
    column: str | None = None
    by: str | None = None

    def query(self) -> str:
        """SQL for the value of every person who has a row that counts."""
        rows = f"(SELECT * FROM events WHERE {self.keep})"  # noqa: S608  # names are made here
        if self.function == "distinct":
            rows = f"(SELECT DISTINCT person, {self.column} FROM {rows})"  # noqa: S608
        if self.function == "most-frequent":
            grouped = f"SELECT person, {self.column} AS v, sum(n_rows) AS n FROM {rows} GROUP BY ALL"  # noqa: S608
            least = "min({'n': -n, 'v': v}).v"
            return f"SELECT person, {least} AS value FROM ({grouped}) GROUP BY person"  # noqa: S608
        return f"SELECT person, {self._aggregate()} AS value FROM {rows} GROUP BY person"  # noqa: S608

    def _aggregate(self) -> str:
        within = f"greatest(least({self.column}, {LARGEST_SUMMAND}), -{LARGEST_SUMMAND})"
        units = f"sum(CAST(round({within} * {UNITS}) AS HUGEINT) * n_rows)"
        # Numbers come before other texts and are ordered by size; the value itself comes last and breaks ties.
        number, text = f"order_{self.by}", f"CASE WHEN order_{self.by} IS NULL THEN {self.by} ELSE '' END"
        row = f"{{'t': {number} IS NULL, 'n': coalesce({number}, 0), 's': {text}, 'v': {self.column}}}"
        return {
            "count": "CAST(sum(n_rows) AS DOUBLE)",
            "any": f"'{YES}'",
            "sum": f"CAST({units} AS DOUBLE) / {UNITS}",
            "mean": f"CAST({units} AS DOUBLE) / (CAST(sum(n_rows) AS DOUBLE) * {UNITS})",
            "min": f"min({self.column})",
            "max": f"max({self.column})",
            "first": f"min({row}).v",
            "last": f"max({row}).v",
            "distinct": "CAST(count(*) AS DOUBLE)",
        }[self.function]

    @property
    def without_rows(self) -> str:
        """SQL for the value of a person without a row that counts; null is missing."""
        return {"count": "0.0", "sum": "0.0", "distinct": "0.0", "any": f"'{NO}'"}.get(self.function, "NULL")


class EventStore:
    """The events of listed people, and what was derived from them, in a DuckDB that spills into a private folder.

    Args:
        identifiers: The normalized identifiers of a party's rows, in their order; empty for nobody.
    """

    def __init__(self, identifiers: Sequence[pa.Array]) -> None:
        self._identifiers = pa.chunked_array(identifiers, pa.string())
        self._held = ExitStack()

    def __enter__(self) -> EventStore:
        import duckdb

        folder = self._held.enter_context(Scratch("copublish-events-"))
        self._connection = duckdb.connect()
        self._held.callback(self._connection.close)
        self._set_up(folder)
        listed = pa.table({"id": self._identifiers, "place": np.arange(len(self._identifiers), dtype=np.int64)})
        self._connection.register("listed", listed)
        self._connection.execute(
            "CREATE TABLE persons AS SELECT id, row_number() OVER () AS person FROM "
            "(SELECT DISTINCT id FROM listed WHERE id <> '')"
        )
        self._connection.execute("CREATE TABLE places AS SELECT place, person FROM listed LEFT JOIN persons USING (id)")
        self._connection.unregister("listed")
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def _set_up(self, folder: Path) -> None:
        quoted = str(folder).replace("'", "''")
        memory = max(MEMORY_MIB, len(self._identifiers) // PEOPLE_PER_MIB)
        self._connection.execute(
            f"SET memory_limit = '{memory}MiB'; SET temp_directory = '{quoted}'; SET threads = {THREADS}; "
            "SET preserve_insertion_order = false; SET enable_progress_bar = false; "
            "SET python_enable_replacements = false; "
            "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false"
        )

    def add(self, schema: pa.Schema, rows: Iterator[pa.RecordBatch]) -> None:
        """Take the rows of a table, in place of those of the table before; rows of people who are not listed are left.

        Args:
            schema: The person's identifier, how many rows are alike, and the columns of what is `Chosen`.
            rows: With these columns.
        """
        failed: list[BaseException] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from rows
            except BaseException as exc:  # DuckDB would tell of it in words of its own
                failed.append(exc)
                raise

        self._connection.execute("DROP TABLE IF EXISTS events")
        self._connection.register("given", pa.RecordBatchReader.from_batches(schema, batches()))
        try:
            self._connection.execute(
                "CREATE TABLE events AS SELECT p.person, g.* EXCLUDE (person) FROM given g "
                "JOIN persons p ON g.person = p.id"
            )
        except Exception:
            if failed:
                raise failed[0] from None
            raise
        finally:
            self._connection.unregister("given")

    def derive(self, name: str, chosen: Chosen) -> Iterator[pa.RecordBatch]:
        """Yield a function of the rows that were added last, for every row of the party in its order.

        Args:
            name: The name of the one column.
            chosen: The function.
        """
        value = f"coalesce(value, {chosen.without_rows}) AS value"
        found = self._connection.execute(
            f"SELECT {value} FROM places LEFT JOIN ({chosen.query()}) USING (person) ORDER BY place"  # noqa: S608
        )
        for batch in found.to_arrow_reader(ROWS_PER_BATCH):
            yield batch.rename_columns([name])
