"""What the demo asks: the truth of people is counted by plain loops here."""

from __future__ import annotations

from statistics import fmean, median

import pytest

from copublish.tools.drafting.demo import made_up_data
from copublish.tools.drafting.demo_questions import QUESTIONS, Question, joined_people


def rows(n_records: int) -> list[dict]:
    """The people whom both owners know."""
    bank, loans = (table.to_dict("records") for table in made_up_data(n_records))
    loan_of = {row["customer_id"]: row for row in loans}
    return [{**loan_of[row["customer_id"]], **row} for row in bank if row["customer_id"] in loan_of]


def test_both_owners_know_as_many_people_as_were_asked_for_and_some_alone():
    bank, loans = made_up_data(300)
    assert len(rows(300)) == len(joined_people(300)) == 300
    assert len(bank) > 300 and len(loans) > 300


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.words)
def test_the_truth_is_that_of_the_people_whom_both_know(question: Question):
    people = [row for row in rows(300) if all(row[column] == value for column, value in question.among.items())]
    values = [row[question.column] for row in people]
    if question.kind == "share":
        expected = sum(value == question.value for value in values) / len(values)
    else:
        expected = (fmean if question.kind == "mean" else median)(values)
    assert question.truth(joined_people(300)) == pytest.approx(expected, rel=1e-12)


def test_some_questions_need_both_owners():
    bank, loans = made_up_data(100)
    across = [
        question for question in QUESTIONS if question.column not in bank and set(question.among) - set(loans.columns)
    ]
    assert {question.kind for question in across} == {"mean"} and len(across) == 3
    assert {question.kind for question in QUESTIONS} == {"mean", "median", "share"}


def test_a_question_reads_as_a_sentence():
    assert QUESTIONS[-1].words == "mean of amount, job manager"
    assert Question("share", "job", "retired").words == "share of job retired"
