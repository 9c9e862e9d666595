"""A release in sentences: whom records stand for, and how exact counts, sums and rows are."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest

import copublish as cp
from copublish.mechanisms.published import Cells, Measured, Position, Published, Scores
from copublish.release.render.sentences import errors_in_words, noise_of_sums, noise_of_tables, who_rows_are
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
