"""Where a party's rows come from: CSV and Parquet files and data frames, read through Ibis on DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa

from copublish.errors import SourceError

Source: TypeAlias = str | Path | pd.DataFrame | pl.DataFrame | pa.Table

ROWS_PER_BATCH = 65_536

CSV_OPTIONS: dict[str, Any] = {
    "all_varchar": True,  # '007' is not 7
    "header": True,
    # Nothing but the delimiter is guessed: a guess can drop rows without a word.
    "comment": "",
    "skip": 0,
    "quote": '"',
    "escape": '"',
}


def open_source(source: Source, connection: Any) -> Any:
    """Return an Ibis table over a source. CSV columns stay text, so that '007' is not turned into 7.

    Raises:
        SourceError: If there is no such file or it is of another kind.
    """
    if isinstance(source, pd.DataFrame | pl.DataFrame | pa.Table):
        try:
            return ibis.memtable(source)
        except Exception as exc:  # its message can quote cells
            raise SourceError(
                f"The data frame cannot be read as a table ({type(exc).__name__}). Every column needs one type and "
                "a name of its own."
            ) from None
    path = Path(source)
    if not path.exists():
        raise SourceError(f"There is no file '{path}'.")
    readers = {
        ".csv": lambda: connection.read_csv(path, **CSV_OPTIONS),
        ".parquet": lambda: connection.read_parquet(path),
    }
    if path.suffix.lower() not in readers:
        raise SourceError(f"'{path}' is neither .csv nor .parquet.")
    try:
        return readers[path.suffix.lower()]()
    except Exception as exc:  # DuckDB raises many kinds, and their messages can quote rows of the file
        raise SourceError(
            f"'{path}' cannot be read as {path.suffix.lower()[1:].upper()} ({type(exc).__name__})."
        ) from None
