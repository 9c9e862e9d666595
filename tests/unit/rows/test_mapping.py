"""Mappings of own columns: which are refused, what they say, and what a column becomes through one."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import copublish as cp
from copublish.errors import MappingError
from copublish.rows.mapping import ColumnMapping, mapping_problems, read_mapping
from copublish.rows.reading import check_columns, read_fragment
from copublish.rows.sources import PartyData, mapped
from support import repartition, small_mapping
from support.profiles import examples

ATTRIBUTES = {
    "job": {"kind": "categorical", "values": ["cook", "clerk", "none"], "missing": "category", "unlisted": "other"},
    "income": {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [29, 57, 58, 90]}, "missing": "category"},
}

FITS: dict[str, Any] = {
    "id": {"column": "Kundennr"},
    "job": {"column": "BERUF", "values": {"Koch": "cook", "1": "clerk", "": "none", "k.A.": "other"}},
    "income": {
        "column": "Einkommen (TEUR)",
        "factor": 100,
        "missing_spellings": ["-1", "geheim"],
        "values": {"90+": 90},
    },
    "default": {"column": "ausfall", "values": {"ja": "yes", "nein": "no", "1": "yes", "0": "no", "true": "yes"}},
}


def agreed(partition: str = "horizontal", **changes: Any) -> cp.Agreement:
    mapping = repartition(small_mapping(), partition)
    mapping["records"] = {"expected": 2000, "identifier": "id", "missing_spellings": ["", "?", "-9"]}
    mapping["attributes"] = {name: dict(attribute) for name, attribute in ATTRIBUTES.items()}
    if partition == "arbitrary":
        mapping["class"]["held_by"] = "p0"
    return cp.agreement_from_mapping({**mapping, **changes})


def mapping(**changes: Any) -> ColumnMapping:
    """The one that fits, with some columns replaced; None forgets one."""
    return ColumnMapping.model_validate(
        {"columns": {name: own for name, own in {**FITS, **changes}.items() if own is not None}}
    )


def table(**columns: Any) -> pd.DataFrame:
    n = len(next(iter(columns.values())))
    fine = {"Kundennr": map(str, range(n)), "BERUF": ["cook"] * n, "Einkommen (TEUR)": ["1"] * n, "ausfall": ["no"] * n}
    return pd.DataFrame({name: list(cells) for name, cells in {**fine, **columns}.items()})


def codes(column: str, own: str, cells: list[Any], **changes: Any) -> list[int]:
    fragment = read_fragment(agreed(), "p0", PartyData(table(**{own: cells}), mapping=mapping(**changes)))
    return fragment.private_codes[column].tolist()


# --- What a column becomes -------------------------------------------------------------------------------------------


def test_own_values_become_agreed_ones_and_others_are_read_as_they_are() -> None:
    cells = ["Koch", "cook", "1", None, "", " ", "k.A.", "pilot", "?", "none"]
    assert codes("job", "BERUF", cells) == [0, 0, 1, 2, 2, 2, 3, 3, 4, 2]


def test_own_numbers_are_read_in_agreed_units_and_own_spellings_before_that() -> None:
    cells = ["0.29", "0.57", "0.5699999", "0.01", "0.9", "90+", "-9", "-1", "-1.0", "geheim", "2", "-0.5", "x", None]
    #         29      57      below 57     1       90     90     missing, by four spellings      bounds   no number
    assert codes("income", "Einkommen (TEUR)", cells) == [1, 2, 1, 0, 4, 4, 5, 5, 5, 5, 4, 0, 5, 5]


def test_numbers_of_any_type_are_found_by_their_value() -> None:
    for kind in (pa.int64(), pa.float64(), pa.decimal128(9, 2), pa.string()):
        cells = pa.array([1, 99, -1, 0], pa.int64()).cast(pa.decimal128(21, 2) if kind == pa.decimal128(9, 2) else kind)
        own = {"column": "x", "factor": "0.5", "missing_spellings": ["-1"], "values": {"99": 60}}
        frame = pa.table({"Kundennr": list("abcd"), "BERUF": ["cook"] * 4, "ausfall": ["no"] * 4, "x": cells})
        found = read_fragment(agreed(), "p0", PartyData(frame, mapping=mapping(income=own)))
        assert found.private_codes["income"].tolist() == [0, 3, 5, 0], kind


def test_a_recoded_cell_is_not_missing_although_its_text_is_agreed_to_mean_that() -> None:
    own = {"column": "Einkommen (TEUR)", "values": {"-9": 57, "": 90}}
    assert codes("income", "Einkommen (TEUR)", ["-9", "-9.0", "", None, "?"], income=own) == [2, 2, 4, 4, 5]
    as_floats = [-9.0, float("nan"), 3.0]
    assert codes("income", "Einkommen (TEUR)", as_floats, income=own) == [2, 4, 0]


def test_truth_in_all_spellings_becomes_the_agreed_words() -> None:
    for cells in (["ja", "nein", "yes"], ["1", "0", "1"], [True, False, True], [1, 0, 1]):
        values = {"ja": "yes", "nein": "no", "1": "yes", "0": "no", "true": "yes", "false": "no"}
        assert codes("default", "ausfall", cells, default={"column": "ausfall", "values": values}) == [1, 0, 1]


def naive(cell: str | None, own: dict[str, Any]) -> int:
    """The code of an income, step by step as the page says."""
    text = "" if cell is None else cell.strip(" \t\n\r\v\f")
    for value, agreed_value in own["values"].items():
        if text == value:
            return sum(agreed_value >= edge for edge in (29, 57, 58, 90))
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if text in ("", "?", "-9", *own["missing_spellings"]) or number in (-9, -1) or not math.isfinite(number):
        return 5
    exact = min(max(Fraction(repr(number)) * Fraction(str(own["factor"])), Fraction(0)), Fraction(100))
    return sum(exact >= edge for edge in (29, 57, 58, 90))


cents = st.integers(0, 200).map(lambda number: f"{number / 100}")
odd_cells = st.sampled_from(["90+", "-1", "-9", "geheim", "?", "", " 0.57 ", "1e400", "nan", "1_0", "0.57e0", "x"])


@given(st.lists(st.none() | cents | odd_cells | st.floats().map(str), min_size=1, max_size=12))
@examples(60)
def test_numbers_are_what_a_naive_reading_gives(cells: list[str | None]) -> None:
    assert codes("income", "Einkommen (TEUR)", cells) == [naive(cell, FITS["income"]) for cell in cells]


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
any_mapping = st.fixed_dictionaries(
    {"factor": st.decimals("0.001", "1e6", places=3).filter(bool), "missing_spellings": st.lists(any_text, max_size=3)}
)


@given(any_mapping, st.dictionaries(any_text, st.sampled_from(["0", "57", "100"]), max_size=3), st.data())
@examples(60)
def test_no_mapping_that_fits_and_no_cell_ends_a_reading(own: dict[str, Any], values: Any, data: st.DataObject) -> None:
    tried = mapping(income={"column": "Einkommen (TEUR)", "values": values, **own}, job={"column": "BERUF"})
    if mapping_problems(agreed(), "p0", tried):
        return
    cells = data.draw(
        st.lists(st.none() | any_text | st.floats().map(str) | st.sampled_from([*values, "1"]), min_size=1)
    )
    fragment = read_fragment(agreed(), "p0", PartyData(table(**{"Einkommen (TEUR)": cells}), mapping=tried))
    assert fragment.n_records == len(cells) and fragment.private_codes["income"].max() <= 5


@pytest.mark.slow
@pytest.mark.usefixtures("tmp_path")
@given(st.lists(st.tuples(st.none() | st.sampled_from(["Koch", "1", "x", ""]), st.none() | odd_cells), min_size=1))
@examples(10, unchecked=[HealthCheck.function_scoped_fixture])
def test_every_source_gives_the_same_codes(tmp_path: Path, rows: list[tuple[str | None, str | None]]) -> None:
    frame = table(BERUF=[job for job, _ in rows], **{"Einkommen (TEUR)": [income for _, income in rows]})
    arrow = pa.Table.from_pandas(frame.astype("string"), preserve_index=False)
    pq.write_table(arrow, tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = [
        read_fragment(agreed(), "p0", PartyData(source, mapping=mapping())).private_codes
        for source in (arrow, pl.from_arrow(arrow), tmp_path / "rows.parquet", tmp_path / "rows.csv")
    ]
    for codes_of_one in found[1:]:
        assert {name: own.tolist() for name, own in codes_of_one.items()} == {
            name: own.tolist() for name, own in found[0].items()
        }


# --- What is refused -------------------------------------------------------------------------------------------------

SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "a column is forgotten": ({"income": None}, "forgets column 'income'.*\\[columns.income\\]"),
    "a column is not agreed": ({"incme": {"column": "x"}}, "columns.incme: .*no such column. Did you mean 'income'"),
    "two are one": (
        {"job": {"column": "x"}, "default": {"column": "x"}},
        "columns.job and columns.default are both 'x'",
    ),
    "a value is not listed": ({"job": {"column": "x", "values": {"a": "cok"}}}, "no value 'cok'. Did you mean 'cook'"),
    "a class is not listed": ({"default": {"column": "x", "values": {"a": "maybe"}}}, "no value 'maybe'"),
    "a factor of words": ({"job": {"column": "x", "factor": 2}}, "columns.job.factor: .*no numbers"),
    "no number": ({"income": {"column": "x", "values": {"a": "b"}}}, "'b' is no number within .*\\[0, 100\\]"),
    "past the bounds": ({"income": {"column": "x", "values": {"a": 101}}}, "'101' is no number within"),
    "infinite": ({"income": {"column": "x", "values": {"a": "inf"}}}, "'inf' is no number within"),
    "one number twice": ({"income": {"column": "x", "values": {"1": 2, "1.0": 3}}}, "the same number"),
    "space around": ({"job": {"column": "x", "values": {" a": "cook"}}}, "job.values: cells are read without"),
    "both ways": ({"job": {"column": "x", "values": {"a": "cook"}, "missing_spellings": ["a"]}}, "'values' recodes"),
    "identifiers": ({"id": {"column": "x", "values": {"a": "b"}}}, "columns.id is the identifier"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_found_without_data(slip: str) -> None:
    changes, words = SLIPS[slip]
    (problem,) = mapping_problems(agreed(), "p0", mapping(**changes))
    with pytest.raises(cp.FragmentError, match=words):
        check_columns(agreed(), "p0", PartyData(table(x=["1"]), mapping=mapping(**changes)))
    assert "\n" not in problem


def test_what_fits_has_no_problem_and_one_column_may_be_read_in_two_ways() -> None:
    assert mapping_problems(agreed(), "p0", mapping()) == []
    twice = mapping(default={"column": "BERUF", "values": {"Koch": "yes", "1": "no"}})
    assert mapping_problems(agreed(), "p0", twice) == []


def test_an_empty_cell_of_another_party_is_not_recoded() -> None:
    (problem,) = mapping_problems(agreed("arbitrary"), "p0", mapping())
    assert "columns.job.values: an empty cell is one that another party holds" in problem


def test_columns_of_another_party_are_not_mapped() -> None:
    attributes = {**ATTRIBUTES, "income": {**ATTRIBUTES["income"], "held_by": "p1"}}
    attributes["job"] = {**attributes["job"], "held_by": "p0"}
    vertical = agreed("vertical", attributes=attributes, **{"class": {**small_mapping()["class"], "held_by": "p0"}})
    (problem,) = mapping_problems(vertical, "p0", mapping())
    assert problem == "columns.income: by the agreement its cells are held by 'p1' alone. Leave it out."
    source = PartyData(table(BERUF=["1"]).assign(income="5"), mapping=mapping(income=None))
    check_columns(vertical, "p0", source)  # a column that is not mapped is not looked at


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"BERUF": None}, "Column 'job' is 'BERUF' by the mapping, and the data have no such column"),
        ({"beruf": "BERUF"}, "'BERUF' is there twice, in upper and lower case"),
    ],
)
def test_columns_that_are_not_there_are_named(changes: dict[str, Any], words: str) -> None:
    frame = pa.Table.from_pandas(table(BERUF=["1"]), preserve_index=False)
    for name, other in changes.items():
        frame = frame.drop_columns(name) if other is None else frame.append_column(name, frame[other])
    with pytest.raises(cp.CopublishError, match=words):
        check_columns(agreed(), "p0", PartyData(frame, mapping=mapping()))


def test_data_with_none_of_the_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    for source in (tmp_path / "other.csv", pd.DataFrame({"a": [1]})):
        with pytest.raises(cp.SourceError, match="no column that the mapping names"):
            check_columns(agreed(), "p0", PartyData(source, mapping=mapping()))


FILES = {
    "no table": ("", "columns: is missing"),
    "no TOML": ("[columns", "not valid TOML"),
    "another section": (
        "[colums.age]\ncolumn = 'x'\n[columns]",
        "colums: there is no such key; did you mean 'columns'",
    ),
    "an unknown key": (
        "columns.age = { colum = 'x' }",
        "age.colum: there is no such key; did you mean 'column'",
    ),
    "no name": ("columns.age = { factor = 2 }", "columns.age: 'column' is missing"),
    "a bare name": ("columns.age = 'x'", "columns.age: write a table"),
    "a name that is empty": ("columns.age = { column = '' }", "columns.age.column: write the name of a column"),
    "a factor of 0": ("columns.age = { column = 'x', factor = 0 }", "columns.age.factor: write a number above 0"),
    "a negative factor": ("columns.age = { column = 'x', factor = -1 }", "columns.age.factor: write a number above 0"),
    "true as a factor": ("columns.age = { column = 'x', factor = true }", "columns.age.factor: write a number"),
    "a factor of text": ("columns.age = { column = 'x', factor = 'k' }", "columns.age.factor: write a number"),
    "an infinite factor": ("columns.age = { column = 'x', factor = inf }", "columns.age.factor: write a number"),
    "a huge factor": ("columns.age = { column = 'x', factor = 1e99 }", "columns.age.factor: write a number"),
    "true as a value": ("columns.age = { column = 'x', values = { a = true } }", "columns.age.values.a: write a text"),
    "no list": ("columns.age = { column = 'x', missing_spellings = 'a' }", "missing_spellings: write a list"),
    "a control character": ('columns.age = { column = "\\u001b[31m" }', "control character|unsafe|U\\+001B"),
}


@pytest.mark.parametrize("file", FILES)
def test_files_that_are_no_mapping_are_refused_in_words(tmp_path: Path, file: str) -> None:
    text, words = FILES[file]
    path = tmp_path / "my-columns.toml"
    path.write_text(text)
    with pytest.raises(MappingError, match=words) as caught:
        read_mapping(path)
    assert caught.value.exit_code == 4 and str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_is_data_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match="no such file"):
        read_mapping(tmp_path / "none.toml")
    (tmp_path / "rows.parquet").write_bytes(b"\xff\xfe secret")
    with pytest.raises(MappingError, match="not UTF-8") as caught:
        read_mapping(tmp_path / "rows.parquet")
    assert "secret" not in str(caught.value)


def test_a_mapping_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "my-columns.toml"
    path.write_text(
        """\
[columns]
id = { column = "Kundennr" }
default = { column = "ausfall", values = { true = "yes", 0 = "no" } }
[columns.income]
column = "Einkommen (TEUR)"
factor = 0.1
values = { "90+" = 90 }
"""
    )
    read = read_mapping(path)
    assert read.columns["income"].factor == Decimal("0.1") and read.columns["income"].values == {"90+": "90"}
    assert read.columns["default"].values == {"true": "yes", "0": "no"}
    frame = table(BERUF=["1"])
    assert mapped(frame, None) is frame and mapped(frame, path).mapping == read


def test_the_mapping_is_in_no_word_of_a_source(tmp_path: Path) -> None:
    assert "BERUF" not in repr(PartyData(Path("rows.csv"), mapping=mapping()))
