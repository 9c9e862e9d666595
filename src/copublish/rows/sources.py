"""Where a party's rows come from: files, which DuckDB reads, and data frames and tables in databases, through Ibis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from copublish.errors import CopublishError, SourceError
from copublish.files.regular import open_regular
from copublish.rows.csv_files import ROWS_PER_BATCH, OpenFile, connect_to, csv_options, csv_problem, open_file
from copublish.rows.database import DUCKDB_SUFFIXES, SCHEMES, DatabaseTable, reading_problem, scheme_of
from copublish.rows.duckdb_settings import NOTHING_ELSE, only
from copublish.rows.encoding import Need, ReadsAs, column_expression, reads_as
from copublish.rows.json_lines import JSON_LINES_SUFFIXES, json_lines_problem, json_lines_query
from copublish.rows.mapping import NO_MAPPING, ColumnMapping, read_mapping
from copublish.rows.sheets import WORKBOOK_SUFFIXES, read_sheet
from copublish.rows.spark import analyze, silence_queries, spark_batches

if TYPE_CHECKING:
    import duckdb
    import ibis
    import pandas as pd
    import polars as pl

# Libraries that take long to load are loaded where they are used: most commands and the engine's worker need none.
PlainSource: TypeAlias = (
    "str | Path | DatabaseTable | pd.DataFrame | pl.DataFrame | pa.Table | duckdb.DuckDBPyRelation | ibis.Table"
)
Source: TypeAlias = "PlainSource | PartyData"


@dataclass(frozen=True, repr=False)
class PartyData:
    """A party's data with its event tables and its mapping of columns.

    Attributes:
        data: One row for each person: anything that `copublish.run` takes as data.
        events: For every event table that the agreement names, where it is: the same kinds of data.
        mapping: The columns' own names and values; none for agreed ones.
    """

    data: PlainSource
    events: Mapping[str, PlainSource] = field(default_factory=dict)
    mapping: ColumnMapping | None = None

    def __str__(self) -> str:
        return str(self.data)


def plain(source: Source) -> PlainSource:
    """Where the rows of people are, without event tables and whatever their columns are called."""
    return source.data if isinstance(source, PartyData) else source


def events_of(source: Source | None) -> Mapping[str, PlainSource]:
    """The event tables that go with a source."""
    return source.events if isinstance(source, PartyData) else {}


def mapped(data: Source, columns: str | Path | None) -> Source:
    """Data with the mapping of their columns that a file has, if one is given.

    Raises:
        MappingError: If the mapping cannot be read.
    """
    return data if columns is None else PartyData(plain(data), events_of(data), read_mapping(Path(columns)))


def mapping_of(source: Source) -> ColumnMapping:
    """The names and values of a source's columns; an empty mapping for agreed ones."""
    mapping = source.mapping if isinstance(source, PartyData) else None
    return NO_MAPPING if mapping is None else mapping


FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")

RELATION = "DuckDBPyRelation"

TEXT_AS_BYTES = {"postgres": "convert_to", "pyspark": "encode"}
"""Functions of servers that give the bytes of a text, by Ibis's name of the server."""

STREAMING_BACKENDS = ("duckdb", "postgres", "pyspark")
"""Of an Ibis table. Others may collect all rows in memory first, so they are asked for counts alone."""

FILE_SUFFIXES = (".csv", ".parquet", *JSON_LINES_SUFFIXES)

PARQUET_OPTIONS = {"hive_partitioning": False}

OPEN_FILES = "/proc/self/fd"
"""Where an open file has a name without a character of its own. DuckDB takes names for patterns ('data[1].csv' is
data1.csv to it) and folders such as 'year=2026' for columns; and nobody can exchange a file that is open."""

KINDS_OF_DATA = (
    "a .csv, .parquet, .jsonl, .xlsx or .duckdb file, postgresql://user@host/database, or Spark at sc://host:port"
)


def source_from(data: str | Path, table: str | None = None) -> Path | DatabaseTable:
    """The source that a user names on the command line: a file, or a database and its table.

    Raises:
        SourceError: If the two do not go together, or are of no known kind.
    """
    scheme = scheme_of(data)
    if scheme is not None and scheme not in SCHEMES:
        raise SourceError(f"Data cannot be read from addresses with {scheme}://. Data are {KINDS_OF_DATA}.")
    if scheme is not None or Path(data).suffix.lower() in DUCKDB_SUFFIXES:
        if table is None:
            raise SourceError("The data are in a database: name the table too, with --table.")
        return DatabaseTable(data, table)
    if table is not None and Path(data).suffix.lower() in WORKBOOK_SUFFIXES:
        return DatabaseTable(data, table)
    if table is not None:
        raise SourceError(f"'{data}' is a file without tables. Leave out --table, which is for databases.")
    return Path(data)


def text_as_bytes(server: str, text: Any) -> Any:
    """Expression of a server for the bytes of a text in UTF-8."""
    import ibis
    import ibis.expr.datatypes as dt

    signature = ((dt.string, dt.string), dt.binary)
    function = ibis.udf.scalar.builtin(_no_body, name=TEXT_AS_BYTES[server], signature=signature)
    return function(text, ibis.literal("UTF-8"))


def _no_body(text: str, encoding: str) -> bytes:
    """Placeholder: the server has the function."""
    raise NotImplementedError


def sheet_of(source: Source) -> tuple[Path, str | None] | None:
    """The Excel workbook and the name of its sheet, if a source is one."""
    place = source.database if isinstance(source, DatabaseTable) else source
    if not isinstance(place, str | Path) or scheme_of(place) is not None:
        return None
    if Path(place).suffix.lower() not in WORKBOOK_SUFFIXES:
        return None
    return Path(place), source.table if isinstance(source, DatabaseTable) else None


def has_order(source: Source | None) -> bool:
    """Whether the rows of a source have an order of their own: those of files and data frames do, a query's do not."""
    if isinstance(source, PartyData):
        return has_order(source.data)
    if source is not None and sheet_of(source) is not None:
        return True
    return not isinstance(source, DatabaseTable) and type(source).__name__ != RELATION and not is_ibis_table(source)


def is_ibis_table(source: Source | None) -> bool:
    """Whether a source is a table of an Ibis connection that its owner has opened."""
    source = None if source is None else plain(source)
    return type(source).__module__.startswith("ibis.")


def streams_rows(source: Source) -> bool:
    """Whether rows can be had without all of them in memory at a time."""
    if not is_ibis_table(source):
        return True
    return cast("ibis.Table", plain(source)).get_backend().name in STREAMING_BACKENDS


def without_connection(source: Source) -> Source:
    """A source that any process can read: a DuckDB relation, which lives in one connection, becomes an Arrow table.

    Raises:
        SourceError: If it cannot be read, or is an Ibis table, whose rows are to stay where they are.
    """
    if isinstance(source, PartyData):
        events = {name: plain(without_connection(table)) for name, table in source.events.items()}
        return replace(source, data=plain(without_connection(source.data)), events=events)
    if is_ibis_table(source):
        raise SourceError(
            "An Ibis table lives in the process that opened it, and here every party has one of its own. Give "
            "DatabaseTable(database, table), or take the ideal engine."
        )
    if type(source).__name__ != RELATION:
        return source
    try:
        return cast("duckdb.DuckDBPyRelation", source).to_arrow_table()
    except Exception as exc:  # its message can quote cells
        _pass_on_interrupt(exc)
        raise SourceError(f"The DuckDB relation cannot be read ({type(exc).__name__}).") from None


@dataclass(frozen=True)
class OpenSource:
    """A table that can be read, and the Ibis connection to read it with."""

    table: Any
    connection: Any

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.table.columns)

    def expression(self, column: str, need: Need, *, name: str | None = None) -> Any:
        """What encoding needs of a column.

        Args:
            column: Which.
            need: What of it.
            name: How the result is called; as the column is, if not given.
        """
        return column_expression(self.table[column], need).name(name or column)

    def reads_as(self, column: str) -> ReadsAs:
        """What a column's type says that its values can be."""
        return reads_as(self.table[column].type())

    def renamed(self, names: Mapping[str, str]) -> OpenSource:
        """The same with other names for its columns, and without those that have none."""
        return replace(self, table=self.table.select([self.table[own].name(name) for name, own in names.items()]))

    @property
    def is_spark(self) -> bool:
        """Whether Spark computes: it can encode and sort what it writes."""
        return bool(self.connection.name == "pyspark")

    def try_out(self, expressions: Sequence[Any]) -> None:
        """Find out whether expressions can be computed at the source. No row is read.

        Args:
            expressions: What is to be computed.
        """
        selected = self.table.select(expressions)
        if self.is_spark:
            # It would write even no rows to files, and where counts are enough it needs no folder for them.
            analyze(self.connection, selected)
            return
        for _ in self.connection.to_pyarrow_batches(selected.limit(0), chunk_size=ROWS_PER_BATCH):
            pass

    def batches(self, expressions: Sequence[Any], *, sorted_by: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Compute expressions at the source and yield the results in batches; the table is never here as a whole.

        Args:
            expressions: What is computed.
            sorted_by: The names of expressions by which a source sorts that has no order and can sort without memory.
        """
        selected = self.table.select(expressions)
        if self.is_spark:
            ordered = selected.order_by(list(sorted_by)) if sorted_by else selected
            return spark_batches(self.connection, ordered, rows_per_batch=ROWS_PER_BATCH)
        return iter(self.connection.to_pyarrow_batches(selected, chunk_size=ROWS_PER_BATCH))

    @property
    def is_server(self) -> bool:
        """Whether another program computes, with memory of its own."""
        return self.connection.name in TEXT_AS_BYTES

    def grouped_batches(self, expressions: Sequence[Any], *, count: str) -> Iterator[pa.RecordBatch]:
        """As `batches`, with equal rows once: a server groups them.

        Texts are grouped by their bytes: to a collation 'a' can be 'A'.

        Args:
            expressions: What is computed.
            count: The name of a column with the number of equal rows.
        """
        selected = self.table.select(expressions)
        texts = [name for name, kind in selected.schema().items() if kind.is_string()]
        as_bytes = selected.mutate(**{name: text_as_bytes(self.connection.name, selected[name]) for name in texts})
        grouped = as_bytes.group_by(as_bytes.columns).aggregate(**{count: as_bytes.count().cast("int64")})
        for batch in OpenSource(grouped, self.connection).batches([grouped[name] for name in grouped.columns]):
            columns = [batch.column(name) for name in grouped.columns]
            yield pa.record_batch(
                [c.cast(pa.string()) if name in texts else c for name, c in zip(grouped.columns, columns, strict=True)],
                names=list(grouped.columns),
            )


OpenRows: TypeAlias = OpenSource | OpenFile
"""Rows that can be read: `columns`, `expression`, `try_out` and `batches` are the same in both."""


@contextmanager
def open_rows(source: Source, subject: str = "The data") -> Iterator[OpenRows]:
    """Open a source to read its rows. CSV columns stay text, so that '007' is not turned into 7.

    Args:
        source: Where the rows are.
        subject: How an error calls them.

    Raises:
        SourceError: If there is no such source, it is of another kind, or it fails while it is read.
    """
    if isinstance(source, PartyData):
        with open_rows(source.data, subject) as opened:
            names = None if source.mapping is None else source.mapping.names_in(opened.columns)
            yield opened if names is None else opened.renamed(names)
        return
    if not is_file(source):
        with open_source(source, subject) as opened:
            yield opened
        return
    with ExitStack() as held, _told_in_our_words(source, subject):
        yield _open_file(Path(str(source)), held)


def is_file(source: Source | None) -> bool:
    """Whether a source is a file of rows, by its name."""
    return isinstance(source, str | Path) and scheme_of(source) is None and Path(source).suffix.lower() in FILE_SUFFIXES


def names_file(place: str) -> bool:
    """Whether a place is a file of rows or an Excel workbook, and no table of a database."""
    return is_file(place) or sheet_of(place) is not None


def is_json_lines(source: Source) -> bool:
    """Whether a source is a file of JSON lines, by its name."""
    return is_file(source) and Path(str(source)).suffix.lower() in JSON_LINES_SUFFIXES


@contextmanager
def open_source(source: Source, subject: str = "The data") -> Iterator[OpenSource]:
    """Open a source with Ibis, to ask for more than rows. CSV columns stay text, as in `open_rows`.

    Args:
        source: Where the rows are.
        subject: How an error calls them.

    Raises:
        SourceError: If there is no such source, it is of another kind, or it fails while it is read.
    """
    if isinstance(source, PartyData):
        with open_source(source.data, subject) as opened:
            names = None if source.mapping is None else source.mapping.names_in(opened.columns)
            yield opened if names is None else opened.renamed(names)
        return
    with ExitStack() as held:
        connection = _connect(source, held)
        with _told_in_our_words(source, subject):
            yield OpenSource(_table(source, connection, held), connection)


@contextmanager
def _told_in_our_words(source: PlainSource, subject: str) -> Iterator[None]:
    """Pass on what kind of error a source had, and no more: its messages can quote rows."""
    try:
        yield
    except CopublishError:
        raise
    except Exception as exc:
        _pass_on_interrupt(exc)
        if isinstance(source, DatabaseTable):
            raise SourceError(reading_problem(exc, source)) from None
        raise SourceError(f"{subject} cannot be read{_why(exc)}.") from None


def _connect(source: PlainSource, held: ExitStack) -> Any:
    """The connection to a source, closed with what is held unless its owner has opened it."""
    import ibis

    if is_ibis_table(source):
        silence_queries()
        return cast("ibis.Table", source).get_backend()
    if isinstance(source, DatabaseTable) and sheet_of(source) is None:
        connection = source.connect()
        held.callback(source.disconnect, connection)
        return connection
    connection = ibis.duckdb.connect()
    held.callback(connection.disconnect)
    return connection


def _table(source: PlainSource, connection: Any, held: ExitStack) -> Any:
    """The table of a source; what has to stay open while it is read is held."""
    if is_ibis_table(source):
        return source
    if (sheet := sheet_of(source)) is not None:
        source = read_sheet(*sheet)
    if isinstance(source, DatabaseTable):
        return source.open(connection)
    source = plain(without_connection(source))
    if type(source).__module__.partition(".")[0] in FRAME_LIBRARIES:
        import ibis

        connection.raw_sql(NOTHING_ELSE)
        try:
            return ibis.memtable(source)
        except Exception as exc:  # its message can quote cells
            raise SourceError(
                f"The data frame cannot be read as a table ({type(exc).__name__}). Every column needs one type and "
                "a name of its own."
            ) from None
    if not isinstance(source, str | Path):
        raise SourceError(f"A {type(source).__name__} cannot be read as a table. Data are {KINDS_OF_DATA}.")
    if scheme_of(source) is not None or Path(source).suffix.lower() in DUCKDB_SUFFIXES:
        raise SourceError("The data are in a database: give DatabaseTable(database, table).")
    return _table_of_file(Path(source), connection, held)


def _table_of_file(path: Path, connection: Any, held: ExitStack) -> Any:
    if path.suffix.lower() not in FILE_SUFFIXES:
        raise SourceError(f"'{path}' is of no known kind. Data are {KINDS_OF_DATA}.")
    literal = _held_open(path, held)
    connection.raw_sql(only(literal))
    with _told_of_file(path):
        if path.suffix.lower() == ".csv":
            return connection.read_csv(literal, **csv_options(literal, path))
        if path.suffix.lower() in JSON_LINES_SUFFIXES:
            return connection.sql(json_lines_query(connection.con, literal, path)[0])
        return connection.read_parquet(literal, **PARQUET_OPTIONS)


def _open_file(path: Path, held: ExitStack) -> OpenFile:
    literal = _held_open(path, held)
    with _told_of_file(path):
        if path.suffix.lower() == ".csv":
            return open_file("read_csv", literal, csv_options(literal, path), held)
        if path.suffix.lower() in JSON_LINES_SUFFIXES:
            connection = connect_to(literal, held)
            query, names = json_lines_query(connection, literal, path)
            return OpenFile(connection, f"({query})", dict.fromkeys(names, "VARCHAR"))
        return open_file("read_parquet", literal, PARQUET_OPTIONS, held)


def _held_open(path: Path, held: ExitStack) -> Path:
    """A name of a file that stays open while it is held."""
    try:
        return Path(OPEN_FILES, str(held.enter_context(open_regular(path))))
    except FileNotFoundError:
        raise SourceError(f"There is no file '{path}'.") from None
    except OSError as exc:
        raise SourceError(f"'{path}' cannot be read: {exc.strerror}.") from None


@contextmanager
def _told_of_file(path: Path) -> Iterator[None]:
    """Pass on what kind of error a file had: DuckDB raises many kinds, and their messages can quote rows of it."""
    try:
        yield
    except SourceError:
        raise
    except Exception as exc:
        _pass_on_interrupt(exc)
        raise SourceError(f"'{path}' cannot be read as {_format(path)}{_why(exc)}.") from None


def _format(path: Path) -> str:
    suffix = path.suffix.lower()
    return "JSON lines" if suffix in JSON_LINES_SUFFIXES else suffix[1:].upper()


def _pass_on_interrupt(exc: Exception) -> None:
    """Raise what a person meant who stopped a query: DuckDB makes an error of its own of it."""
    if isinstance(exc.__cause__, KeyboardInterrupt):
        raise KeyboardInterrupt from None


def _why(exc: Exception) -> str:
    """Words for an error: what is wrong with a file of text, or the kind of error alone."""
    problem = csv_problem(exc) or json_lines_problem(exc)
    return f" ({type(exc).__name__})" if problem is None else f": {problem}"
