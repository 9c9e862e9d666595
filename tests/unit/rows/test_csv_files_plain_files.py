"""Files are read by DuckDB alone; what Ibis would have asked of the same file is what comes."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.rows.csv_files import OpenFile
from copublish.rows.encoding import BLANKS, Need, numbers_of, texts_of
from copublish.rows.sources import open_rows, open_source
from support.profiles import examples

MOMENT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
COLUMNS = {
    "text": pa.array([" a\v", None, "", "1e3", "\f\t7\r\n"]),
    "dictionary": pa.array(["x", None, "y ", "x", "x"]).dictionary_encode(),
    **{
        f"{sign}int{bits}": pa.array([0, None, 1, 7, 2 ** (bits - 1) - 1], getattr(pa, f"{sign}int{bits}")())
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "half": pa.array([1.5, None, float("inf"), 0.0, -2.0], pa.float32()),
    "float": pa.array([1.5, None, float("nan"), 1e300, -0.0]),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-7.25"), Decimal("0.00"), Decimal("9.99")]),
    "truth": pa.array([True, None, False, True, False]),
    "date": pa.array([date(2026, 3, 29), None, date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1)]),
    "time": pa.array([time(1, 2, 3), None, time(0), time(23, 59, 59, 999999), time(12)]),
    "local": pa.array(
        [MOMENT.replace(tzinfo=None), None, datetime(1, 1, 1), datetime(1970, 1, 1), datetime(9999, 1, 1)]
    ),
    "moment": pa.array([MOMENT, None, MOMENT, MOMENT, MOMENT], pa.timestamp("us", "America/New_York")),
    "bytes": pa.array([b"\xff\x00", None, b"", b"a", b" b "]),
    "list": pa.array([[1, None], None, [], [7], [1, 2]]),
    "decimals": pa.array([[Decimal("1.5")], None, [], [Decimal("2.5")], [None]]),
    "struct": pa.array([{"a": 1}, None, {"a": None}, {"a": 2}, {"a": 3}]),
    "nothing": pa.nulls(5),
    "uuid": pa.array([UUID(int=number).bytes for number in range(5)], pa.binary(16)).cast(pa.uuid()),
    'quoted "name"': pa.array(["a", None, "'", '"', "--"]),
    "select": pa.array(["a", None, "b", "c", "d"]),
}
NEEDS: tuple[Need, ...] = ("text", "number")


def asked(path: Path, column: str, need: Need) -> tuple[list[object], list[object]]:
    """What comes of a column with DuckDB alone, and with Ibis: as text, or as numbers where there may be some."""
    told = []
    for open_it in (open_rows, open_source):
        with open_it(path) as opened:
            assert isinstance(opened, OpenFile) == (open_it is open_rows)
            opened.try_out([opened.expression(column, need)])
            (batch,) = opened.batches([opened.expression(column, need)])
            assert batch.schema.names == [column]
            values = batch.column(0)
            found = texts_of(values) if need == "text" else pa.array(numbers_of(values))
            told.append([str(values.type), *map(repr, found.to_pylist())])
    return told[0], told[1]


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_of_any_type_is_what_ibis_makes_of_it(tmp_path: Path, column: str, need: Need) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"another": [0] * 5, column: COLUMNS[column]}), path)
    alone, through_ibis = asked(path, column, need)
    assert alone == through_ibis


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4) | st.sampled_from(
    ["", "?", "1e3", " 7 ", "-0", "nan", "1_0", "٣", "\u00a01", *BLANKS]
)


@pytest.mark.slow
@examples(25)  # each of them opens the file four times
@given(st.lists(CELLS, min_size=1, max_size=20))
def test_cells_of_csv_files_are_what_ibis_makes_of_them(tmp_path_factory: pytest.TempPathFactory, cells) -> None:
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    rows = "".join('"{}",x\n'.format(cell.replace('"', '""')) for cell in cells)
    path.write_text(f"a;b,c\n{rows}", encoding="utf-8", newline="")
    for need in NEEDS:
        alone, through_ibis = asked(path, "a;b", need)
        assert alone == through_ibis and len(alone) == 1 + len(cells)


def test_a_file_is_read_without_ibis(tmp_path: Path) -> None:
    """In a process of its own: here it is loaded already."""
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "rows.parquet")
    code = (
        "import sys; from copublish.rows.sources import open_rows\n"
        "with open_rows(sys.argv[1]) as opened: print(len(list(opened.batches([opened.expression('a', 'number')]))))\n"
        "print('ibis' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "rows.parquet")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["1", "False"]
