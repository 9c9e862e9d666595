"""The SQLite file of a ledger: created, opened, read and written, safe from crashes and wary of edits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import cast

from copublish.errors import LedgerError, plain_text
from copublish.kernel.ledger.cells import GarbledCellError
from copublish.kernel.ledger.chain import BEGUN, CHAIN_SCHEMA, append_row, append_tables

LOCK_TIMEOUT_SECONDS = 30.0

HURRY_MILLISECONDS = 500

_SCHEMA = (
    CHAIN_SCHEMA
    + """
CREATE TABLE limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, neighbors TEXT NOT NULL, epsilon TEXT NOT NULL,
    delta TEXT NOT NULL, pure_epsilon TEXT, rho TEXT, delta_for_rho TEXT, delta_for_rest TEXT, set_at TEXT NOT NULL
);
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    peers TEXT NOT NULL, epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL, account TEXT NOT NULL,
    rho_add_remove TEXT, rho_replace TEXT, rho_delta TEXT NOT NULL, rho_distance TEXT NOT NULL,
    state TEXT NOT NULL, reserved_at TEXT NOT NULL, ended_at TEXT
);
CREATE TABLE disclosures (
    charge INTEGER NOT NULL REFERENCES charges(id), position INTEGER NOT NULL, label TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL, charged_at TEXT NOT NULL,
    PRIMARY KEY (charge, position)
);
CREATE TABLE alignment_limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, most INTEGER, set_at TEXT NOT NULL
);
CREATE TABLE alignments (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    kind TEXT NOT NULL, compared_by TEXT NOT NULL, peers TEXT NOT NULL, size_class INTEGER NOT NULL,
    commitment TEXT NOT NULL, begun_at TEXT NOT NULL
);
CREATE TABLE peer_lists (
    alignment INTEGER NOT NULL REFERENCES alignments(id), peer TEXT NOT NULL, commitment TEXT NOT NULL,
    PRIMARY KEY (alignment, peer)
);
CREATE TABLE list_keys (dataset TEXT PRIMARY KEY, key TEXT NOT NULL);
CREATE TABLE locks (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, peer TEXT NOT NULL, certificate TEXT, why TEXT NOT NULL,
    locked_at TEXT NOT NULL, unlocked_at TEXT
);
CREATE TABLE receipts (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL, party TEXT NOT NULL,
    head TEXT NOT NULL, given_at TEXT NOT NULL, statement TEXT NOT NULL, signatures TEXT
);
CREATE TABLE forgotten_receipts (
    id INTEGER PRIMARY KEY, party TEXT NOT NULL, up_to INTEGER NOT NULL, forgotten_at TEXT NOT NULL
);
CREATE TABLE heartbeat (id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT, room BLOB);
"""
)
"""The tables of every ledger. `heartbeat` means nothing: it is written to see whether the file can be."""

LEDGER_FORMAT = 1
"""Number of the format, in SQLite's `user_version`."""

ROOM_BYTES = 128 * 2**10
"""Upper bound on what a charge, its disclosures, signatures and their entries in the chain take. What a heartbeat took
stays with the file, for them."""

SchemaEntry = tuple[str, str, str]
"""Type, name and SQL of a table, an index, a view or a trigger."""

WHAT_TO_DO = "Restore it from a backup; a ledger that cannot be read stops every release."

NOTHING_OPENED = "Nothing is opened."

NOTHING_MORE_OPENED = "Nothing more is opened; what was charged before stays charged."
"""Once a disclosure was written: its value may have been opened since."""

MOST_NAMED = 5
"""Tables that a message names of a file that is no ledger."""

NO_TEXT = "Could not decode"
"""How SQLite says that a cell is not in UTF-8."""


class LedgerFile:
    """One SQLite file; `":memory:"` keeps it for the life of this process.

    Safe under several processes at once: every change is one immediate, fully synchronized transaction.
    """

    def __init__(self, path: str | Path, *, patience_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
        self.path = str(path)
        self._standing = NOTHING_OPENED
        try:
            _make_private_file(path)
            self._database = sqlite3.connect(
                self.path, timeout=patience_seconds, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous = EXTRA")
            self._database.execute("PRAGMA foreign_keys = ON")
            if self._is_empty():
                self._create()
            self._refuse_another_schema()
        except (sqlite3.Error, OSError) as exc:
            raise LedgerError(
                f"The ledger '{self.path}' cannot be opened ({exc}). Nothing was measured. Check that the file is "
                "a copublish ledger, that you may write to it and that no other program holds it."
            ) from exc

    def _create(self) -> None:
        """Create all tables of a new ledger and begin its chain, in one transaction."""
        with self._transaction():
            if not self._is_empty():  # another process was faster
                return
            for statement in _statements():
                self._database.execute(statement)
            self._database.execute(f"PRAGMA user_version = {LEDGER_FORMAT}")
            append_tables(self._database, BEGUN, at=now())

    def _is_empty(self) -> bool:
        return self._format() == 0 and not _schema_of(self._database)

    def _refuse_another_schema(self) -> None:
        """Raise if the file has another schema than copublish creates; it stays as it is.

        Other columns would be read wrongly, and a trigger could change what is written.

        Raises:
            LedgerError: Naming the format, or the tables that differ.
        """
        number, differing = self._format(), sorted(_schema_of(self._database) ^ ledger_schema())
        if number == LEDGER_FORMAT and not differing:
            return
        self._database.close()
        names = ", ".join(dict.fromkeys(f"{kind} '{plain_text(name, 60)}'" for kind, name, _ in differing[:MOST_NAMED]))
        reason = f"has the format {number}" if number != LEDGER_FORMAT else f"has another schema ({names})"
        raise LedgerError(
            f"The ledger '{self.path}' {reason}, and this version reads only format {LEDGER_FORMAT}. Nothing was "
            "measured, and the file was not changed. Restore it from a backup, or name another file."
        )

    def _format(self) -> int:
        return int(self._database.execute("PRAGMA user_version").fetchone()[0])

    def _insert(self, table: str, **cells: object) -> int:
        """Write a row and its entry in the chain, in a transaction that was begun; return its number."""
        names, places = ", ".join(cells), ", ".join("?" * len(cells))
        query = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608  # names are ours
        rowid = self._database.execute(query, tuple(cells.values())).lastrowid
        append_row(self._database, table, cast(int, rowid))
        return cast(int, rowid)

    def _change(self, table: str, rowid: int, **cells: object) -> None:
        """Change a row and write its entry in the chain, in a transaction that was begun."""
        changes = ", ".join(f"{name} = ?" for name in cells)
        self._database.execute(f"UPDATE {table} SET {changes} WHERE rowid = ?", (*cells.values(), rowid))  # noqa: S608
        append_row(self._database, table, rowid)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def refuse_if_unwritable(self) -> None:
        """Raise unless a charge could be written now: write as much as one takes into a table that means nothing.

        It is committed, because what is rolled back may never have reached the disk.

        Raises:
            LedgerError: If the file or its folder is read-only, the disk is full, or another program holds the file.
        """
        for room in (ROOM_BYTES, 0):
            with self._transaction():
                self._database.execute("INSERT OR REPLACE INTO heartbeat VALUES (1, ?, zeroblob(?))", (now(), room))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except GarbledCellError as exc:
            raise LedgerError(self._garbled(exc)) from exc
        except sqlite3.OperationalError as exc:
            self._hurry_after(exc)
            if NO_TEXT in str(exc):  # SQLite's message quotes the cell
                raise LedgerError(
                    f"The ledger '{self.path}' cannot be read: a cell is no text. {self._standing} {WHAT_TO_DO}"
                ) from None
            raise LedgerError(
                f"The ledger '{self.path}' cannot be read now ({exc}). {self._standing} Does another program hold it?"
            ) from exc
        except sqlite3.Error as exc:
            raise LedgerError(
                f"The ledger '{self.path}' cannot be read ({type(exc).__name__}). {self._standing} {WHAT_TO_DO}"
            ) from exc

    def _garbled(self, cell: GarbledCellError) -> str:
        about = "a data set whose name cannot be read" if cell.dataset is None else f"data set '{cell.dataset}'"
        said = f"The ledger '{self.path}' cannot be read: what {cell.column} says of {about} is not from copublish."
        if cell.column.startswith("limits.") and cell.dataset is not None:
            return (
                f"{said} {self._standing} {WHAT_TO_DO} Or state the whole limit again: copublish ledger limit "
                f"{cell.dataset}=EPSILON,DELTA --neighbors RELATION --ledger {self.path}"
            )
        return f"{said} {self._standing} {WHAT_TO_DO}"

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself if the disk is full, and a second time would hide that.
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.Error as exc:
            self._hurry_after(exc)
            raise LedgerError(f"The ledger '{self.path}' cannot be written: {_cause(exc)}. {self._standing}") from exc

    def _hurry_after(self, error: sqlite3.Error) -> None:
        """Wait hardly at all from now on, if another program has held the file for so long that a run ends by it."""
        if (getattr(error, "sqlite_errorname", None) or "").startswith("SQLITE_BUSY"):
            with suppress(sqlite3.Error):
                self._database.execute(f"PRAGMA busy_timeout = {HURRY_MILLISECONDS}")


_CAUSES = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk does not take it (is it full, or is there a limit on the size of files?)",
    "SQLITE_READONLY": "the file, its folder or the disk is read-only",
    "SQLITE_CANTOPEN": "no file can be made beside it (is its folder read-only, or the disk full?)",
    "SQLITE_BUSY": f"another program has held it for {LOCK_TIMEOUT_SECONDS:g} s",
}
"""Why SQLite could not write, by how the names of its errors begin."""


def _cause(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", None) or ""
    return next((f"{said} ({error})" for known, said in _CAUSES.items() if name.startswith(known)), str(error))


def _make_private_file(path: str | Path) -> None:
    """Make a new ledger readable by its user alone; an old one keeps the rights that it was given."""
    if str(path) != ":memory:" and not Path(path).exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _statements() -> list[str]:
    return [statement for statement in map(str.strip, _SCHEMA.split(";")) if statement]


@cache
def ledger_schema() -> frozenset[SchemaEntry]:
    """The schema of a ledger as copublish creates it."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_SCHEMA)
        return _schema_of(database)


def _schema_of(database: sqlite3.Connection) -> frozenset[SchemaEntry]:
    # Only indexes that SQLite makes for a key by itself have no SQL.
    rows = database.execute("SELECT type, name, sql FROM sqlite_master WHERE type != 'index' OR sql IS NOT NULL")
    return frozenset((str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows)


def now() -> str:
    """The time as it stands in a ledger."""
    return datetime.now(UTC).isoformat(timespec="seconds")
