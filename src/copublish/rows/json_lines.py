"""Rows of JSON lines files: a JSON object on every line, each value read as the text that it stands for.

No type is guessed from the first lines, so no later line can be of another one. `07` in quotes stays text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from copublish.errors import SourceError

JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")

NO_OBJECTS = 'every line has to be one JSON object, like {"id": 7}. A file with one list of all records is no such file'


def json_lines_query(connection: Any, file: Path, path: Path) -> tuple[str, tuple[str, ...]]:
    """The query that reads a file, and the names of its columns: all keys that some line has.

    Args:
        connection: DuckDB's own, which may read the file.
        file: Where it is read.
        path: How an error calls it.

    Raises:
        SourceError: If a line is no object, there is no line, or two keys are the same in small letters.
    """
    scan = f"read_ndjson_objects({_quoted(str(file))})"
    lines = f"SELECT json_type(json) = 'OBJECT' AS is_object, json_keys(json) AS keys FROM {scan}"  # noqa: S608
    others, names = connection.execute(
        f"SELECT count(*) FILTER (NOT is_object), list_distinct(flatten(list(keys))) FROM ({lines})"  # noqa: S608
    ).fetchone()
    if others:
        raise SourceError(f"'{path}' cannot be read as JSON lines: {NO_OBJECTS}.")
    columns = tuple(sorted(name for name in names or () if name.strip()))
    if not columns:
        raise SourceError(f"'{path}' is empty. A JSON lines file has an object on every line.")
    if len({name.strip().lower() for name in columns}) < len(columns):
        raise SourceError(
            f"'{path}' has two keys that differ in upper and lower case or space alone, so it is not clear which is "
            "meant. Rename one of them."
        )
    selected = ", ".join(f'json_extract_string(json, {_pointer(name)}) AS "{_doubled(name)}"' for name in columns)
    return f"SELECT {selected} FROM {scan}", columns  # noqa: S608  # names and texts are quoted


def json_lines_problem(exc: Exception) -> str | None:
    """Words for an error of DuckDB, whose own words quote lines; nothing if it is not about JSON."""
    return NO_OBJECTS if "JSON" in str(exc) else None


def _pointer(name: str) -> str:
    """A key as a JSON pointer (RFC 6901), quoted for a query."""
    return _quoted("/" + name.replace("~", "~0").replace("/", "~1"))


def _doubled(name: str) -> str:
    return name.replace('"', '""')


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
