"""Estimates from noisy numbers: against the people's own correlations and medians, and over simulated noise.

Noise is simulated 2,000 times with fixed seeds. Means and deviations are compared within 6 standard errors: with
another seed a comparison would fail by chance less often than once in 10^8 times, and there are about ten.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from copublish.mechanisms.published import Cells
from copublish.release.questions.build import (
    Moments,
    correlation,
    correlations,
    covariance,
    estimate_count,
    estimate_of,
    estimate_share,
    median_by_moments,
    summary_of_category,
    summary_of_records,
)
from copublish.release.questions.estimate import Estimate
from copublish.release.questions.noisy import Interval, NoisyNumber, normal_quantile
from copublish.release.questions.reading import MeasuredReading
from support.published import category, gaussian, numbers, published, reading, summed

SIMULATED, FAR = 2_000, 6.0
GENERATOR = np.random.default_rng(14)
X = GENERATOR.integers(-4, 5, 400).astype(float)
Y = 0.5 * X + GENERATOR.normal(0, 2, 400)
SUMS = np.array([400.0, X @ Y, X @ X, Y @ Y, X.sum(), Y.sum()])
NAMES = ("whole", "product", "first_square", "second_square", "first", "second")


def moments(values: np.ndarray, deviation: float) -> Moments:
    """Six sums with independent noise of one deviation."""
    loads = deviation * np.eye(6)
    return Moments(
        **{name: NoisyNumber(float(v), own, np.zeros(6)) for name, v, own in zip(NAMES, values, loads, strict=True)}
    )


def noisy(deviation: float, generator: np.random.Generator) -> list[Moments]:
    return [moments(SUMS + generator.normal(0, deviation, 6), deviation) for _ in range(SIMULATED)]


def test_without_noise_covariance_and_correlation_are_those_of_the_people() -> None:
    exact = moments(SUMS, 0.0)
    by_loop = sum((x - X.mean()) * (y - Y.mean()) for x, y in zip(X, Y, strict=True)) / 400
    assert covariance(exact.product, exact.first, exact.second, exact.whole).value == pytest.approx(by_loop)
    said = correlation(exact, 0.95, "Pearson's")
    assert said.value == pytest.approx(np.corrcoef(X, Y)[0, 1])
    assert (said.low, said.high) == pytest.approx((said.value, said.value), abs=1e-6) and said.how == "Pearson's"


def test_a_variance_is_free_of_the_bias_that_noise_gives_to_squares_of_means() -> None:
    """The square of a noisy mean is too large by its variance, here 40^2 / 400^2 = 0.01, six errors and more."""
    generator = np.random.default_rng(1)
    found, plain = [], []
    for _ in range(SIMULATED):
        first = NoisyNumber(X.sum() + generator.normal(0, 40), np.array([40.0]), np.zeros(1))
        square, whole = (
            NoisyNumber(float(X @ X), np.zeros(1), np.zeros(1)),
            NoisyNumber(400.0, np.zeros(1), np.zeros(1)),
        )
        found.append(covariance(square, first, first, whole).value)
        plain.append(float(X @ X) / 400 - (first.value / 400) ** 2)
    error = np.std(found) / math.sqrt(SIMULATED)
    assert abs(np.mean(found) - X.var()) <= FAR * error
    assert abs(np.mean(plain) - X.var()) > FAR * error  # so the comparison can fail


def test_the_noise_of_a_covariance_is_its_slope_in_each_sum() -> None:
    """Against differences of the covariance as a formula, far from means of 0."""
    sums, deviations = np.array([900.0, 700.0, 500.0, 400.0]), np.diag([1.0, 2.0, 3.0, 4.0])

    def by_formula(product: float, first: float, second: float, whole: float) -> float:
        return product / whole - first / whole * second / whole

    stated = covariance(
        *(NoisyNumber(float(value), own, np.zeros(4)) for value, own in zip(sums, deviations, strict=True))
    )
    slopes = [(by_formula(*(sums + 1e-3 * own)) - by_formula(*(sums - 1e-3 * own))) / 2e-3 for own in deviations]
    assert stated.loads == pytest.approx(slopes, rel=1e-5)
    assert stated.value == pytest.approx(by_formula(*sums))  # independent sums give no bias


def test_the_deviation_of_a_covariance_is_that_of_simulated_noise() -> None:
    found = [covariance(m.product, m.first, m.second, m.whole) for m in noisy(20.0, np.random.default_rng(2))]
    values, stated = np.array([number.value for number in found]), moments(SUMS, 20.0)
    deviation = covariance(stated.product, stated.first, stated.second, stated.whole).deviation
    assert values.std() == pytest.approx(deviation, rel=FAR / math.sqrt(2 * SIMULATED) + 0.01)
    assert values.std() != pytest.approx(1.3 * deviation, rel=FAR / math.sqrt(2 * SIMULATED) + 0.01)


def test_intervals_of_a_correlation_hold_the_people_s_own_as_often_as_they_promise() -> None:
    truth = float(np.corrcoef(X, Y)[0, 1])
    for confidence in (0.8, 0.95):
        said = [correlation(own, confidence, "") for own in noisy(30.0, np.random.default_rng(3))]
        assert all(one.tells for one in said)
        held = np.mean([one.low <= truth <= one.high for one in said])
        error = math.sqrt(confidence * (1 - confidence) / SIMULATED)
        assert confidence - FAR * error <= held <= confidence + FAR * error + 0.01


def test_a_spread_that_noise_could_be_has_no_correlation() -> None:
    assert not correlation(moments(SUMS, 600.0), 0.95, "").tells
    assert not correlation(None, 0.95, "").tells
    assert not correlation(moments(-SUMS, 1.0), 0.95, "").tells  # fewer than no people
    assert (correlation(None, 0.95, "").low, correlation(None, 0.95, "").high) == (-1.0, 1.0)


# --- Medians ----------------------------------------------------------------------------------------------------------


def number(value: float, deviation: float = 0.0) -> NoisyNumber:
    return NoisyNumber(value, np.array([deviation]), np.zeros(1))


def mean_of(values: np.ndarray) -> Estimate:
    mean = float(values.mean())
    return estimate_of(Interval(mean, 0.0, mean, mean), least=0.0, most=100.0, confidence=0.95, how="", unit="own")


def median(values: np.ndarray, guess: float) -> Estimate:
    return median_by_moments(
        guess,
        mean_of(values),
        square=number(float(values @ values)),
        first=number(float(values.sum())),
        whole=number(float(len(values))),
        bounds=(0.0, 100.0),
        confidence=0.95,
        how="",
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_median_is_within_a_deviation_of_the_mean_whatever_the_numbers_are(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = 100 * generator.beta(*generator.uniform(0.05, 3, 2), size=int(generator.integers(1, 60)))
    said = median(values, guess=float(generator.uniform(-50, 150)))
    assert said.low - 1e-6 <= np.median(values) <= said.high + 1e-6
    assert said.high - said.low <= 2 * values.std() + 1e-6  # and no wider than that


def test_a_median_is_the_records_own_where_that_is_possible() -> None:
    values = np.array([50.0, 51, 52, 60])
    assert median(values, guess=52).value == 52
    assert median(values, guess=99).value == pytest.approx(values.mean() + values.std())
    nobody = estimate_of(Interval(0, 0, -math.inf, math.inf), least=0, most=100, confidence=0.95, how="", unit="own")
    empty = median_by_moments(
        3, nobody, square=number(0), first=number(0), whole=number(0), bounds=(0, 100), confidence=0.95, how=""
    )
    assert (empty.value, empty.low, empty.high) == (None, 0, 100)


# --- Estimates --------------------------------------------------------------------------------------------------------


def test_what_is_possible_bounds_every_interval() -> None:
    said = estimate_of(Interval(1.2, 0.1, 0.9, 1.4), least=0.0, most=1.0, confidence=0.95, how="", unit="share")
    assert (said.value, said.low, said.high) == (1.0, 0.9, 1.0)
    with_cells = estimate_of(
        Interval(5.0, 0.1, 4.8, 5.2), least=0.0, most=9.0, confidence=0.95, how="", unit="own", ends=(2.0, 11.0)
    )
    assert (with_cells.low, with_cells.high, with_cells.within) == (2.0, 9.0, pytest.approx(0.2))


@pytest.mark.parametrize(
    "found",
    [
        Interval(0.5, 0.3, 0.1, 0.9),  # four fifths of what is possible
        Interval(0.5, 0.1, -math.inf, math.inf),
        Interval(0.5, 0.1, 0.4, 0.6, is_sure=False),
    ],
)
def test_an_interval_that_tells_next_to_nothing_has_no_value(found: Interval) -> None:
    said = estimate_of(found, least=0.0, most=1.0, confidence=0.95, how="", unit="share")
    assert said.value is None and said.within is None and 0 <= said.low <= said.high <= 1


def test_a_count_can_be_negative_and_its_interval_cannot() -> None:
    said = estimate_count(number(-3.0, 2.0), 0.95, "")
    far = normal_quantile(0.95) * 2
    assert (said.value, said.low, said.high) == (-3.0, 0.0, pytest.approx(far - 3))
    assert estimate_count(number(7.0, 2.0), 0.95, "", stated_within=5.0).high == 12.0


def test_a_share_with_common_noise_is_surer_than_one_with_its_own() -> None:
    part, whole = (
        NoisyNumber(50.0, np.array([4.0, 0]), np.zeros(2)),
        NoisyNumber(100.0, np.array([4.0, 3]), np.zeros(2)),
    )
    apart = NoisyNumber(100.0, np.array([0, 5.0]), np.zeros(2))
    common, own = estimate_share(part, whole, 0.95, ""), estimate_share(part, apart, 0.95, "")
    assert common.value == own.value == 0.5 and common.high - common.low < own.high - own.low


# --- Summaries --------------------------------------------------------------------------------------------------------

AGE, PAY, SEX, JOB = (
    numbers("age", 0, 10, 20, 50),
    numbers("pay", 0, 1, 5),
    category("sex", "f", "m"),
    category("job", "a", "b", "c"),
)
DOMAINS = {domain.name: domain for domain in (AGE, PAY, SEX, JOB)}
PEOPLE = [
    {"age": int(code), "pay": int(code > 1), "sex": int(sex), "job": int(job)}
    for code, sex, job in zip(
        GENERATOR.integers(0, 3, 90), GENERATOR.integers(0, 2, 90), GENERATOR.integers(0, 3, 90), strict=True
    )
]


def told() -> MeasuredReading:
    pairs = [("age", "pay"), ("age", "sex"), ("sex", "job")]
    tables = [summed([Cells(column=a), Cells(column=b)], DOMAINS, PEOPLE, noise=gaussian(0.1)) for a, b in pairs]
    return reading(published(list(DOMAINS.values()), tables))


def test_correlations_are_those_that_were_measured_strongest_first() -> None:
    """`pay` and `sex` were never counted together, and `job` has no order."""
    found = correlations(told(), ["age", "pay", "sex", "job"])
    assert [{pair.one, pair.other} for pair in found] == [{"age", "pay"}, {"age", "sex"}]
    middles = np.array([4.5, 14.5, 35.0])[[person["age"] for person in PEOPLE]]
    for pair in found:
        other = np.array([person[pair.other] for person in PEOPLE], dtype=float)
        assert pair.estimate.value == pytest.approx(np.corrcoef(middles, other)[0, 1], abs=0.001)


def test_a_category_s_summary_has_the_share_of_each_value() -> None:
    said = summary_of_category(told(), JOB, 0.95)
    counts = [sum(person["job"] == code for person in PEOPLE) for code in range(3)]
    assert [cell.label for cell in said.cells] == ["a", "b", "c"] and not said.is_number
    assert [cell.people.value for cell in said.cells] == pytest.approx(counts)
    assert [cell.share.value for cell in said.cells] == pytest.approx([count / 90 for count in counts])
    assert said.largest is not None and said.largest.label == "abc"[int(np.argmax(counts))]


def test_a_number_s_summary_has_the_spread_of_published_records() -> None:
    values = [3.0, 4, 4, 29, None, 41]
    said = summary_of_records(told(), AGE, pa.table({"age": pa.array(values)}), 0.95, note="as published")
    width, present = 50 / 24, [value for value in values if value is not None]
    places = [min(int(value // width), 23) for value in present]
    assert said.drawn == pytest.approx([places.count(part) / len(present) for part in range(24)])
    assert said.note == "as published" and said.cells == ()
    assert said.axis == pytest.approx([width * part for part in range(25)])
    assert said.mean is not None and said.mean.tells
