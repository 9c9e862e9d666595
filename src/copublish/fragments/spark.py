"""Spark as the database of a party: through Spark Connect, or as a classic session with its own driver.

Ibis's batches of a Spark table are collected in memory first. So rows come by way of Parquet files in a folder that
only this user can enter and that goes with the run; Spark computes and sorts them, and they are streamed from there.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from copublish.errors import SourceError
from copublish.files.scratch import Scratch

CONNECT_SCHEME = "sc"
CLASSIC_SCHEME, STANDALONE_SCHEME = "spark+classic", "spark"
SPARK_SCHEMES = (CONNECT_SCHEME, CLASSIC_SCHEME, STANDALONE_SCHEME)

SCRATCH_VARIABLE = "COPUBLISH_SPARK_SCRATCH"
"""A folder under the same name here and at Spark's workers, for rows on their way; /tmp and the like if not set."""

CONNECT_PORT = 15002
CONNECT_TIMEOUT_SECONDS = 15
ROW_GROUP_BYTES = 16 * 2**20

NOT_INSTALLED = "Spark is read with pyspark, which is not installed: pip install 'copublish[spark]'."
NO_JAVA = "A classic Spark session needs Java 17 on this machine, or does not start; Spark Connect (sc://) needs none."

OWN_SETTINGS = {
    "spark.app.name": "copublish",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
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
    scheme = address.partition("://")[0].lower()
    session = _remote_session(address) if scheme == CONNECT_SCHEME else _classic_session(address)
    try:
        return ibis.pyspark.connect(session)
    except Exception as exc:  # its message can quote the address
        raise SourceError(f"Spark does not answer ({type(exc).__name__}). {_at(address)}") from None


def close_spark(connection: Any, address: str) -> None:
    """End a session of Spark Connect. A classic one goes with this process, in which it may have other users."""
    if address.lower().startswith(f"{CONNECT_SCHEME}://"):
        with suppress(Exception):  # it may be gone already, and the rows were read
            connection._session.client.close()


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
        return builder.getOrCreate()
    except Exception as exc:  # Java's messages are long and can quote settings
        raise SourceError(f"Spark did not start ({type(exc).__name__}). {NO_JAVA} {_at(address)}") from None


def _at(address: str) -> str:
    return f"The address was {plain_address(address)}."


def spark_batches(connection: Any, selected: Any, *, rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    """Have Spark write a query's rows to Parquet in a private folder, and stream them from there in their order.

    Args:
        connection: Of Ibis.
        selected: The query.
        rows_per_batch: At most so many rows come at a time.

    Raises:
        SourceError: If Spark wrote them where this machine does not see them.
    """
    names = list(selected.columns)
    # Spark does not take every name for a column of Parquet.
    plain = selected.rename({f"c{number}": name for number, name in enumerate(names)})
    parent = os.environ.get(SCRATCH_VARIABLE)
    with Scratch("copublish-spark-", parent=Path(parent) if parent else None) as folder:
        target = folder / "rows"
        rows = connection._session.sql(connection.compile(plain))
        rows.write.option("parquet.block.size", ROW_GROUP_BYTES).parquet(target.as_uri())
        if not (target / "_SUCCESS").exists():
            raise SourceError(
                "Spark wrote the rows where this machine does not see them: its workers are on others. Set "
                f"{SCRATCH_VARIABLE} to a folder that has the same name here and there."
            )
        yield from _batches_of(sorted(target.glob("part-*.parquet")), names, rows_per_batch)


def _batches_of(files: Sequence[Path], names: list[str], rows_per_batch: int) -> Iterator[pa.RecordBatch]:
    for file in files:
        with pq.ParquetFile(file) as parts:
            for batch in parts.iter_batches(rows_per_batch):
                yield batch.rename_columns(names)
