"""Rows of CSV and Parquet files, read by DuckDB itself: loading Ibis would take longer than reading most of them.

Left to itself DuckDB guesses a CSV file's delimiter from the first rows, and one row of another length makes it guess
wrong; so the delimiter comes from the header line only. `csv_problem` has what may be said when the rest cannot be
read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from copublish.errors import SourceError
from copublish.rows.duckdb_settings import only
from copublish.rows.encoding import BLANKS, Need, ReadsAs

if TYPE_CHECKING:
    import duckdb

ROWS_PER_BATCH = 65_536

DOUBLE = '"'

FLOATS = ("FLOAT", "DOUBLE")

WHOLE = tuple(f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))

NUMBERS_AS_TEXT = ("VARCHAR", "ENUM", "DECIMAL", "HUGEINT", "UHUGEINT")
"""What may or may not be a number, or not one of a float: read as `numbers_of` reads text."""


@dataclass(frozen=True)
class OpenFile:
    """A file that can be read, as `OpenSource` is; its expressions are DuckDB's SQL.

    Attributes:
        connection: Reads it.
        scan: The call of a function that names it.
        types: The columns, with DuckDB's names of their types.
    """

    connection: duckdb.DuckDBPyConnection
    scan: str
    types: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.types)

    def renamed(self, names: Mapping[str, str]) -> OpenFile:
        """The same with other names for its columns, and without those that have none."""
        selected = ", ".join(f"{_quoted(own, DOUBLE)} AS {_quoted(name, DOUBLE)}" for name, own in names.items())
        scan = f"(SELECT {selected} FROM {self.scan})"  # noqa: S608  # names are quoted
        return replace(self, scan=scan, types={name: self.types[own] for name, own in names.items()})

    def expression(self, column: str, need: Need, *, name: str | None = None) -> str:
        """What encoding needs of a column; `column_expression` says what that is, and must give the same.

        Args:
            column: Which.
            need: What of it.
            name: How the result is called; as the column is, if not given.
        """
        called, name, kind = _quoted(name or column, DOUBLE), _quoted(column, DOUBLE), self._kind(column)
        if need == "text" or kind in NUMBERS_AS_TEXT:
            # Floats as they are, for `texts_of` to write.
            sql = name if kind in FLOATS else f"trim(CAST({name} AS VARCHAR), {_literal(BLANKS)})"
        elif kind in (*FLOATS, *WHOLE, "NULL"):
            sql = f"CAST({name} AS DOUBLE)"
        else:
            # Dates and the like have no number; marked as infinite, so that they are told from missing ones.
            sql = f"CAST(CAST({name} AS INTEGER) AS DOUBLE)" if kind == "BOOLEAN" else "CAST('inf' AS DOUBLE)"
        return f"{sql} AS {called}"

    def reads_as(self, column: str) -> ReadsAs:
        """What a column's type says that its values can be."""
        kind = self._kind(column)
        if kind in ("VARCHAR", "ENUM", "NULL"):
            return "text"
        return "number" if kind in (*NUMBERS_AS_TEXT, *FLOATS, *WHOLE, "BOOLEAN") else "neither"

    def try_out(self, expressions: Sequence[str]) -> None:
        """Find out whether expressions can be computed. No row is read."""
        self.connection.execute(f"{self._select(expressions)} LIMIT 0")

    def batches(self, expressions: Sequence[str], *, sorted_by: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the values of expressions in batches, in the order of the file: it has one, and is not sorted."""
        return iter(self.connection.execute(self._select(expressions)).to_arrow_reader(ROWS_PER_BATCH))

    def _select(self, expressions: Sequence[str]) -> str:
        return f"SELECT {', '.join(expressions)} FROM {self.scan}"  # noqa: S608  # names and texts are quoted

    def _kind(self, column: str) -> str:
        """The name of a column's type without its parameters."""
        written = self.types[column]
        return "LIST" if written.endswith("]") else written.partition("(")[0].strip('"')


def connect_to(path: Path, held: ExitStack) -> duckdb.DuckDBPyConnection:
    """A connection that can read one file and nothing else.

    Args:
        path: Where it is, as a whole path.
        held: Closes the connection.
    """
    import duckdb

    connection = duckdb.connect()
    held.callback(connection.close)
    # Moments are written alike on every machine, and no name in a query is a variable of this program.
    connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false; SET enable_progress_bar = false")
    connection.execute(only(path))
    return connection


def open_file(function: str, path: Path, options: Mapping[str, Any], held: ExitStack) -> OpenFile:
    """Open a file for reading.

    Args:
        function: DuckDB's function that reads it.
        path: Where it is.
        options: The function's options.
        held: Closes the connection.
    """
    path = path.absolute()  # DuckDB allows what it finds, and compares whole paths
    connection = connect_to(path, held)
    given = "".join(f", {name} = {_literal(value)}" for name, value in options.items())
    scan = f"{function}({_literal(str(path))}{given})"
    described = connection.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608  # the path is quoted
    return OpenFile(connection, scan, {str(name): str(kind) for name, kind, *_ in described})


def _literal(value: str | bool | int) -> str:
    return _quoted(value, "'") if isinstance(value, str) else str(value)


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, 2 * quote) + quote


DELIMITERS = (",", ";", "\t", "|")

NOT_UTF8 = "it is not UTF-8 text. Save it as UTF-8 (in spreadsheet programs: 'CSV UTF-8')"
TOO_LONG = "a line is longer than 2 million bytes, which usually means that a quote is not closed"
UNEVEN = (
    "a line has more or fewer cells than the header, or a quote is not closed. Text that holds the delimiter or a line "
    'break stands in double quotes, and a double quote in it is written ""'
)


def csv_options(file: Path, path: Path) -> dict[str, Any]:
    """How DuckDB is to read a file: every cell as text, and every line after the header as a record.

    Args:
        file: Where it is read.
        path: How an error calls it.

    Raises:
        SourceError: If the file has no header line, or one that names a column twice. It never quotes the line: in a
            file without a header it is a person's.
    """
    header, delimiter = _header(file, path)
    names = [name.strip().lower() for name in header if name.strip()]
    if not names:
        raise SourceError(f"'{path}' is empty. A CSV file begins with a line of column names.")
    if len(set(names)) < len(names):
        raise SourceError(
            f"The first line of '{path}' names a column twice, so it is not clear which is meant (upper and lower case "
            "make no difference). Rename one of them; a CSV file without a line of column names needs one."
        )
    return {
        "delim": delimiter,
        "all_varchar": True,  # '007' is not 7
        "header": True,
        # Nothing is guessed: a guess can drop rows without a word.
        "comment": "",
        "skip": 0,
        "quote": '"',
        "escape": '"',
        "hive_partitioning": False,
    }


def csv_problem(exc: Exception) -> str | None:
    """Words for an error of DuckDB, whose own words quote rows; nothing if it is not about CSV."""
    words = str(exc)
    if "Invalid unicode" in words:
        return NOT_UTF8
    if "Maximum line size" in words:
        return TOO_LONG
    return UNEVEN if "CSV Error" in words or "sniffing" in words else None


def _header(file: Path, path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and the delimiter: the one that makes most of them."""
    rows: dict[str, list[str]] = {}
    for delimiter in DELIMITERS:
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                rows[delimiter] = next(csv.reader(lines, delimiter=delimiter), [])
        except UnicodeDecodeError:
            raise SourceError(f"'{path}' cannot be read as CSV: {NOT_UTF8}.") from None
        except (OSError, csv.Error) as exc:  # messages of the reader can quote the line
            raise SourceError(f"'{path}' cannot be read as CSV ({type(exc).__name__}).") from None
    delimiter = max(DELIMITERS, key=lambda delimiter: len(rows[delimiter]))
    return rows[delimiter], delimiter
