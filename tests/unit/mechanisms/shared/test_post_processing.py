"""Consistent counts against an independent projection: bisection on the shift in fractions, then largest remainder."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.mechanisms.shared.post_processing import consistent_counts, consistent_counts_by_class
from support.profiles import examples

LAW = examples(200)

small_counts = st.lists(st.integers(-40, 60), min_size=1, max_size=12)
huge_counts = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=12)
totals = st.integers(0, 300)


def projected(noisy: list[int], total: int) -> list[Fraction]:
    """The Euclidean projection on {x >= 0, sum x = total}: max(x - shift, 0) for the shift that gives the total."""
    if total == 0:
        return [Fraction(0)] * len(noisy)
    low, high = Fraction(min(noisy) - total), Fraction(max(noisy))
    for _ in range(150):
        middle = (low + high) / 2
        if sum(max(x - middle, Fraction(0)) for x in noisy) > total:
            low = middle
        else:
            high = middle
    shift = ((low + high) / 2).limit_denominator(len(noisy))  # it is an integer over the number of positive counts
    found = [max(x - shift, Fraction(0)) for x in noisy]
    assert sum(found) == total
    return found


def rounded(exact: list[Fraction], total: int) -> list[int]:
    """Largest remainder, ties to the lower index."""
    whole = [math.floor(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda i: (whole[i] - exact[i], i))
    for i in order[: total - sum(whole)]:
        whole[i] += 1
    return whole


def counts(noisy: list[int], total: int) -> list[int]:
    found = consistent_counts(np.array(noisy, dtype=np.int64), total)
    assert found.dtype == np.int64
    return found.tolist()


@pytest.mark.slow
@given(small_counts | huge_counts, totals | st.integers(0, 2**42))
@LAW
def test_counts_are_the_projection_rounded_by_largest_remainder(noisy: list[int], total: int) -> None:
    assert counts(noisy, total) == rounded(projected(noisy, total), total)


@given(small_counts | huge_counts, totals | st.integers(0, 2**42))
@LAW
def test_counts_are_not_negative_add_up_and_keep_the_order(noisy: list[int], total: int) -> None:
    found = counts(noisy, total)
    assert min(found) >= 0
    assert sum(found) == total
    for (x, a), (y, b) in itertools.combinations(zip(noisy, found, strict=True), 2):
        assert x == y or (x < y) == (a < b) or a == b
        assert x != y or abs(a - b) <= 1


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=4), st.integers(0, 6))
@LAW
def test_no_other_integers_that_add_up_are_nearer(noisy: list[int], total: int) -> None:
    def distance(candidate: tuple[int, ...] | list[int]) -> int:
        return sum((a - b) ** 2 for a, b in zip(candidate, noisy, strict=True))

    possible = [c for c in itertools.product(range(total + 1), repeat=len(noisy)) if sum(c) == total]
    assert distance(counts(noisy, total)) == min(map(distance, possible))


@given(st.lists(st.integers(0, 100), min_size=1, max_size=12))
@LAW
def test_counts_that_are_consistent_already_stay_as_they_are(noisy: list[int]) -> None:
    assert counts(noisy, sum(noisy)) == noisy


@pytest.mark.parametrize("noisy", [[0], [-3, -9], [5, 3], [7, 7, 7], [10**12, -(10**12)]])
def test_a_total_of_zero_gives_zeros(noisy: list[int]) -> None:
    assert counts(noisy, 0) == [0] * len(noisy)


@pytest.mark.slow
def test_the_largest_table_that_an_agreement_allows_stays_exact() -> None:
    """4 million cells of up to 2^40 records: sums stay below 2^63."""
    generator = np.random.default_rng(1)
    noisy = generator.integers(-(2**36), 2**36, 2**22)
    noisy[7] = 2**40
    total = 2**55
    found = consistent_counts(noisy, total)
    assert found.min() >= 0
    assert int(found.sum()) == total
    positive = found > 0
    shifts = noisy[positive] - found[positive]
    assert shifts.max() - shifts.min() <= 1  # the same shift for all, up to rounding
    assert noisy[~positive].max() <= shifts.max() + 1


def test_clamping_at_zero_instead_would_blow_up_a_sparse_table() -> None:
    noisy = np.random.default_rng(2).geometric(0.1, 4000) - np.random.default_rng(3).geometric(0.1, 4000)
    total = max(0, int(noisy.sum()))
    assert np.maximum(noisy, 0).sum() > 20 * max(total, 500)
    assert consistent_counts(noisy, total).sum() == total


def test_ties_go_to_the_lower_index() -> None:
    assert counts([1, 1, 1], 2) == [1, 1, 0]
    assert counts([5, 5], 3) == [2, 1]


def test_the_reference_rejects_a_projection_that_shifts_all_counts_or_rounds_otherwise() -> None:
    noisy, total = [10, 3, -6], 7
    exact = projected(noisy, total)
    assert exact == [7, 0, 0]
    assert [x - Fraction(sum(noisy) - total, 3) for x in noisy] != exact
    assert rounded([Fraction(1, 2), Fraction(1, 2)], 1) == [1, 0]


@pytest.mark.parametrize(("noisy", "total"), [([1], -1), ([], 0)])
def test_a_negative_total_and_a_table_without_cells_are_refused(noisy: list[int], total: int) -> None:
    with pytest.raises(ValueError, match="total"):
        consistent_counts(np.array(noisy, dtype=np.int64), total)


tables = st.integers(1, 4).flatmap(
    lambda classes: st.lists(st.lists(st.integers(-40, 60), min_size=classes, max_size=classes), min_size=1, max_size=8)
)


@pytest.mark.slow
@given(tables, totals)
@LAW
def test_counts_by_class_are_the_projection_of_the_class_totals_and_then_of_each_class(table, total) -> None:
    found = consistent_counts_by_class(np.array(table, dtype=np.int64), total)
    assert found.shape == np.array(table).shape
    sums = [sum(row[k] for row in table) for k in range(len(table[0]))]
    class_totals = rounded(projected(sums, total), total)
    for k, class_total in enumerate(class_totals):
        column = [row[k] for row in table]
        assert found[:, k].tolist() == rounded(projected(column, class_total), class_total)


def test_a_rare_class_keeps_its_total_where_one_shift_for_all_counts_takes_from_it() -> None:
    noisy = np.array([[1000, 10], [9, 10], [-9, 10], [9, 10], [-9, 10]])
    assert consistent_counts_by_class(noisy, 1050).sum(axis=0).tolist() == [1000, 50]
    assert consistent_counts(noisy.ravel(), 1050).reshape(5, 2).sum(axis=0).tolist() == [1012, 38]  # 2.25 from each
