"""Tables in a real Spark, classic and through Connect: the same counts and codes as from a data frame."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pytest

import copublish as cp
from copublish import DatabaseTable, SourceError
from copublish.agreement.axis import Axis
from copublish.kernel.records.fragment import Fragment, local_histogram
from copublish.rows import spark as spark_rows
from copublish.rows.database import reading_problem
from copublish.rows.mapping import ColumnMapping
from copublish.rows.reading import check_columns, opened_for, read_and_look, read_fragment
from copublish.rows.rows_or_counts import CountedFragment, read_rows_or_counts
from copublish.rows.sources import PartyData, source_from
from copublish.rows.spark import SCRATCH_VARIABLE, plain_address
from support import repartition, small_mapping
from support.spark import CLASSIC, start

pytestmark = pytest.mark.slow  # needs Spark

TEXTS = ["a", " a\t", "b\v", "A", "?", "", None, "\u00a0a", "it's", "b", "\\n", "7"]
NUMBERS = [0.1, math.nextafter(0.1, 0), 7.0, -9.0, math.nan, math.inf, -math.inf, None, 99.5, 120.0, -0.0, 50.0]
DECIMALS = [Decimal("1.50"), Decimal("0.10"), None, *[Decimal(n) for n in range(9)]]
DAYS = [date(2020, 1, 2), None, *[date(2020, 1, 1)] * 10]
TIMES = [datetime(2020, 1, 2, 10, 0, 0, 500000), None, *[datetime(2020, 1, 1)] * 10]
TYPES = "id string, job string, income double, price decimal(10,2), day date, at timestamp_ntz, ok boolean, n int"
ROWS = [
    (f" {11 - row}", TEXTS[row], NUMBERS[row], DECIMALS[row], DAYS[row], TIMES[row], row % 3 == 0, row)
    for row in range(12)
]
CLASSES = ["no", "yes", " yes", "maybe", None, *["no"] * 7]


def agreed(partition: str = "horizontal", **records: Any) -> cp.Agreement:
    mapping = repartition(small_mapping(), partition)
    mapping["class"] = {"name": "default", "values": ["no", "yes"]}
    mapping["records"] = {"expected": 100, "missing_spellings": ["", "?", "-9"], **records}
    edges: list[Any] = [Decimal("0.1"), 7, 50]
    numbers = {"kind": "numerical", "bounds": [-50, Decimal("99.5")], "grid": {"edges": edges}}
    mapping["attributes"] = {
        "job": {"kind": "categorical", "values": ["a", "b", "it's", "\\n"]},
        "income": numbers,
        "price": numbers,
        "day": {"kind": "categorical", "values": ["2020-01-01", "2020-01-02"]},
        "at": {"kind": "categorical", "values": ["2020-01-01 00:00:00", "2020-01-02 10:00:00.5"]},
        "ok": {"kind": "categorical", "values": ["false", "true"]},
        "n": {"kind": "numerical", "bounds": [0, 10], "grid": {"edges": [3]}},
    }
    if partition == "vertical":
        mapping["attributes"] = {name: {**own, "held_by": "p0"} for name, own in mapping["attributes"].items()}
        mapping["attributes"]["other"] = {"kind": "categorical", "values": ["x", "y"], "held_by": "p1"}
        mapping["class"]["held_by"] = "p0"
    return cp.agreement_from_mapping(mapping)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DatabaseTable]]:
    """A table that both kinds of session see, and the same as a file."""
    session, connect = start(tmp_path_factory.mktemp("spark"))
    rows = [(*row, label) for row, label in zip(ROWS, CLASSES, strict=True)]
    session.createDataFrame(rows, f"{TYPES}, default string").coalesce(1).write.saveAsTable("people")
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(spark_rows, "PROBE_TASKS", 4, raising=False)  # for two workers, and faster than 64
        yield {"classic": DatabaseTable(CLASSIC, "people"), "connect": DatabaseTable(connect, "default.people")}
    session.stop()


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    columns = [field.split()[0] for field in TYPES.split(", ")]
    frame = pd.DataFrame(ROWS, columns=columns).astype(object)
    path = tmp_path / "people.parquet"
    typed = frame.assign(default=CLASSES, income=pd.Series(NUMBERS, dtype="float64"))
    typed.to_parquet(path)
    return path


def scratch_folders(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("copublish-spark")]


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_spark_counts_what_the_rows_of_a_file_are(spark: dict[str, Any], parquet: Path, kind: str) -> None:
    agreement = agreed()
    found, rows = read_rows_or_counts(agreement, "p0", spark[kind]), read_fragment(agreement, "p0", parquet)
    assert isinstance(found, CountedFragment)
    assert found.n_records == rows.n_records == 12
    axes = {name: Axis.of(domain) for name, domain in agreement.columns.items()}
    for name, axis in axes.items():
        for some in ([axis], [axes["default"], axis], [axis, axes["job"], axes["income"]]):
            if len({one.column for one in some}) == len(some):
                assert found.histogram(some).tolist() == rows.histogram(some).tolist(), name


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_rows_come_encoded_and_sorted_through_a_folder_that_goes(
    spark: dict[str, Any], parquet: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SCRATCH_VARIABLE, str(tmp_path))
    agreement = agreed("vertical", identifier="id")
    found, expected = read_fragment(agreement, "p0", spark[kind]), read_fragment(agreement, "p0", parquet)
    assert by_person(found) == by_person(expected)
    assert list(found.identifiers or []) == sorted(f"{n}" for n in range(12))
    assert read_and_look(agreement, "p0", spark[kind])[1] == read_and_look(agreement, "p0", parquet)[1]
    assert scratch_folders(tmp_path) == []


OWN = {
    "job": {"values": {"A": "b", "": "a", "7": "it's"}, "missing_spellings": ["b"]},
    "income": {"factor": "0.5", "values": {"120": 7}, "missing_spellings": ["50"]},
    "price": {"factor": 10},
    "ok": {"values": {"true": "false", "false": "true"}},
}


@pytest.mark.parametrize("records", [{}, {"identifier": "id"}], ids=["counts", "rows"])
def test_spark_reads_own_columns_as_a_file_is_read(spark: dict[str, Any], parquet: Path, records: Any) -> None:
    """Under the table's names, with units and spellings; the column 'price' is read twice, in two units."""
    agreement = agreed(**records)
    names = [*agreement.columns, *records.values()]
    own = {name: {"column": "price" if name == "n" else name, **OWN.get(name, {})} for name in names}
    mapping = ColumnMapping.model_validate({"columns": own})
    here = read_fragment(agreement, "p0", PartyData(parquet, mapping=mapping))
    there = read_rows_or_counts(agreement, "p0", PartyData(spark["connect"], mapping=mapping))
    if records:
        assert by_person(there) == by_person(here)
    else:
        assert isinstance(there, CountedFragment)
        axes = [Axis.of(domain) for domain in agreement.columns.values()]
        for axis in axes:
            assert there.histogram([axis]).tolist() == local_histogram(here, [axis]).tolist(), axis.column
    plain = read_fragment(agreement, "p0", parquet)
    assert plain.private_codes["income"].tolist() != here.private_codes["income"].tolist()


def by_person(fragment: Fragment) -> dict[str, tuple[int, ...]]:
    codes = zip(*(column.tolist() for column in fragment.private_codes.values()), strict=True)
    return dict(zip(fragment.identifiers or [], codes, strict=True))


def test_a_session_that_ends_in_the_middle_is_named_and_leaves_nothing(
    spark: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SCRATCH_VARIABLE, str(tmp_path))
    agreement = agreed("vertical", identifier="id")
    with (
        pytest.raises(SourceError, match=r"cannot be read .*the session of Spark ended") as caught,
        opened_for(agreement, "p0", spark["connect"]) as opened,
    ):
        batches = opened.batches([opened.table["job"]])
        opened.connection._session.client.release_session()
        next(batches)
    assert "it's" not in str(caught.value)
    assert scratch_folders(tmp_path) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["classic", "connect"])
def test_a_query_that_fails_leaves_no_value_on_the_terminal(
    spark: dict[str, Any], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Reading a text as a number fails in Spark, with words that quote the text."""
    monkeypatch.setenv(SCRATCH_VARIABLE, str(tmp_path))
    with pytest.raises(SourceError) as caught, opened_for(agreed(), "p0", spark[kind]) as opened:
        list(opened.batches([opened.table["job"].cast("int64").name("n")]))
    shown = str(caught.value) + "".join(capfd.readouterr())
    assert "'a'" not in shown and "CAST" not in shown
    assert scratch_folders(tmp_path) == []


def test_identifiers_of_several_columns_are_those_of_a_file(spark: dict[str, Any], parquet: Path) -> None:
    mapping = agreed().model_dump(by_alias=True, exclude_none=True)
    mapping["attributes"] = {name: mapping["attributes"][name] for name in ("income", "n")}
    mapping["records"] |= {
        "match_keys": [["id", "at", "day"], ["id", "ok"]],
        "identifier_rules": {"day": [{"date": "DD.MM.YYYY"}], "at": [{"first": 10}]},
    }
    agreement = cp.agreement_from_mapping(mapping)
    rows = read_fragment(agreement, "p0", parquet)
    assert {text[0] for text in rows.identifiers or ()} == {"1", "2"}
    for table in spark.values():
        assert set(read_fragment(agreement, "p0", table).identifiers or ()) == set(rows.identifiers or ())


def test_a_table_that_is_written_to_meanwhile_is_noticed(spark: dict[str, Any]) -> None:
    agreement = agreed("vertical", identifier="id")
    with pytest.raises(SourceError, match="changed while they were counted"):
        read_changing(agreement, spark["classic"])


def read_changing(agreement: cp.Agreement, table: DatabaseTable) -> None:
    """Read a table that loses its first rows after its columns were learned."""
    from copublish.rows import reading

    with opened_for(agreement, "p0", table) as opened:
        reader = reading._Reader(agreement, "p0", table)
        learn = reader.learn

        def learn_then_lose(source: Any) -> None:
            learn(source)
            object.__setattr__(source, "table", source.table.filter(source.table["n"] > 1))

        reader.learn = learn_then_lose  # type: ignore[method-assign]
        reader.read(opened)


def test_there_is_no_such_table(spark: dict[str, Any]) -> None:
    for table in spark.values():
        with pytest.raises(SourceError, match="There is no table 'nobody'"):
            read_fragment(agreed(), "p0", DatabaseTable(table.database, "nobody"))


class Elsewhere(type(Path())):  # type: ignore[misc]  # its class depends on the system
    """A folder whose name means another one to Spark, as on another machine; of some names nothing is seen here."""

    def as_uri(self) -> str:
        return str((self.parent.parent / "there" / self.name).as_uri() if "unshared" in str(self) else super().as_uri())

    def glob(self, pattern: str) -> Iterator[Path]:
        return iter(()) if "unseen" in str(self) and self.name == "rows" else super().glob(pattern)


def read_through(folder: Path, table: DatabaseTable, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    folder.mkdir()
    monkeypatch.setattr(spark_rows, "Scratch", lambda *_, **__: nullcontext(Elsewhere(folder)))
    with opened_for(agreed(), "p0", table) as opened:
        return [n for batch in opened.batches([opened.table["n"]]) for n in batch.column("n").to_pylist()]


def test_no_row_is_written_where_this_machine_does_not_see_it(
    spark: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match=rf"No row was written\. Set {SCRATCH_VARIABLE}"):
        read_through(tmp_path / "unshared", spark["connect"], monkeypatch)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["probe"]


def test_rows_that_a_worker_kept_are_missed(
    spark: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that wrote nothing of the probe. Through a folder that is seen as a whole all rows come."""
    assert read_through(tmp_path / "seen", spark["classic"], monkeypatch) == list(range(12))
    with pytest.raises(SourceError, match=r"counts other rows .* remove .*unseen on those machines"):
        read_through(tmp_path / "unseen", spark["classic"], monkeypatch)


def test_columns_are_checked_and_counted_without_a_folder(
    spark: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a folder was made")

    monkeypatch.setattr(spark_rows, "Scratch", refuse)
    check_columns(agreed(), "p0", spark["connect"])
    assert isinstance(read_rows_or_counts(agreed(), "p0", spark["connect"]), CountedFragment)
    for table in spark.values():
        with pytest.raises(SourceError, match="cannot be read"), opened_for(agreed(), "p0", table) as opened:
            ghost = ibis.table({"ghost": "string"}, name="people")
            replace(opened, table=ghost).try_out([ghost["ghost"].upper().name("ghost")])


def test_a_session_that_was_closed_closes_nothing_of_others_when_it_is_collected(
    spark: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may collect it in the middle of another one's request, whose locks closing would wait for."""
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    for _ in range(2):  # the first one of a process is held by pyspark
        check_columns(agreed(), "p0", spark["connect"])
    closings: list[str] = []
    with opened_for(agreed(), "p0", spark["connect"]):
        monkeypatch.setattr(ExecutePlanResponseReattachableIterator, "shutdown", lambda: closings.append("all"))
        gc.collect()
        assert closings == []
        assert RemoteSession.getActiveSession() is None  # the first one, which was closed, and can be asked


def test_a_session_of_this_process_is_as_it_was_when_the_last_reader_has_left(spark: dict[str, Any]) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    zone = "spark.sql.session.timeZone"
    before = {name: session.conf.get(name) for name in (zone, "spark.sql.mapKeyDedupPolicy", "spark.app.name")}
    session.conf.set(zone, "Europe/Berlin")
    try:
        with opened_for(agreed(), "p0", spark["classic"]):
            assert session.conf.get(zone) == "UTC"
            read_rows_or_counts(agreed(), "p0", spark["classic"])
            assert session.conf.get(zone) == "UTC"  # the first reader is still there
        assert {name: session.conf.get(name) for name in before} == {**before, zone: "Europe/Berlin"}
    finally:
        session.conf.set(zone, before[zone])


# --- Without Spark ---------------------------------------------------------------------------------------------------


def test_no_message_shows_a_token_and_an_address_without_a_server_is_told_at_once() -> None:
    address = "sc://reader@127.0.0.1:9/;token=s3cret;use_ssl=true"
    table = source_from(address, "people")
    with pytest.raises(SourceError, match="Spark cannot be reached") as caught:
        read_fragment(agreed(), "p0", table)
    for shown in (str(caught.value), repr(table), str(table)):
        assert "s3cret" not in shown
    assert plain_address(address) == "sc://127.0.0.1:9"
    assert plain_address("spark://u:p@host:7077") == "spark://host:7077"


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SourceError, match=r"pip install 'copublish\[spark\]'"):
        read_fragment(agreed(), "p0", DatabaseTable("sc://127.0.0.1:9", "people"))


def test_a_failure_names_that_spark_may_be_another_user() -> None:
    said = reading_problem(PermissionError("secretdiagnosis"), DatabaseTable("sc://127.0.0.1:9", "people"))
    assert "it has to run as the same user" in said and "secretdiagnosis" not in said
