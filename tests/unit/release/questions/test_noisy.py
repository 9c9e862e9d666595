"""Noisy numbers, ratios and tables against closed forms, exact convolutions and brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from copublish.agreement.domain import NumericalDomain
from copublish.errors import ReleaseError
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.published import Cells, Measured
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.questions.build import estimate_of, estimate_share
from copublish.release.questions.cells import ColumnCells, NoisyTable, OtherTotal
from copublish.release.questions.estimate import TOO_FEW, Estimate
from copublish.release.questions.noisy import NoisyNumber, quantile, ratio
from copublish.release.questions.reading import MeasuredReading
from copublish.release.questions.replicates import Draws, interval_by_replicates
from support.published import gaussian, numbers, published, reading


def laplace_law(scale: float, copies: int, reach: int = 6000) -> np.ndarray:
    """The exact law of a sum of discrete Laplace variables, by convolution, on -reach .. reach."""
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    transformed = np.fft.rfft(np.fft.ifftshift(one / one.sum())) ** copies
    return np.fft.fftshift(np.fft.irfft(transformed, len(one)))


@pytest.mark.parametrize("copies", [1, 2, 5, 40])
def test_quantiles_of_sums_of_laplace_noise_are_near_the_exact_ones(copies):
    scale = 40.0
    law = laplace_law(scale, copies)
    inside = np.cumsum(law[6000:]) * 2 - law[6000]
    exact = int(np.searchsorted(inside, 0.95))
    deviation = deviation_of(Noise(law=Law.LAPLACE, scale_in_people=scale)) * math.sqrt(copies)
    assert deviation == pytest.approx(math.sqrt((law * np.arange(-6000, 6001) ** 2).sum()), rel=1e-6)
    assert quantile(0.95, 3 / copies) * deviation == pytest.approx(exact, rel=0.03)
    # The normal law alone is too short for one count, which 95 of 100 cases would show.
    assert copies > 1 or 1.96 * deviation < 0.94 * exact


def test_a_ratio_s_interval_is_every_ratio_that_noise_could_explain():
    excess = np.array([3.0, 0.0, 3.0])
    a = NoisyNumber(30.0, np.array([4.0, 1.0, 0.0]), excess)
    b = NoisyNumber(80.0, np.array([4.0, 0.0, 6.0]), excess)
    found = ratio(a, b, 0.95)
    ratios = np.linspace(-1, 2, 300_001)
    spread = np.sqrt(sum((x - ratios * y) ** 2 for x, y in zip(a.loads, b.loads, strict=True)))
    q = quantile(0.95, (a - b.times(30 / 80)).own_excess)
    possible = ratios[np.abs(a.value - ratios * b.value) <= q * spread]
    assert (found.low, found.high) == pytest.approx((possible.min(), possible.max()), abs=2e-5)


def test_where_the_denominator_could_be_noise_there_is_nothing_to_say():
    excess = np.zeros(2)
    part, whole = NoisyNumber(5.0, np.array([4.0, 0.0]), excess), NoisyNumber(12.0, np.array([4.0, 6.0]), excess)
    said = estimate_share(part, whole, 0.95, "")
    assert (said.value, said.low, said.high, said.words) == (None, 0.0, 1.0, TOO_FEW)
    surer = estimate_share(part, NoisyNumber(120.0, whole.loads, excess), 0.95, "")
    assert surer.tells and surer.low == 0 and "±" in surer.words
    # An interval that covers most of what is possible is no more than that.
    vague = estimate_of(ratio(part, NoisyNumber(20.0, np.zeros(2), excess), 0.95), least=0, most=1, **COMMON)
    assert not vague.tells


COMMON = {"confidence": 0.95, "how": "", "unit": "share"}


def number_cells(*edges: float) -> ColumnCells:
    low, high = np.array(edges[:-1], dtype=float), np.array(edges[1:], dtype=float)
    labels = tuple(f"[{a:g}, {b:g})" for a, b in zip(low, high, strict=True))
    return ColumnCells("x", labels, True, low, high, (low + high) / 2, np.ones(len(low)))


def test_another_total_makes_sums_more_exact_and_keeps_them_unbiased():
    """Against the closed form sd^2 (sum w^2 - u (sum w)^2), u = 1 / (cells + (total's / own deviation)^2)."""
    counts, weights = np.array([50.0, 20.0, 10.0, 0.0]), np.array([1.0, 2.0, 5.0, 9.0])
    plain = NoisyTable((number_cells(0, 1, 2, 3, 4),), counts, 3.0, 3.0)
    better = NoisyTable(plain.columns, counts, 3.0, 3.0, OtherTotal(92.0, 1.5))
    u = 1 / (4 + 0.25)
    assert plain.sum(weights).variance == pytest.approx(9 * (weights @ weights))
    assert better.sum(weights).variance == pytest.approx(9 * (weights @ weights - u * weights.sum() ** 2))
    assert better.sum(weights).value == pytest.approx(weights @ counts + u * weights.sum() * (92 - 80))
    exact = NoisyTable(plain.columns, counts, 3.0, 3.0, OtherTotal(92.0, 0.0)).sum(np.ones(4))
    assert (exact.value, exact.variance) == pytest.approx((92.0, 0.0))


def one_table(domain: NumericalDomain, counts: list[int], deviation: float = 0.0, runs: Any = None) -> MeasuredReading:
    """Questions to a table of one column."""
    axes = (Cells(column="x", runs=runs),)
    table = Measured(place=Place("table"), axes=axes, values=np.array(counts), noise=gaussian(deviation))
    return reading(published([domain], [table]))


def test_a_mean_s_interval_holds_every_table_with_these_cells():
    domain = numbers("x", 0, 10, 30)
    said = one_table(domain, [30, 10]).mean("x", {}, 0.95)
    # All at the lower, at the upper ends. Between them, all whole numbers of a cell as often: 0 to 9, and 10 to 30.
    whole = (30 * np.arange(0, 10).mean() + 10 * np.arange(10, 31).mean()) / 40
    assert (said.low, said.value, said.high) == pytest.approx((2.5, whole, 15.0))
    said = one_table(replace(domain, decimals=0), [30, 10]).mean("x", {}, 0.95)
    assert (said.low, said.value, said.high) == pytest.approx((2.5, whole, (30 * 9 + 10 * 30) / 40))  # 9 is the last
    said = one_table(replace(domain, decimals=1), [30, 10]).mean("x", {}, 0.95)
    tenths = (30 * np.arange(0, 100).mean() + 10 * np.arange(100, 301).mean()) / 400
    assert (said.low, said.value, said.high) == pytest.approx((2.5, tenths, (30 * 9.9 + 10 * 30) / 40))


def test_a_median_lies_in_its_cell_and_noise_adds_the_cells_beside_it():
    domain, counts = numbers("x", 0, 10, 20, 30, 40), [10, 30, 35, 25]
    exact = one_table(domain, counts).median("x", {}, 0.95)
    assert (exact.low, exact.high) == (20, 30)
    # Below 20 there are 40 - 60 = -20 more people than above, which noise of deviation 2 x 6 could be.
    said = one_table(domain, counts, 6.0).median("x", {}, 0.95)
    assert (said.low, said.high) == (10, 30) and 20 <= said.value <= 30


def test_cells_that_mix_numbers_and_missing_ones_tell_no_mean():
    domain = numbers("x", 0, 3, 9, missing=True)
    whole, apart = ColumnCells.of(domain, [(0, 3)]), ColumnCells.of(domain)
    assert whole.mixes_missing and not apart.mixes_missing
    assert apart.holds_numbers.tolist() == [1, 1, 0]
    with pytest.raises(ReleaseError, match="published as one value, from 0 to 9"):
        one_table(domain, [40], 1.0, runs=((0, 3),)).mean("x", {}, 0.95)


@pytest.mark.parametrize("parts", [[(0, 3)], [(0, 2), (2, 3)], [(0, 1), (1, 3)], [(0, 1), (1, 2), (2, 3)]])
def test_every_way_to_publish_a_column_of_numbers_has_a_summary(parts):
    """One interval beside the missing ones once was taken for a column that tells a mean, and `show` ended in it."""
    domain = numbers("x", 0, 3, 9, missing=True)
    said = one_table(domain, [40] * len(parts), 1.0, runs=tuple(parts)).summary("x")
    assert len(said.cells) == len(parts)
    intervals = [part for part in parts if part[0] < 2]
    tells = len(intervals) == 2 and intervals[-1][1] == 2
    assert (said.mean is not None, said.median is not None, bool(said.axis)) == (tells, tells, tells)


def test_fresh_noise_has_the_law_that_it_is_drawn_for():
    for law in (Noise(law=Law.LAPLACE, scale_in_people=3.0), Noise(law=Law.GAUSSIAN, scale_in_people=3.0)):
        drawn = Draws(b"key").noise(law, 40_000)
        assert drawn.std() == pytest.approx(deviation_of(law), rel=0.03)
        assert abs(drawn.mean()) < 0.1
        kurtosis = float(((drawn / drawn.std()) ** 4).mean() - 3)
        assert abs(kurtosis) < 0.2 if law.law is Law.GAUSSIAN else 2 < kurtosis < 4
    assert (Draws(b"key").uniform(5) == Draws(b"key").uniform(5)).all()
    assert (Draws(b"key").uniform(5) != Draws(b"other").uniform(5)).all()


def test_an_interval_by_replicates_holds_noise_and_bias():
    """Replicates that are 3 away with deviation 4 are 5 away in root mean square, by Pythagoras."""
    replicates = np.random.default_rng(1).normal(13.0, 4.0, 40_000)
    said = interval_by_replicates(10.0, replicates.tolist(), 0.95)
    assert (said.low, said.high) == pytest.approx((10 - 1.96 * 5, 10 + 1.96 * 5), abs=0.1)
    assert said.standard_error == pytest.approx(4, abs=0.05)
    few = interval_by_replicates(0.0, np.linspace(-1.645, 1.645, 20).tolist(), 0.95)
    assert few.within == pytest.approx(2.086 * 0.998, abs=0.03)  # Student's with 20 degrees of freedom


@pytest.mark.parametrize(
    ("value", "replicates", "why"),
    [(math.nan, [1.0] * 20, "nan on the published records"), (1.0, [1.0] * 18 + [math.nan, math.inf], "on 2 of 20")],
)
def test_a_statistic_that_is_no_number_has_no_interval(value, replicates, why):
    with pytest.raises(ReleaseError, match=why):
        interval_by_replicates(value, replicates, 0.95)


@pytest.mark.parametrize(
    ("value", "within", "unit", "words"),
    [
        (1412.4, 27.2, "people", "1,412 ± 28"),
        (0.12345, 0.0123, "share", "12.3 % ± 1.2"),
        (0.12345, 0.2, "share", "12 % ± 20"),
        (-0.3, 0.041, "correlation", "-0.30 ± 0.04"),
        (-0.001, 0.08, "correlation", "+0.00 ± 0.08"),
        (-0.001, 0.31, "own", "0.00 ± 0.31"),
        (41.234, 0.311, "own", "41.23 ± 0.31"),
        (13670.4, 912.0, "own", "13,670 ± 912"),
    ],
)
def test_numbers_are_told_with_as_many_digits_as_their_error_leaves(value, within, unit, words):
    said = Estimate(
        value=value,
        standard_error=within / 2,
        within=within,
        low=value - within,
        high=value + within,
        confidence=0.95,
        how="",
        unit=unit,
    )
    assert said.words == said.with_range == words
