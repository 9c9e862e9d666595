"""Tables in databases: the same codes as from files, nothing written, nothing private and no password in a message."""

from __future__ import annotations

import hashlib
import pickle
import re
import subprocess
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import copublish as cp
from copublish import CopublishError, DatabaseTable, FragmentError, SourceError
from copublish.rows.database import _connection_problem
from copublish.rows.encoding import NOT_NUMBERS
from copublish.rows.reading import check_columns, read_fragment
from copublish.rows.sources import ROWS_PER_BATCH, Source, open_source, source_from
from support import fragment_frames, random_table, read_strictly, seeded, simulate_with, small_mapping
from support.postgres import OWNER, READER, READER_PASSWORD, PostgresServer, server
from support.profiles import examples

pytestmark = pytest.mark.slow  # needs PostgreSQL

EDGES = [Decimal(-1), Decimal("0.1"), Decimal(7), Decimal(50)]


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    return server()


def agreed(values: list[str] | None = None, missing: str | None = "category", **changes: Any) -> cp.Agreement:
    """One party, 'bank', with a categorical, a numerical and a class column."""
    job = {"kind": "categorical", "values": values or ["a", "b"], "held_by": "bank", "missing": missing}
    income = {"kind": "numerical", "bounds": [-50, Decimal("99.5")], "grid": {"edges": EDGES}, "held_by": "bank"}
    attributes = {"attributes.job": job, "attributes.income": {**income, "missing": missing}}
    return cp.agreement_from_mapping(small_mapping(**attributes, **changes))


def columns_of(**columns: list[Any]) -> dict[str, list[Any]]:
    """Rows that are fine, but for what is given."""
    n = len(next(iter(columns.values())))
    fine = {"id": [str(i) for i in range(n)], "job": ["a"] * n, "income": [1.5] * n, "default": ["no"] * n}
    return {**fine, **columns}


def code_of(number: Any) -> int:
    """How many edges are at or below a number, in exact arithmetic; after them comes missing."""
    return 5 if number is None else sum(Fraction(edge) <= Fraction(number) for edge in EDGES)


def outcome(agreement: cp.Agreement, source: Source) -> Any:
    """The codes and identifiers, or what `check --strict` says against them."""
    try:
        fragment = read_strictly(agreement, "bank", source)
    except FragmentError as exc:
        return exc.problems
    return {name: codes.tolist() for name, codes in fragment.private_codes.items()}, list(fragment.identifiers or [])


# --- The same column in the types that each source has for it --------------------------------------------------------

TYPES: dict[str, tuple[str, list[Any], str, str, pa.DataType]] = {
    # what: column, cells, PostgreSQL's type, DuckDB's, Parquet's
    "whole numbers": ("income", [-50, -1, 0, 7, 99, None], "integer", "INTEGER", pa.int32()),
    "small numbers": ("income", [-50, -1, 0, 7, 99, None], "smallint", "TINYINT", pa.int8()),
    "large numbers": ("income", [-50, -1, 2**62, 99, None], "bigint", "BIGINT", pa.int64()),
    "floats": ("income", [-1.0, 0.1, 0.09999999999999999, 7.0, None], "double precision", "DOUBLE", pa.float64()),
    "single floats": ("income", [-1.0, 0.5, 7.0, 50.0, None], "real", "FLOAT", pa.float32()),
    "NaN": ("income", [1.0, float("nan")], "double precision", "DOUBLE", pa.float64()),
    "infinity": ("income", [1.0, float("inf")], "double precision", "DOUBLE", pa.float64()),
    "decimals": (
        "income",
        [Decimal(text) for text in ("0.10", "0.09", "99.50", "-50.00", "-1.01")],
        "numeric(10,2)",
        "DECIMAL(10,2)",
        pa.decimal128(10, 2),
    ),
    "long decimals": (
        "income",
        [Decimal("0.10000000000000000001"), Decimal("0.09999999999999000000"), Decimal("50.00000000000000000001")],
        "numeric(30,20)",
        "DECIMAL(30,20)",
        pa.decimal128(30, 20),
    ),
    "decimals out of bounds": ("income", [Decimal("99.51")], "numeric(10,2)", "DECIMAL(10,2)", pa.decimal128(10, 2)),
    "truth as numbers": ("income", [True, False, None], "boolean", "BOOLEAN", pa.bool_()),
    "numbers as text": ("income", [" 7", "1e1 ", "+5", ".5", "5.", "?", "", None], "text", "VARCHAR", pa.string()),
    "no numbers as text": ("income", ["seven"], "text", "VARCHAR", pa.string()),
    "numbers with underscores": ("income", ["1_0"], "text", "VARCHAR", pa.string()),
    "hexadecimal numbers": ("income", ["0x10"], "text", "VARCHAR", pa.string()),
    "too many zeros": ("income", ["1e400"], "text", "VARCHAR", pa.string()),
    "too many zeros after the point": ("income", ["1e-400", "-1e-400"], "text", "VARCHAR", pa.string()),
    "infinity in words": ("income", ["Infinity"], "text", "VARCHAR", pa.string()),
    "nan in words": ("income", ["nan"], "text", "VARCHAR", pa.string()),
    "dates as numbers": ("income", ["2020-01-02", None], "date", "DATE", pa.date32()),
    "times as numbers": ("income", ["2020-01-02 10:00:00"], "timestamp", "TIMESTAMP", pa.timestamp("us")),
    "text": ("job", ["a", " b\t", "?", "NA", "", None], "text", "VARCHAR", pa.string()),
    "short text": ("job", ["a", "b", None], "varchar(3)", "VARCHAR(3)", pa.string()),
    "other text": ("job", ["A"], "text", "VARCHAR", pa.string()),
    "blanks of other kinds": ("job", ["\u00a0a"], "text", "VARCHAR", pa.string()),
    "truth": ("job", [True, False, None], "boolean", "BOOLEAN", pa.bool_()),
    "numbers as categories": ("job", [7, None], "integer", "INTEGER", pa.int32()),
    "floats as categories": ("job", [7.0, 0.1, 1e15, 1e16, 1e-5, -0.0], "double precision", "DOUBLE", pa.float64()),
    "single floats as categories": ("job", [7.0, 0.1, None], "real", "FLOAT", pa.float32()),
    "NaN as a category": ("job", [float("nan")], "double precision", "DOUBLE", pa.float64()),
    "decimals as categories": ("job", [Decimal("1.50")], "numeric(5,2)", "DECIMAL(5,2)", pa.decimal128(5, 2)),
    "dates": ("job", ["2020-01-02", None], "date", "DATE", pa.date32()),
    "times": ("job", ["2020-01-02 10:00:00.5"], "timestamp", "TIMESTAMP", pa.timestamp("us")),
    "identifiers as numbers": ("id", [3, 1, 2], "bigint", "BIGINT", pa.int64()),
    "identifiers as text": ("id", ["007", " 7 ", "07"], "text", "VARCHAR", pa.string()),
    "identifiers as floats": ("id", [1234567890123456.0, 7.0], "double precision", "DOUBLE", pa.float64()),
    "identifiers twice": ("id", ["7", " 7"], "text", "VARCHAR", pa.string()),
    "identifiers that are null": ("id", [1, None], "integer", "INTEGER", pa.int32()),
}

VALUES = ["a", "b", "true", "false", "7", "7.0", "0.1", "1000000000000000.0", "1e+16", "1e-05", "-0.0", "1.50"]
VALUES += ["2020-01-02", "2020-01-02 10:00:00.5"]


def from_duckdb(columns: dict[str, list[Any]], types: dict[str, str], path: Path) -> DatabaseTable:
    path.unlink(missing_ok=True)
    defined = ", ".join(f'"{name}" {types.get(name, "VARCHAR")}' for name in columns)
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE rows ({defined})")
        if rows := list(zip(*columns.values(), strict=True)):
            connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)
    return DatabaseTable(path, "rows")


def from_parquet(duckdb_table: DatabaseTable, column: str, kind: pa.DataType, path: Path) -> Path:
    with duckdb.connect(duckdb_table.database, read_only=True) as connection:
        table = connection.execute("SELECT * FROM rows").to_arrow_table()
    position = table.column_names.index(column)
    pq.write_table(table.set_column(position, column, table.column(column).cast(kind)), path)
    return path


@pytest.mark.parametrize("what", TYPES)
def test_a_table_gives_the_same_codes_or_the_same_refusal_from_every_database_and_file(
    tmp_path: Path, postgres: PostgresServer, what: str
) -> None:
    column, cells, postgres_type, duckdb_type, parquet_type = TYPES[what]
    columns = columns_of(**{column: cells})
    in_duckdb = from_duckdb(columns, {"income": "DOUBLE", column: duckdb_type}, tmp_path / "rows.duckdb")
    in_parquet = from_parquet(in_duckdb, column, parquet_type, tmp_path / "rows.parquet")
    in_postgres = postgres.table(columns, {column: postgres_type})
    for agreement in (agreed(VALUES), agreed(VALUES, missing=None)):
        expected = outcome(agreement, in_parquet)
        assert outcome(agreement, in_duckdb) == expected
        assert outcome(agreement, in_postgres) == expected


@pytest.mark.parametrize("what", ["whole numbers", "small numbers", "floats", "decimals", "long decimals"])
def test_numbers_of_every_type_fall_where_exact_arithmetic_says(postgres: PostgresServer, what: str) -> None:
    column, cells, postgres_type, *_ = TYPES[what]
    codes, _ = outcome(agreed(), postgres.table(columns_of(**{column: cells}), {column: postgres_type}))
    assert codes["income"] == [code_of(cell) for cell in cells]


def test_what_is_accepted_and_refused_is_what_it_says(postgres: PostgresServer) -> None:
    def problems(what: str) -> Any:
        column, cells, postgres_type, *_ = TYPES[what]
        return outcome(agreed(VALUES), postgres.table(columns_of(**{column: cells}), {column: postgres_type}))

    not_numbers = (f"Column 'income' has {NOT_NUMBERS}.",)
    for what in ("no numbers as text", "numbers with underscores", "hexadecimal numbers", "too many zeros"):
        assert problems(what) == not_numbers
    for what in ("infinity", "infinity in words", "nan in words", "dates as numbers", "times as numbers"):
        assert problems(what) == not_numbers
    assert problems("large numbers") == ("Column 'income' has values outside the agreed bounds [-50, 99.5].",)
    assert problems("numbers as text")[0]["income"] == [3, 3, 2, 2, 2, 5, 5, 5]
    assert problems("too many zeros after the point")[0]["income"] == [1, 1]
    assert problems("floats as categories")[0]["job"] == [5, 6, 7, 8, 9, 10]
    assert problems("identifiers as numbers")[1] == ["3", "1", "2"]
    assert problems("identifiers as text")[1] == ["007", "7", "07"]
    assert problems("identifiers as floats")[1] == ["1234567890123456.0", "7.0"]
    assert "duplicate" in problems("identifiers twice")[0]
    assert "empty" in problems("identifiers that are null")[0]


FEW = examples(15, unchecked=[HealthCheck.function_scoped_fixture])
exact_numbers = st.decimals(-50, "99.5", places=15) | st.sampled_from([*EDGES, Decimal("99.5"), Decimal(-50)])


@given(cells=st.lists(st.none() | exact_numbers, min_size=1, max_size=10))
@FEW
def test_any_number_falls_where_exact_arithmetic_says(postgres: PostgresServer, cells: list[Any]) -> None:
    """The nearest float decides, as for files; 15 decimal places are far enough apart for it to decide rightly."""
    near = [cell is not None and any(0 < abs(cell - edge) < Decimal("1e-14") for edge in EDGES) for cell in cells]
    cells = [None if is_near else cell for cell, is_near in zip(cells, near, strict=True)]
    for kind in ("numeric", "numeric(30,15)", "text"):
        codes, _ = outcome(agreed(), postgres.table(columns_of(income=cells), {"income": kind}))
        assert codes["income"] == [code_of(cell) for cell in cells], kind


# Agreements hold no control characters, which a terminal would obey.
printable = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), max_size=6)


@given(values=st.lists(printable.map(str.strip), min_size=1, max_size=5, unique=True))
@FEW
def test_any_text_is_the_category_it_is(tmp_path: Path, postgres: PostgresServer, values: list[str]) -> None:
    values = [*[value for value in values if value not in ("", "?", "NA")], "a", "z"]
    values = list(dict.fromkeys(values))
    columns = columns_of(job=[f" {value}\n" for value in values], id=[f"x{v}x{n}" for n, v in enumerate(values)])
    identifiers = [unicodedata.normalize("NFC", identifier) for identifier in columns["id"]]
    expected = {"job": list(range(len(values))), "income": [2] * len(values), "default": [0] * len(values)}
    in_duckdb = from_duckdb(columns, {"income": "DOUBLE"}, tmp_path / "rows.duckdb")
    for source in (postgres.table(columns), in_duckdb):
        assert outcome(agreed(values), source) == (expected, identifiers)


def test_a_number_that_means_missing_does_so_in_every_type(tmp_path: Path, postgres: PostgresServer) -> None:
    agreement = agreed(**{"records.missing_spellings": ["", "-9"]})
    columns = columns_of(income=[-9, 1])
    (tmp_path / "rows.csv").write_text("id,job,income,default\n0,a,-9,no\n1,a,1,no\n")
    sources: list[Source] = [tmp_path / "rows.csv", from_duckdb(columns, {"income": "INTEGER"}, tmp_path / "r.duckdb")]
    for kind in ("integer", "double precision", "numeric", "numeric(5,2)", "text"):
        sources.append(postgres.table(columns, {"income": kind}))
    for source in sources:
        assert outcome(agreement, source)[0]["income"] == [5, 2]


# --- What PostgreSQL alone has ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd_types(postgres: PostgresServer) -> None:
    with postgres.owner() as connection:
        connection.execute("CREATE TYPE grade AS ENUM ('b', 'a'); CREATE DOMAIN percentage AS integer")
        connection.execute("CREATE DOMAIN grade_code AS text")


@pytest.mark.usefixtures("odd_types")
@pytest.mark.parametrize(
    ("column", "cells", "kind", "expected"),
    [
        ("job", ["a", "b", None], "grade", [0, 1, 2]),
        ("job", ["a", "b", "?"], "grade_code", [0, 1, 2]),
        ("job", ["a", "b", " "], "char(10)", [0, 1, 2]),
        ("job", ["a", "b", None], '"char"', [0, 1, 2]),
        ("job", ["a", "b", None], "name", [0, 1, 2]),
        ("income", [7, 50, None], "percentage", [3, 4, 5]),
        ("income", ["0.1", "7.0000", None], "numeric", [2, 3, 5]),
        ("income", ["7 ", "50", "?"], "char(10)", [3, 4, 5]),
        ("income", ["1e-400", "-1e-400", "0"], "numeric", [1, 1, 1]),
    ],
)
def test_types_of_postgresql_are_read_by_their_text_or_number(
    postgres: PostgresServer, column: str, cells: list[Any], kind: str, expected: list[int]
) -> None:
    table = postgres.table(columns_of(**{column: cells}), {column: kind})
    assert outcome(agreed(), table)[0][column] == expected


NO_NUMBERS = {
    "1e400": "numeric",
    "Infinity": "numeric",
    "NaN": "numeric",
    "$3.00": "money",
    "1 day": "interval",
    "{1}": "integer[]",
}


@pytest.mark.parametrize(("cell", "kind"), NO_NUMBERS.items())
def test_what_is_no_finite_number_is_refused_as_such(postgres: PostgresServer, cell: str, kind: str) -> None:
    table = postgres.table(columns_of(income=[cell]), {"income": kind})
    assert outcome(agreed(), table) == (f"Column 'income' has {NOT_NUMBERS}.",)


def test_columns_of_any_type_that_are_not_agreed_are_left_alone(postgres: PostgresServer) -> None:
    odd = {"a": "tsvector", "b": "point", "c": "int4range", "d": "bit(3)", "e": "xml", "f": "jsonb", "g": "inet"}
    table = postgres.table(columns_of(income=[7]) | {name: [None] for name in odd}, odd)
    assert outcome(agreed(), table)[0]["income"] == [3]


def test_keys_and_columns_that_are_never_null_are_read(postgres: PostgresServer) -> None:
    types = {"id": "integer PRIMARY KEY", "job": "text NOT NULL", "income": "numeric NOT NULL"}
    table = postgres.table(columns_of(id=[5, 6], income=[7, 8]), types)
    assert outcome(agreed(), table) == ({"job": [0, 0], "income": [3, 3], "default": [0, 0]}, ["5", "6"])


def test_settings_of_a_role_do_not_change_what_is_read(postgres: PostgresServer) -> None:
    columns = columns_of(income=[0.1, 0.09999999999999999], job=["2020-01-02"] * 2)
    table = postgres.table(columns, {"job": "date"})
    agreement, name = agreed(["2020-01-02", "x"]), f'"{table.table}"'
    before = outcome(agreement, table)
    assert before[0]["income"] == [2, 1]
    odd = ("extra_float_digits = -5", "DateStyle = 'SQL, DMY'", "client_encoding = 'LATIN1'", "TimeZone = 'Asia/Tokyo'")
    with postgres.owner() as connection:
        try:
            for setting in odd:
                connection.execute(f"ALTER ROLE {READER} SET {setting}")
            assert outcome(agreement, table) == before
        finally:
            connection.execute(f"ALTER ROLE {READER} RESET ALL")
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (2,)


@pytest.mark.parametrize(
    "name", ["with space", 'with "quotes"', "with%percent", "with:colon", "naïve", "select", "REGION"]
)
def test_columns_may_have_any_name_in_a_database(tmp_path: Path, postgres: PostgresServer, name: str) -> None:
    mapping = small_mapping()
    mapping["attributes"][name] = mapping["attributes"].pop("region")
    agreement = cp.agreement_from_mapping(mapping)
    columns = {"id": ["1"], name: ["south"], "age": [30], "default": ["no"]}
    in_duckdb = tmp_path / "rows.duckdb"
    with duckdb.connect(in_duckdb) as connection:
        connection.register("here", pa.table(columns))
        connection.execute("CREATE TABLE rows AS SELECT * FROM here")
    for source in (postgres.table(columns), DatabaseTable(in_duckdb, "rows")):
        assert read_fragment(agreement, "loans", source).private_codes[name].tolist() == [1]


# --- Which table -----------------------------------------------------------------------------------------------------


def test_tables_of_other_schemas_and_views_are_named_with_their_schema(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    table = postgres.table(columns_of(income=[7]))
    with postgres.owner() as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS other; GRANT USAGE ON SCHEMA other TO {READER}")
        connection.execute(f'CREATE OR REPLACE VIEW other."Loans" AS SELECT * FROM {table.table}')
        connection.execute(f'GRANT SELECT ON other."Loans" TO {READER}')
    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        connection.register("here", pa.table(columns_of(income=[7])))
        connection.execute('CREATE SCHEMA other; CREATE TABLE other."Loans" AS SELECT * FROM here')
    for database in (postgres.url(), str(tmp_path / "rows.duckdb")):
        assert outcome(agreed(), DatabaseTable(database, "other.Loans"))[0]["income"] == [3]
        for wrong in ("Loans", "other.loans_", "nowhere.Loans"):
            with pytest.raises(SourceError, match="There is no table"):
                outcome(agreed(), DatabaseTable(database, wrong))
    assert outcome(agreed(), DatabaseTable(postgres.url(), f"public.{table.table}"))[0]["income"] == [3]


@pytest.mark.parametrize("table", ["", ".", ".loans", "public."])
def test_names_that_are_no_names_are_refused(table: str) -> None:
    with pytest.raises(SourceError, match=r"TABLE or SCHEMA\.TABLE"):
        DatabaseTable("postgresql://localhost/db", table)


@pytest.mark.parametrize(
    ("data", "table", "says"),
    [
        ("postgresql://me@host/db", None, "--table"),
        ("rows.duckdb", None, "--table"),
        ("rows.csv", "loans", "Leave out --table"),
        ("rows.parquet", "loans", "Leave out --table"),
        ("mysql://me:pass-word@host/db", "loans", "mysql://. Data are a .csv"),
        ("https://me:pass-word@host/rows.csv", None, "https://. Data are a .csv"),
    ],
)
def test_data_and_table_that_do_not_go_together_are_refused(data: str, table: str | None, says: str) -> None:
    with pytest.raises(SourceError, match=re.escape(says)) as caught:
        source_from(data, table)
    assert "pass-word" not in str(caught.value)


def test_data_and_table_become_a_source() -> None:
    assert source_from("rows.csv") == Path("rows.csv")
    assert source_from("rows.ddb", "loans") == DatabaseTable("rows.ddb", "loans")
    for scheme in ("postgres", "postgresql"):
        source = source_from(f"{scheme}://me:pw@host:5432/db?sslmode=require", "public.loans")
        assert str(source) == f"table 'public.loans' of {scheme}://me@host:5432/db"


def test_python_callers_are_told_how_to_name_a_table() -> None:
    for source in ("postgresql://me:pass-word@host/db", "rows.duckdb"):
        with pytest.raises(SourceError, match="DatabaseTable") as caught:
            read_fragment(agreed(), "bank", source)
        assert "pass-word" not in str(caught.value)


# --- When it does not connect ----------------------------------------------------------------------------------------

CONNECTION_PROBLEMS: dict[str, tuple[Callable[[PostgresServer], str], str]] = {
    "wrong password": (lambda s: s.url(password="wrong-s3cret"), "refused the login"),
    "no password": (lambda s: s.url(password=None), "refused the login"),
    "unknown user": (lambda s: s.url(user="nobody", password="wrong-s3cret"), "refused the login"),
    "unknown database": (lambda s: s.url(database="nowhere"), "no database of this name"),
    "closed port": (lambda s: s.url(host="127.0.0.1:1"), "cannot be reached"),
    "unknown host": (lambda s: s.url(host="no-such-host.invalid"), "cannot be reached"),
    "no socket": (lambda s: "postgresql://me:wrong-s3cret@/db?host=/nowhere", "cannot be reached"),
    "no encryption": (lambda s: s.url() + "?sslmode=require", "could not be encrypted"),
}


def shown_of(error: BaseException) -> str:
    return str(error) + repr(error) + "".join(traceback.format_exception(error))


@pytest.mark.parametrize("problem", CONNECTION_PROBLEMS)
def test_problems_of_connection_are_told_apart_and_show_no_password(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, problem: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    address, says = CONNECTION_PROBLEMS[problem]
    with pytest.raises(SourceError, match=says) as caught:
        read_fragment(agreed(), "bank", DatabaseTable(address(postgres), "loans"))
    assert "The address was postgresql://" in str(caught.value)
    assert "s3cret" not in shown_of(caught.value)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("FATAL:  Passwort-Authentifizierung für Benutzer »me« fehlgeschlagen", "check user, password and the name"),
        ("FATAL:  Datenbank »x« existiert nicht", "check user, password and the name"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "me", database "x"', "refused the login"),
        ('FATAL:  role "database" does not exist', "refused the login"),
        ("FATAL:  sorry, too many clients already", "check user, password and the name"),
        ("connection timeout expired", "cannot be reached"),
    ],
)
def test_servers_that_speak_other_languages_are_told_from_none(message: str, says: str) -> None:
    assert says in _connection_problem(psycopg.OperationalError(message))


def test_the_password_may_come_from_the_environment_or_the_password_file(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_address = postgres.table(columns_of(income=[7]))
    without = DatabaseTable(postgres.url(password=None), in_address.table)
    expected = outcome(agreed(), in_address)
    monkeypatch.setenv("PGPASSWORD", READER_PASSWORD)
    assert outcome(agreed(), without) == expected
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:{postgres.port}:*:{READER}:{READER_PASSWORD}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert outcome(agreed(), without) == expected


def test_the_password_may_be_percent_encoded_and_the_server_on_a_socket(postgres: PostgresServer) -> None:
    with postgres.owner() as connection:
        connection.execute(f"ALTER ROLE {READER} PASSWORD 'p@s/s:w?o#r%d'")
        try:
            table = postgres.table(columns_of(income=[7])).table
            encoded = "p%40s%2Fs%3Aw%3Fo%23r%25d"
            on_socket = f"postgresql://{READER}:{encoded}@/test?host={postgres.folder}&port={postgres.port}"
            for address in (postgres.url(password=encoded), on_socket):
                assert outcome(agreed(), DatabaseTable(address, table))[0]["income"] == [3]
        finally:
            connection.execute(f"ALTER ROLE {READER} PASSWORD '{READER_PASSWORD}'")


words = st.text("abcxyz019_-.", min_size=1, max_size=6)
passwords = st.text(min_size=1, max_size=8)


@given(user=words, password=passwords, host=words, database=words, in_query=st.booleans())
@examples(300)
def test_no_password_shows_however_it_is_written(
    user: str, password: str, host: str, database: str, in_query: bool
) -> None:
    """It is left out, or the whole address is refused in words that do not depend on it."""
    address = f"postgresql://{user}:{password}@{host}/{database}"
    if in_query:
        address = f"postgresql://{user}@{host}/{database}?password={password}"
    try:
        shown = repr(DatabaseTable(address, "loans"))
    except SourceError as error:
        with pytest.raises(SourceError) as refused:
            DatabaseTable("postgresql://two@ats@host/db", "loans")
        assert str(error) == str(refused.value)
    else:
        assert shown == f"<table 'loans' of postgresql://{user}@{host}/{database}>"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:pass@word@host/db",
        "postgresql://me:pass/word@host/db",
        "postgresql://me:pass?word@host/db",
        "postgresql://me:pass#word@host/db",
        "postgresql://me:pass%word@host/db",
        "postgresql://me:pass word@host/db",
        "postgresql://me:password",
        "postgresql://me:password/db",
        "postgresql://me@host/db?unknown=password",
        "postgresql://[me:password@host/db",
    ],
)
def test_addresses_that_can_be_misread_are_refused_without_quoting_them(address: str) -> None:
    with pytest.raises(SourceError, match="%40") as caught:
        DatabaseTable(address, "loans")
    assert not re.search(r"pass\b|word\b|password@|:password", str(caught.value).replace("a password", ""))


def test_a_source_shows_no_password_and_travels_to_another_process() -> None:
    source = DatabaseTable("postgresql://me:pass-word@host/db?password=pass-word", "loans")
    assert pickle.loads(pickle.dumps(source)) == source
    for shown in (repr(source), str(source), f"{[source]}", source.address):
        assert "pass-word" not in shown


def test_a_table_that_may_not_be_read_is_told_apart(postgres: PostgresServer) -> None:
    table = postgres.table(columns_of(income=[7]))
    with postgres.owner() as connection:
        connection.execute(f"REVOKE SELECT ON {table.table} FROM {READER}")
    for read in (read_fragment, check_columns):
        with pytest.raises(SourceError, match=r"may not read table .* GRANT SELECT"):
            read(agreed(), "bank", table)


def test_a_connection_that_breaks_while_rows_are_read_is_an_error_of_ours(postgres: PostgresServer) -> None:
    with postgres.owner() as connection:
        connection.execute("CREATE OR REPLACE VIEW endless AS SELECT generate_series(1, 10000000000) AS id")
        with pytest.raises(SourceError, match="cannot be read"), open_source(endless(postgres)) as opened:
            batches = opened.batches([opened.table["id"]])
            next(batches)
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{READER}'")
            for _ in range(3):
                next(batches)


# --- Reading only ----------------------------------------------------------------------------------------------------


def endless(postgres: PostgresServer) -> DatabaseTable:
    return DatabaseTable(postgres.url(), "endless")


def test_rows_come_in_batches_and_are_never_here_as_a_whole(postgres: PostgresServer) -> None:
    """A reader that fetched the whole table first would never come back from one of ten thousand million rows."""
    with postgres.owner() as connection:
        connection.execute("CREATE OR REPLACE VIEW endless AS SELECT generate_series(1, 10000000000) AS id")
    with open_source(endless(postgres)) as opened:
        batches = opened.batches([opened.table["id"]])
        for number in range(3):
            batch = next(batches)
            assert batch.num_rows == ROWS_PER_BATCH
            assert batch.column("id")[0].as_py() == number * ROWS_PER_BATCH + 1


def test_columns_are_checked_without_reading_a_row(postgres: PostgresServer, tmp_path: Path) -> None:
    with postgres.owner() as connection:
        connection.execute(
            "CREATE OR REPLACE VIEW endless_bank AS SELECT id, 'no' AS \"default\", 'not agreed' AS job, "
            "1 / (id - id) AS income FROM (SELECT generate_series(1, 10000000000) AS id) AS numbers"
        )
    check_columns(agreed(), "bank", DatabaseTable(postgres.url(), "endless_bank"))
    bad_cells = columns_of(job=["not agreed"], income=["no number"])
    check_columns(agreed(), "bank", postgres.table(bad_cells))
    check_columns(agreed(), "bank", from_duckdb(bad_cells, {}, tmp_path / "rows.duckdb"))
    check_columns(agreed(), "bank", pa.table(bad_cells))
    del bad_cells["income"]
    for source in (
        postgres.table(bad_cells),
        from_duckdb(bad_cells, {}, tmp_path / "rows.duckdb"),
        pa.table(bad_cells),
    ):
        with pytest.raises(FragmentError, match="Column 'income' is agreed but not in the data"):
            check_columns(agreed(), "bank", source)


def test_only_the_agreed_columns_are_asked_for(postgres: PostgresServer) -> None:
    table = postgres.table({**columns_of(income=[7]), "diagnosis": ["x"]})
    with postgres.owner() as connection:
        connection.execute(f"REVOKE SELECT ON {table.table} FROM {READER}")
        connection.execute(f'GRANT SELECT (id, job, income, "default") ON {table.table} TO {READER}')
    assert outcome(agreed(), table)[0]["income"] == [3]


def test_all_that_is_read_is_one_snapshot(postgres: PostgresServer) -> None:
    table = postgres.table(columns_of(income=[7, 8]))
    with open_source(table) as opened:
        with postgres.owner() as connection:
            connection.execute(f"UPDATE {table.table} SET income = 9; DELETE FROM {table.table} WHERE id = '1'")
        (batch,) = opened.batches([opened.table["income"]])
        assert batch.column("income").to_pylist() == [7, 8]


def test_nothing_can_be_written_to_postgresql(postgres: PostgresServer) -> None:
    table = DatabaseTable(postgres.url(OWNER, "owner-password"), postgres.table(columns_of(income=[7])).table)
    with postgres.owner() as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS traces (at timestamp)")
        connection.execute(
            "CREATE OR REPLACE FUNCTION leave_trace() RETURNS text LANGUAGE sql AS "
            "$$ INSERT INTO traces VALUES (now()) RETURNING 'a' $$"
        )
        connection.execute(
            f'CREATE OR REPLACE VIEW tracing AS SELECT id, leave_trace() AS job, income, "default" FROM {table.table}'
        )
        with pytest.raises(SourceError, match="ReadOnlySqlTransaction"):
            read_fragment(agreed(), "bank", DatabaseTable(table.database, "tracing"))
        assert connection.execute("SELECT count(*) FROM traces").fetchone() == (0,)
        connection.execute("SELECT job FROM tracing")
        assert connection.execute("SELECT count(*) FROM traces").fetchone() == (1,)  # the view does write


@pytest.fixture
def busy_file(tmp_path: Path) -> Iterator[Path]:
    """A DuckDB file that another program has open for writing."""
    path = tmp_path / "busy.duckdb"
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, str(path)], **pipes) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        yield path
        other.kill()


def test_duckdb_files_are_left_as_they_are(tmp_path: Path) -> None:
    table = from_duckdb(columns_of(income=[7.0]), {"income": "DOUBLE"}, tmp_path / "rows.duckdb")
    before = hashlib.sha256(Path(table.database).read_bytes()).hexdigest()
    assert outcome(agreed(), table)[0]["income"] == [3]
    with open_source(table) as opened, pytest.raises(Exception, match="read-only"):
        opened.connection.raw_sql("DROP TABLE rows")
    assert hashlib.sha256(Path(table.database).read_bytes()).hexdigest() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows.duckdb"]


def test_duckdb_files_that_cannot_be_opened_are_told_apart(tmp_path: Path, busy_file: Path) -> None:
    (tmp_path / "text.duckdb").write_text("secretdiagnosis")
    for name, says in {"none": "There is no file", "text": "as a DuckDB file", "busy": "open in another"}.items():
        with pytest.raises(SourceError, match=says) as caught:
            read_fragment(agreed(), "bank", DatabaseTable(tmp_path / f"{name}.duckdb", "rows"))
        assert "secretdiagnosis" not in shown_of(caught.value)
    assert not (tmp_path / "none.duckdb").exists()


def test_tables_are_refused_where_the_order_of_rows_joins_them(tmp_path: Path) -> None:
    mapping = small_mapping(**{"records.alignment": "row-order", "records.identifier": None})
    table = from_duckdb(columns_of(income=[7.0]), {"income": "DOUBLE"}, tmp_path / "rows.duckdb")
    for read in (read_fragment, check_columns):
        with pytest.raises(FragmentError, match="rows of a database table or a query have none"):
            read(cp.agreement_from_mapping(mapping), "bank", table)


# --- A whole release -------------------------------------------------------------------------------------------------


def test_a_release_from_two_databases_is_the_release_from_data_frames(tmp_path: Path, postgres: PostgresServer) -> None:
    agreement, generator = cp.agreement_from_mapping(small_mapping()), np.random.default_rng(3)
    frames = fragment_frames(agreement, random_table(agreement, 800, generator), generator)
    bank, loans = ({name: column.tolist() for name, column in frames[party].items()} for party in ("bank", "loans"))
    types = {"id": "text", "job": "text", "income": "numeric(10,2)", "default": "char(5)"}
    sources: dict[str, Any] = {
        "bank": postgres.table(bank, types),
        "loans": from_duckdb(loans, {"age": "DECIMAL(10,1)"}, tmp_path / "loans.duckdb"),
    }
    from_frames = simulate_with(agreement, frames, seeded(agreement.party_names, 5))
    assert simulate_with(agreement, sources, seeded(agreement.party_names, 5)).files() == from_frames.files()
    assert simulate_with(agreement, sources, seeded(agreement.party_names, 6)).files() != from_frames.files()
    release = cp.simulate(agreement, sources)
    assert release.certificate.epsilon == from_frames.certificate.epsilon
    assert cp.generalize(release, cp.DatabaseTable(*joined(postgres, bank, loans))).num_rows == 800
    with pytest.raises(CopublishError, match="exactly these parties"):
        cp.simulate(agreement, {"bank": sources["bank"]})


def joined(postgres: PostgresServer, bank: dict[str, list[Any]], loans: dict[str, list[Any]]) -> tuple[str, str]:
    table = postgres.table({**bank, "region": loans["region"], "age": loans["age"]})
    return str(table.database), table.table
