"""A party's durable record of the privacy budget spent on its data, over all releases.

A charge is reserved as a whole before anything is computed and is never given back: a crash, a kill or a failed
release leaves it spent. Every disclosure is written, and on disk, before its value is opened.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from copublish.errors import BudgetExceededError, LedgerError
from copublish.privacy.accounting import NOTHING, Cost
from copublish.privacy.ledger_cells import (
    COMPLETE,
    ENDED_EARLY,
    RESERVED,
    Entry,
    GarbledCellError,
    read_entry,
    read_limit,
    read_text,
)
from copublish.privacy.limits import UNBOUNDED, Limit

__all__ = ["UNBOUNDED", "Charge", "Entry", "Ledger", "Limit"]

LOCK_TIMEOUT_SECONDS = 30.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS limits (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, neighbours TEXT NOT NULL, epsilon TEXT NOT NULL,
    set_at TEXT NOT NULL, delta TEXT
);
CREATE TABLE IF NOT EXISTS charges (
    id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, release TEXT NOT NULL, agreement_hash TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL,
    state TEXT NOT NULL, reserved_at TEXT NOT NULL, ended_at TEXT
);
CREATE TABLE IF NOT EXISTS disclosures (
    charge INTEGER NOT NULL REFERENCES charges(id), position INTEGER NOT NULL, label TEXT NOT NULL,
    epsilon_add_remove TEXT, epsilon_replace TEXT, delta TEXT NOT NULL, charged_at TEXT NOT NULL,
    PRIMARY KEY (charge, position)
);
"""

_HEARTBEAT = "CREATE TABLE IF NOT EXISTS heartbeat (id INTEGER PRIMARY KEY CHECK (id = 1), at TEXT, room BLOB)"
"""A table that means nothing: it is written to see whether the file can be. Older software does not look at it."""

ROOM_BYTES = 64 * 2**10
"""What a charge and its disclosures may take, and more; what a heartbeat took stays with the file, for them."""

_LIMITS_WITHOUT_DELTA = ["id", "dataset", "neighbours", "epsilon", "set_at"]
"""The columns of that table in ledgers that were made when only epsilon had a limit."""


WHAT_TO_DO = "Nothing is opened. Restore it from a backup; a ledger that cannot be read stops every release."

NO_TEXT = "Could not decode"
"""How SQLite says that a cell is not in UTF-8."""


class Ledger:
    """The ledger in one SQLite file; `":memory:"` keeps it for the life of this process.

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
            self._database.executescript(_SCHEMA)
            self._add_delta_to_limits()
        except (sqlite3.Error, OSError) as exc:
            raise LedgerError(
                f"The ledger '{self.path}' cannot be opened ({exc}). Nothing was measured. Check that the file is "
                "a copublish ledger, that you may write to it and that no other program holds it."
            ) from exc

    def _add_delta_to_limits(self) -> None:
        """Bring a ledger from before deltas had limits up to date: what was set then stands, with the default delta."""
        if self._columns_of_limits() == _LIMITS_WITHOUT_DELTA:
            with self._transaction():
                if self._columns_of_limits() == _LIMITS_WITHOUT_DELTA:  # another process may have been faster
                    self._database.execute("ALTER TABLE limits ADD COLUMN delta TEXT")

    def _columns_of_limits(self) -> list[str]:
        return [row[1] for row in self._database.execute("PRAGMA table_info(limits)")]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def set_limit(self, dataset: str, limit: Limit) -> None:
        """State the most that may be spent on a data set. The newest limit holds; the file keeps the older ones."""
        epsilon = UNBOUNDED if limit.epsilon is None else str(limit.epsilon)
        with self._transaction():
            self._database.execute(
                "INSERT INTO limits (dataset, neighbours, epsilon, delta, set_at) VALUES (?, ?, ?, ?, ?)",
                (dataset, limit.neighbors, epsilon, str(limit.delta), _now()),
            )

    def limit(self, dataset: str) -> Limit | None:
        """The limit of a data set, if one was set."""
        with self._reading():
            query = "SELECT epsilon, neighbours, delta FROM limits WHERE dataset = ? ORDER BY id DESC LIMIT 1"
            row = self._database.execute(query, (dataset,)).fetchone()
            return None if row is None else read_limit(dataset, row)

    def limited_datasets(self) -> list[str]:
        """The data sets that have a limit."""
        with self._reading():
            rows = self._database.execute("SELECT DISTINCT dataset FROM limits ORDER BY dataset")
            return [read_text(dataset, dataset, "limits.dataset") for (dataset,) in rows]

    def spent(self, dataset: str) -> Cost:
        """Everything ever reserved on a data set, finished or not."""
        total = NOTHING
        for entry in self.entries():
            if entry.dataset == dataset:
                total += entry.cost
        return total

    def entries(self) -> list[Entry]:
        """All charges, oldest first."""
        with self._reading():
            rows = self._database.execute(
                "SELECT dataset, release, agreement_hash, epsilon_add_remove, epsilon_replace, delta, state, "
                "reserved_at, (SELECT count(*) FROM disclosures WHERE charge = charges.id) FROM charges ORDER BY id"
            )
            return [read_entry(row) for row in rows]

    def refuse_if_over(self, dataset: str, cost: Cost) -> None:
        """Raise if a cost is more than is left, of epsilon or of delta, and write nothing.

        Raises:
            BudgetExceededError: If it is, or if no limit was set.
        """
        limit = self.limit(dataset)
        if limit is None:
            raise BudgetExceededError(
                f"The ledger '{self.path}' has no limit for data set '{dataset}', so nothing may be spent. "
                f"Nothing was measured. Set one: copublish ledger {self.path} --limit {dataset}=EPSILON"
            )
        if why := limit.refusal(self.spent(dataset), cost, dataset=dataset, ledger=self.path):
            raise BudgetExceededError(why)

    def refuse_if_unwritable(self) -> None:
        """Raise unless a charge could be written now: write as much as one takes into a table that means nothing.

        It is committed, because what is rolled back may never have reached the disk.

        Raises:
            LedgerError: If the file or its folder is read-only, the disk is full, or another program holds the file.
        """
        for room in (ROOM_BYTES, 0):
            with self._transaction():
                self._database.execute(_HEARTBEAT)
                self._database.execute("INSERT OR REPLACE INTO heartbeat VALUES (1, ?, zeroblob(?))", (_now(), room))

    @contextmanager
    def reserve(self, dataset: str, release: str, agreement_hash: str, cost: Cost) -> Iterator[Charge]:
        """Reserve the whole cost of a release, then record how it ended.

        Raises:
            BudgetExceededError: If the limit does not suffice. Nothing is written then.
        """
        with self._transaction():
            self.refuse_if_over(dataset, cost)
            row = self._database.execute(
                "INSERT INTO charges (dataset, release, agreement_hash, epsilon_add_remove, epsilon_replace, "
                "delta, state, reserved_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (dataset, release, agreement_hash, *_write_cost(cost), RESERVED, _now()),
            )
        charge = Charge(self, cast(int, row.lastrowid), cost)
        try:
            yield charge
        except BaseException:
            if not charge.is_complete:
                self._end(charge, ENDED_EARLY)
            raise
        charge.complete()

    def _end(self, charge: Charge, state: str) -> None:
        # A ledger that cannot be written now keeps the state 'reserved', which counts as spent: nothing is lost.
        with suppress(LedgerError), self._transaction():
            self._database.execute(
                "UPDATE charges SET state = ?, ended_at = ? WHERE id = ?", (state, _now(), charge.id)
            )

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


class Charge:
    """A reservation that disclosures are written against, each before it is opened."""

    def __init__(self, ledger: Ledger, charge_id: int, reserved: Cost) -> None:
        self.id = charge_id
        self._ledger, self._reserved = ledger, reserved
        self._disclosed, self._position = NOTHING, 0
        self.is_complete = False

    def complete(self) -> None:
        """Record that the release is published: what fails after that does not change it."""
        if not self.is_complete:
            self.is_complete = True
            self._ledger._end(self, COMPLETE)

    def disclose(self, label: str, cost: Cost) -> None:
        """Write one disclosure durably.

        Raises:
            BudgetExceededError: If the disclosures would add up to more than was reserved.
        """
        total = self._disclosed + cost
        if not total.fits_in(self._reserved):
            raise BudgetExceededError(
                f"'{label}' would cost more than was reserved for this release. It was not opened."
            )
        with self._ledger._transaction():
            self._ledger._database.execute(
                "INSERT INTO disclosures VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self.id, self._position, label, *_write_cost(cost), _now()),
            )
        self._disclosed, self._position = total, self._position + 1


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


def _write_cost(cost: Cost) -> tuple[str | None, str | None, str]:
    add_remove = None if cost.add_remove is None else str(cost.add_remove)
    return add_remove, None if cost.replace is None else str(cost.replace), str(cost.delta)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def open_existing_ledger(file: str | Path, dataset: str) -> Ledger:
    """Open a ledger that is to be charged; one that is not there is a slip, and an empty one would hide it."""
    if not Path(file).exists():
        raise LedgerError(
            f"There is no ledger '{file}'. Make one by setting the most that may ever be spent on these data: "
            f"copublish ledger {file} --limit {dataset}=EPSILON"
        )
    return Ledger(file)
