"""The grammar of questions: what is read, what is refused with the line repeated, and that no text breaks it."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copublish.errors import is_unsafe
from copublish.tools.drafting.question_words import KnownColumn, read_question

KNOWN = {
    "age": KnownColumn(kind="numerical"),
    "cost": KnownColumn(kind="numerical"),
    "balance": KnownColumn(kind="numerical"),
    "income": KnownColumn(),
    "stage": KnownColumn(("I", "II", "III", "IV"), "categorical"),
    "smoker": KnownColumn(("yes", "no"), "categorical"),
    "region": KnownColumn((), "categorical"),
    "sex": KnownColumn((), "categorical"),
    "number": KnownColumn(kind="numerical"),
    "number of visits": KnownColumn(kind="numerical"),
    "last_seen": KnownColumn(kind="numerical"),
}


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("mean cost by stage", ("cost", "stage")),
        ("share of smoker by region", ("smoker", "region")),
        ("correlation of age and income", ("age", "income")),
        ("Correlation between AGE and income?", ("age", "income")),
        ("balance by age", ("balance", "age")),
        ("age, sex, region", ("age", "sex", "region")),
        ("2. How does the cost depend on age and sex?", ("cost", "age", "sex")),
        ("- age x sex", ("age", "sex")),
        ("share of smoker = yes by region", ("smoker", "region")),
        ("mean cost of patients in stage IV by sex", ("cost", "stage", "sex")),
        ("number of visits by age", ("number of visits", "age")),
        ("number of smoker by region", ("smoker", "region")),
        ("number by region", ("number", "region")),
        ("mean last seen by region", ("last_seen", "region")),
        ('"number" by `sex`', ("number", "sex")),
        ("region = 3 by sex", ("region", "sex")),
        ("age by age", ("age",)),
    ],
)
def test_columns_are_found_in_plain_words(line, columns):
    assert read_question(line, KNOWN).columns == columns
    assert read_question(line, KNOWN).cuts == ()


UNDER, OVER, BOTH = ("at",), ("behind",), ("at", "behind")


@pytest.mark.parametrize(
    ("words", "numbers", "sides"),
    [
        *((words, ["30"], UNDER) for words in ("under 30", "below 30", "less than 30", "younger than 30", "< 30")),
        *((words, ["30"], UNDER) for words in ("at least 30", "30 years or more", "30+", ">= 30", "since 30")),
        *((words, ["30"], OVER) for words in ("over 30", "above 30", "more than 30", "older than 30", "> 30")),
        *((words, ["30"], OVER) for words in ("at most 30", "up to 30", "30 or less", "30 and younger", "\u2264 30")),
        *((words, ["30", "40"], BOTH) for words in ("between 30 and 40", "from 30 to 40", "30-40", "30 \u2013 40")),
        ("exactly 30", ["30", "30"], BOTH),
        ("under -2.5", ["-2.5"], UNDER),
        ("over \u20ac 10000", ["10000"], OVER),
    ],
)
def test_a_cut_has_its_number_on_one_side(words, numbers, sides):
    (cut,) = read_question(f"age {words} by sex", KNOWN).cuts
    assert [point.number for point in cut] == [Decimal(number) for number in numbers]
    assert tuple(point.side for point in cut) == sides
    assert {point.column for point in cut} == {"age"}


def test_several_cuts_belong_to_the_column_before_them():
    question = read_question("age under 18, 18 to 65 or over 65 and cost over 10000 by stage", KNOWN)
    assert question.columns == ("age", "cost", "stage")
    assert [[(point.column, int(point.number)) for point in cut] for cut in question.cuts] == [
        [("age", 18)],
        [("age", 18), ("age", 65)],
        [("age", 65)],
        [("cost", 10000)],
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mean cost by stge", "Did you mean 'stage'?"),
        ("mean cost by diagnosis", "'diagnosis' is neither a column nor a word that questions have. Columns: age,"),
        ('mean cost by "diagnosis"', "there is no column 'diagnosis'"),
        ("age, sex, region, cost, balance", "it names 5 columns, and a table has at most 4"),
        ("region under 3", "'region' has categories"),
        ("under 30 by region", "the column first, like 'age under 30'"),
        ("cost over 10,000 by stage", "it is not clear what '10,000' is"),
        ("cost over 10.000", "it is not clear what '10.000' is"),
        ("cost over 10k", "'k' is neither"),
        ("age between 40 and 30", "the first number has to be the smaller one"),
        ("smoker = maybe", "'smoker' has no value 'maybe'. Its values: yes, no"),
        ("what is the mean?", "it names no column"),
        ("men under 30", "'men' is neither"),
        ("x" * 600, "at most 500 signs"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_line_and_a_way_out(line, words):
    with pytest.raises(ValueError) as refused:
        read_question(line, KNOWN)
    assert words in str(refused.value)
    assert str(refused.value).startswith(f"'{line[:40]}")


def test_columns_that_differ_in_case_alone_are_told_apart_or_asked_for():
    known = {"Age": KnownColumn(), "age": KnownColumn(), "Sex": KnownColumn()}
    assert read_question("Age by sex", known).columns == ("Age", "Sex")
    with pytest.raises(ValueError, match="'AGE' may be 'Age' or 'age'"):
        read_question("AGE by sex", known)


WORDS = ["age", "cost", "stage", "IV", "by", "under", "between", "and", "30", "-5", "10,000", "1.5", "=", "'", '"']


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)), st.booleans())
@example("\u0130 under 3", True)
@example("age under \u0663", True)
@example("age under " + "9" * 400, True)
@example("age=", True)
@example("--", True)
def test_any_text_is_a_question_or_refused_in_words(text, has_odd_columns):
    known = KNOWN | {"\u0130": KnownColumn(), "": KnownColumn(), "-": KnownColumn()} if has_odd_columns else KNOWN
    try:
        question = read_question(text, known)
    except ValueError as refused:
        assert type(refused) is ValueError and str(refused).startswith("'")
        assert not any(map(is_unsafe, str(refused))), "a terminal shows it as it is"
    else:
        assert 1 <= len(question.columns) <= 4
        assert set(question.columns) <= set(known)
        assert all(point.number.is_finite() for cut in question.cuts for point in cut)


def test_every_question_of_the_reference_can_be_read():
    page = (Path(__file__).parents[4] / "docs" / "reference" / "drafts.md").read_text()
    table = page[page.index("| a question | what it needs |") :].partition("\n\n")[0]
    shown = [cell for line in table.splitlines()[2:] for cell in re.findall("`([^`]+)`", line.split("|")[1])]
    whole = [text for text in shown if any(name in text for name in KNOWN)]
    cuts = [text for text in shown if text not in whole]
    assert len(whole) >= 9 and len(cuts) >= 9
    for text in whole:
        assert read_question(text, KNOWN).columns
    for text in cuts:
        number = "" if any(sign.isdigit() for sign in text) else " 7"
        assert read_question(f"age {text}{number} by sex", KNOWN).cuts
