"""Attributes derived from event tables, beside a plain Python loop over the rows.

The loop knows what each cell of the random tables means from a table written by hand, `CELLS`: it reads, compares and
orders nothing with the code under test.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import copublish as cp
from copublish.rows import event_functions
from copublish.rows.mapping import ColumnMapping
from copublish.rows.reading import read_fragment
from support.postgres import PostgresServer, server
from support.profiles import examples
from support.workbooks import workbook

FEW = examples(12)

PEOPLE = ["ada", "Bo", "cy", "dan", "", "ada", "eve"]
"""One row for each; 'ada' has two, and one row is nobody's."""

PERSONS = ["ada", "ADA", "bo", "cy ", "eve", "zoe", "", None]
"""Spellings in event tables: capitals make no difference, 'zoe' is not listed, and two rows are nobody's."""

CELLS: dict[str | None, tuple[str | None, Fraction | None]] = {
    None: (None, None),
    "": (None, None),
    " ": (None, None),
    "?": (None, None),
    "NA": (None, None),
    "a": ("a", None),
    "B": ("B", None),
    "b": ("b", None),
    " b ": ("b", None),
    "ba": ("ba", None),
    "ä": ("ä", None),
    "2026-01-31": ("2026-01-31", None),
    "1": ("1", Fraction(1)),
    "1.0": ("1.0", Fraction(1)),
    "10": ("10", Fraction(10)),
    " 10 ": ("10", Fraction(10)),
    "-2.5": ("-2.5", Fraction(-5, 2)),
    "0.1": ("0.1", Fraction(1, 10)),
    "0.2": ("0.2", Fraction(1, 5)),
    "9": ("9", Fraction(9)),
    "1e400": ("1e400", None),
    "nan": ("nan", None),
    "inf": ("inf", None),
    "1e15": ("1e15", Fraction(10**15)),
}
"""What cells mean by the agreement: as a text, none if it is missing, and as a finite number."""

LABELS = ["a", "B", "b", "ba", "ä", "1", "1.0", "10"]

WHERES: dict[str, tuple[dict[str, Any] | None, Any]] = {
    "no condition": (None, lambda text, number: True),
    "equals": ({"equals": "b"}, lambda text, number: text == "b"),
    "equals a number": ({"equals": 1}, lambda text, number: number == 1),
    "one of": ({"one_of": ["a", 10]}, lambda text, number: text == "a" or number == 10),
    "prefix": ({"starts_with": "b"}, lambda text, number: text is not None and text.startswith("b")),
    "prefixes": (
        {"starts_with": ["B", "ä"]},
        lambda text, number: text is not None and text.startswith(("B", "ä")),
    ),
    "numbers": ({"at_least": 1, "below": 10}, lambda text, number: number is not None and 1 <= number < 10),
    "texts": (
        {"at_least": "2026", "below": "b"},
        lambda text, number: text is not None and b"2026" <= text.encode() < b"b",
    ),
}
"""Conditions as an agreement writes them, and as the loop has them."""

FUNCTIONS: dict[str, dict[str, Any]] = {
    "count": {"as": "count"},
    "any": {"as": "any"},
    "sum": {"as": "sum", "column": "x"},
    "mean": {"as": "mean", "column": "x"},
    "min": {"as": "min", "column": "x"},
    "max": {"as": "max", "column": "x"},
    "first number": {"as": "first", "column": "x", "by": "y"},
    "last number": {"as": "last", "column": "x", "by": "y"},
    "first text": {"as": "first", "column": "x", "by": "y"},
    "last text": {"as": "last", "column": "x", "by": "y"},
    "most frequent number": {"as": "most-frequent", "column": "x"},
    "most frequent text": {"as": "most-frequent", "column": "x"},
    "distinct": {"as": "distinct", "column": "x"},
}

EDGES = sorted({*(Decimal(n) / 2 for n in range(-20, 60)), *(Decimal(n) / 100 for n in range(5, 40, 5)), 100, 999})
"""Fine enough to tell nearly all results apart."""

OF_TEXTS = ("first text", "last text", "most frequent text")


def attribute(name: str, where: Mapping[str, Any] | None = None, **derivation: Any) -> dict[str, Any]:
    """A derived attribute whose domain tells the loop's results apart."""
    derived = {"from": "visits", **FUNCTIONS.get(name, {}), **derivation}
    if where is not None:
        derived["where"] = {"column": "z", **where}
    if derived["as"] == "any":
        kind: dict[str, Any] = {"kind": "categorical", "values": ["no", "yes"]}
    elif name in OF_TEXTS:
        kind = {"kind": "categorical", "values": LABELS}
    else:
        kind = {"kind": "numerical", "bounds": [-1000, 1000], "grid": {"edges": EDGES}}
    return {**kind, "held_by": "hospital", "derived": derived}


def agreed(attributes: Mapping[str, Any], **changes: Any) -> cp.Agreement:
    """Hospital derives attributes from its visits; the bank has an age."""
    age = {"kind": "numerical", "bounds": [0, 100], "held_by": "bank"}
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "visits",
            "dataset": "visits",
            "partition": "vertical",
            "parties": {"bank": {}, "hospital": {}},
            "records": {"identifier": "id", "identifier_rules": ["ignore-case"], "expected": 100},
            "attributes": {"age": age, **attributes},
            "class": {"name": "class", "values": ["n", "y"], "held_by": "bank"},
            "privacy": {"epsilon": 1},
            "mechanism": {"name": "specialization", "specializations": 2, "score": "max"},
            **changes,
        }
    )


ALL = {
    f"{name} | {condition}": attribute(name, where) for name in FUNCTIONS for condition, (where, _) in WHERES.items()
}
"""Every function with every condition."""

EVERYTHING = agreed(ALL)

Row = tuple[str | None, str | None, str | None, str | None]


def naive(name: str, condition: str, rows: Sequence[Row]) -> str | Fraction | None:
    """The value of one person, by a loop: a text, a number, or none for missing."""
    met = [(CELLS[x], CELLS[y]) for _, x, y, z in rows if meets(condition, z)]
    as_texts = name in OF_TEXTS or name == "distinct"
    pairs = [((x[0] if as_texts else x[1]), y) for x, y in met]
    values = [value for value, _ in pairs if value is not None]
    if name == "count":
        return Fraction(len(met))
    if name == "any":
        return "yes" if met else "no"
    if name == "distinct":
        return Fraction(len(set(values)))
    if name in ("sum", "mean"):
        clamped = [max(min(value, Fraction(10**12)), Fraction(-(10**12))) for value in values]
        if not values:
            return Fraction(0) if name == "sum" else None
        return sum(clamped, Fraction(0)) / (1 if name == "sum" else len(values))
    if not values:
        return None
    if name in ("min", "max"):
        return min(values) if name == "min" else max(values)
    if name.startswith("most frequent"):
        most = max(Counter(values).values())
        return min((value for value, times in Counter(values).items() if times == most), key=in_bytes)
    ordered = [
        ((y[1] is None, y[1] or 0, y[0].encode() if y[1] is None else b""), in_bytes(value), value)
        for value, y in pairs
        if value is not None and y[0] is not None
    ]
    if not ordered:
        return None
    return (min if name.startswith("first") else max)(ordered, key=lambda row: row[:2])[2]


def in_bytes(value: str | Fraction) -> bytes | Fraction:
    """Texts are ordered by their bytes."""
    return value.encode() if isinstance(value, str) else value


def meets(condition: str, z: str | None) -> bool:
    """Whether a row counts."""
    where, holds = WHERES[condition]
    text, number = CELLS[z]
    return where is None or (text is not None and bool(holds(text, number)))


def expected(rows: Sequence[Row], agreement: cp.Agreement = EVERYTHING) -> pd.DataFrame:
    """A table without derived attributes that says what the loop found: what is agreed of it is read as any column."""
    listed = [name for place, name in enumerate(PEOPLE) if name]
    found: dict[str, list[Any]] = {"id": listed}
    for column in ALL:
        name, _, condition = column.partition(" | ")
        values = [
            naive(name, condition, [row for row in rows if (row[0] or "").strip().lower() == person.lower()])
            for person in listed
        ]
        found[column] = [float(value) if isinstance(value, Fraction) else value for value in values]
    return pd.DataFrame(found)


def without_derivation(agreement: cp.Agreement) -> cp.Agreement:
    """The same agreement about columns that are there."""
    plain = {name: {**section, "derived": None} for name, section in ALL.items()}
    return agreed({name: {k: v for k, v in section.items() if v is not None} for name, section in plain.items()})


PLAIN = without_derivation(EVERYTHING)


def assert_same(agreement: cp.Agreement, source: Any, rows: Sequence[Row]) -> None:
    """What is derived from a source is what the loop says, person by person."""
    derived = read_fragment(agreement, "hospital", source)
    looped = read_fragment(PLAIN, "hospital", expected(rows))
    assert list(derived.identifiers or []) == list(looped.identifiers or [])
    assert list(derived.private_codes) == list(ALL)
    for name in ALL:
        assert derived.private_codes[name].tolist() == looped.private_codes[name].tolist(), name


def columns_of(rows: Sequence[Row]) -> dict[str, list[str | None]]:
    """Rows as columns."""
    return {name: [row[place] for row in rows] for place, name in enumerate(("id", "x", "y", "z"))}


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table of text."""
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns_of(rows).items()})


def with_visits(table: Any) -> cp.runs.PartyData:
    """The listed people with an event table."""
    return cp.runs.PartyData(pa.table({"id": PEOPLE}), {"visits": table})


cells = st.sampled_from(list(CELLS))
tables = st.lists(st.tuples(st.sampled_from(PERSONS), cells, cells, cells), max_size=14)

TIED: list[Row] = [("ada", "B", "9", "b"), ("ada", "a", " 10 ", "b"), ("ada", "1", "10", "b"), ("ada", "ä", "10", "b")]
"""Three rows share the last `y`, and every `x` is as frequent as the others."""


@pytest.mark.slow
@FEW
@given(rows=tables)
@example(rows=[])
@example(rows=TIED)
@example(rows=TIED[::-1])
@example(rows=[("ada", "0.1", "1", "1"), ("ADA", "0.2", "1.0", "1"), ("ada", "1e15", "1", "1")])
def test_every_function_with_every_condition_is_what_a_loop_finds(rows: list[Row]) -> None:
    assert_same(EVERYTHING, with_visits(table_of(rows)), rows)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_give_what_a_loop_finds(tmp_path: Path, suffix: str) -> None:
    rows = random_rows(200)
    file = tmp_path / f"visits.{suffix}"
    if suffix == "csv":
        table_of(rows).to_pandas().to_csv(file, index=False)
    else:
        pq.write_table(table_of(rows), file)
    assert_same(EVERYTHING, with_visits(file), rows)


def random_rows(n: int, seed: int = 1) -> list[Row]:
    """Rows of random cells."""
    generator = random.Random(seed)
    spellings = list(CELLS)
    return [
        (generator.choice(PERSONS), *(generator.choice(spellings) for _ in range(3)))  # type: ignore[misc]
        for _ in range(n)
    ]


def codes_of(rows: Sequence[Row]) -> dict[str, list[int]]:
    """What is derived from rows, in codes."""
    fragment = read_fragment(EVERYTHING, "hospital", with_visits(table_of(rows)))
    return {name: codes.tolist() for name, codes in fragment.private_codes.items()}


def test_the_order_of_events_does_not_matter() -> None:
    rows = [*random_rows(60, seed=2), *TIED]
    shuffled = [random.Random(seed).sample(rows, len(rows)) for seed in range(3)]
    assert all(codes_of(other) == codes_of(rows) for other in (rows[::-1], *shuffled))


@pytest.mark.parametrize("function", ["first", "last", "most-frequent"])
def test_a_tie_that_file_order_breaks_is_noticed(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    """The same check fails if of tied rows the first in the file counts."""
    correct = event_functions.Chosen.query

    def by_file_order(chosen: event_functions.Chosen) -> str:
        if chosen.function != function:
            return correct(chosen)
        return f"SELECT person, any_value({chosen.column}) AS value FROM events WHERE {chosen.keep} GROUP BY person"

    monkeypatch.setattr(event_functions.Chosen, "query", by_file_order)
    assert codes_of(TIED) != codes_of(TIED[::-1])


def test_one_persons_events_change_that_person_alone() -> None:
    """Stability 1: whatever rows of 'eve' are added, taken away or replaced, other people's values stay."""
    rows = random_rows(80, seed=3)
    others = [row for row in rows if row[0] != "eve"]
    eve = read_fragment(EVERYTHING, "hospital", with_visits(table_of(rows))).identifiers
    place = list(eve or []).index("eve")
    found = [codes_of(table) for table in (rows, others, [*others, ("eve", "a", "1", "b"), ("EVE", "9", "1", "1")])]
    for name in ALL:
        columns = [codes[name] for codes in found]
        assert len({tuple(np.delete(column, place)) for column in columns}) == 1
    assert any(len({codes[name][place] for codes in found}) > 1 for name in ALL)  # and they do change hers


TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "texts": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "floats": (pa.float64(), st.floats()),
    "short floats": (pa.float32(), st.floats(width=32)),
    "whole numbers": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "numbers without a sign": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "decimals": (pa.decimal128(38, 9), st.decimals(-(10**28), 10**28, places=9)),
    "booleans": (pa.bool_(), st.booleans()),
    "nothing": (pa.null(), st.none()),
    "days": (pa.date32(), st.dates()),
    "moments": (pa.timestamp("us"), st.datetimes()),
    "moments somewhere": (pa.timestamp("us", "Europe/Berlin"), st.datetimes(timezones=st.just(None))),
    "bytes": (pa.binary(), st.binary(max_size=6)),
    "lists": (pa.list_(pa.int64()), st.lists(st.integers(-5, 5), max_size=3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_no_value_ends_a_reading(kind: str) -> None:
    """Whatever is in the cells, every listed person has a code of the domain. Types that are no numbers are refused
    by functions of numbers, before a row is read, so these are left out there."""
    type_, values = TYPES[kind]
    is_number = kind not in ("days", "moments", "moments somewhere", "bytes", "lists")
    is_text = kind in ("texts", "days", "moments", "moments somewhere", "bytes", "lists", "nothing")
    wanted = {
        name: section
        for name, section in ALL.items()
        if (is_number or (name.partition(" | ")[0] in (*OF_TEXTS, "count", "any", "distinct") and "number" not in name))
        and (is_text or "| texts" not in name)
        and (is_number or not name.endswith("one of"))
    }
    agreement = agreed(wanted)

    @examples(4)
    @given(columns=st.lists(st.tuples(*[values | st.none()] * 3), max_size=40))
    def reads(columns: list[tuple[Any, Any, Any]]) -> None:
        people = [PERSONS[place % len(PERSONS)] for place in range(len(columns))]
        named = dict(zip("xyz", zip(*columns, strict=True), strict=True)) if columns else {"x": [], "y": [], "z": []}
        table = pa.table({"id": pa.array(people, pa.string()), **{n: pa.array(v, type_) for n, v in named.items()}})
        fragment = read_fragment(agreement, "hospital", with_visits(table))
        assert fragment.n_records == 5
        for name, codes in fragment.private_codes.items():
            assert codes.max(initial=0) < agreement.domains[name].size

    reads()


def test_an_empty_event_table_gives_what_the_agreement_says_of_people_without_events() -> None:
    fragment = read_fragment(EVERYTHING, "hospital", with_visits(table_of([])))
    for name in ALL:
        domain, codes = EVERYTHING.domains[name], fragment.private_codes[name]
        function = name.partition(" | ")[0]
        zero = {"any": 0, **dict.fromkeys(("count", "sum", "distinct"), EDGES.index(0) + 1)}
        assert set(codes.tolist()) == {zero.get(function, domain.size - 1)}


TYPED: list[Row] = [row for row in random_rows(40, seed=5) if row[1] not in ("nan", "inf")]


@pytest.fixture(scope="module")
def postgres() -> PostgresServer:
    """A running server."""
    return server()


@pytest.mark.slow
def test_postgresql_gives_what_a_loop_finds(postgres: PostgresServer) -> None:
    rows = random_rows(60, seed=4)
    table = postgres.table(columns_of(rows))
    assert_same(EVERYTHING, with_visits(table), rows)


@pytest.mark.slow
def test_postgresql_groups_by_bytes_whatever_its_collation_takes_for_equal(postgres: PostgresServer) -> None:
    """With this collation 'a' is 'A', so grouping by the text itself would give one person's rows to another one."""
    rows: list[Row] = [
        (person, x, "1", "1") for person in ("ada", "ADA", "bo", "Bo") for x in ("B", "b", "b", "B", "B")
    ]
    with postgres.owner() as connection:
        connection.execute(
            "CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
    table = postgres.table(columns_of(rows), dict.fromkeys(("id", "x", "y", "z"), "text COLLATE folded"))
    assert_same(EVERYTHING, with_visits(table), rows)


@pytest.mark.slow
def test_a_duckdb_file_gives_what_a_loop_finds(tmp_path: Path) -> None:
    import duckdb

    rows = random_rows(60, seed=6)
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.register("given", table_of(rows))
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    assert_same(EVERYTHING, with_visits(cp.DatabaseTable(tmp_path / "visits.duckdb", "visits")), rows)


COUNTED = {"visits": attribute("count")}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (pa.table({"id": PEOPLE}), "derived from the event table 'visits', and it is not known where yours is"),
        (with_visits(pa.table({"x": ["1"]})), "has no column 'id', which says whose row it is"),
        (with_visits(pa.table({"id": ["ada"]})), "column 'x' of the event table 'visits', which has none"),
        (with_visits(pa.table({"id": ["ada"], "x": pa.array([0], pa.date32())})), "dates and the like are no numbers"),
        (
            cp.runs.PartyData(pa.table({"id": PEOPLE, "cost": [""] * 7}), {"visits": table_of([])}),
            "it is derived from the event table 'visits'",
        ),
    ],
)
def test_check_says_what_is_wrong_with_an_event_table(source: Any, sentence: str) -> None:
    checked = cp.check(agreed({"cost": attribute("sum")}), "hospital", source)
    assert sentence in " ".join(checked.problems)


def test_a_table_under_two_identifiers_is_refused() -> None:
    other = attribute("sum", identifier="payee")
    with pytest.raises(cp.AgreementError, match="what two people share would change two records"):
        agreed({"visits": attribute("count"), "paid": other})


def test_a_definition_is_part_of_the_hash_and_of_what_is_described() -> None:
    counted = agreed(COUNTED)
    assert counted.hash != agreed({"visits": attribute("count", {"equals": "a"})}).hash
    assert "derived" not in PLAIN.canonical()
    assert "'visits' is the number of rows in 'visits'" in " ".join(cp.describe(counted).assumptions)


OWN = {"id": {"column": "Nr."}, "cost": {"column": "Kosten", "factor": 10}}


def with_mapping(people: Any, visits: Any) -> cp.runs.PartyData:
    """People with names of their own, and events with the names that the agreement has."""
    return cp.runs.PartyData(people, {"visits": visits}, ColumnMapping.model_validate({"columns": OWN}))


def test_people_have_names_of_their_own_and_events_those_of_the_agreement() -> None:
    cost = {"kind": "numerical", "bounds": [0, 1000], "grid": {"edges": [5, 50]}, "held_by": "hospital"}
    agreement = agreed({"cost": cost, **COUNTED})
    visits = table_of([("ada", "a", "1", "b"), ("EVE", "a", "1", "b"), ("ada", "B", None, "b")])
    named = cp.runs.PartyData(pa.table({"id": PEOPLE, "cost": ["60"] * 7}), {"visits": visits})
    own = with_mapping(pa.table({"Nr.": PEOPLE, "Kosten": ["6"] * 7, "notes": [""] * 7}), visits)
    found, wanted = (read_fragment(agreement, "hospital", source) for source in (own, named))
    assert {name: codes.tolist() for name, codes in found.private_codes.items()} == {
        name: codes.tolist() for name, codes in wanted.private_codes.items()
    }
    code = dict(zip(found.identifiers or [], found.private_codes["visits"].tolist(), strict=True))
    assert code["ada"] > code["eve"] > code["bo"] == code["cy"]


def test_a_table_of_people_is_not_one_of_events_under_another_column() -> None:
    agreement = agreed(COUNTED)
    table = pa.table({"Nr.": PEOPLE, "id": PEOPLE})
    other, same = (
        cp.runs.PartyData(table, {"visits": table}, ColumnMapping.model_validate({"columns": {"id": {"column": name}}}))
        for name in ("Nr.", "id")
    )
    assert "is read under two identifiers" in " ".join(cp.check(agreement, "hospital", other).problems)
    assert cp.check(agreement, "hospital", same, accept=True).ok


@pytest.mark.parametrize("suffix", ["jsonl", "xlsx"])
def test_json_lines_and_workbooks_give_what_a_loop_finds(tmp_path: Path, suffix: str) -> None:
    rows = [row for row in random_rows(80, seed=7) if None not in row]
    table, file = table_of(rows).to_pandas(), tmp_path / f"visits.{suffix}"
    if suffix == "jsonl":
        table.to_json(file, orient="records", lines=True)
    else:
        workbook(file, {"visits": [list(table.columns), *table.to_numpy().tolist()]})
    assert_same(EVERYTHING, with_visits(file), rows)
