"""Columns that data frames and Parquet files call categories, with the order that some of them have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from copublish.files.regular import open_regular
from copublish.rows.sources import Source


def categories_of(source: Source) -> dict[str, tuple[str, ...] | None]:
    """The columns that are called categories, each with its values in order if it is an ordered one.

    Privacy:
        Values come from the data. They are for their owner, who may confirm them one by one.
    """
    if isinstance(source, str | Path):
        return _of_parquet(Path(source)) if Path(source).suffix.lower() == ".parquet" else {}
    library = type(source).__module__.partition(".")[0]
    frame: Any = source
    if library == "pandas":
        kinds = {str(name): kind for name, kind in frame.dtypes.items() if kind.name == "category"}
        return {name: _texts(kind.categories) if kind.ordered else None for name, kind in kinds.items()}
    if library == "polars":
        return {
            name: _texts(kind.categories) if kind.base_type().__name__ == "Enum" else None
            for name, kind in frame.schema.items()
            if kind.base_type().__name__ in ("Categorical", "Enum")
        }
    return _of_arrow(frame) if isinstance(source, pa.Table) else {}


def _of_parquet(path: Path) -> dict[str, tuple[str, ...] | None]:
    """The categories that Arrow and pandas have written down; of ordered ones the first rows have the whole order."""
    import pyarrow.parquet as pq

    with open_regular(path) as descriptor, open(descriptor, "rb", closefd=False) as opened:
        file = pq.ParquetFile(opened)
        kinds = {one.name: one.type for one in file.schema_arrow if pa.types.is_dictionary(one.type)}
        ordered = [name for name, kind in kinds.items() if kind.ordered]
        first = file.read_row_group(0, columns=ordered) if ordered and file.num_row_groups else None
        # Arrow keeps the type of texts alone; pandas writes down that codes are categories.
        said = (file.schema_arrow.pandas_metadata or {}).get("columns", [])
        names = [one["name"] for one in said if one.get("pandas_type") == "categorical" and one.get("name")]
    return {**dict.fromkeys((*kinds, *names)), **(_of_arrow(first) if first is not None else {})}


def _of_arrow(table: pa.Table) -> dict[str, tuple[str, ...] | None]:
    kinds = {one.name: one.type for one in table.schema if pa.types.is_dictionary(one.type)}
    return {name: _order(table[name]) if kind.ordered else None for name, kind in kinds.items()}


def _order(column: pa.ChunkedArray) -> tuple[str, ...] | None:
    return _texts(column.chunk(0).dictionary.to_pylist()) if column.num_chunks else None


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(str(value).strip() for value in values)
