"""Spark as the database of a party: through Spark Connect, or as a classic session with its own driver.

Ibis's batches of a Spark table are collected in memory first. So rows come by way of Parquet files in a folder that
only this user can enter and that goes with the run; Spark computes and sorts them, and they are streamed from there.

A classic session belongs to the process, a notebook perhaps, which gets it back as it was: reading needs it in UTC.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from copublish.errors import SourceError
from copublish.files.scratch import Scratch

CHANGED_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")
"""What Ibis sets in a session that it is given."""


@dataclass
class _Loan:
    settings: dict[str, str]
    readers: int = 0


_loans: dict[Any, _Loan] = {}  # by the session in Java: Python has several names for one
_lock = threading.Lock()


def borrow(session: Any) -> None:
    """Remember a session's settings, before they are changed."""
    with _lock:
        own = session._jsparkSession
        if own not in _loans:  # else somebody reads already, and settings are no longer the owner's
            _loans[own] = _Loan({name: session.conf.get(name) for name in CHANGED_SETTINGS})
        _loans[own].readers += 1


def give_back(session: Any) -> None:
    """Restore a session's settings once nobody reads any more: in another time zone a reader would get other values."""
    with _lock:
        own = session._jsparkSession
        loan = _loans[own]
        loan.readers -= 1
        if loan.readers == 0:
            del _loans[own]
            for name, value in loan.settings.items():
                with suppress(Exception):  # its owner may have stopped it, and the rows were read
                    session.conf.set(name, value)


CONNECT_SCHEME = "sc"
CLASSIC_SCHEME, STANDALONE_SCHEME = "spark+classic", "spark"
SPARK_SCHEMES = (CONNECT_SCHEME, CLASSIC_SCHEME, STANDALONE_SCHEME)

SCRATCH_VARIABLE = "COPUBLISH_SPARK_SCRATCH"
"""A folder under the same name here and at Spark's workers, for rows on their way; /tmp and the like if not set."""

CONNECT_PORT = 15002
CONNECT_TIMEOUT_SECONDS = 15
ROW_GROUP_BYTES = 16 * 2**20

PROBE_TASKS = 64
"""So many tasks write a row each before any row of a table is written: so, as a rule, each
of its workers does."""

NOT_INSTALLED = "Spark is read with pyspark, which is not installed: pip install 'copublish[spark]'."
NO_JAVA = "A classic Spark session needs Java 17 on this machine, or does not start; Spark Connect (sc://) needs none."

ROWS_MISSING = (
    "Spark counts other rows than this machine sees of those that it wrote. Either some of its workers are on machines "
    f"that do not share the folder: set {SCRATCH_VARIABLE} to one that all share, and remove {{folder}} on those "
    "machines. Or the table was written to meanwhile: try again."
)

OWN_SETTINGS = {
    "spark.app.name": "copublish",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # messages of executors can quote rows
}


QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.sql.connect.logging")
"""Where pyspark writes, to stderr, what is wrong with a query: with the query, in which values of a column can be."""


def silence_queries() -> None:
    """Let pyspark say nothing about queries that fail. Its errors are raised all the same."""
    for name in QUERY_LOGGERS:
        logging.getLogger(name).disabled = True


def plain_address(address: str) -> str:
    """Where Spark is, without user, token or settings."""
    scheme, _, rest = address.partition("://")
    if scheme.lower() == CONNECT_SCHEME:
        return f"{scheme}://{rest.partition('/')[0].partition(';')[0].rpartition('@')[2]}"
    return f"{scheme}://{rest.rpartition('@')[2]}"


def connect_spark(address: str) -> Any:
    """An Ibis connection to Spark.

    Raises:
        SourceError: If Spark cannot be reached, or what is needed is not installed.
    """
    try:
        import ibis
        import pyspark  # noqa: F401  # Ibis's own message names another package to install
    except ImportError:
        raise SourceError(NOT_INSTALLED) from None
    silence_queries()
    is_classic = not _is_connect(address)
    session = _classic_session(address) if is_classic else _remote_session(address)
    if is_classic:
        borrow(session)
    try:
        return ibis.pyspark.connect(session)  # sets its time zone to UTC
    except Exception as exc:  # its message can quote the address
        _leave(session, address)
        raise SourceError(f"Spark does not answer ({type(exc).__name__}). {_at(address)}") from None


def close_spark(connection: Any, address: str) -> None:
    """End a session of Spark Connect. A classic one is the process's, where it may have other users, and goes back."""
    _leave(connection._session, address)


def _leave(session: Any, address: str) -> None:
    if not _is_connect(address):
        give_back(session)
        return
    with suppress(Exception):  # it may be gone already, and the rows were read
        session.client.close()
    # A session closes its client once more when Python collects it, and with it what all sessions of the process
    # share. In the middle of another session's request that would wait for itself forever. Others may still ask whether
    # it is closed.
    session._client = SimpleNamespace(close=lambda: None, is_closed=True)


def _is_connect(address: str) -> bool:
    return address.lower().startswith(f"{CONNECT_SCHEME}://")


def _remote_session(address: str) -> Any:
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or CONNECT_PORT
    except ValueError:
        raise SourceError("The address of Spark cannot be read. Write sc://host:port.") from None
    try:
        # First by hand: pyspark tries for ten minutes.
        socket.create_connection((host, port), CONNECT_TIMEOUT_SECONDS).close()
    except OSError:
        raise SourceError(
            f"Spark cannot be reached: check host and port, and that its Connect server is running. {_at(address)}"
        ) from None
    try:
        return RemoteSession.builder.remote(address).create()  # a session of its own, whatever else this process has
    except Exception as exc:  # its message can quote the token
        raise SourceError(
            f"Spark refused the session: check user and token ({type(exc).__name__}). {_at(address)}"
        ) from None


def _classic_session(address: str) -> Any:
    from pyspark.sql import SparkSession

    is_standalone = address.lower().startswith(f"{STANDALONE_SCHEME}://")
    master = address if is_standalone else address.partition("://")[2]
    builder = SparkSession.builder.master(master)
    for key, value in OWN_SETTINGS.items():
        builder = builder.config(key, value)
    try:
        # One that runs is taken as it is: a builder would write these settings into it.
        return SparkSession.getActiveSession() or builder.getOrCreate()
    except Exception as exc:  # Java's messages are long and can quote settings
        raise SourceError(f"Spark did not start ({type(exc).__name__}). {NO_JAVA} {_at(address)}") from None


def _at(address: str) -> str:
    return f"The address was {plain_address(address)}."


def analyze(connection: Any, selected: Any) -> None:
    """Have Spark look at a query: whether there is all that it names, and may be read. It computes and writes nothing.

    Args:
        connection: Of Ibis.
        selected: The query.
    """
    _ = connection._session.sql(connection.compile(selected)).schema  # Connect sends nothing before this is asked for


def spark_batches(connection: Any, selected: Any, *, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    """Have Spark write a query's rows to Parquet in a private folder, and stream them from there in their order.

    Args:
        connection: Of Ibis.
        selected: The query.
        rows_per_batch: At most so many rows come at a time.

    Raises:
        SourceError: If what Spark writes there is not seen here, or not all of it.

    Privacy:
        Rows are written only where a probe without any was seen by this machine, so they go into a folder that this
        user alone can enter and that this process removes.
    """
    names = list(selected.columns)
    # Spark does not take every name for a column of Parquet.
    plain = selected.rename({f"c{number}": name for number, name in enumerate(names)})
    parent = os.environ.get(SCRATCH_VARIABLE)
    with Scratch("copublish-spark-", parent=Path(parent) if parent else None) as folder:
        _refuse_unseen(connection._session, folder)
        target = folder / "rows"
        rows = connection._session.sql(connection.compile(plain))
        rows.write.option("parquet.block.size", ROW_GROUP_BYTES).parquet(target.as_uri())
        files = _written(target)
        # A worker that had no part in the probe may have kept its rows.
        if _rows_in(files) != int(connection.to_pyarrow(selected.count()).as_py()):
            raise SourceError(ROWS_MISSING.format(folder=folder))
        yield from _batches_of(files, names, rows_per_batch)


def _refuse_unseen(session: Any, folder: Path) -> None:
    """Raise unless all of some numbers that Spark's workers write, in as many tasks, are seen by this machine."""
    target = folder / "probe"
    session.range(0, PROBE_TASKS, 1, PROBE_TASKS).write.parquet(target.as_uri())
    if _rows_in(_written(target)) != PROBE_TASKS:
        raise SourceError(
            "Spark writes where this machine does not see it: its workers, or its driver, are on others. No row was "
            f"written. Set {SCRATCH_VARIABLE} to a folder that is the same one here and there."
        )


def _written(target: Path) -> list[Path]:
    return sorted(target.glob("part-*.parquet"))


def _rows_in(files: Sequence[Path]) -> int:
    return sum(int(pq.read_metadata(file).num_rows) for file in files)


def _batches_of(files: Sequence[Path], names: list[str], rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pq.ParquetFile(file) as parts:
            for batch in parts.iter_batches(rows_per_batch):
                yield batch.rename_columns(names)
