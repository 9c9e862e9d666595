"""Records of whole numbers are whole numbers of their cells, and their mean is what readers take for a cell."""

from __future__ import annotations

import numpy as np
import pytest

from copublish.agreement.domain import NumericalDomain
from copublish.mechanisms.marginals.publish import _column
from copublish.mechanisms.shared.number_cells import InCells, numbers_in_cells
from copublish.release.questions.cells import ColumnCells
from support.published import numbers

VISITS = numbers("x", 0, 1, 2, 3, 10, 12, 12, decimals=0)
TENTHS = numbers("x", -1, "0.5", 2, decimals=1)
OPEN = numbers("x", 0, 10, 30)
"""Without decimals, numbers have those of bounds and grid."""

EACH = 1680
"""Records in every cell: a multiple of how many numbers each of these cells has."""


def by_copula_and_hpdp(domain: NumericalDomain, codes: np.ndarray) -> np.ndarray:
    places = np.concatenate([np.arange(EACH)] * domain.number_codes)
    found = InCells(cells=codes, places=places, counts=np.full(len(codes), EACH))
    return np.asarray(numbers_in_cells(domain, found, None).to_numpy(), dtype=float)


def by_marginals(domain: NumericalDomain, codes: np.ndarray) -> np.ndarray:
    return np.asarray(_column(domain, codes, b"key").to_numpy(), dtype=float)


@pytest.mark.parametrize("domain", [VISITS, TENTHS, OPEN], ids=["visits", "tenths", "open"])
@pytest.mark.parametrize("sampled", [by_copula_and_hpdp, by_marginals])
def test_records_are_spread_evenly_over_the_numbers_that_readers_take_for_a_cell(sampled, domain) -> None:  # type: ignore[no-untyped-def]
    codes = np.repeat(np.arange(domain.number_codes), EACH)
    drawn, cells, unit = sampled(domain, codes), ColumnCells.of(domain), 10.0**-domain.decimals_of_numbers
    assert np.abs(drawn / unit - np.rint(drawn / unit)).max() < 1e-9
    for code in range(domain.number_codes):
        here = drawn[codes == code]
        low, high = (float(end) for end in domain.bounds((code, code + 1)))
        is_last = code == domain.number_codes - 1
        expected = np.arange(round(low / unit), round(high / unit) + is_last) * unit
        values, times = np.unique(np.round(here, 9), return_counts=True)
        assert values == pytest.approx(expected) and set(times) == {EACH // len(expected)}
        assert here.mean() == pytest.approx(cells.middle[code], abs=1e-9)
