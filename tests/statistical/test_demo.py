"""The demo's intervals beside the truth of its made-up people.

Sample size: 20 releases of the demo's 20,000 people with seeds, 14 questions each. An interval fails to hold the truth
in at most 5 of 100 releases, so a question fails more than 7 times in 20 releases with probability below 10^-5, and any
of the 14 below 2 * 10^-4. Seeds are fixed: the outcome is the same in every run.
"""

from __future__ import annotations

import tomllib
from functools import cache

import pytest
from scipy.stats import binom

import copublish as cp
from copublish.release.questions.estimate import Estimate
from copublish.tools.drafting.demo import example_agreement, made_up_data
from copublish.tools.drafting.demo_questions import QUESTIONS, joined_people
from support import seeded, simulate_with

pytestmark = pytest.mark.slow

RELEASES, PEOPLE, MOST_FAILURES = 20, 20_000, 7


def test_the_error_rate_is_as_stated():
    assert len(QUESTIONS) == 14 and len(QUESTIONS) * binom.sf(MOST_FAILURES, RELEASES, 0.05) < 2e-4


@cache
def answers() -> list[list[Estimate]]:
    """The answers of every release."""
    agreement = cp.agreement_from_mapping(tomllib.loads(example_agreement()))
    bank, loans = made_up_data(PEOPLE)
    found = []
    for seed in range(RELEASES):
        release = simulate_with(agreement, {"bank": bank, "loans": loans}, seeded(agreement.party_names, seed))
        answered = [question.answer(release) for question in QUESTIONS]
        found.append([answer for answer in answered if answer is not None])
        assert len(found[-1]) == len(QUESTIONS), seed
    return found


def failures(shrunk_to: float = 1.0) -> list[int]:
    """How many intervals of each question do not hold the truth, if intervals are made shorter."""
    people = joined_people(PEOPLE)
    found = [0] * len(QUESTIONS)
    for of_release in answers():
        for number, (question, answer) in enumerate(zip(QUESTIONS, of_release, strict=True)):
            middle, half = (answer.low + answer.high) / 2, shrunk_to * (answer.high - answer.low) / 2
            found[number] += abs(question.truth(people) - middle) > half
    return found


def test_intervals_hold_the_truth_as_often_as_the_demo_says():
    assert max(failures()) <= MOST_FAILURES, failures()


def test_intervals_that_are_too_short_are_noticed():
    assert max(failures(shrunk_to=0.2)) > MOST_FAILURES


def test_every_question_has_an_answer_that_is_worth_printing():
    assert all(answer.tells for of_release in answers() for answer in of_release)


def test_the_relation_across_owners_is_told_in_every_release():
    """Managers borrow more than clerks, and those more than students: jobs are the bank's, amounts the lender's."""
    assert [question.among["job"] for question in QUESTIONS[-3:]] == ["student", "clerk", "manager"]
    apart = []
    for *_, student, clerk, manager in answers():
        assert student.value < clerk.value and clerk.high < manager.low
        apart.append(student.high < clerk.low)  # 4,700 apart, and either interval reaches 1,800 to its side
    assert sum(apart) >= 15, sum(apart)


def test_the_relation_across_owners_is_measured_in_every_release_of_few_people():
    agreement = cp.agreement_from_mapping(tomllib.loads(example_agreement()))
    bank, loans = made_up_data(200)
    for seed in range(5):
        release = simulate_with(agreement, {"bank": bank, "loans": loans}, seeded(agreement.party_names, seed))
        assert all(question.answer(release) is not None for question in QUESTIONS)
