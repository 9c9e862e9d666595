"""The SQLite file of a ledger: opened, brought up to date, read and written, safe from crashes and wary of edits."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from copublish.errors import LedgerError
from copublish.privacy.ledger_cells import GarbledCellError
from copublish.privacy.ledger_chain import BEGUN, CHAIN_SCHEMA, append_row, append_tables, entries_of

LOCK_TIMEOUT_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, neighbours TEXT NOT NULL, epsilon TEXT NOT NULL,
    set_at TEXT NOT NULL, delta TEXT, pure_epsilon TEXT, rho TEXT, delta_for_rho TEXT, delta_for_rest TEXT
);
CREATE TABLE IF NOT EXISTS charges (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL,
    state TEXT NOT NULL, reserved_at TEXT NOT NULL, ended_at TEXT,
    account TEXT, rho_add_remove TEXT, rho_replace TEXT, rho_delta TEXT, rho_distance TEXT
);
CREATE TABLE IF NOT EXISTS disclosures (
    charge INTEGER NOT NULL REFERENCES charges(id), position INTEGER NOT NULL, label TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL, charged_at TEXT NOT NULL,
    PRIMARY KEY (charge, position)
);
CREATE TABLE IF NOT EXISTS alignment_limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, most INTEGER, set_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS alignments (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    kind TEXT NOT NULL, compared_by TEXT NOT NULL, peers TEXT NOT NULL, size_class INTEGER NOT NULL,
    commitment TEXT NOT NULL, begun_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS peer_lists (
    alignment INTEGER NOT NULL REFERENCES alignments(id), peer TEXT NOT NULL, commitment TEXT NOT NULL,
    PRIMARY KEY (alignment, peer)
);
CREATE TABLE IF NOT EXISTS list_keys (dataset TEXT PRIMARY KEY, key TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS locks (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, peer TEXT NOT NULL, certificate TEXT, why TEXT NOT NULL,
    locked_at TEXT NOT NULL, unlocked_at TEXT
);
CREATE TABLE IF NOT EXISTS receipts (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL, party TEXT NOT NULL,
    head TEXT NOT NULL, given_at TEXT NOT NULL, statement TEXT NOT NULL, signatures TEXT
);
CREATE TABLE IF NOT EXISTS forgotten_receipts (
    id INTEGER PRIMARY KEY, party TEXT NOT NULL, up_to INTEGER NOT NULL, forgotten_at TEXT NOT NULL
);
"""
"""A ledger that lacks some of these tables gets them when it is opened; older software does not look at them."""

CHAINED = 1
"""What SQLite's `user_version` says of a ledger with a chain; of older ones it is 0."""

COPY_SUFFIX = ".before-chain"
"""How the copy of an older ledger is called that is kept beside it."""

_HEARTBEAT = "CREATE TABLE IF NOT EXISTS heartbeat (id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT, room BLOB)"
"""A table that means nothing: it is written to see whether the file can be. Older software does not look at it."""

ROOM_BYTES = 128 * 2**10
"""What a charge, its disclosures, signatures and their entries in the chain may take, and more; what a heartbeat took
stays with the file, for them."""

_FIRST_COLUMNS = {
    "limits": ("id", "dataset", "neighbours", "epsilon", "set_at"),
    "charges": (
        *("id", "dataset", "release", "agreement_hash", "epsilon_add_remove", "epsilon_replace", "delta"),
        *("state", "reserved_at", "ended_at"),
    ),
}
"""The columns of tables that have grown, as the first ledgers had them."""

_LATER_COLUMNS = {
    "limits": ("delta", "pure_epsilon", "rho", "delta_for_rho", "delta_for_rest"),
    "charges": ("account", "rho_add_remove", "rho_replace", "rho_delta", "rho_distance"),
}
"""The columns that came later, in their order. Where nothing stands in them, a row means what it always meant."""


WHAT_TO_DO = "Nothing is opened. Restore it from a backup; a ledger that cannot be read stops every release."

NO_TEXT = "Could not decode"
"""How SQLite says that a cell is not in UTF-8."""


class LedgerFile:
    """One SQLite file; `":memory:"` keeps it for the life of this process.

    Safe under several processes at once: every change is one immediate, fully synchronized transaction.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            _make_private_file(path)
            self._database = sqlite3.connect(
                self.path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous = EXTRA")
            self._database.execute("PRAGMA foreign_keys = ON")
            if self._version() == 0:
                self._begin()
            self._database.executescript(_SCHEMA + CHAIN_SCHEMA)
            self._add_later_columns()
        except (sqlite3.Error, OSError) as exc:
            raise LedgerError(
                f"The ledger '{self.path}' cannot be opened ({exc}). Nothing was measured. Check that the file is "
                "a copublish ledger, that you may write to it and that no other program holds it."
            ) from exc

    def _begin(self) -> None:
        """Make a new ledger, or bring one from before there was a chain up to date: all of it, or nothing.

        What an older ledger says stands as it is. It is kept in a copy beside the file, and is the first entry of the
        chain. A ledger that has a chain is no older one, whatever its version says: nothing of it is taken as it is.
        """
        with self._transaction():
            if self._version() != 0:  # another process was faster
                return
            is_chained = bool(self._columns_of("chain")) and bool(entries_of(self._database))
            if self._columns_of("charges") and self.path != ":memory:" and not is_chained:
                _keep_copy(self.path)
            for statement in filter(None, map(str.strip, (_SCHEMA + CHAIN_SCHEMA).split(";"))):
                self._database.execute(statement)
            self._fill_in_columns()
            if not is_chained:
                append_tables(self._database, BEGUN, at=now())
            self._database.execute(f"PRAGMA user_version = {CHAINED}")

    def _add_later_columns(self) -> None:
        """Bring a ledger from before some columns were there up to date: what it says stands as it is."""
        if any(self._missing_columns(table) for table in _FIRST_COLUMNS):
            with self._transaction():
                self._fill_in_columns()

    def _fill_in_columns(self) -> None:
        for table in _FIRST_COLUMNS:
            for column in self._missing_columns(table):  # another process may have been faster
                self._database.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")

    def _missing_columns(self, table: str) -> list[str]:
        """Columns that a table of an older ledger lacks; none of a table that copublish did not make."""
        there = self._columns_of(table)
        known = [*_FIRST_COLUMNS[table], *_LATER_COLUMNS[table]]
        is_ours = len(there) >= len(_FIRST_COLUMNS[table]) and there == known[: len(there)]
        return known[len(there) :] if is_ours else []

    def _columns_of(self, table: str) -> list[str]:
        return [row[1] for row in self._database.execute(f"PRAGMA table_info({table})")]

    def _version(self) -> int:
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
                self._database.execute(_HEARTBEAT)
                self._database.execute("INSERT OR REPLACE INTO heartbeat VALUES (1, ?, zeroblob(?))", (now(), room))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except GarbledCellError as exc:
            raise LedgerError(self._garbled(exc)) from exc
        except sqlite3.OperationalError as exc:
            if NO_TEXT in str(exc):  # SQLite's message quotes the cell
                raise LedgerError(f"The ledger '{self.path}' cannot be read: a cell is no text. {WHAT_TO_DO}") from None
            raise LedgerError(
                f"The ledger '{self.path}' cannot be read now ({exc}). Nothing is opened. Does another program hold it?"
            ) from exc
        except sqlite3.Error as exc:
            raise LedgerError(f"The ledger '{self.path}' cannot be read ({type(exc).__name__}). {WHAT_TO_DO}") from exc

    def _garbled(self, cell: GarbledCellError) -> str:
        about = "a data set whose name cannot be read" if cell.dataset is None else f"data set '{cell.dataset}'"
        said = f"The ledger '{self.path}' cannot be read: what {cell.column} says of {about} is not from copublish."
        if cell.column.startswith("limits.") and cell.dataset is not None:
            return (
                f"{said} {WHAT_TO_DO} Or state the whole limit again: copublish ledger {self.path} --limit "
                f"{cell.dataset}=EPSILON,DELTA --neighbors RELATION"
            )
        return f"{said} {WHAT_TO_DO}"

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
            raise LedgerError(f"The ledger '{self.path}' cannot be written: {_cause(exc)}. Nothing is opened.") from exc


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


def _keep_copy(path: str) -> None:
    """Keep an older ledger as it was. The caller holds the file, so that nobody writes to it meanwhile."""
    target, number = Path(f"{path}{COPY_SUFFIX}"), 1
    while target.exists():  # of another ledger that was here before
        number += 1
        target = Path(f"{path}{COPY_SUFFIX}-{number}")
    unfinished = target.with_name(f"{target.name}-{os.urandom(4).hex()}")
    os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        # By SQLite and not by copying bytes: closing another descriptor of the file would drop the lock on it.
        with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(unfinished)) as copy:
            copy.execute("PRAGMA synchronous = EXTRA")
            old.backup(copy)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def now() -> str:
    """The time as it stands in a ledger."""
    return datetime.now(UTC).isoformat(timespec="seconds")
