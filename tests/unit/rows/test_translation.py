"""Translations of own values: exact products, order, and the first own number that reaches an agreed one."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copublish.rows.translation import Translation

floats = st.floats(allow_nan=False, allow_infinity=False)
factors = st.decimals("1e-9", "1e9", places=9).filter(bool) | st.sampled_from(
    [Decimal(1), Decimal(12), Decimal("0.01"), Decimal("1E-30"), Decimal("1E+30"), Decimal("1.95583")]
)


def product(number: float, factor: Decimal) -> float:
    """The naive one, in fractions: Python divides whole numbers to the nearest float."""
    exact = Fraction(repr(number)) * Fraction(factor)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.copysign(sys.float_info.max, number)


@given(floats, factors)
@example(0.57, Decimal(100))
@example(1e308, Decimal(12))
@example(5e-324, Decimal("0.01"))
def test_numbers_are_multiplied_as_the_decimals_that_they_are_written_as(number, factor):
    assert Translation(factor=factor).in_agreed_units(number) == product(number, factor)


def test_the_arithmetic_of_floats_would_put_an_amount_below_its_edge():
    assert 0.57 * 100 < 57 == Translation(factor=Decimal(100)).in_agreed_units(0.57)


@given(floats, floats, factors)
def test_larger_numbers_stay_larger(one, other, factor):
    read = Translation(factor=factor).in_agreed_units
    assert read(min(one, other)) <= read(max(one, other))


@given(floats, factors)
@example(57.0, Decimal(100))
@example(sys.float_info.max, Decimal("0.01"))
@example(-sys.float_info.max, Decimal(12))
def test_the_first_number_that_reaches_an_edge_reaches_it_and_the_one_before_does_not(edge, factor):
    translation = Translation(factor=factor)
    first = translation.first_reaching(edge)
    if first == math.inf:
        assert translation.in_agreed_units(sys.float_info.max) < edge
        return
    assert translation.in_agreed_units(first) >= edge
    before = math.nextafter(first, -math.inf)
    assert before == -math.inf or translation.in_agreed_units(before) < edge


@given(st.lists(st.floats(), max_size=20), factors)
def test_many_numbers_are_read_one_by_one(numbers, factor):
    translation = Translation(factor=factor)
    found = translation.agreed_numbers(np.array(numbers), np.full(len(numbers), -1))
    wanted = [translation.in_agreed_units(number) for number in numbers]
    assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_stays_none(number):
    assert not math.isfinite(Translation(factor=Decimal(12)).in_agreed_units(number))
