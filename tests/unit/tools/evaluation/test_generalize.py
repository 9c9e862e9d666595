"""Generalizing other data as a release did: every value gets the label that a look into the published cut gives."""

from __future__ import annotations

import csv
import json
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish import CopublishError, FragmentError, Release, SourceError, agreement_from_mapping, generalize
from copublish.mechanisms.published import Published
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.publish import contents_of
from copublish.mechanisms.specialization.result import SpecializationResult
from copublish.mechanisms.specialization.score import MAX
from copublish.release.generalization import Generalization, GeneralizedValue
from copublish.release.measurements import StoredMeasurements, measurements_json
from copublish.release.publication import published_contents
from copublish.tools.evaluation.generalize import generalize_and_tell
from support import (
    fragment_frames,
    mapping_by_default,
    no_noise,
    random_table,
    repartition,
    simulate_with,
    small_mapping,
)
from support.profiles import examples
from support.published import laplace

AGREEMENT = agreement_from_mapping(
    small_mapping(
        **{
            "attributes.region.missing": "category",
            "attributes.income.missing": "category",
            "attributes.income.grid": {"edges": [1, Decimal("10.5"), 50, 100]},
        }
    )
)


def published_of(cut: Cut) -> Published:
    """What a run that ended with this cut would publish."""
    nothing = np.zeros((cut.n_leaves, 2), dtype=np.int64)
    result = SpecializationResult(
        agreement=AGREEMENT, cut=cut, score=MAX, noisy_class_counts=None, noisy_counts=nothing, counts=nothing
    )
    return published_contents(AGREEMENT, contents_of(result, lambda _: laplace(2)))


def generalization_of(cut: Cut) -> Generalization:
    """How such a release generalizes values."""
    found = Generalization.of(published_of(cut))
    assert found is not None
    return found


PUBLISHED = published_of(
    Cut(
        AGREEMENT.domains,
        {
            "job": ((0, 3), (3, 4), (4, 5)),
            "region": ((0, 1), (1, 2), (2, 3), (3, 4)),
            "age": ((0, 2), (2, 9)),
            "income": ((0, 1), (1, 5), (5, 6)),
        },
    ),
)

CUT = Generalization(PUBLISHED.columns, PUBLISHED.generalized)


def read_back(content: dict[str, Any]) -> Generalization:
    """What the content of `measurements.json` says of generalized values."""
    described = StoredMeasurements.from_json(json.loads(json.dumps(content)))
    return Generalization(described.public_columns, described.generalized)


Columns = dict[str, list[Any]]

ROWS: Columns = {
    "job": ["cook", "vet", " driver ", "surgeon"],
    "region": ["north", None, "?", "east"],
    "age": [18, 37.999, 38, 99],
    "income": [0.5, 1, None, 100],
    "default": ["no", "yes", "yes", "no"],
    "name": ["Ada", "Bob", "Cyd", "Dee"],
}

EXPECTED: Columns = {
    "job": ["Worker", "vet", "Worker", "surgeon"],
    "region": ["north", "(missing)", "(missing)", "east"],
    "age": ["[18, 38)", "[18, 38)", "[38, 99]", "[38, 99]"],
    "income": ["[0, 1)", "[1, 100]", "(missing)", "[1, 100]"],
    "default": ["no", "yes", "yes", "no"],
}


def write_csv(columns: Columns, path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def write_parquet(columns: Columns, path: Path) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


SOURCES: dict[str, Callable[[Columns, Path], Any]] = {
    "pandas": lambda columns, folder: pd.DataFrame(columns),
    "polars": lambda columns, folder: pl.DataFrame(columns, strict=False),
    "arrow": lambda columns, folder: pa.table(columns),
    "csv": lambda columns, folder: write_csv(columns, folder / "rows.csv"),
    "csv as text": lambda columns, folder: str(write_csv(columns, folder / "rows.csv")),
    "parquet": lambda columns, folder: write_parquet(columns, folder / "rows.parquet"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_labels_of_the_cut(tmp_path: Path, source: str) -> None:
    assert generalize(CUT, SOURCES[source](ROWS, tmp_path)).to_pydict() == EXPECTED


def test_cut_read_back_from_json_gives_the_same_labels() -> None:
    assert generalize(read_back(measurements_json(PUBLISHED)), pd.DataFrame(ROWS)).to_pydict() == EXPECTED


def test_class_may_be_unknown() -> None:
    found = generalize(CUT, pd.DataFrame(ROWS).drop(columns="default")).to_pydict()
    assert found == {name: labels for name, labels in EXPECTED.items() if name != "default"}


def test_empty_table_gives_an_empty_table_with_the_same_columns() -> None:
    found = generalize(CUT, pd.DataFrame(ROWS).iloc[:0])
    assert found.num_rows == 0
    assert found.column_names == list(EXPECTED)


# --- Any cut, any values ---------------------------------------------------------------------------------------------


def label_of(value: Any, values: Sequence[GeneralizedValue]) -> str:
    """Look a value up in what a release says of the published values of its attribute."""
    if any(one.members for one in values):
        return next(one.label for one in values if (value or "(missing)") in (one.members or ()))
    if value is None:
        return next(one.label for one in values if "missing" in one.label)
    numbers = [one for one in values if one.lower is not None]
    for one in numbers:
        if Decimal(one.lower or "") <= Decimal(str(value)) < Decimal(one.upper or ""):
            return one.label
    return numbers[-1].label  # the last interval includes its upper end


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """A cut that some run could end with."""
    cut = Cut.top(AGREEMENT.domains)
    for _ in range(draw(st.integers(0, 8))):
        candidates = cut.candidates(max_leaves=10**9)
        total = sum(len(group.splits) for group in candidates)
        if total:
            cut = cut.specialize(candidates, draw(st.integers(0, total - 1)))
    return cut


PEOPLE = st.fixed_dictionaries(
    {
        "job": st.sampled_from(["cook", "clerk", "driver", "surgeon", "vet"]),
        "region": st.sampled_from(["north", "south", "east", None]),
        "age": st.integers(1800, 9900).map(lambda hundredths: hundredths / 100),
        "income": st.none() | st.sampled_from([0, 1, 10.5, 50, 100]) | st.integers(0, 10_000).map(lambda i: i / 100),
    }
)


@pytest.mark.slow
@given(cut=cuts(), people=st.lists(PEOPLE, min_size=1, max_size=15))
@examples(40)
def test_labels_are_what_looking_up_every_value_gives(cut: Cut, people: list[dict[str, Any]]) -> None:
    generalization = generalization_of(cut)
    found = generalize(generalization, pd.DataFrame(people).astype({"income": float})).to_pydict()
    assert found == {
        name: [label_of(person[name], generalization.values[name]) for person in people]
        for name in AGREEMENT.attributes
    }


def test_more_rows_than_one_batch_keep_their_order() -> None:
    generator = np.random.default_rng(11)
    table = random_table(AGREEMENT, 70_000, generator)
    found = generalize(CUT, table).to_pydict()
    for name in AGREEMENT.attributes:
        label = {value: label_of(value, CUT.values[name]) for value in set(table[name])}
        assert found[name] == [label[value] for value in table[name]]


# --- The data behind a release ---------------------------------------------------------------------------------------


def leaves_of(release: Release) -> list[dict[str, Any]]:
    """The rows of the table that records are made of, which is measured last."""
    rows: list[dict[str, Any]] = release.table(release.tables[-1]).to_pylist()
    return rows


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_training_data_generalized_and_grouped_are_the_counts_of_a_release_without_noise(partition: str) -> None:
    generator = np.random.default_rng(7)
    agreement = agreement_from_mapping(repartition(small_mapping(), partition))
    table = random_table(agreement, 500, generator)
    release = simulate_with(agreement, fragment_frames(agreement, table, generator), no_noise(agreement.party_names))
    columns = [*agreement.attributes, "default"]
    grouped = Counter(tuple(row[name] for name in columns) for row in generalize(release, table).to_pylist())
    published = {
        tuple(row[name] for name in columns): (count, row["noisy_count"])
        for row, count in zip(leaves_of(release), release.published.model.counts, strict=True)
    }
    assert set(grouped) <= set(published)
    assert published == {cell: (grouped[cell], grouped[cell]) for cell in published}
    assert sum(grouped.values()) == 500
    assert len(published) > 2  # the release did split something


SECRET_TEXT, SECRET_NUMBER = "secretdiagnosis", 987654.125

AGREED_RULES = {
    "attributes.job.unlisted": "driver",
    "attributes.job.missing": "vet",
    "attributes.age.missing": 40,
    "attributes.income.missing_spellings": ["-9"],
}


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("rules", [{}, AGREED_RULES], ids=["first values", "agreed values"])
def test_values_that_are_not_as_agreed_get_the_label_under_which_a_run_counts_them(
    partition: str, rules: dict[str, Any]
) -> None:
    """What every cell becomes is not said here: the run, which knows the agreement, is compared with `generalize`,
    which has the release alone."""
    generator = np.random.default_rng(8)
    mapping_of = mapping_by_default if rules else small_mapping
    agreement = agreement_from_mapping(repartition(mapping_of(**rules), partition))
    table = random_table(agreement, 400, generator).astype({"age": object, "income": object})
    for column, odd in {
        "job": [SECRET_TEXT, "other", None, "?"],
        "region": [SECRET_TEXT, None, "NA"],
        "age": [SECRET_NUMBER, -5, None],
        "income": [-9, "-9", SECRET_NUMBER, SECRET_TEXT, None],
        "default": [SECRET_TEXT, None],
    }.items():
        for value in odd:
            table.loc[generator.integers(0, 400, 25), column] = value
    table = table.astype(dict.fromkeys(table, "string"))
    frames = (
        {"p0": table[:150], "p1": table[150:]}
        if partition == "horizontal"
        else {party: table[["id", *agreement.columns_of(party)]] for party in agreement.party_names}
    )
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    generalized, columns = generalize(release, table).to_pylist(), [*agreement.attributes, "default"]
    assert len(generalized) == 400
    grouped = Counter(tuple(row[name] for name in columns) for row in generalized if row["default"] is not None)
    published = {tuple(row[name] for name in columns): row["noisy_count"] for row in leaves_of(release)}
    assert set(grouped) <= set(published)
    assert published == {cell: grouped[cell] for cell in published}
    described = str(measurements_json(release.published))
    assert ("missing_as" in described and "'unlisted': 'driver'" in described) == (rules == AGREED_RULES)


def test_what_was_changed_is_told_by_column_rule_and_number_of_rows() -> None:
    rows = {**ROWS, "job": [SECRET_TEXT, None, "vet", "cook"], "default": ["no", SECRET_TEXT, None, "yes"]}
    told = generalize_and_tell(CUT, pd.DataFrame({**rows, "age": [18, 20, SECRET_NUMBER, -1]}))
    assert told.table["job"].to_pylist() == ["Worker", "Worker", "vet", "Worker"]
    assert told.table["default"].to_pylist() == ["no", None, None, "yes"]
    assert told.table["age"].to_pylist() == ["[18, 38)", "[18, 38)", "[38, 99]", "[18, 38)"]
    assert [(change.column, change.rule, change.rows) for change in told.changes] == [
        ("age", "clamped", 2),
        ("default", "null class", 1),
        ("default", "null class", 1),
        ("job", "missing", 1),
        ("job", "unlisted", 1),
    ]
    assert str(told.changes[0]).endswith("bounds [18, 99]: 2 rows (50.0 %), taken as the nearer bound.")
    assert str(told.changes[1]).endswith("1 row (25.0 %), without a class here, as a run counts them nowhere.")
    assert SECRET_TEXT not in str([*map(str, told.changes), told.changes])
    assert generalize_and_tell(CUT, pd.DataFrame(ROWS)).changes == ()


@pytest.mark.parametrize("key", ["unlisted", "missing_as"])
def test_a_cut_that_sends_values_where_there_is_none_is_refused(key: str) -> None:
    content = measurements_json(PUBLISHED)
    content["columns"]["job"][key] = "nowhere"
    with pytest.raises(ValueError, match="'job' go where there is none"):
        read_back(content)


@pytest.mark.parametrize("number", ["17", "nan", "x"])
def test_a_cut_that_takes_missing_numbers_for_one_out_of_bounds_is_refused(number: str) -> None:
    content = measurements_json(PUBLISHED)
    content["columns"]["age"]["missing_as"] = number
    with pytest.raises((ValueError, ArithmeticError)):
        read_back(content)


# --- What does not fit -----------------------------------------------------------------------------------------------


def refusal(source: Any) -> CopublishError:
    with pytest.raises(CopublishError) as caught:
        generalize(CUT, source, strict=True)
    shown = str(caught.value) + repr(caught.value) + "".join(traceback.format_exception(caught.value))
    assert SECRET_TEXT not in shown
    assert "987654" not in shown
    return caught.value


@pytest.mark.parametrize("source", ["pandas", "csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "values", "rule"),
    [
        ("job", ["cook", SECRET_TEXT, "vet", "vet"], "not in the agreed list"),
        ("job", ["cook", None, "vet", "vet"], "missing values"),
        ("region", [SECRET_TEXT, None, "?", "east"], "not in the agreed list"),
        ("age", [18, 20, 30, SECRET_NUMBER], "outside the agreed bounds"),
        ("age", ["18", "20", SECRET_TEXT, "30"], "not finite numbers"),
        ("age", [18, None, 20, 30], "missing values"),
        ("default", ["no", "no", SECRET_TEXT, "yes"], "not in the agreed list"),
    ],
)
def test_bad_values_are_refused_with_the_column_and_the_rule_alone(
    tmp_path: Path, source: str, column: str, values: list[Any], rule: str
) -> None:
    error = refusal(SOURCES[source]({**ROWS, column: values}, tmp_path))
    assert isinstance(error, FragmentError)
    (problem,) = error.problems
    assert problem.startswith(f"Column '{column}' has ")
    assert rule in problem


def test_all_problems_are_reported_at_once() -> None:
    error = refusal(pd.DataFrame({**ROWS, "job": [SECRET_TEXT] * 4, "age": [SECRET_NUMBER] * 4}))
    assert isinstance(error, FragmentError)
    assert [problem.split("'")[1] for problem in error.problems] == ["age", "job"]


def test_missing_columns_are_all_named() -> None:
    error = refusal(pd.DataFrame({"job": [SECRET_TEXT], "region": [SECRET_TEXT]}))
    assert isinstance(error, FragmentError)
    assert error.problems == (
        "Column 'age' is in the release but not in the data.",
        "Column 'income' is in the release but not in the data.",
    )


def test_message_does_not_speak_of_a_party_since_there_is_none() -> None:
    assert "party" not in str(refusal(pd.DataFrame({**ROWS, "job": [SECRET_TEXT] * 4})))


def test_unreadable_files_are_refused_without_quoting_them(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text(SECRET_TEXT)
    for source in (tmp_path / "rows.parquet", tmp_path / "nowhere.csv", [SECRET_TEXT]):
        assert isinstance(refusal(source), SourceError)
