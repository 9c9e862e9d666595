"""Where this party's data may lie: files below the folders that were named at the start, and named sources.

Data never go through the page. It names them, and the Python names read them where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import copublish as cp
from copublish.studio.desk import Desk

FILES = (".csv", ".parquet")
DATABASES = (".duckdb", ".ddb")
MOST_FILES = 500
SOURCE = "source:"


@dataclass(frozen=True)
class Choice:
    """Data that can be chosen: what a form sends, and what a person reads."""

    value: str
    label: str


def choices(desk: Desk) -> list[Choice]:
    """Everything that can be chosen, named sources first; of very many files the first."""
    named = [Choice(f"{SOURCE}{name}", f"{name} ({table})") for name, table in desk.sources.items()]
    found = []
    for folder in desk.data_folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in (*FILES, *DATABASES) and path.is_file() and not _is_published(path, folder):
                found.append(Choice(str(path), str(path.relative_to(folder))))
            if len(found) >= MOST_FILES:
                return named + found
    return named + found


def chosen(desk: Desk, value: str, table: str = "") -> Path | cp.DatabaseTable:
    """The data that a form names.

    Raises:
        SourceError: If they are not among what was allowed at the start, or are of no kind that can be read.
    """
    if value.startswith(SOURCE):
        if value.removeprefix(SOURCE) not in desk.sources:
            raise cp.SourceError("There is no such source. Sources are named when the page is started: --source.")
        return desk.sources[value.removeprefix(SOURCE)]
    try:
        path = Path(value).resolve()
    except (OSError, ValueError, RuntimeError):
        raise cp.SourceError("This is no path of a file.") from None
    # After links were followed: a link in a data folder must not lead out of it.
    if not any(path.is_relative_to(folder) for folder in desk.data_folders):
        raise cp.SourceError(
            "This file does not lie below a folder that was named when the page was started: --data-folder."
        )
    if not path.is_file():
        raise cp.SourceError("There is no such file.")
    if path.suffix.lower() in DATABASES:
        if not table:
            raise cp.SourceError("The data are in a database: name the table, too.")
        return cp.DatabaseTable(path, table)
    if path.suffix.lower() not in FILES:
        raise cp.SourceError("Data are a .csv, .parquet or .duckdb file, or a named source.")
    return path


def _is_published(path: Path, folder: Path) -> bool:
    """Whether a file belongs to a release folder, which is nobody's own data."""
    return any((parent / "certificate.json").exists() for parent in path.parents if parent.is_relative_to(folder))
