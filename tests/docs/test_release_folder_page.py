"""The page about the release folder, against releases: every key is on it, and what it says can be read from it alone.

The reader below knows the page, JSON and CSV, and nothing of the package.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import copublish as cp
from copublish.agreement.domain import CategoricalDescription, NumericalDescription
from copublish.release.evidence.completeness import incomplete
from support import fragment_frames, mapping_by_default, no_noise, random_table, repartition, simulate_with
from support.any_release import any_release, cases_of

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "release-folder.md").read_text()

MECHANISMS = ("specialization", "marginals", "copula", "hpdp", "vhdp", "idp-ir")
Json = Mapping[str, Any]


def rows(heading: str, number: int = 1) -> list[list[str]]:
    """The cells of a table of the page, without its head: the first, second, ... table below a heading."""
    section = f"\n{PAGE}".partition(f"\n{heading}\n")[2]
    section = re.split(r"^## ", section, maxsplit=1, flags=re.M)[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.M)
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in tables[number - 1].splitlines()[2:]]


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def keys(heading: str, number: int = 1, *, cell: int = 0) -> set[str]:
    return {name for row in rows(heading, number) for name in code_in(row[cell])}


@cache
def folders() -> dict[str, list[dict[str, bytes]]]:
    """Files of releases of every mechanism: of all partitions, engines and settings that are recorded, few of each."""
    found = {name: [any_release(case).files() for case in cases_of(name)[::4]] for name in MECHANISMS}
    found["marginals"].append(small({"class": None})[0])  # none of those is without a class
    return found


def small(changes: Json, mechanism: str = "marginals") -> tuple[dict[str, bytes], pd.DataFrame]:
    """The files of a release with noise that is 0, some values missing, and the people it is about."""
    mapping = mapping_by_default(mechanism={"name": mechanism}, **{"privacy.epsilon": 4, **changes})
    agreement = cp.agreement_from_mapping(repartition(mapping, "horizontal"))
    generator = np.random.default_rng(3)
    table = random_table(agreement, 500, generator)
    for name in agreement.attributes:
        is_left = (generator.random(500) < 0.9) & ~table[name].isin(["other", "missing", "unlisted"])
        table[name] = table[name].astype(object).where(is_left, None)
    release = simulate_with(agreement, fragment_frames(agreement, table, generator), no_noise(agreement.party_names))
    return release.files(), table


def each(name: str) -> Iterator[Json]:
    """Yield a JSON file of every release."""
    for files in (files for several in folders().values() for files in several):
        yield json.loads(files[name])


@pytest.mark.slow
def test_the_page_names_every_file_and_no_other() -> None:
    named = keys("# The release folder") - {"signatures.json"}
    tables = {name for name in named if name.startswith("measured/")}
    found = {name for several in folders().values() for files in several for name in files}
    assert {name for name in found if not name.startswith("measured/")} == named - tables
    assert tables == {"measured/001-age-by-job.csv", "measured/pairs.csv"} and "measured/pairs.csv" in found
    assert all(re.fullmatch(r"measured/\d{3}(-[A-Za-z0-9-]{1,80})?\.(csv|parquet)", name) for name in found - named)
    for files in folders()["idp-ir"]:
        assert not [name for name in files if name.endswith(".csv") or name == "deployment.yaml"]
    for files in folders()["specialization"]:
        assert "records.csv" not in files


@pytest.mark.slow
def test_the_page_has_every_key_of_measurements_and_no_other() -> None:
    described = list(each("measurements.json"))
    measured = [own for one in described for own in one["measured"]]
    axes = [axis for own in measured for axis in own["axes"]]
    assert {key for one in described for key in one} == keys("## measurements.json")
    assert {key for own in measured for key in own} == keys("## measurements.json", 3)
    by_kind = {kind: set(others) for (kind,), others in ((code_in(r[0]), code_in(r[1])) for r in AXES)}
    for kind, others in by_kind.items():
        assert {key for axis in axes if axis["kind"] == kind for key in axis} == {"kind", *others}
    assert {axis["kind"] for axis in axes} == by_kind.keys()
    assert {own["place"]["step"] for own in measured} and {key for own in measured for key in own["place"]} == {
        *("step", "column", "number", "common")
    }
    columns = [column for one in described for column in one["columns"].values()]
    said = keys("## measurements.json", 2)
    assert {key for column in columns for key in column} <= said
    fields = [description.__pydantic_fields__ for description in (CategoricalDescription, NumericalDescription)]
    assert {name for each_field in fields for name in each_field} == said


AXES = rows("## measurements.json", 4)


@pytest.mark.slow
def test_the_page_has_every_key_of_models_and_no_other() -> None:
    common, own = keys("## model.json"), {code_in(row[0])[0]: set(code_in(row[2])) for row in rows("## model.json", 2)}
    assert own.keys() == folders().keys()
    for mechanism, several in folders().items():
        found = {key for files in several for key in json.loads(files["model.json"])}
        assert found - common == own[mechanism], mechanism
    assert common <= {key for one in each("model.json") for key in one}


# --- A reader that knows the page alone ---


def leaves(tree: Json) -> list[str]:
    return [leaf for name, below in tree.items() for leaf in (leaves(below) if below else [name])]


def code_of(column: Json, value: object) -> int:
    """The number of a value in agreed order, a missing one last."""
    is_number = column["kind"] == "numerical"
    size = len(column["thresholds"]) + 1 if is_number else len(leaves(column["taxonomy"]))
    if value is None or value != value:
        assert column["missing"]
        return size
    return (
        bisect_right([float(edge) for edge in column["thresholds"]], float(str(value)))
        if is_number
        else (leaves(column["taxonomy"]).index(str(value)))
    )


def size_of(column: Json) -> int:
    cells = len(column["thresholds"]) + 1 if column["kind"] == "numerical" else len(leaves(column["taxonomy"]))
    return cells + int(column["missing"])


def entries_of(axis: Json, column: Json, code: int) -> list[int]:
    """What a person with a code counts as on an axis, by the page's words."""
    size = size_of(column)
    if axis["kind"] == "cells":
        return [int(start <= code < stop) for start, stop in axis.get("runs", [(own, own + 1) for own in range(size)])]
    if axis["kind"] == "scores":
        return [axis["scores"][code]]
    numbers = size - int(column["missing"])
    if code == numbers:
        return [0]
    return [math.floor(code * axis["parts"] / (numbers - 1) - axis["parts"] / 2 + 0.5) ** axis.get("power", 1)]


def values_of(files: Mapping[str, bytes], own: Json) -> list[int]:
    """The values of a measurement as they were opened: from its list, or from its table in CSV."""
    if "values" in own:
        return list(own["values"])
    found = list(csv.DictReader(io.StringIO(files[f"measured/{own['table']}.csv"].decode())))
    assert len(found) == own["entries"]
    return [round(float(row["noisy_count"]) * own["times"]) for row in found]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula", "hpdp"])
def test_every_measurement_is_the_sum_over_people_that_the_page_says(mechanism: str) -> None:
    """Without noise, person by person; the values that a measurement has are all of them."""
    by_label = {"budget": {"allocation": "use-informative"}} if mechanism == "copula" else {}
    files, people = small(by_label, mechanism)
    described = json.loads(files["measurements.json"])
    columns = described["columns"]
    codes = {name: [code_of(column, value) for value in people[name]] for name, column in columns.items()}
    assert described["measured"]
    for own in described["measured"]:
        per_person = [
            [math.prod(chosen) for chosen in product(*entries)]
            for entries in zip(
                *(
                    [entries_of(axis, columns[axis["column"]], code) for code in codes[axis["column"]]]
                    for axis in own["axes"]
                ),
                strict=True,
            )
        ] or [[1]] * len(people)
        expected = own["times"] * np.array(per_person, dtype=object).sum(axis=0)
        assert values_of(files, own) == expected.tolist(), own["place"]
        assert values_of(files, own) != (expected + own["times"]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "idp-ir"])
def test_tables_are_what_the_page_says(mechanism: str) -> None:
    """Header, rows in agreed order, error by the law, and the same in both formats."""
    for files in folders()[mechanism]:
        described, stated = (json.loads(files[name]) for name in ("measurements.json", "certificate.json"))
        laws = {json.dumps(one["place"], sort_keys=True): one["noise"] for one in stated["disclosures"]}
        tables = [own for own in described["measured"] if "table" in own]
        assert [own["table"] for own in tables] == sorted(own["table"] for own in tables)
        for number, own in enumerate(tables, start=1):
            names = [axis["column"] for axis in own["axes"]]
            assert {axis["kind"] for axis in own["axes"]} == {"cells"} and own["table"].startswith(f"{number:03d}-")
            in_csv = pd.read_csv(io.BytesIO(files[f"measured/{own['table']}.csv"]), dtype=dict.fromkeys(names, str))
            in_parquet = pq.read_table(pa.BufferReader(files[f"measured/{own['table']}.parquet"])).to_pandas()
            assert list(in_csv) == list(in_parquet) == [*names, "noisy_count", "within_95_percent"]
            for name in names:
                assert in_csv[name].tolist() == in_parquet[name].astype(str).tolist()
            for name in ("noisy_count", "within_95_percent"):
                assert in_csv[name].to_numpy() == pytest.approx(in_parquet[name].to_numpy(), rel=1e-14)
            distinct = [list(dict.fromkeys(in_csv[name])) for name in names]
            assert [tuple(row) for row in in_csv[names].to_numpy()] == list(product(*distinct)), "the last one fastest"
            assert own["noise"] == laws[json.dumps(own["place"], sort_keys=True)]
            within = own["noise"]["within_95_percent"] * own["points"] / own["times"]
            assert in_csv["within_95_percent"].to_numpy() == pytest.approx(within)
        in_records = {"records.csv"} & files.keys()
        for name in in_records:
            whole = pq.read_table(pa.BufferReader(files["records.parquet"])).to_pandas()
            assert list(pd.read_csv(io.BytesIO(files[name]))) == list(whole) == list(described["columns"])
            assert len(whole) == json.loads(files["model.json"])["records"]


def test_a_column_named_like_an_error_keeps_its_name() -> None:
    attribute = {"kind": "categorical", "values": ["a", "b"]}
    files, _ = small({"attributes.within_95_percent": attribute})
    name = min(name for name in files if name.endswith("-within-95-percent-by-default.csv"))
    header = next(csv.reader(io.StringIO(files[name].decode())))
    assert header == ["within_95_percent", "default", "noisy_count", "within_95_percent_"]
    with pytest.raises(cp.AgreementError, match="'noisy_count'"):
        small({"attributes.noisy_count": attribute})


def test_the_example_of_a_table_has_the_columns_that_the_page_lists() -> None:
    (block,) = re.findall(r"^```\n(.*?)^```", PAGE, re.S | re.M)[:1]
    header, *lines = csv.reader(io.StringIO(block))
    assert header[-2:] == [code_in(row[0])[0] for row in rows("## Measured tables")[1:]]
    assert lines and all(len(line) == len(header) and float(line[-2]) == int(line[-2]) for line in lines)


@pytest.mark.slow
def test_what_verify_says_of_a_missing_table_is_what_the_page_quotes() -> None:
    (quoted,) = re.findall(r'"(of \'[^"]+ are published)"', PAGE)
    release = any_release(cases_of("specialization")[0])
    files = release.files()
    assert list(incomplete(release.certificate, files)) == []
    left = {name: content for name, content in files.items() if not name.endswith(".parquet")}
    said = list(incomplete(release.certificate, left))
    assert re.sub(r"\d[\d,]*", "N", quoted) in [re.sub(r"\d[\d,]*", "N", sentence) for sentence in said]
