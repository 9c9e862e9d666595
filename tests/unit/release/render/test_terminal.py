"""What a terminal shows of a release: bars, the columns, their values, the largest cells, tables and correlations."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

import copublish as cp
from copublish.mechanisms.published import Cells, Scores
from copublish.release.questions.build import CorrelatedPair
from copublish.release.questions.estimate import nothing_to_say
from copublish.release.render.parts import (
    FOR_SURE,
    STEERED,
    TableRow,
    generalized_values,
    largest_cells,
    shown_class,
    table_rows,
)
from copublish.release.render.terminal import (
    BARS,
    SPARKLINE_WIDTH,
    cells_table,
    columns_table,
    contents_shown,
    correlations_table,
    measured_table,
    measured_words,
    sparkline,
    values_table,
)
from support.any_release import any_release, cases_of
from support.published import category, gaussian, numbers, published, reading, summed

DOMAINS = {
    domain.name: domain
    for domain in (category("job", "cook", "vet"), numbers("age", 0, 10, 20), category("sex", "f", "m"))
}
PEOPLE = [{"job": n % 2, "age": int(n % 3 == 0), "sex": int(n % 5 == 0)} for n in range(60)]


def cells_of(table: Table) -> list[list[str]]:
    """What a table holds, row by row."""
    return [list(map(str, row)) for row in zip(*(list(column.cells) for column in table.columns), strict=True)]


def printed(shown: object) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(shown)
    return out.getvalue()


# --- Bars -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, SPARKLINE_WIDTH, SPARKLINE_WIDTH + 1, 100])
def test_a_row_of_bars_has_a_bar_for_each_group_of_neighbors(length: int) -> None:
    counts = np.random.default_rng(length).integers(0, 1000, length).tolist()
    shown = sparkline(counts)
    group = -(-length // SPARKLINE_WIDTH)
    sums = [sum(counts[start : start + group]) for start in range(0, length, group)]
    assert len(shown) == len(sums) <= SPARKLINE_WIDTH
    for bar, value in zip(shown, sums, strict=True):
        eighths = value * 8 / max(sums)
        assert eighths <= BARS.index(bar) < eighths + 1
    assert shown[int(np.argmax(sums))] == "█"


def test_nobody_has_no_bar_and_one_person_has_one() -> None:
    assert sparkline([0, 0]) == "  " and sparkline([1, 10**6]) == "▁█"


# --- Tables -----------------------------------------------------------------------------------------------------------


def test_each_column_has_its_spread_and_numbers_their_mean() -> None:
    table = summed([Cells(column=name) for name in DOMAINS], DOMAINS, PEOPLE, noise=gaussian(1.0))
    summaries = reading(published(list(DOMAINS.values()), [table])).summaries()
    job, age, sex = cells_of(columns_table(summaries))
    assert job[0] == "job" and job[1] == "██" and job[2:4] == ["", ""] and job[4] in ("cook", "vet")
    assert job[5].startswith("50.0 % ± ")
    assert age[0] == "age" and age[2].startswith("8.0 (2.8 to 13.8") and age[4:] == ["", ""]
    assert sex[4] == "f" and sex[5].startswith("80.0 % ± ")


def test_a_column_that_was_published_as_one_value_says_so() -> None:
    axes = [Cells(column="job", runs=((0, 2),)), Cells(column="sex")]
    summaries = reading(published(list(DOMAINS.values()), [summed(axes, DOMAINS, PEOPLE)])).summaries
    with pytest.raises(cp.ReleaseError):  # nothing was measured of ages
        summaries()
    two = [DOMAINS["job"], DOMAINS["sex"]]
    job, _ = cells_of(columns_table(reading(published(two, [summed(axes, DOMAINS, PEOPLE)])).summaries()))
    assert job[4:] == ["published as one value", ""]


@cache
def release(mechanism: str) -> cp.Release:
    return any_release(cases_of(mechanism)[0])


def test_generalized_values_are_listed_with_people_shares_and_the_class_among_them() -> None:
    one = release("specialization")
    values, shown = generalized_values(one), shown_class(one)
    assert shown == ("default", one.published.columns.domains["default"].values[-1])  # type: ignore[union-attr]
    rows = cells_of(values_table(values, shown))
    labels = [row.label for rows_ in values.values() for row in rows_]
    assert [row[1] for row in rows] == labels
    assert [row[0] for row in rows if row[0]] == list(values)
    for row, value in zip(rows, [row for rows_ in values.values() for row in rows_], strict=True):
        assert row[2] == value.people.words and row[3] == value.of_all.words
        assert len(row[4]) == round(24 * (value.of_all.value or 0.0)) and set(row[4]) <= {"█"}
        assert value.in_class is not None and row[5] == value.in_class.words
    without = {name: [replace(row, in_class=None) for row in rows_] for name, rows_ in values.items()}
    assert cells_of(values_table(without, None)) == [row[:5] for row in rows]


def test_the_largest_cells_are_those_of_a_sorted_loop() -> None:
    one = release("specialization")
    found = largest_cells(one, 5)
    table = one.published.tables[-1]
    assert not table.steered and found.cells == table.values.size
    assert found.told_apart == sum(abs(value) > table.within_95_percent for value in table.values.tolist())
    rows = cells_of(cells_table(found))
    assert len(rows) == min(5, found.cells) and [row[-1] for row in rows] == [number.words for _, number in found.rows]
    labels = [axis.labels(one.published.columns.domains[axis.column]) for axis in table.cells or ()]
    counts = table.values.reshape([len(own) for own in labels])
    places = sorted(np.ndindex(counts.shape), key=lambda place: -counts[place])[:5]
    split = [at for at, own in enumerate(labels) if len(own) > 1]
    assert sorted(row[:-1] for row in rows) == sorted([labels[at][place[at]] for at in split] for place in places)


def rows_of(*when: str) -> list[TableRow]:
    return [
        TableRow(names="a", when=one, cells=2, within="1", file="f", is_chosen=one.startswith("round")) for one in when
    ]


def test_measured_tables_are_told_by_why_they_were_measured() -> None:
    assert measured_words(rows_of(FOR_SURE, FOR_SURE)) == "2 for sure"
    assert (
        measured_words(rows_of(STEERED, FOR_SURE, "round 1", "round 2"))
        == "1 to plan the rest and 1 for sure and 2 that rounds chose"
    )


def test_tables_that_rounds_chose_come_first_and_sums_are_none() -> None:
    domains = list(DOMAINS.values())
    tables = [
        summed([Cells(column="job")], DOMAINS, PEOPLE, noise=gaussian(2.0), steered=True),
        summed([Cells(column="job"), Cells(column="sex")], DOMAINS, PEOPLE, noise=gaussian(1.0)),
        summed([Scores(column="job", scores=(0, 1))], DOMAINS, PEOPLE),
        replace(summed([Cells(column="age")], DOMAINS, PEOPLE, noise=gaussian(3.0)), chosen=7),
    ]
    one = published(domains, tables)
    assert [row.file for row in table_rows(one)] == [
        "measured/001-job.csv",
        "measured/002-job-by-sex.csv",
        "measured/003-age.csv",
    ]
    rows = cells_of(measured_table(one, 2))
    assert rows == [
        ["round 7", "age", "2", "±5.88", "measured/003-age.csv"],
        ["to plan the rest", "job", "2", "±3.92", "measured/001-job.csv"],
    ]


def test_correlations_say_how_many_are_too_few_to_say() -> None:
    nothing = nothing_to_say(-1.0, 1.0, confidence=0.95, how="", unit="correlation")
    told = replace(nothing, value=0.5, within=0.04, standard_error=0.02, low=0.46, high=0.54)
    table = correlations_table([CorrelatedPair("a", "b", told), CorrelatedPair("a", "c", nothing)], 8)
    assert cells_of(table) == [["a", "b", "+0.50 ± 0.04"]]
    assert str(table.title) == "Strongest correlations; 1 pairs: too few to say"
    assert cells_of(correlations_table([CorrelatedPair("a", "b", told)] * 9, 3)) == [["a", "b", "+0.50 ± 0.04"]] * 3


# --- Whole releases ---------------------------------------------------------------------------------------------------

PARTS: dict[str, list[str]] = {
    "specialization": ["What the release says", "Published values", "The largest of", "Measured tables"],
    "marginals": ["What the release says", "Measured tables", "Strongest correlations"],
    "copula": ["What the release says", "Measured tables", "Strongest correlations"],
    "hpdp": ["What the release says", "Measured tables", "Strongest correlations"],
    "vhdp": ["What the release says"],
    "idp-ir": [],
}


@pytest.mark.parametrize("mechanism", PARTS)
def test_which_parts_are_shown_follows_from_what_was_published(mechanism: str) -> None:
    parts = [shown for shown in contents_shown(release(mechanism), 3) if isinstance(shown, Table)]
    titles = [str(table.title) for table in parts]
    assert len(titles) >= len(PARTS[mechanism])
    for expected in PARTS[mechanism]:
        assert sum(title.startswith(expected) for title in titles) == 1, expected
    allowed = (*PARTS[mechanism], "What the columns that tell most", "Strongest correlations")
    assert all(title.startswith(allowed) for title in titles)
    text = "".join(printed(shown) for shown in contents_shown(release(mechanism), 3))
    for note in release(mechanism).published.model.notes:
        assert note.split(".")[0] in " ".join(text.split())
    assert "nan" not in text.split()


def test_without_rows_only_the_columns_and_their_values_are_shown() -> None:
    titles = [str(shown.title) for shown in contents_shown(release("specialization"), 0) if isinstance(shown, Table)]
    assert [title.split(" ")[0] for title in titles] == ["What", "Published"]
