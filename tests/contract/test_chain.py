"""The ledger's chain: whatever is removed, reordered, edited or put in is found.

Kill test: 6 child processes are killed (SIGKILL) at random moments of a loop that writes; the moments come from a
seeded generator.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ledger import ENDLESS, missing, report_until_killed, start
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import EditedLedgerError, LedgerError
from copublish.kernel.ledger.chain import BEFORE_THE_FIRST, BEGUN, KEYS, append_tables, entries_of
from copublish.kernel.ledger.ledger import Ledger, Limit
from support.full_ledger import columns, full
from support.profiles import examples

KILLS = 6


def changed(folder: Path, change: Callable[[sqlite3.Connection], object]) -> list[str]:
    """What is found in a ledger after somebody has changed the file."""
    path = folder / "party.db"
    path.write_bytes(full())
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        change(database)
        database.commit()
    book = Ledger(path)
    try:
        if found := book.edits():
            with pytest.raises(EditedLedgerError, match="ledger verify"):
                book.refuse_if_edited()
        else:
            book.refuse_if_edited()
        return found
    finally:
        book.close()


def length() -> int:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(full())
        return database.execute("SELECT count(*) FROM chain").fetchone()[0]


def test_a_ledger_as_it_was_written_is_whole_and_every_table_is_covered(tmp_path: Path) -> None:
    assert changed(tmp_path, lambda database: None) == []
    with closing(sqlite3.connect(tmp_path / "party.db")) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables - {"chain", "heartbeat"} == set(KEYS)
        assert all(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in KEYS)


def test_every_entry_that_is_removed_is_found_where_it_was(tmp_path: Path) -> None:
    for position in range(1, length()):
        found = changed(tmp_path, lambda d, p=position: d.execute("DELETE FROM chain WHERE position = ?", (p,)))
        assert any(f"Entry {position} of the chain: not there" in said for said in found), position
    # Without its last entry the chain itself is whole; the table that it was written to is not.
    last = length()
    found = changed(tmp_path, lambda d: d.execute("DELETE FROM chain WHERE position = ?", (last,)))
    assert found and all("Table forgotten_receipts" in said for said in found)


@given(st.data())
@examples(40)
def test_entries_that_change_places_are_found(tmp_path_factory, data: st.DataObject) -> None:
    one, other = data.draw(st.lists(st.integers(1, length()), min_size=2, max_size=2, unique=True))

    def swap(database: sqlite3.Connection) -> None:
        for before, after in ((one, -1), (other, one), (-1, other)):
            database.execute("UPDATE chain SET position = ? WHERE position = ?", (after, before))

    assert changed(tmp_path_factory.mktemp("swapped"), swap)


@given(
    st.integers(1, length()), st.sampled_from(["kind", "content", "salt", "hash"]), st.integers(0), st.integers(1, 127)
)
@examples(80)
def test_every_byte_of_an_entry_that_is_edited_is_found(tmp_path_factory, position, column, place, bit) -> None:
    def edit(database: sqlite3.Connection) -> None:
        query = f"SELECT CAST({column} AS BLOB) FROM chain WHERE position = ?"
        content = bytearray(database.execute(query, (position,)).fetchone()[0])
        content[place % len(content)] ^= bit
        query = f"UPDATE chain SET {column} = CAST(? AS TEXT) WHERE position = ?"
        database.execute(query, (bytes(content), position))

    found = changed(tmp_path_factory.mktemp("edited"), edit)
    assert any(f"Entry {position} " in said or f"Entry {position + 1} " in said for said in found), found


def cells() -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(full())
        return [
            (table, column, rowid)
            for table, column in columns(KEYS, numbers=True)
            for (rowid,) in database.execute(f"SELECT rowid FROM {table}").fetchall()
        ]


def test_every_cell_of_every_table_that_is_edited_is_found_and_named(tmp_path: Path) -> None:
    for table, column, rowid in cells():

        def edit(database: sqlite3.Connection, table=table, column=column, rowid=rowid) -> None:
            (kind,) = database.execute(f"SELECT typeof({column}) FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
            value = 77 if kind == "integer" else "other"
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))

        found = changed(tmp_path, edit)
        assert any(f"Table {table}" in said for said in found), (table, column)


def test_every_row_that_is_removed_or_put_in_is_found(tmp_path: Path) -> None:
    for table in KEYS:
        found = changed(tmp_path, lambda d, t=table: d.execute(f"DELETE FROM {t}"))
        assert any(f"Table {table}" in said and "not there any more" in said for said in found)
    insert = (
        "INSERT INTO limits (dataset, neighbors, epsilon, delta, set_at) VALUES ('people', 'replace', '99', '0', '')"
    )
    assert any("put in by something else" in said for said in changed(tmp_path, lambda d: d.execute(insert)))


def test_a_chain_that_was_thrown_away_does_not_make_a_new_ledger(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda database: database.execute("DELETE FROM chain"))
    assert any("does not begin" in problem for problem in found)


def test_a_budget_that_is_taken_back_with_the_chain_begun_anew_is_found(tmp_path: Path) -> None:
    """Every hash follows and the tables are as the chain says: only receipts, and rows from the start, give it away."""

    def take_back(database: sqlite3.Connection) -> None:
        for table in ("charges", "disclosures", "chain"):
            database.execute(f"DELETE FROM {table}")
        append_tables(database, BEGUN, at="2026")

    found = changed(tmp_path, take_back)
    assert any("Table receipts, id 1" in said and "is not in its chain any more" in said for said in found)
    assert any("begun with rows in its tables" in said for said in found)


def test_a_budget_that_is_taken_back_with_the_number_of_the_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "party.db").write_bytes(full())
    with closing(sqlite3.connect(tmp_path / "party.db")) as database:
        for table in ("charges", "disclosures", "chain"):
            database.execute(f"DELETE FROM {table}")
        database.execute("PRAGMA user_version = 0")
        database.commit()
    with pytest.raises(LedgerError, match="has the format 0"):
        Ledger(tmp_path / "party.db")


def test_a_chain_that_was_begun_twice_is_found_with_what_was_edited_before(tmp_path: Path) -> None:
    """Its hashes follow, so the second beginning and the edited table have to be found by themselves."""

    def begin(database: sqlite3.Connection) -> None:
        database.execute("UPDATE charges SET epsilon_add_remove = '0' WHERE id = 1")
        append_tables(database, BEGUN, at="2026")

    found = changed(tmp_path, begin)
    assert any(f"Entry {length() + 1} of the chain: it was begun a second time" in said for said in found)
    assert any("Table charges, id 1" in said for said in found)


def test_a_chain_whose_hashes_were_all_computed_anew_is_found_by_what_was_signed(tmp_path: Path) -> None:
    def forge(database: sqlite3.Connection) -> None:
        """Make the first limit another one, in the table and in the chain, and hash everything after it."""
        database.execute("UPDATE limits SET epsilon = '500' WHERE id = 1")
        database.execute('UPDATE chain SET content = replace(content, \'"epsilon":"5"\', \'"epsilon":"500"\')')
        previous = BEFORE_THE_FIRST
        for entry in entries_of(database):
            previous = entry.hash_after(previous)
            database.execute("UPDATE chain SET hash = ? WHERE position = ?", (previous, entry.position))

    (found,) = changed(tmp_path, forge)  # in itself it is whole
    assert found.startswith("Table receipts, id 1") and "is not in its chain any more" in found


def test_two_ledgers_with_the_same_entries_have_heads_that_tell_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("copublish.kernel.ledger.database.now", lambda: "2026-11-16T00:00:00+00:00")
    heads = set()
    for number in range(3):
        book = Ledger(tmp_path / f"{number}.db")
        book.set_limit("people", Limit(Fraction(1), "add-remove"))
        heads.add(book.head())
        book.close()
    assert len(heads) == 3


# --- other schemas ---

OTHER_SCHEMAS = {
    "a table is missing": "DROP TABLE chain",
    "a column is missing": "ALTER TABLE limits DROP COLUMN delta_for_rest",
    "a column is new": "ALTER TABLE charges ADD COLUMN note TEXT",
    "a column has another name": "ALTER TABLE limits RENAME COLUMN neighbors TO relation",
    "a table is new": "CREATE TABLE notes (note TEXT)",
    "a view is new": "CREATE VIEW notes AS SELECT * FROM charges",
    "an index is new": "CREATE UNIQUE INDEX names ON charges (release)",
    "a trigger of its own name": "CREATE TRIGGER refund AFTER INSERT ON charges BEGIN DELETE FROM charges; END",
    "a trigger of a table's name": "CREATE TRIGGER limits AFTER INSERT ON charges BEGIN DELETE FROM charges; END",
    "a trigger of a name that SQLite keeps to itself": """PRAGMA writable_schema = ON;
        INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_refund', 'charges', 0,
        'CREATE TRIGGER sqlite_refund AFTER INSERT ON charges BEGIN DELETE FROM charges; END')""",
    "a later format": "PRAGMA user_version = 2",
    "no format": "PRAGMA user_version = 0",
}


@pytest.mark.parametrize("change", OTHER_SCHEMAS.values(), ids=OTHER_SCHEMAS)
def test_a_ledger_of_another_schema_is_refused_and_stays_as_it_is(tmp_path: Path, change: str) -> None:
    path = tmp_path / "party.db"
    path.write_bytes(full())
    Ledger(path).close()  # without the change it is read
    with closing(sqlite3.connect(path)) as database:
        database.executescript(change)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="reads only format 1") as caught:
        Ledger(path)
    assert "was not changed" in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["party.db"]


def test_a_database_of_another_program_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE limits (dataset TEXT, epsilon TEXT, neighbors TEXT)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="reads only format 1"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no ledger\n" * 100)
    with pytest.raises(LedgerError, match="copublish ledger"):
        Ledger(path)
    assert path.read_text() == "no ledger\n" * 100


def test_a_new_ledger_is_private_and_opening_it_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "party.db"
    Ledger(path).close()
    assert path.stat().st_mode & 0o077 == 0
    before = path.read_bytes()
    Ledger(path).close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["party.db"]


def test_a_process_that_is_killed_while_it_writes_leaves_a_chain_that_holds(tmp_path: Path) -> None:
    path, moments = tmp_path / "party.db", random.Random(11)
    with closing(Ledger(path)) as book:
        book.set_limit("people", Limit(Fraction(10**9), "add-remove"))
    said: list[tuple[str, str]] = []
    for kill in range(KILLS):
        said += report_until_killed(ENDLESS, path, f"child{kill}", moments.uniform(0, 0.06))
        assert missing(path, said) == []
        with closing(Ledger(path)) as book:
            assert book.edits() == []
            assert len(book.heads()) >= len(said)


def test_a_process_that_is_killed_while_it_creates_a_ledger_leaves_a_file_that_is_begun_again(tmp_path: Path) -> None:
    script = "\nimport os, signal\nfrom copublish.kernel.ledger import database as f\n"
    kill = "lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"
    for number, place in enumerate(("append_tables", "LedgerFile._create", "_schema_of")):
        path = tmp_path / f"{number}.db"
        child = start(f"{script}f.{place} = {kill}\nLedger(sys.argv[2])\n", path, "x")
        assert child.wait(60) == -9
        with closing(Ledger(path)) as book:
            assert book.edits() == [] and len(book.heads()) == 1


# --- the command ---


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    (tmp_path / "party.db").write_bytes(full())
    with closing(sqlite3.connect(tmp_path / "party.db")) as database:  # its receipt is made up
        database.execute("DELETE FROM receipts")
        database.commit()
    return tmp_path / "party.db"


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, ["ledger", *map(str, arguments)])
    failed = isinstance(done.exception, LedgerError)
    return (5, str(done.exception)) if failed else (done.exit_code, done.output)


def test_verify_says_what_was_edited_and_accepting_it_is_a_decision_that_is_kept(ledger_file: Path) -> None:
    code, output = command("verify", ledger_file, "--format", "json")
    assert code == 5 and "Table receipts, id 1" in json.loads(output)["problems"][0]
    assert command("verify", ledger_file)[1].startswith("NO  Table receipts")
    code, output = command("accept-edits", "a test removed a made-up receipt", "--ledger", ledger_file)
    assert code == 0, output
    assert command("verify", ledger_file)[0] == 0
    with closing(sqlite3.connect(ledger_file)) as database:
        (content,) = database.execute("SELECT content FROM chain ORDER BY position DESC LIMIT 1").fetchone()
    assert "a test removed a made-up receipt" in content
    assert command("accept-edits", "again", "--ledger", ledger_file)[0] == 2  # there is nothing to accept


def test_a_broken_chain_cannot_be_accepted(ledger_file: Path) -> None:
    with closing(sqlite3.connect(ledger_file)) as database:
        database.execute("DELETE FROM chain WHERE position = 3")
        database.commit()
    before = json.loads(command("verify", ledger_file, "--format", "json")[1])
    code, output = command("accept-edits", "please", "--ledger", ledger_file)
    assert code == 5 and "is broken" in output
    assert json.loads(command("verify", ledger_file, "--format", "json")[1]) == before  # nothing was written


@pytest.mark.parametrize("why", ["", " ", "\n"])
def test_edits_are_not_accepted_without_a_reason(ledger_file: Path, why: str) -> None:
    code, output = command("accept-edits", why, "--ledger", ledger_file)
    assert code == 2 and "say why" in output
    assert command("verify", ledger_file)[0] == 5


def test_verify_names_edits_beside_a_receipt_that_cannot_be_read(ledger_file: Path) -> None:
    ledger_file.write_bytes(full())
    with closing(sqlite3.connect(ledger_file)) as database:
        database.execute("UPDATE receipts SET statement = '[' WHERE id = 1")
        database.execute("UPDATE charges SET epsilon_add_remove = '0' WHERE id = 1")
        database.commit()
    code, output = command("verify", ledger_file, "--format", "json")
    told = json.loads(output)
    assert code == 5 and told["signed_runs"] is None and told["entries"] == length()
    for words in ("Table charges, id 1", "Table receipts, id 1", "receipts.statement"):
        assert any(words in said for said in told["problems"]), words


def test_a_ledger_that_is_called_verify_can_still_be_shown(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("limit", "people=1", "--ledger", "verify")[0] == 0
    assert command("./verify", "--format", "json")[0] == 0
    assert command("verify", "./verify")[0] == 0
