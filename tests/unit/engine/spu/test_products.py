"""Products: how their records are padded."""

from __future__ import annotations

import pytest

from copublish.engine.spu.products import PRODUCT_ROWS, padded_records


def test_records_are_padded_by_at_most_an_eighth_to_few_numbers_of_whole_words():
    most = PRODUCT_ROWS[-1]
    found = [padded_records(n) for n in range(1, most + 1)]
    assert all(n <= padded <= max(2048, n * 9 / 8) for n, padded in enumerate(found, start=1))
    assert all(padded % 64 == 0 for padded in found)
    assert len(set(found)) == 1 + 8 * 5  # 2,048, and 8 in each of five doublings
    assert [padded_records(n) for n in (1, 2049, 30_162, 32_768, 32_769)] == [2048, 2304, 30_720, 32_768, 36_864]
    with pytest.raises(IndexError):
        padded_records(most + 1)
