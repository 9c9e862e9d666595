"""The commands on tables in databases, as a user types them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from support.commands import run
from support.examples import write_specialization_demo
from support.postgres import READER_PASSWORD, PostgresServer, server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, with the bank's data in a DuckDB file too."""
    folder = tmp_path_factory.mktemp("databases")
    write_specialization_demo(folder, 1500)
    with duckdb.connect(folder / "bank.duckdb") as connection:
        connection.execute(f"CREATE TABLE customers AS SELECT * FROM '{folder / 'bank.parquet'}'")
    return folder


@pytest.fixture(scope="module")
def postgres() -> PostgresServer:
    return server()


@pytest.fixture(scope="module")
def loans(folder: Path, postgres: PostgresServer) -> str:
    """The lender's data in PostgreSQL; returns the name of the table."""
    frame = pd.read_csv(folder / "loans.csv", dtype=str)
    types = {"amount": "numeric(10,2)", "months": "integer", "default": "char(3)"}
    return postgres.table({name: column.tolist() for name, column in frame.items()}, types).table


def test_check_takes_a_table_of_postgresql(folder: Path, postgres: PostgresServer, loans: str) -> None:
    call = ["check", "agreement.toml", "--party", "loans"]
    done = run(*call, "--data", postgres.url(), "--table", loans, "--format", "json", cwd=folder)
    from_file = run(*call, "--data", "loans.csv", "--format", "json", cwd=folder)
    assert json.loads(done.stdout) == json.loads(from_file.stdout)
    assert done.stderr == ""


def test_check_takes_a_table_of_a_duckdb_file(folder: Path) -> None:
    call = ["check", "agreement.toml", "--party", "bank", "--data", "bank.duckdb"]
    assert "fit it" in run(*call, "--table", "main.customers", cwd=folder).stdout
    assert "--table" in run(*call, cwd=folder, code=4).stderr
    assert "There is no table 'nobody'" in run(*call, "--table", "nobody", cwd=folder, code=4).stderr


def test_no_message_of_a_command_shows_the_password(folder: Path, postgres: PostgresServer, loans: str) -> None:
    check = ["check", "agreement.toml", "--party", "bank", "--data"]
    simulate = ["simulate", "agreement.toml", "--out", "nothing"]
    url, wrong = postgres.url(), postgres.url(password=f"x{READER_PASSWORD}")
    calls: list[tuple[list[str], int]] = [
        ([*check, wrong, "--table", loans], 4),
        ([*check, url, "--table", "nobody"], 4),
        ([*check, url, "--table", loans], 4),  # the lender's columns, not the bank's
        ([*check, url], 4),
        ([*check, url.replace("postgresql", "mysql"), "--table", loans], 4),
        ([*check, url.replace("@", "@@"), "--table", loans], 4),
        ([*simulate, "--data", url], 2),
        ([*simulate, "--data", f"{url}?sslmode=prefer"], 2),
        ([*simulate, "--data", f"bank={url}"], 4),
        ([*simulate, "--data", f"bank={url}", "--table", f"loans={loans}"], 2),
        ([*simulate, "--data", f"bank={wrong}", "--data", "loans=loans.csv", "--table", f"bank={loans}"], 4),
        (["init", "refused.toml", "--from", url], 4),
        (["init", "refused.toml", "--from", wrong, "--table", loans], 4),
        (["generalize", "nothing", "--data", wrong, "--table", loans, "--out", "x.csv"], 7),
    ]
    for call, code in calls:
        done = run(*call, cwd=folder, code=code)
        shown = re.sub(r"\s|│", "", done.stdout + done.stderr)
        assert READER_PASSWORD not in shown, call
    assert not (folder / "nothing").exists()


def test_a_whole_release_with_both_parties_in_databases(
    folder: Path, postgres: PostgresServer, loans: str, tmp_path: Path
) -> None:
    data = ["--data", f"loans={postgres.url()}", "--table", f"loans=public.{loans}"]
    data += ["--data", f"bank={folder / 'bank.duckdb'}", "--table", "bank=customers"]
    run("simulate", folder / "agreement.toml", *data, "--out", tmp_path / "release")
    shown = json.loads(run("show", tmp_path / "release", "--format", "json").stdout)
    assert shown["certificate"]["epsilon"]["public"] == {"add-remove": "1", "replace": "2"}
    files = [path for path in (tmp_path / "release").rglob("*") if path.is_file()]
    assert len(files) > 8 and READER_PASSWORD not in "".join(file.read_text(errors="ignore") for file in files)
    with duckdb.connect(tmp_path / "new.duckdb") as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT * FROM '{folder / 'bank.parquet'}' JOIN "
            f"(SELECT * EXCLUDE \"default\" FROM '{folder / 'loans.csv'}') USING (customer_id)"
        )
    call = ["generalize", tmp_path / "release", "--data", tmp_path / "new.duckdb", "--out", tmp_path / "out.csv"]
    assert "not private" in run(*call, "--table", "people").stderr


def test_init_drafts_from_the_columns_of_a_table(folder: Path, postgres: PostgresServer, loans: str) -> None:
    run("init", "drafted.toml", "--from", postgres.url(), "--table", loans, cwd=folder)
    text = (folder / "drafted.toml").read_text()
    assert READER_PASSWORD not in text
    kinds = dict(re.findall(r'\[attributes\.(\w+)\]\nkind = "([\w ]+)"', text))
    assert kinds == {"purpose": "categorical", "amount": "numerical", "months": "FILL IN", "default": "categorical"}
