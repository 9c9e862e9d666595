"""One DuckDB for the data frames of many simulations: opening one takes longer than to read a small table.

Where reading is what is tested, each frame has a DuckDB of its own, as in a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

import duckdb
from ibis.backends.duckdb import Backend

from copublish.rows import sources
from copublish.rows.duckdb_settings import NOTHING_ELSE

OF_IBIS = "SET GLOBAL timezone = 'UTC'; SET GLOBAL python_enable_replacements = false"
"""What Ibis sets when it opens a DuckDB."""

own_connection = sources._connect


@cache
def database() -> duckdb.DuckDBPyConnection:
    """The DuckDB, set as one of a run."""
    found = duckdb.connect()
    found.execute(OF_IBIS)
    found.execute(NOTHING_ELSE)
    return found


class SettledBackend(Backend):
    """Ibis on a cursor of the DuckDB, whose settings cannot be changed any more. Its tables go with the cursor."""

    def raw_sql(self, query: Any, **settings: Any) -> Any:
        """Run a query; what is set already is not set again."""
        return None if query == NOTHING_ELSE else super().raw_sql(query, **settings)


def cursor_for(source: sources.Source, held: ExitStack) -> Any:
    """A connection to a data frame, or whatever another source has."""
    if type(source).__module__.partition(".")[0] not in sources.FRAME_LIBRARIES:
        return own_connection(source, held)
    backend = SettledBackend()
    backend._can_reconnect = False
    backend.con, backend._record_batch_readers_consumed = database().cursor(), {}
    held.callback(backend.disconnect)
    return backend


@contextmanager
def frames_of_one_database() -> Iterator[None]:
    """Read data frames meanwhile by cursors of one DuckDB."""
    with patch.object(sources, "_connect", cursor_for):
        yield
