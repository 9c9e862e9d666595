"""Excel sheets: what a cell becomes, and which sheets are no tables."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import copublish as cp
from copublish.rows.agreed_columns import column_types
from copublish.rows.reading import read_fragment
from copublish.rows.rows_or_counts import counts_there
from copublish.rows.sheets import read_sheet
from copublish.rows.sources import has_order, open_rows, open_source, source_from
from support import small_mapping
from support.profiles import examples
from support.workbooks import ERROR, FORMULA, FORMULA_OF_EMPTY_TEXT, FORMULA_WITHOUT_VALUE, Raw, workbook


def texts(tmp_path: Path, *rows: list[Any]) -> dict[str, list[str | None]]:
    return read_sheet(workbook(tmp_path / "a.xlsx", {"Daten": rows}), None).to_pydict()


CELLS = [
    ("007", "007"),
    (" a\t", " a\t"),
    ("  ", None),
    (None, None),
    (7, "7"),
    (7.0, "7"),
    (-0.5, "-0.5"),
    (0.57, "0.57"),
    (123456789012, "123456789012"),
    (2**60, "1.152921504606847e+18"),
    (True, "true"),
    (False, "false"),
    (date(2026, 1, 31), "2026-01-31"),
    (datetime(2026, 1, 31, 10, 5), "2026-01-31 10:05:00"),
    (FORMULA, "14"),
    (FORMULA_OF_EMPTY_TEXT, None),
    (ERROR, None),
    ("#N/A", "#N/A"),
    (Raw('<c r="{at}" s="1"/>'), None),
]


def test_every_cell_is_the_text_that_it_stands_for(tmp_path: Path) -> None:
    found = texts(tmp_path, ["n", "cell"], *([n, cell] for n, (cell, _) in enumerate(CELLS)))
    assert found == {"n": [str(n) for n in range(len(CELLS))], "cell": [text for _, text in CELLS]}


def test_a_table_may_begin_anywhere_and_empty_rows_and_columns_are_none(tmp_path: Path) -> None:
    rows = [
        [],
        [None, None, " id ", None, 2026],
        [],
        [None, " ", "a", None, 1],
        [None],
        [None, None, "b", None, None],
        [],
    ]
    assert texts(tmp_path, *rows) == {"id": ["a", "b"], "2026": ["1", None]}


REFUSED = {
    "empty": ([], "it is empty"),
    "blank": ([[" "], [None]], "it is empty"),
    "a title above": (
        [["Patients 2026"], ["id", "age"], ["a", 7]],
        "the first row with cells has to name every column",
    ),
    "two header rows": ([["who", None, "what"], ["id", "born", "age"], ["a", 1, 7]], "titles and second header rows"),
    "notes beside": ([["id", None, None], ["a", None, "see page 2"]], "without a name"),
    "a name twice": ([["id", "ID"], ["a", "b"]], "names a column twice"),
    "not computed": ([["id", "age"], ["a", FORMULA_WITHOUT_VALUE]], "formulas without a value"),
    "not computed, no element": ([["id"], [Raw('<c r="{at}"><f>A1</f></c>')]], "formulas without a value"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_sheets_that_are_no_tables_are_refused_in_words(tmp_path: Path, what: str) -> None:
    rows, words = REFUSED[what]
    path = workbook(tmp_path / "a.xlsx", {"Daten": rows})
    for opening in (open_rows, open_source):
        with pytest.raises(cp.SourceError, match=words) as caught, opening(path):
            pass
        assert "page 2" not in str(caught.value)


def test_merged_cells_are_refused_wherever_they_are(tmp_path: Path) -> None:
    rows = [["id", "age"], ["a", 1], ["b", None]]
    with pytest.raises(cp.SourceError, match="merged cells"):
        read_sheet(workbook(tmp_path / "a.xlsx", {"Daten": rows}, merged="B2:B3"), None)
    assert texts(tmp_path, *rows) == {"id": ["a", "b"], "age": ["1", None]}


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    one, other = [["id"], ["a"]], [["id"], ["b"]]
    path = workbook(tmp_path / "a.xlsx", {"Müller": one, "Jan. 2026": other, "alt": [["x"]]}, hidden="alt")
    with pytest.raises(cp.SourceError, match="has 2 sheets that are not hidden: name the one to read") as caught:
        read_sheet(path, None)
    assert "Müller" not in str(caught.value)
    assert read_sheet(path, "Jan. 2026").to_pydict() == {"id": ["b"]}
    assert read_sheet(path, "alt").to_pydict() == {"x": []}
    with pytest.raises(cp.SourceError, match="no sheet 'müller'"):
        read_sheet(path, "müller")
    hidden = workbook(tmp_path / "b.xlsx", {"Müller": one, "alt": other}, hidden="alt")
    assert read_sheet(hidden, None).to_pydict() == {"id": ["a"]}


def test_what_is_no_workbook_is_refused_without_showing_it(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with pytest.raises(cp.SourceError, match="no file"):
        read_sheet(path, None)
    for content in (b"", b"secret,1\n", workbook(tmp_path / "b.xlsx", {"a": [["secret"]]}).read_bytes()[:400]):
        path.write_bytes(content)
        with pytest.raises(cp.SourceError, match="cannot be read as XLSX") as caught:
            read_sheet(path, None)
        assert "secret" not in str(caught.value)
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(cp.SourceError, match="cannot be read"):
        read_sheet(tmp_path / "folder.xlsx", None)


def test_types_are_those_of_all_cells(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "a.xlsx",
        {
            "Daten": [
                ["whole", "number", "truth", "day", "text", "mixed", "none"],
                [1, 1, True, date(2026, 1, 1), "a", 1, None],
                [2, 1.5, False, datetime(2026, 1, 1, 1), "7", "x", None],
            ]
        },
    )
    wanted = ["whole number", "number", "truth value", "date", "text", "text", "unknown"]
    assert list(column_types(path).values()) == wanted


ROWS = [
    ["id", "job", "income", "default"],
    ["x", "clerk", 60.5, "yes"],
    [7, " cook", "?", "no"],
    ["x7", None, "1e1", None],
]


def test_a_sheet_gives_the_codes_of_the_same_csv_file(tmp_path: Path) -> None:
    agreement = cp.agreement_from_mapping(small_mapping())
    path = workbook(tmp_path / "bank.xlsx", {"Daten": ROWS})
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in ROWS]
    (tmp_path / "bank.csv").write_text("\n".join(lines) + "\n")
    for source in (path, source_from(path, "Daten"), cp.DatabaseTable(str(path), "Daten")):
        assert has_order(source) and not counts_there(source)
        found, wanted = (read_fragment(agreement, "bank", one) for one in (source, tmp_path / "bank.csv"))
        assert {name: codes.tolist() for name, codes in found.private_codes.items()} == {
            name: codes.tolist() for name, codes in wanted.private_codes.items()
        }
        assert list(found.identifiers) == list(wanted.identifiers) == ["x", "7", "x7"]


cells = (
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.dates(date(1900, 3, 1))
    | st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn"]), max_size=5)
)


@given(st.lists(st.tuples(cells, cells), max_size=8))
@examples(30, unchecked=[HealthCheck.function_scoped_fixture])
def test_no_cell_ends_a_reading(tmp_path: Path, rows: list[tuple[Any, Any]]) -> None:
    written = [["x" if row[0] is None else row[0], row[1]] for row in rows]
    found = read_sheet(workbook(tmp_path / "a.xlsx", {"Daten": [["a", "b"], *written]}), None)
    assert found.column_names == ["a", "b"] and found.num_rows <= len(rows)
