"""Sums of products of functions of columns: against loops over people, and by which route they are answered.

Answers are linear in what was opened. So their noise follows exactly from how far each opened value moves them, which
these tests find by moving each. One test simulates noise 1,500 times with a fixed seed and compares within 6 standard
errors: with another seed it would fail by chance less often than once in 10^8 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.domain import Domain
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.published import Axis, Cells, Measured, Position, Published, Scores
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.questions.sums import Answers, Ask, Sums
from support.published import SILENT, Person, category, gaussian, laplace, moved, numbers, published, reading, summed

JOB, SEX = category("job", "cook", "clerk", "vet"), category("sex", "f", "m")
AGE, PAY = numbers("age", 0, 10, 20, 50, missing=True), numbers("pay", 0, 1, 5, 20)
DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (JOB, SEX, AGE, PAY)}
GENERATOR = np.random.default_rng(6)
PEOPLE: list[Person] = [
    {name: int(GENERATOR.integers(domain.size)) for name, domain in DOMAINS.items()} for _ in range(70)
]


def cells(*columns: str, noise: Noise = SILENT, **more: object) -> Measured:
    return summed([Cells(column=column) for column in columns], DOMAINS, PEOPLE, noise=noise, **more)


def sums(*axes: Axis, noise: Noise = SILENT, **more: object) -> Measured:
    return summed(axes, DOMAINS, PEOPLE, noise=noise, **more)


def release(*measured: Measured) -> Published:
    return published(list(DOMAINS.values()), measured)


def by_people(ask: Ask) -> float:
    """A sum over people, one after the other."""
    total = 0.0
    for person in PEOPLE:
        product = 1.0
        for column, function in ask.items():
            product *= float(function[person[column]])
        total += product
    return total


def any_function(column: str, generator: np.random.Generator) -> np.ndarray:
    return generator.normal(size=DOMAINS[column].size)


# --- Values ----------------------------------------------------------------------------------------------------------

X, Y = Scores(column="age", scores=(-1, 0, 1, 0)), Position(column="pay", parts=4)


@pytest.mark.parametrize(
    "measured",
    [
        [cells("job", "age", "sex")],
        [cells("job", "age"), cells("age", "sex", "job", times=3), cells("job")],
        [cells("age", "job"), sums(X, Cells(column="job"))],
        [cells("age", "job", noise=gaussian(2.0)), cells("job", "sex", "age", noise=laplace(9.0))],
    ],
    ids=["one table", "three tables", "a table and a sum", "tables of different noise"],
)
def test_by_tables_every_function_of_counted_columns_has_the_value_of_a_loop(measured: list[Measured]) -> None:
    generator, found = np.random.default_rng(1), Sums(release(*measured), None)
    for columns in (["job"], ["age"], ["job", "age"], ["age", "job"]):
        asks = [{name: any_function(name, generator) for name in columns} for _ in range(3)]
        answers = found.of(*asks)
        assert answers is not None and answers.by_counts
        assert [number.value for number in answers.numbers] == pytest.approx([by_people(ask) for ask in asks])


def test_by_expansion_what_an_axis_spans_has_the_value_of_a_loop() -> None:
    """Terms of a product: both axes, either one, and the number of people."""
    measured = [sums(X, Y), sums(X, points=2), sums(Y, times=5), sums()]
    found, generator = Sums(release(*measured), None), np.random.default_rng(2)
    x, y = np.array(X.scores), Y.entries(PAY)[0]
    for _ in range(10):
        a, b, c, d = generator.normal(size=4)
        ask = {"age": a + b * x, "pay": c + d * y}
        answers = found.of(ask, {"age": a + b * x}, {"pay": c + d * y}, {})
        assert answers is not None and not answers.by_counts and answers.table is None
        expected = [by_people(own) for own in (ask, {"age": a + b * x}, {"pay": c + d * y}, {})]
        assert [number.value for number in answers.numbers] == pytest.approx(expected)


def test_what_no_axis_spans_and_no_table_counts_has_no_answer() -> None:
    found = Sums(release(sums(X, Y), sums(X), sums(Y), sums(), cells("job")), None)
    x = np.array(X.scores)
    assert found.of({"age": x**2}) is None  # the square of the scores was not measured
    assert found.of({"age": x, "job": np.ones(3)}) is None  # never together
    assert found.of({"sex": np.ones(2)}) is None
    assert found.of({"age": x}) is not None
    assert Sums(release(sums(X)), None).of({"age": x + 1}) is None  # nothing tells the number of people
    assert Sums(release(sums(X)), 70).of({"age": x + 1}) is not None


def test_a_function_needs_no_constant_where_the_axis_has_it() -> None:
    """Cells span everything by themselves, so the number of people has no part in it."""
    found = Sums(release(cells("job", noise=gaussian(1.0)), sums(X, noise=gaussian(9.0))), None)
    loads = by_moving([cells("job", noise=gaussian(1.0)), sums(X, noise=gaussian(9.0))], {"job": np.array([1.0, 2, 2])})
    assert found.of({"job": np.array([1.0, 2, 2])}) is not None
    assert loads == pytest.approx(np.array([1.0, 2, 2, 0]))


# --- Noise -----------------------------------------------------------------------------------------------------------


def deviations(measured: Sequence[Measured]) -> np.ndarray:
    """The standard deviation of every opened value, as opened."""
    return np.concatenate(
        [
            np.full(own.values.size, deviation_of(own.noise, points_per_person=own.points) * own.points)
            for own in measured
        ]
    )


def answered(measured: Sequence[Measured], asks: Sequence[Ask], total: int | None) -> Answers:
    answers = Sums(release(*measured), total).of(*asks)
    assert answers is not None
    return answers


def by_moving(measured: Sequence[Measured], *asks: Ask, total: int | None = None) -> np.ndarray:
    """How far one deviation of each opened value moves each answer, shape (n_asks, n_values), squeezed."""
    before = [number.value for number in answered(measured, asks, total).numbers]
    found, sizes, step = [], [own.values.size for own in measured], 1000
    for which, size in enumerate(sizes):
        for place in range(size):
            noises = [np.zeros(other, dtype=np.int64) for other in sizes]
            noises[which][place] = step
            after = answered(moved(release(*measured), noises).measured, asks, total).numbers
            found.append([(number.value - own) / step for number, own in zip(after, before, strict=True)])
    return np.squeeze(np.array(found).T * deviations(measured))


MIXES: dict[str, list[Measured]] = {
    "tables": [cells("job", "age", noise=gaussian(2.0)), cells("age", "sex", noise=laplace(3.0)), cells("sex")],
    "weighted": [cells("job", "age", noise=gaussian(2.0), times=4), cells("age", noise=laplace(1.0), points=3)],
    "sums": [
        sums(X, Y, noise=gaussian(3.0), points=8),
        sums(X, noise=gaussian(1.0)),
        sums(Y, noise=laplace(2.0), times=2),
        sums(noise=laplace(1.0)),
        cells("age", noise=laplace(5.0)),
        cells("job", noise=laplace(0.5)),
    ],
}
QUESTIONS: dict[str, list[Ask]] = {
    "tables": [{"age": np.array([1.0, 2, 3, 0])}, {"age": np.ones(4)}, {"age": np.array([0.0, 1, 0, 0])}],
    "weighted": [{"age": np.array([1.0, 2, 3, 0])}, {"age": np.ones(4)}],
    "sums": [{"age": np.array(X.scores) + 2.0}, {}, {"age": np.array([0.0, 1.0, 2.0, 1.0])}],
}


@pytest.mark.parametrize("total", [None, 70], ids=["unknown", "public"])
@pytest.mark.parametrize("mix", MIXES)
def test_the_stated_noise_is_how_far_opened_values_move_answers(mix: str, total: int | None) -> None:
    """Variances and covariances of all numbers of an answer."""
    answers = answered(MIXES[mix], QUESTIONS[mix], total)
    loads = by_moving(MIXES[mix], *QUESTIONS[mix], total=total)
    stated = np.array([[float(one.loads @ two.loads) for two in answers.numbers] for one in answers.numbers])
    assert stated == pytest.approx(loads @ loads.T, rel=1e-6, abs=1e-9)
    assert answers.variance == pytest.approx(float((loads**2).sum()), rel=1e-6)


def test_answers_vary_with_noise_as_they_state() -> None:
    """Over 1,500 simulated noises: means and covariances within 6 standard errors, and 30 % more noise is noticed."""
    mix, asks = MIXES["tables"], QUESTIONS["tables"]
    generator, found = np.random.default_rng(8), []
    for _ in range(1_500):
        scales = [deviation_of(own.noise) for own in mix]
        noises = [
            np.rint(generator.normal(0, scale * 100, own.values.size)).astype(np.int64)
            for scale, own in zip(scales, mix, strict=True)
        ]
        # A hundred times the values and the noise, so that rounding adds nothing.
        large = [replace(own, values=own.values * 100) for own in mix]
        answers = answered(moved(release(*large), noises).measured, asks, None)
        found.append([number.value / 100 for number in answers.numbers])
    stated = answered(mix, asks, None).numbers
    covariances = np.array([[float(one.loads @ two.loads) for two in stated] for one in stated])
    variances = np.diag(covariances)
    means, spread = np.array(found).mean(axis=0), np.sqrt((np.outer(variances, variances) + covariances**2) / 1_500)
    truth = [by_people(ask) for ask in asks]
    assert (np.abs(means - truth) <= 6 * np.sqrt(variances / 1_500)).all()
    off = np.abs(np.cov(np.array(found).T) - covariances)
    assert (off <= 6 * spread).all()
    assert not (np.abs(1.69 * np.cov(np.array(found).T) - covariances) <= 6 * spread).all()


def test_sums_that_take_their_own_routes_have_common_sources() -> None:
    """`each` answers one ask by one measurement and another by others; sources of noise are still the same ones."""
    measured = MIXES["sums"]
    x, y = np.array(X.scores, dtype=float), Y.entries(PAY)[0].astype(float)
    asks: list[Ask] = [{}, {"age": x, "pay": y}, {"age": x * x}, {"age": x}]

    def values(own: Sequence[Measured]) -> np.ndarray:
        numbers_ = Sums(release(*own), None).each(*asks)
        assert numbers_ is not None
        return np.array([number.value for number in numbers_])

    moves, sizes = [], [own.values.size for own in measured]
    for which, size in enumerate(sizes):
        for place in range(size):
            noises = [np.zeros(other, dtype=np.int64) for other in sizes]
            noises[which][place] = 1000
            moves.append((values(moved(release(*measured), noises).measured) - values(measured)) / 1000)
    loads = np.array(moves).T * deviations(measured)
    numbers_ = Sums(release(*measured), None).each(*asks)
    assert numbers_ is not None
    stated = np.array([[float(one.loads @ two.loads) for two in numbers_] for one in numbers_])
    assert stated == pytest.approx(loads @ loads.T, rel=1e-6, abs=1e-9)
    assert [number.value for number in numbers_] == pytest.approx([by_people(ask) for ask in asks])
    assert Sums(release(*measured[1:]), None).each(*asks) is None  # the products were not measured


# --- Routes ----------------------------------------------------------------------------------------------------------


def route(measured: Sequence[Measured], *asks: Ask) -> bool:
    """Whether a question was answered by counted cells."""
    return answered(measured, asks, None).by_counts


@pytest.mark.parametrize("of_table", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("of_sum", [0.1, 1.0, 10.0])
def test_the_route_with_less_noise_is_taken_whatever_the_values_are(of_table: float, of_sum: float) -> None:
    """Against both variances in closed form: of a table the squares of all weights, of a sum its own."""
    x = np.array(X.scores, dtype=float)
    variance_of_table = of_table**2 * float(x @ x) * 3  # each count of an age is a sum over three jobs
    expected = variance_of_table <= of_sum**2
    generator = np.random.default_rng(10)
    table, sum_ = cells("age", "job", noise=gaussian(of_table)), sums(X, noise=gaussian(of_sum))
    for _ in range(20):
        values = [generator.integers(-(10**6), 10**6, own.values.size) for own in (table, sum_)]
        measured = [replace(own, values=value) for own, value in zip((table, sum_), values, strict=True)]
        assert route(measured, {"age": x}) == expected
    answers = answered([table, sum_], [{"age": x}], None)
    assert answers.variance == pytest.approx(min(variance_of_table, of_sum**2))


def test_of_two_axes_of_a_column_the_one_with_less_noise_is_taken() -> None:
    """Places and scores both span the same function."""
    scores = Scores(column="pay", scores=(-2, 0, 2))
    for position, score in ((1.0, 5.0), (5.0, 1.0)):
        measured = [
            sums(Position(column="pay", parts=4), noise=gaussian(position)),
            sums(scores, noise=gaussian(score)),
        ]
        assert answered(measured, [{"pay": np.array([-2.0, 0, 2])}], None).variance == pytest.approx(1.0)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("total", [None, 70])
def test_a_part_and_its_whole_have_one_route_and_common_sources(mix: str, total: int | None) -> None:
    """Parts that make up the whole add up to it, in value and in every source of noise."""
    parts = [{"age": row} for row in np.eye(4)]
    answers = answered(MIXES[mix], [*parts, {"age": np.ones(4)}], total)
    *found, whole = answers.numbers
    assert sum(number.value for number in found) == pytest.approx(whole.value)
    assert sum(number.loads for number in found) == pytest.approx(whole.loads, abs=1e-9)


def test_a_share_of_everybody_is_one_without_an_error() -> None:
    for mix in MIXES.values():
        labels = Sums(release(*mix), None).columns["age"].labels
        said = reading(release(*mix)).share("age", list(labels), {}, 0.95)
        assert (said.value, said.low, said.high) == pytest.approx((1.0, 1.0, 1.0))


def test_a_public_number_of_people_is_the_whole_without_noise() -> None:
    for mix in MIXES.values():
        (number,) = answered(mix, [{"age": np.ones(4)}], 70).numbers
        assert (number.value, number.variance) == pytest.approx((70.0, 0.0), abs=1e-6)


# --- What steered others ---------------------------------------------------------------------------------------------

PLAIN = [cells("age", "sex", noise=gaussian(5.0)), sums(noise=gaussian(5.0))]
STEERED = [
    cells("age", noise=gaussian(0.1), steered=True),
    cells("sex", noise=gaussian(0.1), steered=True),
    sums(Scores(column="age", scores=(0, 1, 2, 0)), noise=gaussian(0.1), steered=True),
    sums(noise=gaussian(0.1), steered=True),
]


def with_other_values(measured: Sequence[Measured]) -> list[Measured]:
    return [replace(own, values=own.values + 500) for own in measured]


@pytest.mark.parametrize("total", [None, 70])
def test_where_another_measurement_has_the_columns_what_steered_is_not_read(total: int | None) -> None:
    """However exact it is: neither its values nor its noise have a part in answers."""
    asks: list[list[Ask]] = [
        [{"age": np.array([0.0, 1, 2, 0])}],
        [{"age": np.ones(4)}],
        [{"sex": np.array([1.0, 0])}, {"sex": np.ones(2)}],
        [{}],
    ]
    for ask in asks:
        alone = answered(PLAIN, ask, total)
        for steered in (STEERED, with_other_values(STEERED)):
            both = answered([*steered, *PLAIN], ask, total)
            assert [number.value for number in both.numbers] == [number.value for number in alone.numbers]
            assert both.variance == alone.variance
    unsteered = [replace(own, steered=False) for own in STEERED]  # otherwise they would have been read
    assert answered([*unsteered, *PLAIN], asks[0], total).variance < answered(PLAIN, asks[0], total).variance


def test_where_nothing_else_has_the_columns_what_steered_is_read_alone() -> None:
    """Neither the number of people by others nor a later table that steered brings its counts nearer to anything."""
    table = cells("job", "sex", noise=gaussian(2.0), steered=True, step="first")
    second = cells("job", "age", noise=gaussian(0.5), steered=True, step="second")
    others = [cells("age", "sex", noise=gaussian(0.1)), sums(noise=gaussian(0.1))]
    for ask in ({"job": np.array([1.0, 0, 0])}, {"job": np.array([1.0, 0, 0]), "sex": np.ones(2)}):
        alone = answered([table], [ask], None)
        for more in ([], [second], with_other_values([second]), others, [*others, *STEERED]):
            both = answered([table, *more], [ask], None)
            assert [number.value for number in both.numbers] == [number.value for number in alone.numbers]
            assert both.variance == alone.variance
    assert answered([table], [{"job": np.array([1.0, 0, 0])}], None).variance == pytest.approx(2 * 2.0**2)


def test_what_one_step_opened_is_read_together() -> None:
    """None of them steered another. The best weights are those of inverse variances: 2 x 4 and 4 x 4 in squares."""
    found = (
        cells("job", "sex", noise=gaussian(2.0), steered=True),
        cells("job", "age", noise=gaussian(2.0), steered=True),
    )
    assert answered(found, [{"job": np.array([1.0, 0, 0])}], None).variance == pytest.approx(1 / (1 / 8 + 1 / 16))


def test_no_expansion_has_a_term_that_steered() -> None:
    x = np.array(X.scores)
    assert Sums(release(sums(X, steered=True), sums()), None).of({"age": x}) is None
    assert Sums(release(sums(steered=True)), None).of({}) is None
    assert Sums(release(sums(X), sums()), None).of({"age": x}) is not None


def test_a_generalized_column_is_asked_by_its_published_values() -> None:
    """Sums by other axes of the column are no longer spanned; cells with missing ones tell no mean."""
    runs = ((0, 1), (1, 3), (3, 4))
    table = summed([Cells(column="age", runs=runs), Cells(column="sex")], DOMAINS, PEOPLE)
    found = Sums(release(table), None)
    assert found.columns["age"].labels == ("[0, 10)", "[10, 50]", "(missing)")
    answers = found.of({"age": np.array([0.0, 1, 0])})
    assert answers is not None
    assert answers.numbers[0].value == sum(1 for person in PEOPLE if person["age"] in (1, 2))
    with pytest.raises(cp.ReleaseError, match=r"no published value '\[10, 20\)'"):
        reading(release(table)).share("age", "[10, 20)", {}, 0.95)
