"""A table in a database as a party's rows: a DuckDB file, PostgreSQL or Spark. Nothing is ever written to any.

A password may be in the address, so nothing here shows an address but `DatabaseTable.address`, which leaves it out.
Drivers' messages can quote rows and addresses, so they are sorted into kinds and never passed on.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from copublish.errors import SourceError
from copublish.rows.duckdb_settings import NOTHING_ELSE
from copublish.rows.spark import SPARK_SCHEMES, close_spark, connect_spark, plain_address

if TYPE_CHECKING:
    import psycopg

POSTGRES_SCHEMES = ("postgresql", "postgres")
SCHEMES = (*POSTGRES_SCHEMES, *SPARK_SCHEMES)
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
CONNECT_TIMEOUT_SECONDS = 15

# A table looks the same whatever this server, database or role is set to: all digits of floats, ISO dates.
SESSION_SETTINGS = "SET LOCAL extra_float_digits = 1; SET LOCAL DateStyle = 'ISO, YMD'"

_HOSTS = re.compile(r"((\[[\w:.%]+\]|[^\[\]:,@]*)(:\d*)?)(,(\[[\w:.%]+\]|[^\[\]:,@]*)(:\d*)?)*")


@dataclass(frozen=True, repr=False)
class DatabaseTable:
    """One table or view of a database.

    Attributes:
        database: `postgresql://user@host:port/database`, a DuckDB file, or Spark: `sc://host:port` for Spark Connect,
            `spark://host:port` or `spark+classic://MASTER` for a classic session. A password that is not in the
            address is looked for where libpq looks: PGPASSWORD, then ~/.pgpass; a token of Spark Connect in
            SPARK_CONNECT_AUTHENTICATE_TOKEN.
        table: Its name as the database spells it, with the schema in front if it is not the usual one: `public.loans`.
    """

    database: str | Path
    table: str

    def __post_init__(self) -> None:
        if self.is_postgres:
            refuse_malformed_address(str(self.database))
        if not all(self.table.split(".", 1)):
            raise SourceError(f"'{self.table}' is no name of a table. Write TABLE or SCHEMA.TABLE.")

    def __repr__(self) -> str:  # it may end up in a log
        return f"<{self}>"

    def __str__(self) -> str:
        return f"table '{self.table}' of {self.address}"

    @property
    def is_postgres(self) -> bool:
        """Whether this is an address of PostgreSQL."""
        return scheme_of(self.database) in POSTGRES_SCHEMES

    @property
    def is_spark(self) -> bool:
        """Whether this is an address of Spark."""
        return scheme_of(self.database) in SPARK_SCHEMES

    @property
    def address(self) -> str:
        """Where the database is, without password or settings."""
        if self.is_spark:
            return plain_address(str(self.database))
        if not self.is_postgres:
            return f"'{self.database}'"
        parts = urlsplit(str(self.database))
        login, at, hosts = parts.netloc.rpartition("@")
        return f"{parts.scheme}://{login.partition(':')[0]}{at}{hosts}{parts.path}"

    def connect(self) -> Any:
        """An Ibis connection. To PostgreSQL and DuckDB it can only read; of Spark nothing but reading is asked.

        Raises:
            SourceError: Says what is wrong with the file, the server, the login or the database.
        """
        if self.is_spark:
            return connect_spark(str(self.database))
        return _connect_postgres(self) if self.is_postgres else _connect_duckdb(self)

    def disconnect(self, connection: Any) -> None:
        """Close what `connect` has opened."""
        if self.is_spark:
            close_spark(connection, str(self.database))
        else:
            connection.disconnect()

    def open(self, connection: Any) -> Any:
        """The Ibis table; nothing of its rows is read yet.

        Raises:
            SourceError: If there is no such table.
        """
        import ibis

        schema, _, name = self.table.rpartition(".") if self.table.count(".") == 1 else ("", "", self.table)
        try:
            return connection.table(name, database=schema or None)
        except ibis.common.exceptions.TableNotFound:
            raise SourceError(
                f"There is no {self}, or this login may not see it. Names must match exactly, upper and lower case "
                "included; write SCHEMA.TABLE for a table that is not in the usual schema."
            ) from None


def scheme_of(text: str | Path) -> str | None:
    """The scheme of an address; none for the name of a file."""
    scheme, separator, _ = str(text).partition("://")
    return scheme.lower() if separator and not isinstance(text, Path) else None


def refuse_malformed_address(address: str) -> None:
    """Raise unless it is plain which part of an address is the password, so that the rest can be shown."""
    import psycopg

    try:
        parts = urlsplit(address)
        hosts = parts.netloc.rpartition("@")[2]
        elsewhere = parts.path + parts.query + parts.fragment
        is_plain = parts.netloc.count("@") <= 1 and "@" not in elsewhere and _HOSTS.fullmatch(hosts) is not None
        if not is_plain or re.search(r"\s", address):
            raise ValueError
        psycopg.conninfo.conninfo_to_dict(address)
    except (ValueError, psycopg.Error):  # its message can quote the password
        raise SourceError(
            "The address of the database cannot be read. Write postgresql://user@host:port/database; in a password "
            "or a name, @ is written %40, / is %2F, : is %3A, # is %23, ? is %3F and % is %25."
        ) from None


def reading_problem(exc: Exception, table: DatabaseTable) -> str:
    """Words for an error that the database gave while it was read."""
    if table.is_postgres:
        import psycopg

        while isinstance(exc.__context__, psycopg.Error):  # a failed query takes its cursor along: a second error
            exc = exc.__context__
        if isinstance(exc, psycopg.errors.InsufficientPrivilege):
            return f"This login may not read {table}. Ask for: GRANT SELECT."
    if table.is_spark:
        return (
            f"The rows of {table} cannot be read ({type(exc).__name__}): the session of Spark ended, a query failed "
            "there, or Spark may not write to the folder for rows, which only this user can enter: it has to run as "
            "the same user. Try again once Spark answers."
        )
    return f"The rows of {table} cannot be read ({type(exc).__name__})."


def _connect_duckdb(table: DatabaseTable) -> Any:
    path = Path(table.database)
    if not path.exists():
        raise SourceError(f"There is no file '{path}'.")
    import ibis

    try:
        connection = ibis.duckdb.connect(path, read_only=True)
        connection.raw_sql(NOTHING_ELSE)
        return connection
    except Exception as exc:  # messages can quote the file
        if "lock on file" in str(exc):
            raise SourceError(f"'{path}' is open in another program that writes to it. Close it there.") from None
        raise SourceError(f"'{path}' cannot be read as a DuckDB file ({type(exc).__name__}).") from None


def _connect_postgres(table: DatabaseTable) -> Any:
    import ibis
    import psycopg

    parameters = psycopg.conninfo.conninfo_to_dict(str(table.database), fallback_application_name="copublish")
    if "connect_timeout" not in parameters and not os.environ.get("PGCONNECT_TIMEOUT"):
        parameters["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
    parameters["client_encoding"] = "utf8"
    try:
        connection = psycopg.connect(**parameters)  # type: ignore[arg-type]
    except psycopg.Error as exc:
        raise SourceError(f"{_connection_problem(exc)} The address was {table.address}.") from None
    # One snapshot from the look at the columns to the last row; the server itself refuses to write.
    connection.read_only = True
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    try:
        connection.execute(SESSION_SETTINGS)
        return ibis.postgres.from_connection(connection)
    except BaseException:
        connection.close()
        raise


def _connection_problem(exc: psycopg.Error) -> str:
    """Sort a failure to connect. libpq gives no code for it, and the server writes in a language of its own."""
    message = str(exc)
    if re.search(r'FATAL:\s+database ".*" does not exist', message):
        return "The database server has no database of this name."
    if re.search(r"authentication failed|no password supplied|FATAL:\s+role |pg_hba\.conf", message):
        return (
            "The database server refused the login: check user and password (in the address, PGPASSWORD or ~/.pgpass)."
        )
    if re.search(r"SSL|certificate", message):
        return "The connection to the database server could not be encrypted as asked: check sslmode and certificates."
    if "FATAL" in message or (exc.pgconn is not None and exc.pgconn.used_password):
        return "The database server refused the connection: check user, password and the name of the database."
    return "The database server cannot be reached: check host and port, and that the server is running."
