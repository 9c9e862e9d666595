"""Data files, named sources and release folders of this party that the page offers.

Data files are below the folders that were named at the start. Data never go through the page: it names them, and the
Python names read them where they are. Release folders are those beside the agreement, below data folders, and where
runs have put them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException

import copublish as cp
from copublish.studio.context import Desk, Situation
from copublish.studio.routing import is_text

FILES = (".csv", ".parquet", ".jsonl", ".ndjson", ".xlsx")
DATABASES = (".duckdb", ".ddb")
MOST_FILES = 500
MOST_LEVELS = 4
MOST_LOOKED_AT = 20_000
SOURCE = "source:"


@dataclass(frozen=True)
class DataChoice:
    """Data that can be chosen: what a form sends, and what a person reads."""

    value: str
    label: str


def choices(desk: Desk) -> list[DataChoice]:
    """Everything that can be chosen, named sources first; of very many files the first."""
    named = [DataChoice(f"{SOURCE}{name}", f"{name} ({table})") for name, table in desk.sources.items()]
    found = [
        DataChoice(str(path), str(path.relative_to(folder)))
        for folder in desk.data_folders
        for path in _files_below(folder)
        if is_text(path)
    ]
    return named + found[:MOST_FILES]


def _files_below(folder: Path) -> Iterator[Path]:
    """Files of data below a folder, a few levels deep; a folder that holds very much is not looked through for ever."""
    looked_at = 0
    for place, folders, names in os.walk(folder):
        here = Path(place)
        if "certificate.json" in names:  # a release, which is nobody's own data
            folders.clear()
            continue
        is_deep = len(here.relative_to(folder).parts) >= MOST_LEVELS
        folders[:] = [] if is_deep else sorted(name for name in folders if not name.startswith("."))
        yield from (here / name for name in sorted(names) if Path(name).suffix.lower() in (*FILES, *DATABASES))
        looked_at += len(names) + 1
        if looked_at > MOST_LOOKED_AT:
            return


def chosen(desk: Desk, value: str, table: str = "") -> Path | cp.DatabaseTable:
    """The data that a form names.

    Raises:
        SourceError: If they are not among what was allowed at the start, or are of no kind that can be read.
    """
    if value.startswith(SOURCE):
        if value.removeprefix(SOURCE) not in desk.sources:
            raise cp.SourceError("There is no such source. Sources are named when the page is started: --source.")
        return desk.sources[value.removeprefix(SOURCE)]
    path = _allowed(desk, value)
    if path.suffix.lower() in DATABASES:
        if not table:
            raise cp.SourceError("The data are in a database: name the table, too.")
        return cp.DatabaseTable(path, table)
    if path.suffix.lower() not in FILES:
        raise cp.SourceError("Data are a .csv, .parquet, .jsonl, .xlsx or .duckdb file, or a named source.")
    return cp.DatabaseTable(path, table) if table and path.suffix.lower() == ".xlsx" else path


def chosen_mapping(desk: Desk, value: str) -> Path | None:
    """The mapping of columns that a form names; none for an empty field.

    Raises:
        SourceError: If it is not among what was allowed at the start, or is no TOML file.
    """
    if not value:
        return None
    path = _allowed(desk, value)
    if path.suffix.lower() != ".toml":
        raise cp.SourceError("A mapping of columns is a .toml file: copublish init --mapping drafts one.")
    return path


def _allowed(desk: Desk, value: str) -> Path:
    """A file below a folder that the page may read."""
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
    return path


CERTIFICATE = "certificate.json"
MOST_RELEASES = 200


def key_of(folder: Path) -> str:
    """What stands for a folder in addresses: they show no path."""
    return hashlib.sha256(str(folder.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def release_folders(situation: Situation) -> list[Path]:
    """All of them whose names can be shown, newest first."""
    folders = {folder.absolute() for folder in _candidates(situation)}
    found = [folder for folder in folders if is_text(folder) and (folder / CERTIFICATE).is_file()]
    newest = sorted(found, key=lambda folder: (folder / CERTIFICATE).stat().st_mtime, reverse=True)
    return newest[:MOST_RELEASES]


def folder_of(situation: Situation, key: str) -> Path:
    """The folder that an address means.

    Raises:
        HTTPException: If there is none.
    """
    for folder in release_folders(situation):
        if key_of(folder) == key:
            return folder
    raise HTTPException(404)


def _candidates(situation: Situation) -> Iterator[Path]:
    for run in situation.runs:
        yield run.out
    desk = situation.desk
    for folder in dict.fromkeys((desk.agreement_file.parent, *desk.data_folders)):
        for pattern in (CERTIFICATE, f"*/{CERTIFICATE}", f"*/*/{CERTIFICATE}"):
            for certificate in folder.glob(pattern):
                yield certificate.parent
