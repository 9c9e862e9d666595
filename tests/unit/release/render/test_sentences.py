"""A release in sentences: whom records stand for, and how exact counts, sums and rows are."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import cache

import pyarrow as pa
import pytest

import copublish as cp
from copublish.mechanisms.published import Cells, Measured, Position, Published, Scores
from copublish.release.render.sentences import (
    errors_in_words,
    means_that_differ,
    noise_of_sums,
    noise_of_tables,
    number_to_print,
    who_rows_are,
)
from copublish.release.render.terminal import contents_shown
from support.any_release import any_release, cases_of
from support.published import category, gaussian, laplace, numbers, published, summed

DOMAINS = {
    domain.name: domain
    for domain in (category("job", "cook", "vet"), numbers("age", 0, 10, 20), category("sex", "f", "m"))
}


def table(*columns: str, deviation: float, steered: bool = False) -> Measured:
    axes = [Cells(column=column) for column in columns]
    return replace(summed(axes, DOMAINS, [], noise=gaussian(deviation)), steered=steered)


def release(*measured: Measured) -> Published:
    return published(list(DOMAINS.values()), measured)


def test_one_table_is_told_with_its_error_and_how_errors_add_up() -> None:
    said = noise_of_tables(release(table("job", "sex", deviation=2.0)))
    assert said.startswith(
        "A count of the measured table (job by sex; 4 cells) is off by at most 3.92 people in 95 of 100 cases."
    )
    assert "A sum of r counts of it is off by about 2 times the square root of r" in said
    assert said.endswith("Cells in which nobody is have such counts, too.")


def test_of_several_tables_the_largest_and_the_smallest_are_told() -> None:
    said = noise_of_tables(release(table("age", deviation=1.0), table("job", "sex", "age", deviation=4.0)))
    assert "the largest table (job by sex by age; 8 cells) is off by at most 7.84 people" in said
    assert "the smallest table (age; 2 cells) is off by at most 1.96 people." in said
    assert "r counts of the largest table is off by about 4 times" in said


def test_the_deviation_is_that_of_the_discrete_law() -> None:
    """In closed form: discrete Laplace noise of scale 0.5 varies by 2p / (1 - p)^2 with p = e^-2."""
    p = math.exp(-2)
    said = noise_of_tables(release(summed([Cells(column="job")], DOMAINS, [], noise=laplace(0.5))))
    assert f"is off by about {math.sqrt(2 * p) / (1 - p):.3g} times" in said


def test_a_weighted_table_is_told_in_people() -> None:
    weighted = summed([Cells(column="job")], DOMAINS, [], noise=gaussian(2.0), times=4)
    said = noise_of_tables(release(weighted))
    assert "at most 0.98 people" in said and "about 0.5 times" in said
    one = replace(weighted, times=1, noise=replace(weighted.noise, within_95_percent=1))
    assert "at most 1 person in 95" in noise_of_tables(release(one))


def test_what_steered_and_what_is_no_table_is_not_told_as_one() -> None:
    assert noise_of_tables(release()) == ""
    assert noise_of_tables(release(table("job", deviation=1.0, steered=True))) == ""
    both = release(table("job", deviation=9.0, steered=True), table("sex", deviation=1.0))
    assert "the measured table (sex; 2 cells)" in noise_of_tables(both)


def test_sums_are_told_by_the_noise_of_the_worst_of_them_in_extreme_people() -> None:
    """Scores reach 3, and places of four parts 2: a product of both 6."""
    scores, place = Scores(column="job", scores=(-3, 1)), Position(column="age", parts=4)
    sums = [
        summed([scores], DOMAINS, [], noise=gaussian(3.0)),
        summed([scores, place], DOMAINS, [], noise=gaussian(12.0)),
        summed([], DOMAINS, [], noise=gaussian(500.0)),  # the number of people is no sum of scores
    ]
    said = noise_of_sums(release(*sums, table("job", "sex", deviation=70.0)))
    assert "has 2 sums of scores" in said
    worst = max(1.96 * 3 / 3, 1.96 * 12 / 6)
    assert f"at most as much as {worst:.5g} people" in said
    assert noise_of_sums(release(table("job", deviation=1.0))) == ""


@cache
def made(mechanism: str) -> cp.Release:
    return any_release(cases_of(mechanism)[0])


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula", "hpdp", "vhdp", "idp-ir"])
def test_every_release_says_whom_its_records_stand_for_and_what_they_keep(mechanism: str) -> None:
    is_people = mechanism in ("vhdp", "idp-ir")
    assert who_rows_are(made(mechanism)) == (
        "Every record in it stands for one real person." if is_people else "No record in it is a real person."
    )
    paragraphs = list(errors_in_words(made(mechanism)))
    words = made(mechanism).mechanism.words
    assert paragraphs[0] == f"{words.kept} {words.lost}"
    text = "\n".join(paragraphs)
    assert ("A count of" in text) == (mechanism in ("specialization", "marginals", "copula", "hpdp"))
    assert ("The noise of every value, by column:" in text) == (mechanism == "vhdp")
    if mechanism == "vhdp":
        for column in made(mechanism).published.columns.domains:
            assert f"- {column}: " in text
    for note in made(mechanism).published.model.notes:
        assert f"- {note}" in text


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula", "hpdp", "vhdp", "idp-ir"])
def test_every_release_with_two_numbers_says_which_one_to_print(mechanism: str) -> None:
    said = number_to_print(made(mechanism))
    assert (said == "") == (mechanism in ("specialization", "idp-ir"))  # one number, or none with an interval
    assert said in list(errors_in_words(made(mechanism)))
    assert ("the model says" in said) == (mechanism == "marginals")  # the others measured all pairs, or have rows
    if said:
        assert said.replace("`", "") in [str(part) for part in contents_shown(made(mechanism), 2)]


def test_means_of_records_that_noise_does_not_explain_are_named_with_both_numbers() -> None:
    release = copy(made("copula"))
    numeric = [summary for summary in release.reading.summaries() if summary.mean is not None]
    assert numeric
    name, mean = numeric[0].name, numeric[0].mean
    place = release.records.column_names.index(name)
    for value, is_named in ((mean.value, False), (mean.value + 1.5 * mean.within, True)):
        values = pa.array([value] * release.records.num_rows, pa.float64())
        release.__dict__["records"] = release.records.set_column(place, name, values)
        said = means_that_differ(release)
        assert (f"{name} {mean.with_range}, and {value:,.5g} in the records" in said) == is_named
