"""Pairs of columns that were not measured are named everywhere: by comparison with the tables of the release alone."""

from __future__ import annotations

import io
import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from rich.console import Console

import copublish as cp
from copublish.errors import ReleaseError
from copublish.release.evidence.signatures import CERTIFICATE_FILE, digests_of
from copublish.release.measurements import csv_file
from copublish.release.pairs import PAIRS_FILE, ColumnPair, in_words, pairs_of_release
from copublish.release.recompute import compare_records
from copublish.release.render.pair_snippets import pair_snippets
from copublish.release.render.terminal import contents_shown
from copublish.release.report.contents import contents
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.snippets import computed_by_pandas, computed_by_r

N_RECORDS = 3000

HELD = {"p0": {"job", "age"}, "p1": {"region", "income"}}


def made(partition: str = "vertical", mechanism: str = "marginals", **keys: Any) -> tuple[cp.Release, pd.DataFrame]:
    mapping = repartition(small_mapping(mechanism={"name": mechanism, **keys}), partition, 2)
    mapping["records"]["expected"] = N_RECORDS
    mapping["privacy"]["epsilon"] = 8
    del mapping["class"]
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, N_RECORDS, np.random.default_rng(4))
    jobs, income = list(agreement.columns["job"].values), agreement.columns["income"]  # type: ignore[union-attr]
    step = (float(income.upper) - float(income.lower)) / len(jobs)  # type: ignore[union-attr]
    table["income"] = [int(float(income.lower) + step * jobs.index(job)) for job in table["job"]]  # type: ignore[union-attr]
    frames = fragment_frames(agreement, table, np.random.default_rng(1))
    return simulate_with(agreement, frames, seeded(agreement.party_names, 6)), table


MUST = {"tables": {"must": [["job", "income"]], "then": "auto"}, "rounds": 0}


def by_files(release: cp.Release) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
    """The pairs that measured tables hold, by the headings of their files, and all others."""
    held: set[frozenset[str]] = set()
    names = list(release.to_pandas().columns)
    for name, content in release.files().items():
        if name.startswith("measured/") and name.endswith(".parquet"):
            columns = [column for column in pq.read_schema(pa.BufferReader(content)).names if column in names]
            held |= {frozenset(pair) for pair in combinations(columns, 2)}
    return held, {frozenset(pair) for pair in combinations(names, 2)} - held


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("keys", [MUST, {"rounds": 2}, {"rounds": 0}])
def test_the_file_of_pairs_says_what_the_tables_hold(partition, keys) -> None:
    release, _ = made(partition, **keys)
    measured, others = by_files(release)
    table = pd.read_csv(io.BytesIO(release.files()[PAIRS_FILE]), dtype=str, keep_default_na=False)
    assert list(table) == ["first", "second", "measured", "first_held_by", "second_held_by"]
    said = {frozenset((row["first"], row["second"])): row["measured"] for _, row in table.iterrows()}
    assert len(table) == len(said) == 6
    assert {pair for pair, answer in said.items() if answer == "yes"} == measured
    assert {pair for pair, answer in said.items() if answer == "no"} == others and others
    for _, row in table.iterrows():
        for place in ("first", "second"):
            everyone = partition == "horizontal"
            expected = "p0 p1" if everyone else next(p for p, columns in HELD.items() if row[place] in columns)
            assert row[f"{place}_held_by"] == expected
    if partition == "vertical":  # across owners first
        across = (table["first_held_by"] != table["second_held_by"]).tolist()
        assert across == sorted(across, reverse=True)


def test_everything_that_people_read_names_them() -> None:
    release, _ = made(**MUST)
    files, names = (
        release.files(),
        [" by ".join(pair.columns) for pair in pairs_of_release(release) if not pair.is_measured],
    )
    assert len(names) == 5 and "job by income" not in names
    screen = io.StringIO()
    console = Console(file=screen, width=1000)
    for part in contents_shown(release, 5):
        console.print(part)
    shown = {
        "README": files["README.md"].decode(),
        "report": contents(release)["not_measured"],
        "show": screen.getvalue(),
        "records": pq.read_schema(pa.BufferReader(files["records.parquet"])).metadata[b"pairs_not_measured"].decode(),
        "croissant": json.loads(files["croissant.json"])["description"],
        "entry": yaml.safe_load(files["deployment.yaml"])["deployment"]["basic"]["description"],
    }
    for where, text in shown.items():
        assert [name for name in names if name not in text] == [], where
        assert "job by income" not in text.partition("Not measured")[2].partition("All are in")[0], where


def test_a_field_of_the_records_names_what_it_was_not_measured_with() -> None:
    release, _ = made(**MUST)
    _, others = by_files(release)
    for table in json.loads(release.files()["croissant.json"])["recordSet"]:
        for field in table["field"]:
            _, says, named = field.get("description", "").partition("Not measured together with ")
            if table["name"] != "records":
                assert not says, (table["name"], field)
                continue
            expected = {name for pair in others if field["name"] in pair for name in pair - {field["name"]}}
            assert set(named.removesuffix(".").split(", ")) == expected and expected


def test_a_release_in_which_everything_was_measured_says_nothing_of_pairs() -> None:
    every = [list(pair) for pair in combinations(("job", "region", "age", "income"), 2)]
    for release in (made(tables=every)[0], made("horizontal", "copula")[0]):
        assert PAIRS_FILE not in release.files() and pair_snippets(release) is None
        for name in ("README.md", "croissant.json", "deployment.yaml"):
            assert "Not measured" not in release.files()[name].decode(), name
        metadata = pq.read_schema(pa.BufferReader(release.files()["records.parquet"])).metadata or {}
        assert b"pairs_not_measured" not in metadata


def test_of_many_pairs_those_across_owners_are_named_and_the_file_has_all() -> None:
    columns = [f"c{number:02d}" for number in range(64)]
    pairs = [
        ColumnPair(pair, (("a",), ("b",)) if pair[1] == "c63" else (("a",), ("a",)), is_measured=False)
        for pair in combinations(columns, 2)
    ]
    said = in_words(sorted(pairs, key=lambda pair: not pair.is_across))
    assert "2,016 of 2,016" in said and "1,996 more" in said and PAIRS_FILE in said
    assert said.count(" by c63") == 20


def test_the_release_is_read_back_and_another_answer_in_the_file_is_noticed(tmp_path: Path) -> None:
    release, _ = made(**MUST)
    folder = tmp_path / "release"
    release.write(folder)
    assert cp.load_release(folder).files() == release.files()
    assert compare_records(folder) == (True, "follow from the model")
    table = pd.read_csv(folder / PAIRS_FILE, dtype=str, keep_default_na=False)
    table["measured"] = "yes"
    (folder / PAIRS_FILE).write_bytes(csv_file(pa.Table.from_pandas(table, preserve_index=False)))
    with pytest.raises(ReleaseError, match="its digest differs"):
        cp.load_release(folder)
    certificate = json.loads((folder / CERTIFICATE_FILE).read_text())
    certificate["files"][PAIRS_FILE] = digests_of({"x": (folder / PAIRS_FILE).read_bytes()})["x"]
    (folder / CERTIFICATE_FILE).write_text(json.dumps(certificate))
    same, words = compare_records(folder)
    assert not same and "does not say which pairs of columns were measured" in words


def expected_means(release: cp.Release, table: pd.DataFrame) -> dict[str, float]:
    """The mean of the middles of incomes' cells, by job, by plain pandas."""
    domain = release.published.columns.domains["income"]
    edges = [float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)]  # type: ignore[union-attr]
    cell = np.searchsorted(edges[1:-1], table["income"].astype(float), side="right")
    middles = np.array([(low + high) / 2 for low, high in pairwise(edges)])[cell]
    return pd.Series(middles).groupby(table["job"].astype(str).to_numpy()).mean().to_dict()


def test_lines_of_pandas_say_whether_a_pair_was_measured_and_the_mean_by_group(tmp_path: Path) -> None:
    release, table = made(**MUST)
    release.write(tmp_path / "release")
    lines = pair_snippets(release)
    assert lines is not None and lines.python in release.files()["README.md"].decode()
    done = computed_by_pandas(lines.python, tmp_path / "release", "means")
    assert "measured: yes" in done.printed
    assert done.table.to_dict() == pytest.approx(expected_means(release, table), rel=0.1, abs=2)
    assert done.table.to_dict() != pytest.approx(expected_means(release, table.assign(income=10)), rel=0.1, abs=2)
    other = lines.python.partition("table =")[0].replace('"income"', '"age"')
    assert "measured: no" in computed_by_pandas(other, tmp_path / "release", "pairs").printed


def test_lines_of_r_say_the_same(tmp_path: Path) -> None:
    release, table = made(**MUST)
    release.write(tmp_path / "release")
    lines = pair_snippets(release)
    assert lines is not None
    done = computed_by_r(lines.r, tmp_path / "release", "data.frame(mean = means)", tmp_path)
    assert "measured: yes" in done.printed
    assert done.table["mean"].to_dict() == pytest.approx(expected_means(release, table), rel=0.1, abs=2)


def test_without_a_measured_pair_lines_ask_whether_one_was(tmp_path: Path) -> None:
    release, _ = made(rounds=0)
    release.write(tmp_path / "release")
    lines = pair_snippets(release)
    assert lines is not None and "means" not in lines.python
    assert "measured: no" in computed_by_pandas(lines.python, tmp_path / "release", "pairs").printed
