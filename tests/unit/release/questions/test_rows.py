"""Answers from perturbed rows: unbiased by exact sums over all that could be published, with the noise of simulations.

Simulations have 400 tables and fixed seeds. Means and covariances are compared within 6 standard errors: with another
seed a comparison would fail by chance less often than once in 10^8 times, and there are about 20.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import copublish as cp
from copublish.agreement.domain import Domain
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.published import Cells, Measured
from copublish.release.questions.noisy import NoisyNumber
from copublish.release.questions.rows import INVERTED, RowReading, _together
from support.published import category, gaussian, numbers, published, reading, summed

JOB, SEX = category("job", "cook", "clerk", "vet", "smith"), category("sex", "f", "m")
AGE, PAY = numbers("age", 3, 8, 15), numbers("pay", 0, 5, 9, missing=True)
DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (JOB, SEX, AGE, PAY)}
NOISE = {
    "job": Noise(law=Law.RESPONSE, kept=0.55),
    "sex": Noise(law=Law.RESPONSE, kept=0.7),
    "age": Noise(law=Law.LAPLACE_ON_VALUES, scale_in_own_unit=2.5),
    "pay": Noise(law=Law.LAPLACE_ON_VALUES, scale_in_own_unit=1.5, missing_or_not_kept=0.8),
}
Value = str | int | None


@cache
def laws_of_category(column: str, value: Value) -> dict[Value, float]:
    """How often each value is published in the place of one."""
    values, kept = DOMAINS[column].values, NOISE[column].kept  # type: ignore[union-attr]
    return {other: kept if other == value else (1 - kept) / (len(values) - 1) for other in values}


@cache
def laws_of_number(column: str, value: Value) -> dict[Value, float]:
    """The same for a number: noise of whole steps, clipped; a missing one has noise around the middle."""
    domain, noise = DOMAINS[column], NOISE[column]
    low, high = int(domain.lower), int(domain.upper)  # type: ignore[union-attr]
    p, found = math.exp(-1 / noise.scale_in_own_unit), dict[Value, float]()
    start = low + (high - low) // 2 if value is None else int(value)
    for step in range(-400, 401):
        told = min(max(start + step, low), high)
        found[told] = found.get(told, 0.0) + (1 - p) / (1 + p) * p ** abs(step)
    if noise.missing_or_not_kept is None:
        return found
    k = noise.missing_or_not_kept
    there = k if value is not None else 1 - k
    return {told: chance * there for told, chance in found.items()} | {None: 1 - there}


LAWS: dict[str, Callable[[str, Value], dict[Value, float]]] = {
    "job": laws_of_category,
    "sex": laws_of_category,
    "age": laws_of_number,
    "pay": laws_of_number,
}


def rows(**columns: list[Value]) -> RowReading:
    """Questions to published rows; a column that is not named has its first value."""
    n = len(next(iter(columns.values())))
    first: dict[str, Value] = {"job": "cook", "sex": "f", "age": 3, "pay": 0}
    whole = {name: columns.get(name, [value] * n) for name, value in first.items()}
    types = {"job": pa.string(), "sex": pa.string(), "age": pa.int64(), "pay": pa.int64()}
    return RowReading(DOMAINS, NOISE, pa.table({name: pa.array(own, types[name]) for name, own in whole.items()}))


def expected(column: str, value: Value, unbiased: Callable[[RowReading], np.ndarray]) -> float:
    """The mean of a number that follows from a record, over all that could be published of it."""
    law = LAWS[column](column, value)
    assert sum(law.values()) == pytest.approx(1)
    return float(np.array(list(law.values())) @ unbiased(rows(**{column: list(law)})))


# --- Unbiased ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["job", "sex"])
def test_whether_a_record_has_a_value_is_unbiased(column: str) -> None:
    values = DOMAINS[column].values  # type: ignore[union-attr]
    for true, asked in product(values, values):
        found = expected(column, true, lambda reading_, asked=asked: reading_._has(column, asked).of_value)
        assert found == pytest.approx(float(true == asked), abs=1e-12)
    several = expected("job", "vet", lambda reading_: reading_._has("job", ["vet", "cook"]).of_value)
    assert several == pytest.approx(1.0)


@pytest.mark.parametrize("value", [3, 4, 9, 14, 15])
def test_a_number_and_its_square_are_unbiased_though_clipped(value: int) -> None:
    assert expected("age", value, lambda r: r._number("age", "mean")[1].of_value) == pytest.approx(value - 3)
    assert expected("age", value, lambda r: r._number("age", "mean")[1].of_square) == pytest.approx((value - 3) ** 2)
    assert expected("age", value, lambda r: r._number("age", "mean")[2].of_value) == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0, 1, 5, 9, None])
def test_a_number_that_may_be_missing_is_unbiased_and_counts_nothing_where_it_is(value: int | None) -> None:
    assert expected("pay", value, lambda r: r._number("pay", "mean")[1].of_value) == pytest.approx(value or 0)
    assert expected("pay", value, lambda r: r._number("pay", "mean")[2].of_value) == pytest.approx(
        float(value is not None)
    )


def test_published_values_themselves_are_not_unbiased() -> None:
    """The exact sums above notice that: a clipped number, taken as it is, is too large at the lower bound."""
    law = laws_of_number("age", 3)
    assert sum(chance * (told - 3) for told, chance in law.items()) > 0.5  # type: ignore[operator]


# --- Noise ------------------------------------------------------------------------------------------------------------

SIMULATED, PEOPLE, FAR = 400, 150, 6.0


def true_people(generator: np.random.Generator) -> dict[str, list[Value]]:
    return {
        "job": generator.choice(["cook", "clerk", "vet", "smith"], PEOPLE, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
        "sex": generator.choice(["f", "m"], PEOPLE, p=[0.3, 0.7]).tolist(),
        "age": generator.integers(3, 16, PEOPLE).tolist(),
        "pay": [
            None if missing else int(v)
            for v, missing in zip(generator.integers(0, 10, PEOPLE), generator.random(PEOPLE) < 0.2, strict=True)
        ],
    }


def perturbed(people: Mapping[str, list[Value]], generator: np.random.Generator) -> RowReading:
    """What is published of some people: every value drawn from its law."""
    made: dict[str, list[Value]] = {}
    for column, values in people.items():
        drawn: list[Value] = [None] * len(values)
        for value in dict.fromkeys(values):
            law = LAWS[column](column, value)
            places = [place for place, own in enumerate(values) if own == value]
            chances = np.array(list(law.values()))
            told = generator.choice(len(law), len(places), p=chances / chances.sum()).tolist()
            for place, number in zip(places, told, strict=True):
                drawn[place] = list(law)[number]
        made[column] = drawn
    return rows(**made)


@pytest.fixture(scope="module")
def simulated() -> tuple[dict[str, list[Value]], list[RowReading]]:
    generator = np.random.default_rng(12)
    people = true_people(generator)
    return people, [perturbed(people, generator) for _ in range(SIMULATED)]


Pair = tuple[NoisyNumber, NoisyNumber]


def share_of_women_among_cooks(reading_: RowReading) -> Pair:
    return reading_._pair(reading_._has("sex", "f"), reading_._condition({"job": "cook"}))


def ages_of_men(reading_: RowReading) -> Pair:
    _, age, _ = reading_._number("age", "mean")
    return reading_._pair(age, reading_._condition({"sex": "m"}))


def naive(people: Mapping[str, list[Value]], ask: Callable[[RowReading], Pair]) -> tuple[float, float]:
    """The same two sums over the people themselves."""
    part = whole = 0.0
    for job, sex, age in zip(people["job"], people["sex"], people["age"], strict=True):
        if ask is share_of_women_among_cooks and job == "cook":
            part, whole = part + (sex == "f"), whole + 1
        if ask is ages_of_men and sex == "m":
            part, whole = part + float(age) - 3, whole + 1  # type: ignore[arg-type]
    return part, whole


@pytest.mark.parametrize("ask", [share_of_women_among_cooks, ages_of_men])
def test_sums_over_simulated_rows_have_the_people_s_values_and_the_stated_covariances(simulated, ask) -> None:
    people, readings = simulated
    pairs = [ask(reading_) for reading_ in readings]
    values = np.array([[number.value for number in pair] for pair in pairs])
    stated = np.mean([[[one.loads @ two.loads for two in pair] for one in pair] for pair in pairs], axis=0)
    variances = np.diag(stated)
    assert (np.abs(values.mean(axis=0) - naive(people, ask)) <= FAR * np.sqrt(variances / SIMULATED)).all()
    spread = np.sqrt((np.outer(variances, variances) + stated**2) / SIMULATED)
    bound = 1.15 if ask is ages_of_men else 1.0  # of clipped numbers the stated variance is a bound, and near
    measured = np.cov(values.T)
    assert (measured <= stated + FAR * spread).all() and (measured >= stated / bound**2 - FAR * spread).all()
    assert not (1.69 * measured <= stated + FAR * spread).all()  # noise that is off by 30 % is noticed


def test_a_mean_with_missing_numbers_is_the_people_s_and_is_not_surer_than_it_is(simulated) -> None:
    people, readings = simulated
    there = [int(value) for value in people["pay"] if value is not None]  # type: ignore[arg-type]
    said = [reading_.mean("pay", {}, 0.95) for reading_ in readings]
    told = np.array([one.value for one in said if one.value is not None])
    assert len(told) == SIMULATED
    assert abs(told.mean() - np.mean(there)) <= FAR * told.std() / math.sqrt(SIMULATED) + 0.02  # a ratio has a bias
    held = np.mean([one.low <= np.mean(there) <= one.high for one in said])
    assert held >= 0.95 - FAR * math.sqrt(0.05 * 0.95 / SIMULATED)


def test_together_has_the_covariances_of_a_loop() -> None:
    generator = np.random.default_rng(3)
    columns = [generator.normal(size=50), generator.normal(size=50) + 1, np.ones(50)]
    found = _together(columns)
    for i, j in product(range(3), repeat=2):
        means = columns[i].mean(), columns[j].mean()
        loop = sum((a - means[0]) * (b - means[1]) for a, b in zip(columns[i], columns[j], strict=True))
        assert float(found[i].loads @ found[j].loads) == pytest.approx(loop, abs=1e-9)
    assert [number.value for number in found] == pytest.approx([column.sum() for column in columns])


# --- Questions without noise ------------------------------------------------------------------------------------------


def exact_rows() -> tuple[RowReading, dict[str, list[Value]]]:
    """Rows that were published as they are: values are kept for sure, and numbers have next to no noise."""
    kept = {
        "job": Noise(law=Law.RESPONSE, kept=1.0),
        "sex": Noise(law=Law.RESPONSE, kept=1.0),
        "age": Noise(law=Law.LAPLACE_ON_VALUES, scale_in_own_unit=0.01),
        "pay": Noise(law=Law.LAPLACE_ON_VALUES, scale_in_own_unit=0.01, missing_or_not_kept=1.0),
    }
    people = true_people(np.random.default_rng(1))
    return RowReading(DOMAINS, kept, rows(**people)._records), people


def test_without_noise_every_answer_is_the_people_s() -> None:
    exact, people = exact_rows()
    cooks = [sex for sex, job in zip(people["sex"], people["job"], strict=True) if job == "cook"]
    assert exact.count({"job": "cook"}, 0.95).value == pytest.approx(len(cooks))
    assert exact.count({}, 0.95).value == pytest.approx(PEOPLE)
    assert exact.share("sex", "f", {"job": "cook"}, 0.95).value == pytest.approx(cooks.count("f") / len(cooks))
    there = [int(pay) for pay in people["pay"] if pay is not None]  # type: ignore[arg-type]
    assert exact.mean("pay", {}, 0.95).value == pytest.approx(np.mean(there))
    men = [age for age, sex in zip(people["age"], people["sex"], strict=True) if sex == "m"]
    assert exact.mean("age", {"sex": "m"}, 0.95).value == pytest.approx(np.mean(men))
    said = exact.median("age", {}, 0.95)
    assert said.low <= np.median(people["age"]) <= said.high < 15
    is_m = [float(sex == "m") for sex in people["sex"]]
    # What people differ by counts as noise, of which the product of means is freed: 1 / n of the whole.
    assert exact.correlation("age", "sex", 0.95).value == pytest.approx(
        np.corrcoef(people["age"], is_m)[0, 1], abs=0.02
    )


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda r: r.count({"age": "[3, 8)"}, 0.95), "Noise on every number hides how many people"),
        (lambda r: r.share("job", "baker", {}, 0.95), "no published value 'baker'"),
        (lambda r: r.mean("job", {}, 0.95), "holds categories, which have no mean"),
        (lambda r: r.median("age", {"sex": "m"}, 0.95), "cannot be told apart from noise"),
        (lambda r: r.correlation("age", "job", 0.95), "has 4 categories, which have no order"),
        (lambda r: r.correlation("age", "pay", 0.95), "Numbers of 'pay' may be missing"),
        (lambda r: r.summary("wealth"), "no column 'wealth'"),
    ],
)
def test_what_rows_do_not_tell_is_refused_with_the_reason(ask, why: str) -> None:
    with pytest.raises(cp.ReleaseError, match=why):
        ask(exact_rows()[0])


# --- Tables that divided the budget -----------------------------------------------------------------------------------

EPSILON = 1.2
"""The most that a column could have got."""


def least_variance(n: int, asked: Mapping[str, list[str]]) -> float:
    """The least that noise on rows could vary a count by, over all people and all epsilons up to the most."""
    found = []
    for epsilon in np.linspace(0.05, EPSILON, 24):
        factor = 1.0
        for column, values in asked.items():
            size = DOMAINS[column].size
            other = 1 / (math.exp(epsilon) + size - 1)
            kept = math.exp(epsilon) * other
            person = []
            for true in DOMAINS[column].values:  # type: ignore[union-attr]
                says = sum(kept if true == value else other for value in values)
                person.append(says * (1 - says) / (kept - other) ** 2)
            factor *= min(person)
        found.append(n * factor)
    return min(found)


def with_table(deviation: float, people: Mapping[str, list[Value]], *, add: int = 0) -> RowReading:
    """Rows with a table of two columns that steered their noise."""
    coded = [
        {"job": JOB.values.index(str(job)), "sex": SEX.values.index(str(sex))}
        for job, sex in zip(people["job"], people["sex"], strict=True)
    ]
    axes = [Cells(column="job"), Cells(column="sex")]
    table: Measured = summed(axes, {"job": JOB, "sex": SEX}, coded, noise=gaussian(deviation), steered=True)
    table = replace(table, values=table.values + add)
    told = reading(published([JOB, SEX], [table]), public_total=PEOPLE)
    plain = perturbed(people, np.random.default_rng(9))
    return RowReading(DOMAINS, NOISE, plain._records, told, EPSILON)


@pytest.mark.parametrize("asked", [{"job": ["vet"], "sex": ["f"]}, {"job": ["cook", "vet"], "sex": ["m"]}])
@pytest.mark.parametrize("part", [0.98, 1.02])
def test_tables_answer_where_by_law_rows_could_not_be_as_exact(asked: dict[str, list[str]], part: float) -> None:
    """Just below the least variance and just above it, whatever values the table has."""
    people = true_people(np.random.default_rng(2))
    # A count of r cells of 8 with a public total varies by r - r^2 / 8 times a cell's noise.
    cells = math.prod(len(values) for values in asked.values())
    deviation = math.sqrt(part * least_variance(PEOPLE, asked) / (cells - cells**2 / 8))
    for add in (0, 40, -40):
        reading_ = with_table(deviation, people, add=add)
        by_table = reading_.count(asked, 0.95).how != INVERTED
        assert by_table == (part < 1)
        said = reading_.share("job", asked["job"], {"sex": asked["sex"]}, 0.95)
        assert (said.how != INVERTED) == by_table


def test_numbers_and_everybody_are_answered_by_rows_though_there_are_exact_tables() -> None:
    reading_ = with_table(0.001, true_people(np.random.default_rng(2)))
    assert reading_.count({}, 0.95).how == INVERTED
    assert reading_.mean("age", {"sex": "m"}, 0.95).how == INVERTED
    assert reading_.count({"sex": "m"}, 0.95).how != INVERTED


@pytest.mark.parametrize("deviation", [0.001, 1000.0])
def test_whether_tables_tell_of_a_column_is_by_what_its_shares_are_answered(deviation: float) -> None:
    reading_ = with_table(deviation, true_people(np.random.default_rng(2)))
    for column, domain in (("job", JOB), ("sex", SEX)):
        by_table = {reading_.share(column, value, {}, 0.95).how != INVERTED for value in domain.values}
        assert by_table == {reading_.is_told_by_tables(column)} == {deviation < 1}
    assert not reading_.is_told_by_tables("age")
