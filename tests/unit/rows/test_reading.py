"""Reading a party's rows: the codes are what a loop over the values gives, and no error tells anything of a person."""

from __future__ import annotations

import csv
import math
import traceback
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from copublish import (
    Agreement,
    CopublishError,
    DatabaseTable,
    FragmentError,
    SourceError,
    agreement_from_mapping,
)
from copublish.kernel.records.fragment import Fragment
from copublish.rows.reading import read_fragment
from support import postgres, read_strictly, repartition, small_mapping
from support.profiles import examples

pytestmark = pytest.mark.slow  # needs PostgreSQL

CODES = ["007", "7", "a, b", 'say "hi"', "x;y", "#9", "naïve", "nan", "true"]
"""Values that a careless reader would change: numbers in disguise, separators, quotes, remarks."""

MISSING = ["", "?", "NA"]


def agreed(missing: str | None = None, **changes: Any) -> Agreement:
    """One party, 'bank', with a categorical, a numerical and a class column; 'loans' has the rest."""
    return agreement_from_mapping(
        small_mapping(
            **{
                "attributes.job": {"kind": "categorical", "values": CODES, "held_by": "bank", "missing": missing},
                "attributes.income": {
                    "kind": "numerical",
                    "bounds": [-50, Decimal("99.5")],
                    "grid": {"edges": [-1, Decimal("0.1"), 7, 50]},
                    "held_by": "bank",
                    "missing": missing,
                },
                **changes,
            }
        )
    )


# --- What a loop over the values gives -------------------------------------------------------------------------------


def code_of_category(value: Any, values: Sequence[str], *, spread: bool = False) -> int:
    """The place of a value in the agreed list; after them missing; after that, held by another party."""
    text = "" if value is None or value != value else str(value).strip(" \t\r\n\v\f")
    if text == "" and spread:
        return len(values) + 1
    return len(values) if text in MISSING else list(values).index(text)


def code_of_number(value: Any, edges: Sequence[Any], *, spread: bool = False) -> int:
    """The number of edges at or below a value; after them missing; after that, held by another party."""
    if isinstance(value, str):
        value = value.strip(" \t\r\n\v\f")
    if value is None or value == "" or value != value:
        return len(edges) + 2 if spread else len(edges) + 1
    if value in MISSING:
        return len(edges) + 1
    return sum(Fraction(edge) <= Fraction(value) for edge in edges)


def codes(fragment: Fragment) -> dict[str, list[int]]:
    return {column: list(map(int, values)) for column, values in fragment.private_codes.items()}


# --- The same rows from every source ---------------------------------------------------------------------------------

Columns = dict[str, list[Any]]


def write_csv(columns: Columns, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))  # None becomes an empty cell
    return path


def write_parquet(columns: Columns, path: Path) -> Path:
    pq.write_table(as_arrow(columns), path)
    return path


def as_arrow(columns: Columns) -> pa.Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table({n: a.cast(pa.string()) if pa.types.is_null(a.type) else a for n, a in arrays.items()})


def write_duckdb(columns: Columns, path: Path) -> DatabaseTable:
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        connection.register("rows_here", as_arrow(columns))
        connection.execute("CREATE TABLE rows AS SELECT * FROM rows_here")
    return DatabaseTable(path, "rows")


SOURCES: dict[str, Callable[[Columns, Path], Any]] = {
    "pandas": lambda columns, folder: pd.DataFrame(columns),
    "polars": lambda columns, folder: pl.DataFrame(columns, strict=False),
    "arrow": lambda columns, folder: as_arrow(columns),
    "csv": lambda columns, folder: write_csv(columns, folder / "rows.csv"),
    "parquet": lambda columns, folder: write_parquet(columns, folder / "rows.parquet"),
    "duckdb": lambda columns, folder: write_duckdb(columns, folder / "rows.duckdb"),
    "postgresql": lambda columns, folder: postgres.server().table(columns),
}

every_source = pytest.mark.parametrize("source", SOURCES)

MANY = examples(40, unchecked=[HealthCheck.function_scoped_fixture])
FEW = examples(12, unchecked=[HealthCheck.function_scoped_fixture])


def padded(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blanks = st.sampled_from(["", "", "", " ", "\t", "  "])
    return st.tuples(blanks, texts, blanks).map("".join)


categories = st.none() | padded(st.sampled_from([*CODES, *MISSING]))
numbers = (
    st.none() | st.decimals(-50, "99.5", places=3).map(float) | st.sampled_from([-50.0, -1.0, 0.1, 7.0, 50.0, 99.5])
)
number_texts = st.none() | padded(numbers.filter(lambda number: number is not None).map(str) | st.sampled_from(MISSING))
labels = padded(st.sampled_from(["no", "yes"]))


@st.composite
def rows(draw: st.DrawFn, incomes: st.SearchStrategy[Any] = numbers) -> Columns:
    drawn = draw(st.lists(st.tuples(categories, incomes, labels), max_size=12))
    job, income, default = (list(column) for column in zip(*drawn, strict=True)) if drawn else ([], [], [])
    return {"id": [f"{n:03}" for n in range(len(drawn))], "job": job, "income": income, "default": default}


def expected_codes(columns: Columns) -> dict[str, list[int]]:
    return {
        "job": [code_of_category(value, CODES) for value in columns["job"]],
        "income": [code_of_number(value, [-1, Decimal("0.1"), 7, 50]) for value in columns["income"]],
        "default": [["no", "yes"].index(value.strip()) for value in columns["default"]],
    }


@example(columns={"id": ["0", "1"], "job": [None, " #9"], "income": [None, None], "default": ["no", "no"]})
@given(columns=rows())
@FEW
def test_codes_from_every_source_are_what_a_loop_gives(tmp_path: Path, columns: Columns) -> None:
    agreement = agreed(missing="category")
    for name, source in SOURCES.items():
        fragment = read_fragment(agreement, "bank", source(columns, tmp_path))
        assert codes(fragment) == expected_codes(columns), name
        assert list(fragment.identifiers or []) == columns["id"], name
        assert fragment.n_records == len(columns["id"])


@given(columns=rows())
@MANY
def test_codes_of_a_data_frame_are_what_a_loop_gives(columns: Columns) -> None:
    fragment = read_fragment(agreed(missing="category"), "bank", pd.DataFrame(columns))
    assert codes(fragment) == expected_codes(columns)


@given(columns=rows(number_texts))
@MANY
def test_codes_of_numbers_written_as_text_are_what_a_loop_gives(tmp_path: Path, columns: Columns) -> None:
    fragment = read_fragment(agreed(missing="category"), "bank", write_csv(columns, tmp_path / "rows.csv"))
    assert codes(fragment) == expected_codes(columns)


@given(st.lists(st.tuples(categories, number_texts), min_size=1, max_size=10))
@MANY
def test_empty_cells_of_an_arbitrary_release_are_held_elsewhere_and_spelled_ones_are_missing(
    cells: list[tuple[Any, Any]],
) -> None:
    mapping = repartition(small_mapping(), "arbitrary")
    mapping["attributes"]["job"] = {"kind": "categorical", "values": CODES, "missing": "category", "unlisted": "7"}
    mapping["attributes"]["income"]["missing"] = "category"
    mapping["attributes"]["income"]["bounds"] = [-50, 100]
    frame = pd.DataFrame(
        {
            "id": range(len(cells)),
            "job": [job for job, _ in cells],
            "income": pd.Series([income for _, income in cells], dtype=object),
            "region": None,
            "age": np.nan,
            "default": "no",
        }
    )
    fragment = read_fragment(agreement_from_mapping(mapping), "p0", frame)
    assert codes(fragment) == {
        "job": [code_of_category(job, CODES, spread=True) for job, _ in cells],
        "income": [code_of_number(income, [1, 10, 50], spread=True) for _, income in cells],
        "region": [3] * len(cells),  # three regions, then: held elsewhere
        "age": [9] * len(cells),  # 18, 28, ..., 98: nine cells, then: held elsewhere
        "default": [0] * len(cells),
    }
    assert list(fragment.holds("job")) == [(job or "").strip() != "" for job, _ in cells]


def test_column_that_one_party_holds_in_an_arbitrary_release_has_missing_cells_not_cells_elsewhere() -> None:
    mapping = repartition(small_mapping(), "arbitrary")
    mapping["attributes"]["region"]["held_by"] = "p0"
    frame = pd.DataFrame({"id": [1], "job": ["cook"], "region": [None], "age": [20], "income": [5], "default": ["no"]})
    with pytest.raises(FragmentError, match="Column 'region' has missing values"):
        read_strictly(agreement_from_mapping(mapping), "p0", frame)


# --- Particular values -----------------------------------------------------------------------------------------------


def bank(**columns: list[Any]) -> Columns:
    """Rows that are fine, but for what is given."""
    n = len(next(iter(columns.values()))) if columns else 3
    fine: Columns = {"id": [str(i) for i in range(n)], "job": ["007"] * n, "income": [1.5] * n, "default": ["no"] * n}
    return {**fine, **columns}


@every_source
def test_leading_zeros_are_kept(tmp_path: Path, source: str) -> None:
    columns = bank(job=["007", "7", "007"], id=["001", "01", "1"])
    fragment = read_fragment(agreed(), "bank", SOURCES[source](columns, tmp_path))
    assert codes(fragment)["job"] == [0, 1, 0]
    assert list(fragment.identifiers or []) == ["001", "01", "1"]


@every_source
def test_none_nan_and_empty_text_are_missing(tmp_path: Path, source: str) -> None:
    columns = bank(job=[None, "", "nan"], income=[None, math.nan, 7.0])
    if source in ("csv", "parquet"):  # files have no NaN of their own; an empty cell is how people write it
        columns["income"][1] = None
    fragment = read_fragment(agreed(missing="category"), "bank", SOURCES[source](columns, tmp_path))
    assert codes(fragment)["job"] == [len(CODES), len(CODES), CODES.index("nan")]
    assert codes(fragment)["income"] == [5, 5, 3]


def test_nan_in_a_parquet_file_is_missing(tmp_path: Path) -> None:
    path = write_parquet(bank(income=[1.0, math.nan]), tmp_path / "rows.parquet")
    assert codes(read_fragment(agreed(missing="category"), "bank", path))["income"] == [2, 5]


def test_agreed_spellings_of_missing_replace_the_usual_ones() -> None:
    agreement = agreed(missing="category", **{"records.missing_spellings": ["unknown", "-9"]})
    columns = bank(job=["unknown", "-9", " unknown "], income=["-9", "unknown", "-8.5"])
    fragment = read_fragment(agreement, "bank", pd.DataFrame(columns))
    assert codes(fragment)["job"] == [len(CODES)] * 3
    assert codes(fragment)["income"] == [5, 5, 0]
    with pytest.raises(FragmentError, match="Column 'job' has values that are not in the agreed list"):
        read_strictly(agreement, "bank", pd.DataFrame(bank(job=["?"])))


def test_both_bounds_are_inside_and_a_threshold_begins_the_cell_above() -> None:
    columns = bank(income=[-50, -1.0001, -1, 0.0999, 0.1, 49.999, 50, 99.5])
    assert codes(read_fragment(agreed(), "bank", pd.DataFrame(columns)))["income"] == [0, 0, 1, 1, 2, 3, 4, 4]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False, True]),
        pd.Series(["true", "7", "true"], dtype="category"),
        pd.Series([7, 7, 7]),
        pl.Series(["7", "true", "7"], dtype=pl.Categorical),
        pa.array(["7", "true", "7"]).dictionary_encode(),
        pa.array(["7", "true", "7"], pa.large_string()),
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", ""))),
)
def test_categories_may_come_in_any_type_whose_text_is_the_agreed_value(column: Any) -> None:
    values = ["7", "true", "false"]
    agreement = agreed(**{"attributes.job": {"kind": "categorical", "values": values, "held_by": "bank"}})
    frame: Any = pd.DataFrame({**bank(), "job": column}) if isinstance(column, pd.Series) else None
    if frame is None:
        frame = pa.table({**bank(), "job": column if isinstance(column, pa.Array) else column.to_arrow()})
    texts = [str(value).lower() for value in (column.to_pylist() if isinstance(column, pa.Array) else column)]
    assert codes(read_fragment(agreement, "bank", frame))["job"] == [values.index(text) for text in texts]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 60, None], pa.int8()),
        pa.array([1, 60, None], pa.uint64()),
        pa.array([1, 60, None], pa.float32()),
        pa.array([Decimal("1.00"), Decimal("60.00"), None], pa.decimal128(10, 2)),
        pa.array(["1", "6e1", None]),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_may_come_in_any_type_of_number(column: pa.Array) -> None:
    frame = pa.table({**bank(), "income": column})
    assert codes(read_fragment(agreed(missing="category"), "bank", frame))["income"] == [2, 4, 5]


def test_whole_numbers_serve_as_identifiers() -> None:
    assert read_fragment(agreed(), "bank", pd.DataFrame(bank(id=[3, 1, 2]))).identifiers == ["3", "1", "2"]


def test_columns_that_are_not_agreed_are_left_alone() -> None:
    frame = pd.DataFrame({**bank(), "shoe size": ["secret"] * 3})
    assert set(read_fragment(agreed(), "bank", frame).private_codes) == {"job", "income", "default"}


@every_source
def test_empty_table_gives_an_empty_fragment(tmp_path: Path, source: str) -> None:
    fragment = read_fragment(agreed(), "bank", SOURCES[source](bank(job=[]), tmp_path))
    assert fragment.n_records == 0
    assert codes(fragment) == {"job": [], "income": [], "default": []}
    assert list(fragment.identifiers or []) == []


@pytest.mark.parametrize("source", ["pandas", "csv", "parquet", "duckdb", "postgresql"])
def test_more_rows_than_one_batch_are_read_in_order(tmp_path: Path, source: str) -> None:
    n, generator = 70_000, np.random.default_rng(5)
    columns: Columns = {
        "id": [f"p{i}" for i in generator.permutation(n)],
        "job": [[*CODES, "?"][i] for i in generator.integers(0, len(CODES) + 1, n)],
        "income": [None if i < -40 else round(float(i), 2) for i in generator.uniform(-50, 99, n)],
        "default": [["no", "yes"][i] for i in generator.integers(0, 2, n)],
    }
    fragment = read_fragment(agreed(missing="category"), "bank", SOURCES[source](columns, tmp_path))
    assert fragment.n_records == n
    assert fragment.identifiers == columns["id"]
    assert codes(fragment) == expected_codes(columns)


# --- What does not fit the agreement ---------------------------------------------------------------------------------

SECRET_TEXT = "secretdiagnosis"
SECRET_NUMBER = 987654.125

BAD: dict[str, tuple[Columns, str, str]] = {
    "value out of the domain": (bank(job=["007", SECRET_TEXT, "7"]), "job", "not in the agreed list"),
    "value in other case": (bank(job=["TRUE", "7", SECRET_TEXT]), "job", "not in the agreed list"),
    "not a number": (bank(income=["1", SECRET_TEXT]), "income", "not finite numbers"),
    "number and unit": (bank(income=["1", f"{SECRET_NUMBER} EUR"]), "income", "not finite numbers"),
    "above the bounds": (bank(income=[1.0, SECRET_NUMBER]), "income", r"outside the agreed bounds \[-50, 99.5\]"),
    "below the bounds": (bank(income=[1.0, -SECRET_NUMBER]), "income", "outside the agreed bounds"),
    "text above the bounds": (bank(income=["1", str(SECRET_NUMBER)]), "income", "outside the agreed bounds"),
    "infinity": (bank(income=[math.inf, SECRET_NUMBER]), "income", "not finite numbers"),
    "minus infinity": (bank(income=[-math.inf, SECRET_NUMBER]), "income", "not finite numbers"),
    "infinity in words": (bank(income=["inf", SECRET_TEXT]), "income", "not finite numbers"),
    "no category": (bank(job=[None, "007"]), "job", "missing values, which the agreement refuses"),
    "no number": (bank(income=[None, 1.0]), "income", "missing values, which the agreement refuses"),
    "missing in words": (bank(job=["?", "007"]), "job", "missing values, which the agreement refuses"),
    "missing number in words": (bank(income=["NA", "1"]), "income", "missing values, which the agreement refuses"),
    "unknown class": (bank(default=["no", SECRET_TEXT]), "default", "not in the agreed list"),
    "no class": (bank(default=["no", None]), "default", "missing values"),
    "identifier twice": (bank(id=[SECRET_TEXT, "1", SECRET_TEXT]), "id", "duplicate identifiers"),
    "identifier twice but for blanks": (bank(id=[SECRET_TEXT, f" {SECRET_TEXT}"]), "id", "duplicate identifiers"),
    "no identifier": (bank(id=[SECRET_TEXT, None]), "id", "empty identifiers"),
    "blank identifier": (bank(id=[SECRET_TEXT, "  "]), "id", "empty identifiers"),
    "column of another party": ({**bank(), "age": [SECRET_TEXT] * 3}, "age", "held by 'loans' alone"),
}


def refusal(source: Any, agreement: Agreement | None = None, party: str = "bank") -> CopublishError:
    """The error, after checking that nothing of a person is in it, nor in what Python prints of it."""
    with pytest.raises(CopublishError) as caught:
        read_strictly(agreement or agreed(), party, source)
    shown = str(caught.value) + repr(caught.value) + "".join(traceback.format_exception(caught.value))
    assert SECRET_TEXT not in shown
    assert str(SECRET_NUMBER).split(".")[0] not in shown
    return caught.value


@pytest.mark.parametrize("source", ["pandas", "csv", "parquet", "duckdb", "postgresql"])
@pytest.mark.parametrize("bad", BAD)
def test_bad_data_are_refused_with_column_and_rule_and_without_a_value(tmp_path: Path, bad: str, source: str) -> None:
    columns, column, rule = BAD[bad]
    error = refusal(SOURCES[source](columns, tmp_path))
    assert isinstance(error, FragmentError)
    assert error.party == "bank"
    assert len(error.problems) <= 2  # an infinite number is beside one that is out of bounds
    with pytest.raises(FragmentError, match=rf"Column '{column}' .*{rule}"):
        raise error


@every_source
def test_all_problems_are_reported_at_once(tmp_path: Path, source: str) -> None:
    columns = bank(
        id=["1", SECRET_TEXT, SECRET_TEXT, "4"],
        job=["007", None, SECRET_TEXT, "7"],
        income=[None, math.inf, SECRET_NUMBER, 5.0],
        default=["no", "yes", SECRET_TEXT, "no"],
    )
    error = refusal(SOURCES[source](columns, tmp_path))
    assert isinstance(error, FragmentError)
    found = [(problem.split("'")[1], problem.split(" has ")[1].split(",")[0][:20]) for problem in error.problems]
    assert sorted(found) == sorted(
        [
            ("id", "duplicate identifier"),
            ("job", "missing values"),
            ("job", "values that are not "),
            ("income", "missing values"),
            ("income", "values that are not "),
            ("income", "values outside the a"),
            ("default", "values that are not "),
        ]
    )


def test_problems_in_a_late_batch_are_found_too() -> None:
    n = 70_000
    error = refusal(pd.DataFrame(bank(job=["007"] * (n - 1) + [SECRET_TEXT], id=list(range(n)))))
    assert isinstance(error, FragmentError)
    listed, problem = error.problems
    assert problem.startswith("Column 'job' has values that are not in the agreed list")
    assert listed.startswith("Column 'id' has more people than twice records.expected")


def test_message_does_not_depend_on_how_many_rows_are_bad() -> None:
    one, many = refusal(pd.DataFrame(bank(job=[SECRET_TEXT]))), refusal(pd.DataFrame(bank(job=[SECRET_TEXT] * 50)))
    assert str(one) == str(many)


def test_missing_columns_are_all_named_and_names_in_the_data_are_not_repeated() -> None:
    error = refusal(pd.DataFrame({"job": ["007"], SECRET_TEXT: [1], str(SECRET_NUMBER): [2]}))
    assert isinstance(error, FragmentError)
    *missing, hint = error.problems
    assert [problem.split("'")[1] for problem in missing] == ["income", "default", "id"]
    assert "--columns" in hint and "init my-columns.toml --mapping" in hint


def test_missing_class_is_not_said_to_be_allowed_by_a_key_that_classes_do_not_have() -> None:
    assert "category" not in str(refusal(pd.DataFrame(bank(default=["no", None]))))


def test_party_that_is_not_in_the_agreement_is_refused() -> None:
    assert "Parties: 'bank', 'loans'" in str(refusal(pd.DataFrame(bank()), party="bnak"))


def test_fragment_shows_nothing_of_a_person_when_printed() -> None:
    agreement = agreed(
        **{"attributes.job": {"kind": "categorical", "values": [SECRET_TEXT, "other"], "held_by": "bank"}}
    )
    fragment = read_fragment(
        agreement, "bank", pd.DataFrame(bank(job=[SECRET_TEXT], id=["secretname"], income=[98.75]))
    )
    for shown in (repr(fragment), str(fragment)):
        assert SECRET_TEXT not in shown
        assert "secretname" not in shown
        assert "98" not in shown
        assert "array" not in shown


# --- Sources that cannot be read -------------------------------------------------------------------------------------


def late_garbage(line: str) -> str:
    """A CSV file that is fine for longer than any sniffing, then has a bad line, then goes on."""
    fine = [f"{n},007,1.5,no" for n in range(30_000)]
    return "\n".join(["id,job,income,default", *fine, line, "99999,007,1.5,no"])


UNREADABLE: dict[str, tuple[str, bytes]] = {
    "file that is no Parquet": ("rows.parquet", SECRET_TEXT.encode()),
    "Parquet file cut short": ("rows.parquet", b"PAR1" + SECRET_TEXT.encode()),
    "another kind of file": ("rows.xls", SECRET_TEXT.encode()),
    "file that is no workbook": ("rows.xlsx", SECRET_TEXT.encode()),
    "file that is no JSON lines": ("rows.jsonl", SECRET_TEXT.encode()),
    "no kind of file": ("rows", SECRET_TEXT.encode()),
    "CSV in another encoding": ("rows.csv", f"id,job,income,default\n1,{SECRET_TEXT}é,1,no\n".encode("latin-1")),
    "CSV with a row too long": ("rows.csv", late_garbage(f"9,007,1,no,{SECRET_TEXT}").encode()),
    "CSV with a row too short": ("rows.csv", late_garbage(SECRET_TEXT).encode()),
    "CSV with an open quote": ("rows.csv", late_garbage(f'"{SECRET_TEXT}').encode()),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_files_are_refused_without_quoting_them(tmp_path: Path, kind: str) -> None:
    name, content = UNREADABLE[kind]
    (tmp_path / name).write_bytes(content)
    assert isinstance(refusal(tmp_path / name), SourceError)


def test_file_that_is_not_there_is_named() -> None:
    error = refusal("/nowhere/rows.csv")
    assert isinstance(error, SourceError)
    assert "There is no file '/nowhere/rows.csv'" in str(error)


def test_other_kinds_of_files_are_named_with_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "rows.xls").write_text("")
    assert "rows.xls' is of no known kind. Data are a .csv, .parquet" in str(refusal(tmp_path / "rows.xls"))


FINE = pd.DataFrame(bank())

ODD_FRAMES: dict[str, Any] = {
    "a column of mixed types": FINE.assign(job=pd.Series([1, SECRET_TEXT, 2.5], dtype=object)),
    "a number column of mixed types": FINE.assign(income=pd.Series([1, SECRET_TEXT, [2]], dtype=object)),
    "two columns of one name": pd.concat([FINE, FINE[["job"]]], axis=1),
    "a list of rows": [{"job": SECRET_TEXT}],
    "nothing": None,
}


@pytest.mark.parametrize("what", ODD_FRAMES)
def test_frames_that_are_no_tables_are_refused_without_quoting_them(what: str) -> None:
    assert isinstance(refusal(ODD_FRAMES[what]), SourceError)


# --- CSV files as people have them -----------------------------------------------------------------------------------

HEADER = "id,job,income,default\n"


def csv_with(tmp_path: Path, text: str) -> Path:
    (tmp_path / "rows.csv").write_text(text, newline="")
    return tmp_path / "rows.csv"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "1,007,1.5,no\n2,7,2,yes\n",
        HEADER + "1,007,1.5,no\n2,7,2,yes",
        HEADER.replace(",", ";") + "1;007;1.5;no\n2;7;2;yes\n",
        HEADER.replace(",", "\t") + "1\t007\t1.5\tno\n2\t7\t2\tyes\n",
        (HEADER + "1,007,1.5,no\n2,7,2,yes\n").replace("\n", "\r\n"),
        "\ufeff" + HEADER + "1,007,1.5,no\n2,7,2,yes\n",
        HEADER + '"1","007","1.5","no"\n"2","7","2","yes"\n',
        "default,id,extra,income,job\nno,1,x,1.5,007\nyes,2,y,2,7\n",
    ],
    ids=["plain", "no last newline", "semicolons", "tabs", "Windows", "byte-order mark", "quotes", "other order"],
)
def test_csv_files_may_be_written_in_many_ways(tmp_path: Path, text: str) -> None:
    fragment = read_fragment(agreed(), "bank", csv_with(tmp_path, text))
    assert codes(fragment) == {"job": [0, 1], "income": [2, 2], "default": [0, 1]}
    assert fragment.identifiers == ["1", "2"]


def test_csv_rows_that_begin_with_a_hash_are_rows(tmp_path: Path) -> None:
    path = csv_with(tmp_path, HEADER + "".join(f"{'#' if n % 3 == 0 else ''}{n},007,1.5,no\n" for n in range(30)))
    assert read_fragment(agreed(), "bank", path).n_records == 30


def test_csv_without_a_header_is_refused_without_quoting_its_first_row(tmp_path: Path) -> None:
    path = csv_with(tmp_path, f"1,{SECRET_TEXT},{SECRET_NUMBER},no\n2,007,1.5,yes\n")
    assert isinstance(refusal(path), CopublishError)


def test_csv_with_one_long_row_is_refused_without_quoting_that_row(tmp_path: Path) -> None:
    path = csv_with(tmp_path, HEADER + "1,007,1.5,no\n" * 5 + f"77,{SECRET_TEXT},{SECRET_NUMBER},no,x\n")
    assert isinstance(refusal(path), CopublishError)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty. A CSV file begins with a line of column names"),
        (b"\n", "is empty"),
        (f"{HEADER}1,{SECRET_TEXT}\n".encode(), "a line has more or fewer cells than the header"),
        (f"{HEADER}1,{SECRET_TEXT},1,no,1,1\n".encode(), "a line has more or fewer cells than the header"),
        (f'{HEADER}1,"{SECRET_TEXT},1,no\n'.encode(), "a quote is not closed"),
        (late_garbage(SECRET_TEXT).encode(), "a line has more or fewer cells than the header"),
        (f"{HEADER}1,{300_000 * SECRET_TEXT},1,no\n".encode(), "a line is longer than 2 million bytes"),
        (f"{HEADER}1,{SECRET_TEXT}é,1,no\n".encode("latin-1"), "not UTF-8 text. Save it as UTF-8"),
        (late_garbage(f"1,{SECRET_TEXT}é,1,no").encode("latin-1"), "not UTF-8 text. Save it as UTF-8"),
        (f"{HEADER}1,{SECRET_TEXT},1,no\n".encode("utf-16"), "not UTF-8 text. Save it as UTF-8"),
        (f"id,job,job,income,default\n1,7,{SECRET_TEXT},1,no\n".encode(), "names a column twice"),
        (f"id,job, JOB ,income,default\n1,7,{SECRET_TEXT},1,no\n".encode(), "names a column twice"),
        (f"{SECRET_TEXT},{SECRET_TEXT},1,no\n".encode(), "names a column twice"),
    ],
)
def test_csv_files_that_cannot_be_read_are_refused_with_what_to_do(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "rows.csv").write_bytes(content)
    error = refusal(tmp_path / "rows.csv")
    assert isinstance(error, SourceError)
    assert told in str(error)


def test_csv_rows_say_nothing_about_the_delimiter(tmp_path: Path) -> None:
    path = csv_with(tmp_path, HEADER + "1;1,007,1.5,no\n2;2,7,2,yes\n3;3,7,2,yes\n")
    assert read_fragment(agreed(), "bank", path).identifiers == ["1;1", "2;2", "3;3"]


def test_csv_values_in_single_quotes_are_kept_as_they_are(tmp_path: Path) -> None:
    agreement = agreed(**{"attributes.job": {"kind": "categorical", "values": ["'q'", "r"], "held_by": "bank"}})
    path = csv_with(tmp_path, "job,id,default,income\n'q',0,no,5\n'q',1,no,5\n'q',2,no,5\n")
    assert codes(read_fragment(agreement, "bank", path))["job"] == [0, 0, 0]


# --- Columns that could be mistaken for others -----------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_column_whose_name_differs_in_case_alone_is_not_read_in_place_of_the_agreed_one(
    tmp_path: Path, source: str
) -> None:
    columns = {"JOB": ["7", "7", "7"], **bank(job=["007", "007", "007"])}
    try:
        fragment = read_fragment(agreed(), "bank", SOURCES[source](columns, tmp_path))
    except CopublishError:
        return
    assert codes(fragment)["job"] == [0, 0, 0]


@pytest.mark.parametrize("name", ["with space", 'with "quotes"', "with/slash", "with.dot", "naïve", "select", "value"])
def test_columns_may_have_any_name(name: str) -> None:
    mapping = small_mapping()
    mapping["attributes"][name] = mapping["attributes"].pop("region")
    frame = pd.DataFrame({"id": ["1"], name: ["south"], "age": [30], "default": ["no"]})
    assert codes(read_fragment(agreement_from_mapping(mapping), "loans", frame))[name] == [1]


@pytest.mark.parametrize("missing", [None, "category"])
@pytest.mark.parametrize("cells", [pd.to_datetime(["2020-01-01", "2021-01-01"]), [[1], [2]]], ids=["dates", "lists"])
def test_cells_that_cannot_be_numbers_are_refused_as_such(cells: Any, missing: str | None) -> None:
    error = refusal(pd.DataFrame({**bank(job=["007", "7"]), "income": cells}), agreed(missing=missing))
    assert "missing values" not in str(error)
