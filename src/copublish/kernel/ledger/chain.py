"""The chain of a ledger: everything that was ever written, in order, where each hash covers the one before.

The tables of a ledger say how things stand; the chain says how they came about. A row of a table is an entry of the
chain when it is written and again whenever it changes, in the same transaction. So whoever edits a table is found by
reading the chain, whoever edits the chain by its hashes, and whoever computes all hashes anew by the heads that other
parties were told: the receipts name them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

CHAIN_SCHEMA = """
CREATE TABLE chain (
    position INTEGER PRIMARY KEY, kind TEXT NOT NULL, content TEXT NOT NULL, salt TEXT NOT NULL, hash TEXT NOT NULL
);
"""

KEYS: Mapping[str, tuple[str, ...]] = {
    "limits": ("id",),
    "charges": ("id",),
    "disclosures": ("charge", "position"),
    "alignment_limits": ("id",),
    "alignments": ("id",),
    "peer_lists": ("alignment", "peer"),
    "list_keys": ("dataset",),
    "locks": ("id",),
    "receipts": ("id",),
    "forgotten_receipts": ("id",),
}
"""The tables that the chain covers, with the columns that tell their rows apart."""

BEGUN, ACCEPTED = "begun", "accepted as it is"
"""Entries that state all tables as they are: the first one, and one by which an owner accepts what somebody edited."""

BEFORE_THE_FIRST = "0" * 64
SALT_BYTES = 32
"""Nobody who is told a head can try out what stands in a ledger: every entry has so many random bytes in its hash."""

Row = dict[str, Any]
Tables = dict[str, dict[str, Row]]
"""The rows of every table, by their keys."""


@dataclass(frozen=True)
class ChainEntry:
    """One entry, as it stands in the file; the cells of an edited one can hold anything.

    Attributes:
        position: Its number, from 1.
        kind: The table that a row was written to, or what else it says.
        content: The row, or all tables, as JSON.
        salt: Random bytes.
        hash: Covers all of this and the hash of the entry before.
    """

    position: Any
    kind: Any
    content: Any
    salt: Any
    hash: Any

    def hash_after(self, previous: object) -> str:
        """The hash that this entry has to have after another one."""
        return hash_of(previous, self.position, self.kind, self.content, self.salt)


def hash_of(*parts: object) -> str:
    """The hash of some values, in the one spelling of JSON."""
    return hashlib.sha256(_spelled(parts).encode()).hexdigest()


def _spelled(content: object) -> str:
    # In ASCII, so that bytes which are no text have a spelling, too.
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=repr)


@contextmanager
def reading_anything(database: sqlite3.Connection) -> Iterator[None]:
    """Read text that is none: what somebody wrote into a ledger must not end the search for it."""
    before = database.text_factory
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        database.text_factory = before


def head_of(database: sqlite3.Connection) -> tuple[int, str]:
    """Position and hash of the last entry; 0 and zeros if there is none."""
    row = database.execute("SELECT position, hash FROM chain ORDER BY position DESC LIMIT 1").fetchone()
    return (0, BEFORE_THE_FIRST) if row is None else (row[0], row[1])


def append(database: sqlite3.Connection, kind: str, content: object) -> None:
    """Add an entry. The caller has begun the transaction in which the tables change as well."""
    position, previous = head_of(database)
    salt, spelled = os.urandom(SALT_BYTES).hex(), _spelled(content)
    digest = hash_of(previous, position + 1, kind, spelled, salt)
    database.execute("INSERT INTO chain VALUES (?, ?, ?, ?, ?)", (position + 1, kind, spelled, salt, digest))


def append_row(database: sqlite3.Connection, table: str, rowid: int) -> None:
    """Add an entry for a row as it stands in a table now."""
    with reading_anything(database):
        (row,) = _rows(database.execute(f"SELECT * FROM {table} WHERE rowid = ?", (rowid,)))  # noqa: S608  # a fixed name
    append(database, table, row)


def append_tables(database: sqlite3.Connection, kind: str, **said: str) -> None:
    """Add an entry for all tables as they are."""
    tables = {table: list(rows.values()) for table, rows in tables_of(database).items()}
    append(database, kind, {**said, "tables": tables})


def tables_of(database: sqlite3.Connection) -> Tables:
    """All rows that the chain covers, as they stand now."""
    with reading_anything(database):
        return {
            table: {_key(table, row): row for row in _rows(database.execute(f"SELECT * FROM {table}"))}  # noqa: S608
            for table in KEYS
        }


def entries_of(database: sqlite3.Connection) -> list[ChainEntry]:
    """The whole chain, in the order of positions."""
    with reading_anything(database):
        rows = database.execute("SELECT position, kind, content, salt, hash FROM chain ORDER BY position")
        return [ChainEntry(*row) for row in rows]


def problems_of(entries: Sequence[ChainEntry], tables: Tables) -> list[str]:
    """What somebody has removed, reordered or edited, in a sentence each with its place; nothing if all is well."""
    found = list(_broken_links(entries))
    try:
        written = _replayed(entries)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return found or ["The chain holds an entry that copublish does not write."]
    return found + list(_differences(written, tables)) + list(_unknown_heads(entries, tables))


def _broken_links(entries: Sequence[ChainEntry]) -> Iterator[str]:
    if not entries or entries[0].kind != BEGUN:
        yield "The chain does not begin where it was begun: its first entries are missing, or all of them."
    previous, expected = BEFORE_THE_FIRST, 1
    for entry in entries:
        if entry.position != expected:
            missing = (
                f"Entry {expected}" if entry.position == expected + 1 else f"Entries {expected} to {entry.position - 1}"
            )
            yield f"{missing} of the chain: not there any more."
        elif entry.hash_after(previous) != entry.hash:
            yield (
                f"Entry {entry.position} of the chain ({_kind(entry)}): its hash does not follow from what it says "
                "and from the entry before. It was edited, moved or put in."
            )
        if entry.kind == BEGUN and entry.position != 1:
            yield f"Entry {entry.position} of the chain: it was begun a second time, which copublish never does."
        if entry.kind == BEGUN and entry.position == 1 and not _begins_with_nothing(entry):
            yield "Entry 1 of the chain: it was begun with rows in its tables, and copublish begins a new file only."
        previous, expected = entry.hash, entry.position + 1


def _begins_with_nothing(entry: ChainEntry) -> bool:
    try:
        return not any(json.loads(entry.content)["tables"].values())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _unknown_heads(entries: Sequence[ChainEntry], tables: Tables) -> Iterator[str]:
    """Whoever makes a chain anew cannot make one with the heads that other parties hold of it."""
    hashes = {entry.hash for entry in entries}
    for row in tables["receipts"].values():
        if row["head"] not in hashes:
            yield (
                f"{_place('receipts', row)}: the ledger's head that was signed then is not in its chain any more. "
                "Entries before it were removed or edited."
            )


def _kind(entry: ChainEntry) -> str:
    return str(entry.kind) if entry.kind in (*KEYS, BEGUN, ACCEPTED) else "unknown"


def _replayed(entries: Sequence[ChainEntry]) -> Tables:
    """What the tables have to hold, by the chain."""
    written: Tables = {table: {} for table in KEYS}
    for entry in entries:
        content = json.loads(entry.content)
        if entry.kind in KEYS:
            written[entry.kind][_key(entry.kind, content)] = content
        elif entry.kind == BEGUN and entry.position != 1:
            continue  # what it says was not written one by one, and nobody has accepted it
        elif entry.kind in (BEGUN, ACCEPTED):
            written = {table: {_key(table, row): row for row in content["tables"][table]} for table in KEYS}
        else:
            raise ValueError("an entry of no known kind")
    return written


def _differences(written: Tables, tables: Tables) -> Iterator[str]:
    for table in KEYS:
        for key in sorted(written[table].keys() | tables[table].keys()):
            before, after = written[table].get(key), tables[table].get(key)
            if before is None:
                yield f"{_place(table, after)}: put in by something else. The chain has no entry for it."
            elif after is None:
                yield f"{_place(table, before)}: not there any more. The chain has it."
            elif columns := [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]:
                yield f"{_place(table, before)}: edited ({', '.join(sorted(columns))})."


def _place(table: str, row: Row | None) -> str:
    """A row in words that name it: its table, key, data set and release."""
    named = [f"{name} {row[name]!r}" for name in (*KEYS[table], "dataset", "release", "party") if row and name in row]
    return f"Table {table}, {', '.join(dict.fromkeys(named))}"


def _rows(cursor: sqlite3.Cursor) -> list[Row]:
    names = [column[0] for column in cursor.description]
    return [{name: _plain(cell) for name, cell in zip(names, row, strict=True)} for row in cursor]


def _plain(cell: object) -> object:
    # Through JSON and back, so that what is read from a table compares with what the chain says.
    if isinstance(cell, bytes):
        return {"bytes": cell.hex()}
    return repr(cell) if isinstance(cell, float) else cell


def _key(table: str, row: Row) -> str:
    return _spelled([row[name] for name in KEYS[table]])
