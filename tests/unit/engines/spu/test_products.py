"""Products: how their records are padded, and that no factor is 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.engines.spu.products import (
    ONE_COUNT,
    PRODUCT_ROWS,
    SPARE_RECORDS,
    Piece,
    checked_product,
    padded_records,
    without_zeros,
)
from copublish.kernel.programs.packing import Packing


def test_records_are_padded_by_at_most_an_eighth_to_few_numbers_of_whole_words():
    most = PRODUCT_ROWS[-1] - SPARE_RECORDS
    found = [padded_records(n) for n in range(1, most + 1)]
    needed = range(1 + SPARE_RECORDS, most + 1 + SPARE_RECORDS)
    assert all(n <= padded <= max(2048, n * 9 / 8) for n, padded in zip(needed, found, strict=True))
    assert all(padded % 64 == 0 for padded in found)
    assert len(set(found)) == 1 + 8 * 5  # 2,048, and 8 in each of five doublings
    assert [padded_records(n) for n in (1, 2047, 30_162, 32_766, 32_767)] == [2048, 2304, 30_720, 32_768, 36_864]
    with pytest.raises(IndexError):
        padded_records(most + 1)


@given(st.integers(1, 5), st.integers(0, 6), st.integers(1, 5), st.integers(0, 2**32))
def test_no_line_of_a_factor_is_zero_and_the_product_is_the_same(rows, records, columns, seed):
    generator = np.random.default_rng(seed)
    x, y = (generator.integers(0, 2, size) for size in ((rows, records), (records, columns)))
    padded_x, padded_y = np.pad(x, ((0, 0), (0, SPARE_RECORDS))), np.pad(y, ((0, SPARE_RECORDS), (0, 0)))
    own_x, own_y = without_zeros(np, padded_x, padded_y)
    assert np.array_equal(own_x @ own_y, x @ y)
    assert own_x.any(axis=1).all() and own_y.any(axis=0).all()


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("lanes", [7, 21])
def test_a_record_on_so_many_lines_of_a_lane_that_they_would_run_over_into_the_next_is_found(lanes, side):
    """Added up all at once they would look like one line in another lane."""
    packing = Packing(1, lanes)
    n = 1 << packing.lane_bits
    one, other = np.zeros((n, 5), np.int64), np.zeros((1, 5), np.int64)
    pieces, packings = ((Piece(0, 0, n, True),), (Piece(0, 0, 1, True),)), (packing, ONE_COUNT)
    for lines, is_wrong in (1, False), (2, True), (n, True):
        one[:lines, 0] = 1
        sides = [(one, pieces[0], packings[0]), (other, pieces[1], packings[1])]
        (x, down, first), (y, across, second) = sides if side == 0 else sides[::-1]
        wrong = checked_product(np, x, y.T, down, across, (first, second))[1:]
        assert (int(wrong[side][0]) != 0, int(wrong[1 - side][0])) == (is_wrong, 0)


@pytest.mark.parametrize("spare", [1, 2])
def test_whoever_has_a_spare_record_is_found_out(spare):
    """One of them would add 1 to every cell of a line: a shift that its party knows, and no record of anybody."""
    pieces, x = (Piece(0, 0, 3, True),), np.zeros((3, 5), np.int64)
    false = x.copy()
    false[1, -spare] = 1
    for own_x, own_y, wrong in (x, x, (0, 0)), (false, x, (1, 0)), (x, false, (0, 1)):
        _, wrong_x, wrong_y = checked_product(np, own_x, own_y.T, pieces, pieces, (ONE_COUNT, ONE_COUNT))
        assert (int(wrong_x[0]), int(wrong_y[0])) == wrong
