"""What an owner is told of its own data, against loops over the rows; when it is asked again; what only stands out."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import DoubtfulDataError
from copublish.rows.changes import count_of
from copublish.rows.overview import MOST_PERCENT, ONE_ROW_EACH, Overview
from copublish.rows.rows_or_counts import CountedFragment, look_at_rows_or_counts
from support import mapping_by_default, repartition

SPELLINGS = ["", "?", "NA"]
JOBS, CLASSES, BOUNDS = ("cook", "clerk", "vet"), ("no", "yes"), (0, 100)


def agreed(identifier: str | None = "id", **attributes: Any) -> cp.Agreement:
    """One of two owners of whole rows: a job, an income, a class; with identifiers, or to be counted where they lie."""
    mapping = repartition(mapping_by_default(), "horizontal")
    mapping["records"] = {"expected": 500, "missing_spellings": SPELLINGS}
    mapping["records"] |= {} if identifier is None else {"identifier": identifier}
    mapping["attributes"] = {
        "job": {"kind": "categorical", "values": [*JOBS]},
        "income": {"kind": "numerical", "bounds": [*BOUNDS], "grid": {"step": 10}},
        **attributes,
    }
    return cp.agreement_from_mapping(mapping)


def look(agreement: cp.Agreement, source: Any) -> Overview:
    _, overview = look_at_rows_or_counts(agreement, "p0", source)
    assert overview is not None
    return overview


# --- Counts ----------------------------------------------------------------------------------------------------------

COLUMNS = ("id", "job", "income", "default")


def odd_rows(seed: int, n: int = 300) -> list[tuple[str | None, ...]]:
    generator = np.random.default_rng(seed)
    incomes = ["5", "50.5", "100", "0", "1,5", "-3", "100.5", "what", "2020-01-01", "NA", "?", None]
    choices = [
        [None, "", *(f"p{number}" for number in range(200))],
        [*JOBS, "Cook", "pilot", "true", "?", "", None],
        incomes,
        [*CLASSES, "No", "maybe", "NA", None],
    ]
    return [tuple(some[generator.integers(len(some))] for some in choices) for _ in range(n)]


def counts_by_loop(rows: list[tuple[str | None, ...]], *, identified: bool) -> dict[str, Any]:
    """Row by row, in plain Python."""
    missing, changes, seen = Counter[str](), Counter[tuple[str, str]](), Counter[str]()
    for person, job, income, label in rows:
        if job is None or job in SPELLINGS:
            missing["job"] += 1
        elif job not in JOBS:
            changes["job", "unlisted"] += 1
        if income is None or income in SPELLINGS:
            missing["income"] += 1
        else:
            try:
                outside = not BOUNDS[0] <= float(income) <= BOUNDS[1]
            except ValueError:
                changes["income", "unreadable"] += 1
            else:
                changes["income", "clamped"] += outside
        missing["default"] += label is None or label in SPELLINGS
        changes["default", "null class"] += label not in CLASSES
        if identified and not person:
            changes["id", "no identifier"] += 1
        elif identified:
            changes["id", "doubled"] += seen[person] > 0
            seen[person] += 1
    return {"missing": missing, "changes": Counter({key: number for key, number in changes.items() if number})}


def written(rows: list[tuple[str | None, ...]], kind: str, folder: Path) -> Any:
    table = pa.table({name: pa.array([row[place] for row in rows]) for place, name in enumerate(COLUMNS)})
    if kind == "CSV":
        with (folder / "rows.csv").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *(["" if cell is None else cell for cell in row] for row in rows)])
        return folder / "rows.csv"
    if kind == "DuckDB":
        with duckdb.connect(folder / "rows.duckdb") as connection:
            connection.register("arrow", table)
            connection.execute("CREATE TABLE rows AS SELECT * FROM arrow")
        return cp.DatabaseTable(folder / "rows.duckdb", "rows")
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet" if kind == "Parquet" else table.to_pandas()


@pytest.mark.slow
@pytest.mark.parametrize("identified", [True, False], ids=["rows", "counts"])
@pytest.mark.parametrize("kind", ["CSV", "Parquet", "DuckDB", "pandas"])
@pytest.mark.parametrize("seed", range(3))
def test_every_number_is_that_of_a_loop_over_the_rows(kind: str, identified: bool, seed: int, tmp_path: Path) -> None:
    rows = odd_rows(seed)
    agreement, source = agreed("id" if identified else None), written(rows, kind, tmp_path)
    fragment, overview = look_at_rows_or_counts(agreement, "p0", source)
    assert isinstance(fragment, CountedFragment) == (not identified and kind in ("Parquet", "DuckDB"))
    assert overview is not None
    expected = counts_by_loop(rows, identified=identified)
    found: Counter[tuple[str, str]] = Counter()
    for change in overview.changes:
        found[change.column, change.rule] += change.rows
        assert count_of(change.rows, "row", of=len(rows)) in str(change)
    assert found == expected["changes"]
    assert {column.column: column.missing for column in overview.columns} == expected["missing"]
    changed = {column.column: column.changed for column in overview.columns}
    by_column = Counter[str]()
    for (column, _), number in expected["changes"].items():
        by_column[column] += number
    assert changed == {name: by_column[name] for name in changed}
    left_out = by_column["id"]
    assert (overview.rows, overview.left_out, overview.records) == (len(rows), left_out, len(rows) - left_out)
    told = overview.to_dict()
    assert told["left_out_percent"] == pytest.approx(100 * left_out / len(rows), abs=0.05)
    for column in told["columns"]:
        assert column["missing_percent"] == pytest.approx(100 * column["missing"] / len(rows), abs=0.05)
        assert column["changed_percent"] == pytest.approx(100 * column["changed"] / len(rows), abs=0.05)


def test_a_cell_that_another_party_holds_is_neither_missing_nor_counted() -> None:
    mapping = repartition(mapping_by_default(), "arbitrary")
    agreement = cp.agreement_from_mapping(mapping)
    frame = pd.DataFrame({"id": list("abcdef"), "job": ["cook", None, None, "?", "pilot", "vet"]})
    for name in ("region", "age", "income"):
        frame[name] = pd.Series([None] * 6, dtype=object)
    frame["default"] = "no"
    _, overview = look_at_rows_or_counts(agreement, "p0", frame)
    assert overview is not None
    columns = {column.column: column for column in overview.columns}
    assert (columns["job"].cells, columns["job"].missing, columns["job"].changed) == (4, 1, 1)
    assert columns["region"].doubt == "Column 'region' has no cell here: all of them are left to other parties."


@pytest.mark.parametrize(
    ("number", "of", "words"),
    [
        (0, 7, "0 rows (0.0 %)"),
        (1, 10_000, "1 row (under 0.1 %)"),
        (9_999, 10_000, "9,999 rows (over 99.9 %)"),
        (1, 8, "1 row (12.5 %)"),
        (8, 8, "8 rows (100.0 %)"),
        (0, 0, "0 rows (0.0 %)"),
    ],
)
def test_some_are_never_none_and_most_are_never_all(number: int, of: int, words: str) -> None:
    assert count_of(number, "row", of=of) == words


# --- Doubts ----------------------------------------------------------------------------------------------------------


def frame_of(n: int = 200, **columns: list[Any]) -> pd.DataFrame:
    """Rows that are as agreed but for the first cells of some columns."""
    generator = np.random.default_rng(5)
    usual: dict[str, Any] = {
        "id": [f"p{number}" for number in range(n)],
        "job": generator.choice(JOBS, n).tolist(),
        "income": generator.integers(*BOUNDS, n).astype(str).tolist(),
        "default": generator.choice(CLASSES, n).tolist(),
    }
    return pd.DataFrame({name: [*columns.get(name, []), *usual[name]][:n] for name in usual})


@pytest.mark.parametrize("identified", [True, False], ids=["rows", "counts"])
@pytest.mark.parametrize(
    ("column", "cell"),
    [("job", "pilot"), ("income", "what"), ("income", "101"), ("default", "maybe"), ("default", None)],
)
def test_up_to_the_share_nothing_is_asked_and_one_more_is_asked(column: str, cell: Any, identified: bool) -> None:
    agreement, most = agreed("id" if identified else None), 200 * MOST_PERCENT // 100
    assert look(agreement, frame_of(**{column: [cell] * most})).doubts == ()
    (doubt,) = look(agreement, frame_of(**{column: [cell] * (most + 1)})).doubts
    assert doubt.startswith(f"Column '{column}' has ") and doubt.endswith(f"more than {MOST_PERCENT} % of its values.")
    assert str(most + 1) not in doubt


@pytest.mark.parametrize("identifier", [None, "p199"], ids=["missing", "doubled"])
def test_rows_left_out_are_asked_about_beyond_the_share(identifier: str | None) -> None:
    most = 200 * MOST_PERCENT // 100
    frame = frame_of()
    frame.loc[: most - 1, "id"] = identifier
    assert look(agreed(), frame).doubts == ()
    frame.loc[most, "id"] = identifier
    doubts = look(agreed(), frame).doubts
    assert doubts[0].startswith(f"More than {MOST_PERCENT} % of the rows are left out")
    assert doubts[1:] == ((ONE_ROW_EACH,) if identifier else ())


def test_several_rows_per_person_come_with_what_to_do_even_if_they_are_few() -> None:
    overview = look(agreed(), frame_of(id=["p7"]))
    assert overview.doubts == () and ONE_ROW_EACH in overview.lines
    assert ONE_ROW_EACH not in look(agreed(), frame_of()).lines


@pytest.mark.parametrize("identified", [True, False], ids=["rows", "counts"])
def test_missing_cells_that_the_agreement_allows_are_shown_and_asked_about_only_if_no_other_is_left(
    identified: bool,
) -> None:
    agreement = agreed("id" if identified else None)
    overview = look(agreement, frame_of(income=[None, "?"] * 99, job=[None] * 150))
    assert overview.doubts == ()
    assert "Column 'income' has 198 missing cells (99.0 %)." in overview.lines
    assert "Column 'job' has 150 missing cells (75.0 %)." in overview.lines
    doubts = look(agreement, frame_of(income=[None, "?"] * 100)).doubts
    assert doubts == ("Column 'income' is missing everywhere.",)


def test_a_sparse_column_is_judged_by_the_values_that_it_has() -> None:
    few = [None] * 180
    assert look(agreed(), frame_of(income=[*few, *["7"] * 18, "x", "x"])).doubts == ()
    (doubt,) = look(agreed(), frame_of(income=[*few, *["7"] * 17, "x", "x", "x"])).doubts
    assert "'income'" in doubt


@pytest.mark.parametrize("identified", [True, False], ids=["rows", "counts"])
def test_missing_cells_of_a_column_that_is_taken_to_be_complete_are_asked_about_beyond_the_share(
    identified: bool,
) -> None:
    most = 200 * MOST_PERCENT // 100
    complete = {
        "job": {"kind": "categorical", "values": [*JOBS], "missing": "vet"},
        "income": {"kind": "numerical", "bounds": [*BOUNDS], "grid": {"step": 10}, "missing": 30},
    }
    agreement = agreed("id" if identified else None, **complete)
    healthy = frame_of(job=[None] * most, income=["?"] * most)
    assert look(agreement, healthy).doubts == ()
    wrecked = look(agreement, frame_of(job=[None] * (most + 1), income=["?"] * 150))
    assert wrecked.doubts == (
        "Column 'job' has missing values: more than 10 % of its cells. The agreement takes it to be complete: "
        "missing values are taken as 'vet'.",
        "Column 'income' has missing values: more than 10 % of its cells. The agreement takes it to be complete: "
        "missing values are taken as 30.",
    )
    shown = " ".join(wrecked.lines)
    assert "21 rows (10.5 %), taken as 'vet'" in shown and "150 rows (75.0 %), taken as 30" in shown
    nothing_left = look(agreement, frame_of(income=[None] * 200)).doubts
    assert nothing_left == (
        "Column 'income' is missing everywhere. The agreement takes it to be complete: missing values are taken as 30.",
    )
    assert look(agreed("id" if identified else None), frame_of(job=[None] * 150)).doubts == ()  # a category of its own


def test_a_table_without_rows_is_asked_about_and_says_nothing_of_columns() -> None:
    for agreement in (agreed(), agreed(None)):
        overview = look(agreement, frame_of().head(0))
        assert overview.doubts == ("There are no rows.",)
        assert overview.lines == ("0 rows, none left out: 0 records.",)


# --- What stands out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("identified", [True, False], ids=["rows", "counts"])
def test_numbers_at_one_end_of_the_grid_stand_out_and_are_no_doubt(identified: bool) -> None:
    income = {"kind": "numerical", "bounds": [*BOUNDS], "grid": {"step": 10}, "decimals": 2}
    agreement = agreed("id" if identified else None, income=income)
    assert look(agreement, frame_of()).notes == ()
    for cells, where in (
        (["0.05"] * 180, "the first cell of 11, [0, 10)"),
        (["99"] * 180, "the last 2 cells of 11, [90, 100]"),
    ):
        numbers = pd.Series([*cells, *["55"] * 20])
        overview = look(agreement, frame_of(income=numbers.tolist()))
        (note,) = overview.notes
        assert where in note and "180 rows (90.0 %)" in note and overview.doubts == ()
        assert note in overview.lines
        # The median of pandas lies where the note says that it does.
        lower, upper = (float(part) for part in where[where.index("[") + 1 : -1].split(", "))
        assert lower <= numbers.astype(float).median() <= upper
    assert look(agreement, frame_of(income=["0.05"] * 179 + ["55"] * 21)).notes == ()


def test_the_end_of_a_fine_grid_is_a_part_of_it_and_not_a_cell() -> None:
    agreement = agreed(income={"kind": "numerical", "bounds": [0, 1000], "grid": {"step": 8}})
    generator = np.random.default_rng(1)
    thousands = generator.integers(1, 45, 200).astype(str).tolist()
    (note,) = look(agreement, frame_of(income=thousands)).notes
    assert "the first 6 cells of 126, [0, 48)" in note
    assert look(agreement, frame_of(income=generator.integers(1, 1000, 200).astype(str).tolist())).notes == ()


def test_a_column_with_only_one_value_stands_out() -> None:
    overview = look(agreed(), frame_of(job=["cook"] * 190 + [None] * 10, income=["42"] * 200))
    assert overview.notes == (
        "Column 'job' has only one value, so it tells nobody apart.",
        "Column 'income' has all numbers in one cell of its grid.",
    )
    assert overview.doubts == ()


def test_numbers_that_are_rounded_to_whole_ones_stand_out_and_are_no_doubt() -> None:
    def incomes(decimals: int, cells: list[Any]) -> Overview:
        grid = {"kind": "numerical", "bounds": [*BOUNDS], "grid": {"step": 10}, "decimals": decimals}
        return look(agreed(income=grid), frame_of(income=cells))

    # Neither what is missing, unreadable or past the bounds, nor a whole number in another spelling, is rounded.
    odd = [None, "what", "100.5", "7.0", "1e1"]
    generator = np.random.default_rng(4)
    whole = generator.integers(1, 100, 200).astype(str).tolist()
    assert incomes(0, [*odd, *whole[5:]]).notes == () == incomes(1, [*odd, "7.5", *whole[6:]]).notes
    wrecked = incomes(0, [*odd, *(f"{number}.25" for number in whole[5:104])])
    assert wrecked.doubts == () and wrecked.notes == (
        "Column 'income' has 99 numbers (50.0 %) with a fraction. Agreed numbers are whole (decimals = 0, or bounds "
        "and grid without decimals), so they are rounded.",
    )
    assert wrecked.notes[0] in wrecked.lines  # of 198 that are numbers


# --- Files -----------------------------------------------------------------------------------------------------------

HOSPITAL: dict[str, Any] = {
    "region": {"kind": "categorical", "values": ["Nord", "Süd", "Köln", "Ost"], "held_by": "bank"},
    "smoker": {"kind": "categorical", "values": ["no", "yes"], "held_by": "bank"},
    "stage": {"kind": "categorical", "values": ["I", "II", "III", "IV"], "held_by": "bank"},
    "born": {"kind": "numerical", "bounds": [1920, 2020], "grid": {"step": 10}, "held_by": "bank"},
    "cost": {"kind": "numerical", "bounds": [0, 50000], "grid": {"step": 2500}, "held_by": "bank"},
    "job": {"kind": "categorical", "values": ["cook", "vet"], "held_by": "loans"},
}


@pytest.fixture(scope="module")
def agreement_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("hospital") / "agreement.toml"
    lines = [
        'format = 1\nname = "hospital"\ndataset = "patients"\npartition = "vertical"\n[parties.bank]\n[parties.loans]\n'
        '[records]\nidentifier = "id"\nexpected = 1000\n'
        '[class]\nname = "died"\nvalues = ["no", "yes"]\nheld_by = "bank"\n'
        "[privacy]\nepsilon = 1\n"
        '[mechanism]\nname = "specialization"\nspecializations = 4\n'
    ]
    for name, attribute in HOSPITAL.items():
        lines.append(f"[attributes.{name}]\n")
        lines += [
            f"{key} = {{ step = {value['step']} }}\n" if key == "grid" else f"{key} = {json.dumps(value)}\n"
            for key, value in attribute.items()
        ]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def hospital(seed: int = 3, n: int = 1_000) -> pd.DataFrame:
    """A hospital's own table: costs with a long tail, some missing, a few typos and a few past the bounds."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"A{number:05d}" for number in generator.permutation(n)],
            "region": generator.choice(HOSPITAL["region"]["values"], n),
            "smoker": generator.choice(["no", "yes"], n, p=[0.7, 0.3]),
            "stage": generator.choice(HOSPITAL["stage"]["values"], n),
            "born": generator.integers(1930, 2010, n).astype(str),
            "cost": np.round(generator.gamma(2, 6_000, n) + 0.25, 2).astype(str),
            "died": generator.choice(["no", "yes"], n, p=[0.9, 0.1]),
        }
    ).astype(object)
    frame.loc[generator.random(n) < 0.04, "cost"] = None
    frame.loc[generator.random(n) < 0.03, "stage"] = "unknown"
    return frame


def csv_of(frame: pd.DataFrame, file: Path, **options: Any) -> Path:
    frame.to_csv(file, index=False, **options)
    return file


def with_column(name: str, change: Callable[[pd.Series], Any]) -> Callable[[pd.DataFrame, Path], Any]:
    """A file in which one column is another."""
    return lambda frame, folder: csv_of(frame.assign(**{name: change(frame[name])}), folder / "rows.csv")


def shifted(frame: pd.DataFrame, folder: Path) -> Path:
    """A file whose names stand one column too far to the right."""
    names = list(frame.columns)
    return csv_of(frame.set_axis([names[0], *names[2:], names[1]], axis=1), folder / "rows.csv")


def visits(frame: pd.DataFrame, folder: Path) -> Path:
    return csv_of(pd.concat([frame, frame.head(300).assign(cost="10")]), folder / "rows.csv")


def garbled(texts: pd.Series) -> pd.Series:
    """UTF-8 that somebody read as Latin-1 and saved again."""
    return texts.map(lambda text: text.encode("utf-8").decode("latin-1"))


def split_by_comma(frame: pd.DataFrame, folder: Path) -> Path:
    """German numbers, saved by a program that groups thousands by points."""
    german = frame["cost"].map(
        lambda cost: None if cost is None else f"{float(cost):,.2f}".translate(str.maketrans(",.", ".,"))
    )
    return csv_of(frame.assign(cost=german), folder / "rows.csv", sep=";")


WRECKED: dict[str, tuple[Callable[[pd.DataFrame, Path], Any], str]] = {
    "dates as text": (
        with_column("born", lambda born: born + "-05-17"),
        "'born' has values that are not finite numbers",
    ),
    "decimal commas": (
        with_column("cost", lambda cost: cost.str.replace(".", ",")),
        "'cost' has values that are not finite numbers",
    ),
    "thousands grouped": (split_by_comma, "'cost' has values that are not finite numbers"),
    "units times 1000": (
        with_column("cost", lambda cost: cost.astype(float) * 1000),
        "'cost' has values outside the agreed bounds",
    ),
    "other case": (with_column("region", lambda region: region.str.upper()), "in upper and lower case alone"),
    "truth values": (with_column("smoker", lambda smoker: smoker == "yes"), "'smoker' has truth values"),
    "shifted columns": (shifted, "'born' has values that are not finite numbers"),
    "wrong encoding": (with_column("region", garbled), "'region' has values that are not in the agreed list"),
    "doubled identifiers": (visits, "their identifier has another row"),
    "missing identifiers": (with_column("id", lambda ids: ids.where(ids.index % 3 > 0)), "they have no identifier"),
    "all missing": (with_column("cost", lambda cost: None), "'cost' is missing everywhere"),
    "no rows": (lambda frame, folder: csv_of(frame.head(0), folder / "rows.csv"), "There are no rows"),
}

UNREADABLE: dict[str, tuple[Callable[[pd.DataFrame, Path], Any], str]] = {
    "Latin-1": (lambda frame, folder: csv_of(frame, folder / "rows.csv", encoding="latin-1"), "not UTF-8"),
    "nothing at all": (lambda frame, folder: (folder / "rows.csv").write_bytes(b"") or folder / "rows.csv", "is empty"),
    "another delimiter": (lambda frame, folder: csv_of(frame, folder / "rows.csv", sep=":"), "'cost'"),
}


def in_duckdb(frame: pd.DataFrame, folder: Path) -> Path:
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    return folder / "rows.duckdb"


def in_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "rows.parquet", index=False)
    return folder / "rows.parquet"


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(born=frame["born"].astype(int), cost=frame["cost"].astype(float))


HEALTHY: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "CSV": lambda frame, folder: csv_of(frame, folder / "rows.csv"),
    "semicolons": lambda frame, folder: csv_of(frame, folder / "rows.csv", sep=";"),
    "tabs and CRLF": lambda frame, folder: csv_of(frame, folder / "rows.csv", sep="\t", lineterminator="\r\n"),
    "a mark of byte order": lambda frame, folder: csv_of(frame, folder / "rows.csv", encoding="utf-8-sig"),
    "everything in quotes": lambda frame, folder: csv_of(frame, folder / "rows.csv", quoting=csv.QUOTE_ALL),
    "Parquet of texts": in_parquet,
    "Parquet of numbers": lambda frame, folder: in_parquet(as_numbers(frame), folder),
    "Parquet of categoricals": lambda frame, folder: in_parquet(frame.astype({"stage": "category"}), folder),
    "DuckDB": in_duckdb,
    "most costs missing": with_column("cost", lambda cost: cost.where(cost.index % 5 == 0)),
    "a few people twice": lambda frame, folder: csv_of(pd.concat([frame, frame.head(40)]), folder / "rows.csv"),
    "more columns, other order": lambda frame, folder: csv_of(
        frame.assign(note="x")[["note", *reversed(frame.columns)]], folder / "rows.csv"
    ),
}


def command(agreement_file: Path, source: Path, *more: str) -> list[str]:
    table = ["--table", "rows"] if source.suffix == ".duckdb" else []
    return ["check", str(agreement_file), "--party", "bank", "--data", str(source), *table, *more]


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRECKED)
def test_a_wrecked_file_is_red_with_the_reason(kind: str, agreement_file: Path, tmp_path: Path) -> None:
    write, reason = WRECKED[kind]
    source = write(hospital(), tmp_path)
    checked = cp.check(agreement_file, "bank", source)
    assert not checked.ok and not checked.problems
    assert any(reason in doubt for doubt in checked.doubts), checked.doubts
    done = CliRunner().invoke(app, command(agreement_file, source))
    assert isinstance(done.exception, DoubtfulDataError) and done.exception.exit_code == 4
    assert reason in str(done.exception) and "--accept" in str(done.exception)
    as_json = CliRunner().invoke(app, command(agreement_file, source, "--format", "json"))
    assert as_json.exit_code == 4
    found = json.loads(as_json.stdout)
    assert found["doubts"] == list(checked.doubts) and found["ok"] is False
    assert found["overview"] == checked.overview.to_dict()
    assert CliRunner().invoke(app, command(agreement_file, source, "--accept")).exit_code == 0
    assert cp.check(agreement_file, "bank", source, accept=True).ok


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_file_that_cannot_be_read_as_a_table_of_these_columns_is_red(
    kind: str, agreement_file: Path, tmp_path: Path
) -> None:
    write, reason = UNREADABLE[kind]
    done = CliRunner().invoke(app, command(agreement_file, write(hospital(), tmp_path), "--accept"))
    assert getattr(done.exception, "exit_code", None) == 4 and reason in str(done.exception)


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_file_is_green(kind: str, agreement_file: Path, tmp_path: Path) -> None:
    source = HEALTHY[kind](hospital(), tmp_path)
    done = CliRunner().invoke(app, command(agreement_file, source))
    assert done.exit_code == 0, done.exception
    assert "Column 'stage' has " in done.stdout and "Column 'cost' has " in done.stdout and "%" in done.stdout


def worst_share(overview: Overview) -> float:
    """The largest share of a column's values that were changed, or of rows that were left out; 1 if all is missing."""
    if not overview.rows:
        return 1
    values = [(column.changed, column.cells - column.missing) for column in overview.columns]
    return max(overview.left_out / overview.rows, *(changed / there if there else 1 for changed, there in values))


@pytest.mark.slow
def test_the_share_lies_between_twelve_wrecked_and_twelve_healthy_files_with_room_on_both_sides(
    agreement_file: Path, tmp_path: Path
) -> None:
    assert len(WRECKED) == len(HEALTHY) == 12
    shares: dict[str, list[float]] = {"wrecked": [], "healthy": []}
    writers = {"wrecked": [write for write, _ in WRECKED.values()], "healthy": list(HEALTHY.values())}
    for kind, writes in writers.items():
        for number, write in enumerate(writes):
            folder = tmp_path / f"{kind}-{number}"
            folder.mkdir()
            file = write(hospital(), folder)
            source = cp.DatabaseTable(file, "rows") if file.suffix == ".duckdb" else file
            overview = cp.check(agreement_file, "bank", source).overview
            assert overview is not None
            shares[kind].append(worst_share(overview))
    # The decision page states both ends of the gap.
    assert (round(100 * min(shares["wrecked"])), round(100 * max(shares["healthy"]))) == (23, 4)
    assert 100 * min(shares["wrecked"]) > 2 * MOST_PERCENT and 2 * 100 * max(shares["healthy"]) < MOST_PERCENT
