"""A ledger with something of every kind in it, for tests of what becomes of it when somebody edits the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.chain import KEYS
from copublish.kernel.ledger.ledger import Ledger, Limit

PRICE = Cost(add_remove=Fraction(1, 10), replace=Fraction(1, 5))
STATEMENT = json.dumps({"signers": {"bank": "a", "lab": "b"}, "ledger_heads": {"bank": None, "lab": "c"}})


def fill(book: Ledger) -> None:
    """Write something of every kind."""
    book.set_limit("people", Limit(Fraction(5), "add-remove"))
    book.set_limit("people", Limit(Fraction(7), "replace"))
    for name in ("first", "second"):
        with book.reserve("people", name, "h", PRICE) as charge:
            charge.disclose("counts", PRICE)
    book.limit_alignments("people", 5)
    book.key_of_lists("people")
    compare(book)
    book.lock("people", "loans", "It cheated.")
    book.unlock("people", "loans")
    row = book.give_receipt(
        run="1", release="first", agreement_hash="h", party="bank", head=book.head(), statement=STATEMENT
    )
    book.keep_signatures(row, STATEMENT, "{}")
    book.forget_receipts("lab")


def compare(book: Ledger) -> None:
    """Write one comparison of identifiers, and what the peer told about its list."""
    number = book.record_alignment(
        dataset="people",
        release="first",
        agreement_hash="h",
        kind="common records",
        compared_by="by 'id'",
        peers=["lab"],
        length=3,
        commitment="a" * 64,
    )
    book.record_peer_lists(number, {"lab": "b" * 64})


@cache
def full() -> bytes:
    """The file of such a ledger."""
    with TemporaryDirectory() as folder:
        book = Ledger(Path(folder) / "party.db")
        fill(book)
        assert book.edits() == []
        book.close()
        return (Path(folder) / "party.db").read_bytes()


@cache
def full_of_anything() -> bytes:
    """The same with cells that may hold anything; `restore_schema` takes that back for new ones."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(full())
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
        database.commit()
        return database.serialize()


def restore_schema(database: sqlite3.Connection) -> None:
    """Give such a ledger the schema that it had; its cells stay as they are."""
    with closing(sqlite3.connect(":memory:")) as whole:
        whole.deserialize(full())
        entries = whole.execute("SELECT sql, type, name FROM sqlite_master").fetchall()
    database.execute("PRAGMA writable_schema = ON")
    database.executemany("UPDATE sqlite_master SET sql = ? WHERE type = ? AND name = ?", entries)


def columns(tables: Iterable[str] = (*KEYS, "chain"), *, numbers: bool = False) -> list[tuple[str, str]]:
    """Tables with their columns; the numbers of rows, which hold nothing else, on request."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(full())
        found = [(table, row) for table in tables for row in database.execute(f"PRAGMA table_info({table})")]
    left_out = set() if numbers else {(table, name) for table in tables for name in ("id", "position")}
    return [(table, row[1]) for table, row in found if (table, row[1]) not in left_out - {("disclosures", "position")}]
