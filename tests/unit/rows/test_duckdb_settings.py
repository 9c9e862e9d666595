"""DuckDB reads the file that it was given: a view in a database reads no other one, and nothing undoes that."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import copublish as cp
from copublish.errors import SourceError
from copublish.rows.csv_files import open_file
from copublish.rows.database import DatabaseTable
from copublish.rows.reading import read_fragment
from copublish.rows.sources import open_source
from support import repartition, small_mapping

UNDOING = (
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET autoinstall_known_extensions = true",
    "INSTALL httpfs",
    "LOAD httpfs",
    "ATTACH 'other.duckdb'",
    "COPY (SELECT 1) TO 'out.csv'",
)


@pytest.fixture
def secret(tmp_path) -> Path:
    file = tmp_path / "secret.csv"
    file.write_text("id,job,region,default\n1,cook,north,no\n")
    return file


def hostile_database(folder: Path, secret: Path) -> Path:
    """A database whose table is a view of a file that lies beside it."""
    file = folder / "given.duckdb"
    connection = duckdb.connect(str(file))
    connection.execute(f"CREATE TABLE own AS SELECT * FROM read_csv('{secret}')")
    connection.execute(f"CREATE VIEW people AS SELECT * FROM read_csv('{secret}')")
    connection.close()
    return file


def test_a_view_cannot_read_another_file(tmp_path, secret):
    agreement = cp.agreement_from_mapping(repartition(small_mapping(), "horizontal"))
    with pytest.raises(SourceError) as refused:
        read_fragment(agreement, "p0", DatabaseTable(hostile_database(tmp_path, secret), "people"))
    assert str(secret) not in str(refused.value)


def test_a_table_of_the_same_file_is_read(tmp_path, secret):
    table = DatabaseTable(hostile_database(tmp_path, secret), "own")
    connection = table.connect()
    assert table.open(connection).count().to_pyarrow().as_py() == 1
    table.disconnect(connection)


def test_a_file_is_read_by_a_path_from_here_too(secret, monkeypatch):
    monkeypatch.chdir(secret.parent)
    (secret.parent / "below").mkdir()
    for path in (Path("secret.csv"), Path("./below/../secret.csv")):
        with ExitStack() as held:
            own = open_file("read_csv", path, {}, held)
            assert own.connection.execute(f"SELECT count(*) FROM {own.scan}").fetchall() == [(1,)]


def test_a_file_is_read_and_no_other_one(tmp_path, secret):
    (tmp_path / "own's.csv").write_text("a,b\n1,2\n")
    with ExitStack() as held:
        own = open_file("read_csv", tmp_path / "own's.csv", {}, held)
        assert own.connection.execute(f"SELECT * FROM {own.scan}").fetchall() == [(1, 2)]
        with pytest.raises(duckdb.PermissionException):
            own.connection.execute(f"SELECT * FROM read_csv('{secret}')")


@pytest.mark.parametrize("kind", ["file", "database", "frame", "file by Ibis"])
def test_nothing_undoes_it(tmp_path, secret, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ExitStack() as held:
        if kind == "file":
            connection = open_file("read_csv", secret, {}, held).connection
        elif kind == "file by Ibis":
            connection = held.enter_context(open_source(secret)).connection.con
        elif kind == "database":
            connection = DatabaseTable(hostile_database(tmp_path, secret), "own").connect().con
        else:
            connection = held.enter_context(open_source(pd.DataFrame({"a": [1]}))).connection.con
        for statement in UNDOING:
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        assert not (tmp_path / "out.csv").exists()
