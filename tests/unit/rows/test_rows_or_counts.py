"""Counts that a database makes are, cell by cell, those of the rows; nothing else of the rows is read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.axis import Axis
from copublish.errors import EngineError
from copublish.kernel.records.fragment import Fragment
from copublish.rows import coded_columns, rows_or_counts
from copublish.rows.cell_expressions import first_decimal
from copublish.rows.mapping import ColumnMapping
from copublish.rows.reading import read_and_look, read_fragment
from copublish.rows.rows_or_counts import CountedFragment, look_at_rows_or_counts, read_rows_or_counts, why_rows
from copublish.rows.sources import PartyData
from support import repartition, seeded, simulate_with, small_mapping
from support.postgres import server
from support.profiles import examples

pytestmark = pytest.mark.slow  # needs PostgreSQL

FEW = examples(10, unchecked=[HealthCheck.function_scoped_fixture])

EDGES = [Decimal(-1), Decimal("0.1"), Decimal("0.30000000000000004"), Decimal(7), Decimal(50)]


def agreed(**changes: Any) -> cp.Agreement:
    """Owners of whole rows, without identifiers: a category, a number, a class with null rows."""
    mapping = repartition(small_mapping(), "horizontal")
    mapping["records"] = {"expected": 2000, "missing_spellings": ["", "?", "-9"]}
    mapping["class"] = {"name": "default", "values": ["no", "yes"]}
    mapping["attributes"] = {
        "job": {"kind": "categorical", "values": ["a", "b", "7", "1.50", "true", "2020-01-02"]},
        "income": {"kind": "numerical", "bounds": [-50, Decimal("99.5")], "grid": {"edges": EDGES}},
    }
    return cp.agreement_from_mapping({**mapping, **changes})


def counts_by_loop(rows: Fragment, axes: Sequence[Axis]) -> list[int]:
    """Row by row, in plain Python."""
    found: Counter[tuple[int, ...]] = Counter()
    class_codes = rows.private_codes["default"]
    for row in range(rows.n_records):
        if class_codes[row] < rows.sizes["default"]:
            found[tuple(int(axis.cell_of_code[rows.private_codes[axis.column][row]]) for axis in axes)] += 1
    return [found[cells] for cells in product(*(range(axis.n_cells) for axis in axes))]


def assert_same_counts(agreement: cp.Agreement, source: Any, rows_of: Any = None) -> CountedFragment:
    found, overview = look_at_rows_or_counts(agreement, "p0", source)
    rows, overview_of_rows = read_and_look(agreement, "p0", source if rows_of is None else rows_of)
    assert isinstance(found, CountedFragment)
    assert overview == overview_of_rows
    assert found.n_records == rows.n_records
    axes = [Axis.of(domain) for domain in agreement.columns.values()]
    halved = [Axis(axis.column, axis.cell_of_code // 2, (axis.n_cells + 1) // 2) for axis in axes]
    for some in ([], axes[1:], axes[:2], axes[::-1], halved):
        assert found.histogram(some).tolist() == counts_by_loop(rows, some)
    pairs = found.pair_histograms(dict(enumerate([[axes[0]], [axes[1], axes[2]]])))
    assert pairs[0, 1].ravel().tolist() == counts_by_loop(rows, axes)
    return found


def parquet(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


odd_texts = st.sampled_from(
    ["a", " a\t", "b\v", "B", "?", " ?", "", "  ", "-9", "7", "07", "1.50", "\u00a0a", "é", "'"]
)
numbers_at_edges = [step for edge in map(float, EDGES) for step in (edge, math.nextafter(edge, -math.inf))]
numbers_at_bounds = [-50.0, math.nextafter(-50.0, -math.inf), 99.5, math.nextafter(99.5, math.inf)]
special_numbers = [-9.0, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan]
odd_numbers = st.sampled_from([*numbers_at_edges, *numbers_at_bounds, *special_numbers])
number_texts = st.sampled_from(["7", " 7 ", "1e1", "0.1", "-9", "-9.0", "x", "1_0", "inf", "nan", "1e400", "?", ""])
classes = st.sampled_from(["no", "yes", " yes", "maybe", "", None])
rows_of_any_kind = st.lists(
    st.tuples(st.none() | odd_texts, st.none() | odd_numbers | st.floats(), classes), max_size=12
)


@pytest.fixture(params=[rows_or_counts.MOST_CELLS_AT_ONCE, 0], ids=["all at once", "table by table"])
def _at_once_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_or_counts, "MOST_CELLS_AT_ONCE", request.param)


@pytest.mark.usefixtures("_at_once_or_not")
@given(rows=rows_of_any_kind)
@FEW
def test_duckdb_counts_what_a_loop_over_the_rows_counts(tmp_path: Path, rows: list[Any]) -> None:
    jobs, incomes, labels = (pa.array([row[n] for row in rows], kind) for n, kind in KINDS)
    assert_same_counts(agreed(), parquet(tmp_path / "rows.parquet", job=jobs, income=incomes, default=labels))


KINDS = list(enumerate([pa.string(), pa.float64(), pa.string()]))


@given(numbers=st.lists(st.none() | number_texts, max_size=12))
@FEW
def test_numbers_that_are_text_are_read_by_the_same_reader(tmp_path: Path, numbers: list[Any]) -> None:
    n = len(numbers)
    columns = {"job": pa.array(["a"] * n), "income": pa.array(numbers, pa.string()), "default": pa.array(["no"] * n)}
    assert_same_counts(agreed(), parquet(tmp_path / "rows.parquet", **columns))


def with_control_characters(folder: Path) -> Path:
    """Numbers that are text, and two texts, rarer than they, that a database does not read in a query as they are."""
    numbers = pa.array(["1", "2", "sec\x00ret", "3", "n\x0012", "4", "5"])
    columns = {"job": pa.array(["a"] * 7), "income": numbers, "default": pa.array(["no"] * 7)}
    return parquet(folder / "rows.parquet", **columns)


@pytest.mark.usefixtures("_at_once_or_not")
def test_a_cell_that_no_query_can_hold_changes_nothing_that_others_see(tmp_path: Path) -> None:
    path, agreement = with_control_characters(tmp_path), agreed()
    found = read_rows_or_counts(agreement, "p0", path)
    axes = [Axis.of(domain) for domain in agreement.columns.values()]
    assert found.histogram(axes).tolist() == counts_by_loop(read_fragment(agreement, "p0", path), axes)
    assert found.n_records == found.histogram(axes).sum() == 7


def test_every_text_of_a_query_was_tried_before_a_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the look at characters left out, reading is what fails, and not a count during the run."""
    monkeypatch.setattr(rows_or_counts, "MOST_CELLS_AT_ONCE", 0)
    monkeypatch.setattr(coded_columns, "NOT_IN_QUERIES", re.compile("(?!)"))
    with pytest.raises(cp.SourceError, match="cannot be read"):
        read_rows_or_counts(agreed(), "p0", with_control_characters(tmp_path))


OTHER_TYPES = {
    "whole numbers": ("income", pa.array([-51, -9, 0, 7, 100, None, 2**62], pa.int64())),
    "truth as numbers": ("income", pa.array([True, False, None])),
    "decimals": ("income", pa.array([Decimal("0.10"), Decimal("-9.00"), Decimal("99.51"), None])),
    "single floats": ("income", pa.array([0.1, 7.0, math.nan, -math.inf, None], pa.float32())),
    "dates as numbers": ("income", pa.array([None, 3], pa.date32())),
    "whole numbers as categories": ("job", pa.array([7, 8, -9, None])),
    "decimals as categories": ("job", pa.array([Decimal("1.50"), Decimal("1.49"), None])),
    "truth as a category": ("job", pa.array([True, False, None])),
    "dates as categories": ("job", pa.array([18263, 0, None], pa.date32())),
}


@pytest.mark.parametrize("what", OTHER_TYPES)
def test_columns_of_every_type_are_counted_like_their_rows(tmp_path: Path, what: str) -> None:
    name, cells = OTHER_TYPES[what]
    n = len(cells)
    fine = {"job": pa.array(["a"] * n), "income": pa.array([1.0] * n), "default": pa.array(["yes"] * n)}
    path = parquet(tmp_path / "rows.parquet", **{**fine, name: cells})
    assert_same_counts(agreed(), path)
    table = pq.read_table(path)
    kinds = {"job": "text", "income": "double precision", name: POSTGRES_TYPES.get(what, "text")}
    in_postgres = server().table({column: table.column(column).to_pylist() for column in table.column_names}, kinds)
    assert_same_counts(agreed(), in_postgres, rows_of=path)


POSTGRES_TYPES = {
    "whole numbers": "bigint",
    "truth as numbers": "boolean",
    "decimals": "numeric",
    "single floats": "real",
    "dates as numbers": "date",
    "whole numbers as categories": "integer",
    "decimals as categories": "numeric(5,2)",
    "truth as a category": "boolean",
    "dates as categories": "date",
}


decimals = st.decimals(-200, 200, places=4) | st.sampled_from([Decimal("0.1000"), Decimal("-9.0000"), Decimal("99.5")])


@pytest.mark.parametrize("scale", [0, 4, 20, 30])
def test_decimals_are_compared_where_their_nearest_floats_are(scale: int) -> None:
    """Against Python's own reading of a decimal, which is correctly rounded, for decimals next to each edge."""
    in_the_middle = [9007199254740994.0, 9007199254740996.0]
    for edge in [*numbers_at_edges, *numbers_at_bounds, *in_the_middle, 5e-324, 1e15]:
        first = first_decimal(edge, scale)
        before = Fraction(first) - Fraction(1, 10**scale)
        assert float(first) >= edge > before.numerator / before.denominator  # division of integers rounds correctly


@given(cells=st.lists(st.none() | decimals, max_size=15))
@FEW
def test_decimals_are_counted_like_their_rows(tmp_path: Path, cells: list[Any]) -> None:
    n = len(cells)
    for kind in (pa.decimal128(8, 4), pa.decimal128(38, 30)):
        own = pa.array(cells, kind)
        columns = {"job": pa.array(["a"] * n), "income": own, "default": pa.array(["no"] * n)}
        assert_same_counts(agreed(), parquet(tmp_path / "rows.parquet", **columns))


def test_what_is_counted_is_what_it_says(tmp_path: Path) -> None:
    """Codes by hand: job a=0 and other=6, missing=7; income by how many edges are below; a class or none."""
    path = parquet(
        tmp_path / "rows.parquet",
        job=pa.array([" a", "a", "z", None, "a"]),
        income=pa.array([7.0, 7.0, -60.0, math.nan, math.inf]),
        default=pa.array(["no", "no", "yes", "yes", "maybe"]),
    )
    agreement = agreed()
    found = read_rows_or_counts(agreement, "p0", path)
    assert found.n_records == 5
    axes = [Axis.of(domain) for domain in agreement.columns.values()]
    table = found.histogram(axes).reshape([axis.n_cells for axis in axes])
    assert agreement.columns["job"].values[6:] == ("other", "(missing)")
    assert {tuple(map(int, cell)): int(table[tuple(cell)]) for cell in np.argwhere(table)} == {
        (0, 4, 0): 2,
        (6, 0, 1): 1,
        (7, 6, 1): 1,
    }


# --- Any database that Ibis knows ------------------------------------------------------------------------------------


def some_rows(n: int = 400) -> pd.DataFrame:
    generator = np.random.default_rng(7)
    numbers = generator.choice([*map(float, EDGES), -9.0, 3.5, 99.5, 120.0, math.inf, math.nan], n)
    return pd.DataFrame(
        {
            "job": generator.choice(np.array(["a", " a", "b", "?", "x", "É", None], dtype=object), n),
            "income": numbers,
            "default": generator.choice(np.array(["no", "yes", "maybe", None], dtype=object), n),
        }
    )


def in_sqlite(frame: pd.DataFrame, *, collation: str = "") -> Any:
    connection = ibis.sqlite.connect()
    connection.raw_sql(f"CREATE TABLE rows (job TEXT {collation}, income REAL, 'default' TEXT)")
    cells = frame.astype(object).where(frame.notna(), None).values.tolist()
    connection.con.executemany("INSERT INTO rows VALUES (?, ?, ?)", cells)
    return connection.table("rows")


def in_polars(frame: pd.DataFrame) -> Any:
    return ibis.polars.connect({"rows": pl.from_pandas(frame)}).table("rows")


@pytest.mark.parametrize("put", [in_sqlite, in_polars])
def test_other_databases_of_ibis_count_the_same(put: Callable[[pd.DataFrame], Any]) -> None:
    frame = some_rows()
    table = put(frame)
    assert_same_counts(agreed(), table, rows_of=frame)
    _, of_rows = read_and_look(agreed(), "p0", frame)
    _, of_counts = look_at_rows_or_counts(agreed(), "p0", table)
    assert of_counts == of_rows
    assert cp.check(agreed(), "p0", table).overview == of_rows
    with pytest.raises(cp.FragmentError, match="have no numbers"):
        look_at_rows_or_counts(agreed(), "p0", table, with_rows=True)


def test_a_database_that_ignores_case_is_not_trusted_with_spelling() -> None:
    """Counts of 'a' would have those of 'A'. Without the look at small and large letters they do."""
    frame = pd.DataFrame({"job": ["a", "A"], "income": [1.0, 1.0], "default": ["no", "no"]})
    with pytest.raises(cp.SourceError, match="that differ in case"):
        read_rows_or_counts(agreed(), "p0", in_sqlite(frame, collation="COLLATE NOCASE"))
    assert_same_counts(agreed(), in_sqlite(frame), rows_of=frame)


def test_a_database_that_compares_numbers_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that keeps seven digits of what it is told."""
    frame = pd.DataFrame({"job": ["a"], "income": [0.30000000000000001], "default": ["no"]})
    assert_same_counts(agreed(), in_sqlite(frame), rows_of=frame)
    inexact = "copublish.rows.cell_expressions.exactly"
    monkeypatch.setattr(inexact, lambda number: ibis.literal(f"{number:.7g}").cast("float64"))
    with pytest.raises(cp.SourceError, match="compares numbers of column 'income' in another way"):
        read_rows_or_counts(agreed(), "p0", in_sqlite(frame))


def test_rows_are_asked_for_where_counts_are_not_enough_and_refused_where_there_are_none() -> None:
    table, identified = in_sqlite(some_rows()), agreed(records={"expected": 2000, "identifier": "id"})
    assert "identifier" in str(why_rows(identified))
    with pytest.raises(cp.SourceError, match=r"Rows cannot be streamed out of the data of party 'p0'.*identifier"):
        read_rows_or_counts(identified, "p0", table.mutate(id=table["job"]))
    vertical = cp.agreement_from_mapping(small_mapping())
    assert "joined" in str(why_rows(vertical))
    incomes = {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [7, 50]}}
    by_person = agreed(mechanism={"name": "hpdp"}, attributes={"income": incomes})
    with pytest.raises(cp.SourceError, match="'hpdp' asks for more than counts"):
        read_rows_or_counts(by_person, "p0", table)
    assert why_rows(agreed()) is None


def test_a_database_without_what_is_needed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    table = in_sqlite(some_rows())

    def refuse(*_: Any, **__: Any) -> Any:
        raise ibis.common.exceptions.OperationNotDefinedError("secretdiagnosis")

    monkeypatch.setattr(type(table.get_backend()), "to_pyarrow", refuse)
    with pytest.raises(cp.SourceError, match="lacks what counting needs") as caught:
        read_rows_or_counts(agreed(), "p0", table)
    assert "secretdiagnosis" not in str(caught.value)


# --- Bad luck, and whole releases ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_at_once_or_not")
def test_a_table_that_changes_between_two_counts_is_noticed() -> None:
    table, agreement = in_sqlite(some_rows()), agreed()
    connection = table.get_backend().con
    found = read_rows_or_counts(agreement, "p0", table)
    axes = [Axis.of(domain) for domain in agreement.columns.values()]
    before = found.histogram(axes)
    connection.execute("UPDATE rows SET job = 'b' WHERE rowid = (SELECT min(rowid) FROM rows WHERE job = 'a')")
    if rows_or_counts.MOST_CELLS_AT_ONCE:  # everything was counted once
        assert found.histogram(axes).tolist() == before.tolist()
        return
    with pytest.raises(cp.SourceError, match="changed while they were counted"):
        found.histogram(axes)
    assert found.histogram(axes[1:]).sum() == before.sum()  # other columns are as they were


def test_whoever_asks_counted_rows_for_rows_is_refused_and_not_given_none() -> None:
    found = read_rows_or_counts(agreed(), "p0", in_sqlite(some_rows()))
    for ask in (lambda: found.private_codes["job"], lambda: found.counts(), lambda: found.holds("job")):
        with pytest.raises(EngineError, match="stay in its database"):
            ask()
    with pytest.raises(EngineError, match="stay in its database"):
        found.take(np.arange(3))
    assert "joint" not in repr(found)


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula"])
def test_a_release_of_counts_is_the_release_of_rows_byte_for_byte(mechanism: str) -> None:
    incomes = {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [Decimal("0.1"), 7, 50]}}
    attributes = {"job": {"kind": "categorical", "values": ["a", "b", "x"]}, "income": incomes}
    agreement = agreed(mechanism={"name": mechanism}, attributes=attributes)
    frames = {"p0": some_rows(300), "p1": some_rows(200)}
    sources = {"p0": in_sqlite(frames["p0"]), "p1": in_polars(frames["p1"])}
    from_rows = simulate_with(agreement, frames, seeded(agreement.party_names, 5))
    assert simulate_with(agreement, sources, seeded(agreement.party_names, 5)).files() == from_rows.files()
    other = {**sources, "p0": in_sqlite(frames["p0"].iloc[:-40])}
    assert simulate_with(agreement, other, seeded(agreement.party_names, 5)).files() != from_rows.files()


# --- Own names, units and spellings ----------------------------------------------------------------------------------

OWN_COLUMNS = {
    "job": {"column": "BERUF", "values": {"B": "b", "": "7", "true": "a", "7": "1.50"}, "missing_spellings": ["é"]},
    "income": {
        "column": "Lohn",
        "factor": "0.1",
        "values": {"70": "99.5", "x": 7, "-9": -1},
        "missing_spellings": ["1e1"],
    },
    "default": {"column": "Ausfall", "values": {"maybe": "yes", "1": "yes"}},
}


def own(source: Any) -> PartyData:
    return PartyData(source, mapping=ColumnMapping.model_validate({"columns": OWN_COLUMNS}))


own_numbers = st.sampled_from(
    [-9, -90, 10, 70, 1.0, 3.0, 2.9999999999999996, 995, 996, 5.7, *numbers_at_edges, math.nan]
)


@pytest.mark.usefixtures("_at_once_or_not")
@given(rows=st.lists(st.tuples(st.none() | odd_texts, st.none() | own_numbers | odd_numbers, classes), max_size=12))
@FEW
def test_own_columns_are_counted_like_their_rows(tmp_path: Path, rows: list[Any]) -> None:
    jobs, incomes, labels = (pa.array([row[n] for row in rows], kind) for n, kind in KINDS)
    path = parquet(tmp_path / "rows.parquet", BERUF=jobs, Lohn=incomes, Ausfall=labels)
    assert_same_counts(agreed(), own(path))


OWN_TYPES = {
    "text": pa.array(["70", "x", " 10 ", "-9", "3", "2.9999999999999996", None], pa.string()),
    "bigint": pa.array([70, -9, 10, 2**62, 3, None, 0], pa.int64()),
    "boolean": pa.array([True, False, None, True, True, True, True]),
    "numeric": pa.array(
        [Decimal("70.0"), Decimal("-9.0"), Decimal("10.0"), Decimal("3.0"), None, None, Decimal("2.9")]
    ),
    "double precision": pa.array([70.0, -9.0, 10.0, 3.0, 2.9999999999999996, None, math.inf]),
    "date": pa.array([1, None, 3, 4, 5, 6, 7], pa.date32()),
}


@pytest.mark.parametrize("kind", OWN_TYPES)
def test_own_columns_of_every_type_are_counted_like_their_rows(tmp_path: Path, kind: str) -> None:
    cells = OWN_TYPES[kind]
    jobs = pa.array(["B", "", "7", "a", "é", "zz", None])
    path = parquet(tmp_path / "rows.parquet", BERUF=jobs, Lohn=cells, Ausfall=pa.array(["1"] * 7), b=jobs)
    counted = assert_same_counts(agreed(), own(path))
    assert counted.histogram([Axis.of(agreed().columns["default"])]).tolist() == [0, 7]
    table = pq.read_table(path).drop_columns("b")
    kinds = {"BERUF": "text", "Lohn": kind, "Ausfall": "text"}
    in_postgres = server().table({column: table.column(column).to_pylist() for column in table.column_names}, kinds)
    assert_same_counts(agreed(), own(in_postgres), rows_of=own(path))
    of_ibis = ibis.duckdb.connect().read_parquet(path)
    assert_same_counts(agreed(), own(of_ibis), rows_of=own(path))


def test_a_recoded_column_that_is_counted_without_its_mapping_is_noticed(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", BERUF=pa.array(["B"]), Lohn=pa.array([70.0]), Ausfall=pa.array(["1"]))
    plain = {name: {"column": column["column"]} for name, column in OWN_COLUMNS.items()}
    unread = PartyData(path, mapping=ColumnMapping.model_validate({"columns": plain}))
    with pytest.raises(AssertionError):
        assert_same_counts(agreed(), own(path), rows_of=unread)
