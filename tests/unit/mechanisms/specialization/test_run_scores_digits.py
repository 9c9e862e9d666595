"""Fine domains are counted on two short axes, which together have a cell for each code."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from copublish.agreement.domain import NumericalDomain
from copublish.mechanisms.specialization.run_scores import digits


@pytest.mark.parametrize("size", [2, 131, 1024, 1025, 1026, 4097])
def test_two_digits_number_the_codes_in_order_and_are_about_equally_many(size: int) -> None:
    points = tuple(Decimal(number) for number in range(1, size))
    domain = NumericalDomain("x", lower=Decimal(0), upper=Decimal(size), thresholds=points)
    high, low = digits(domain)
    assert (high.cell_of_code * low.n_cells + low.cell_of_code).tolist() == list(range(size))
    assert size <= high.n_cells * low.n_cells
    assert max(high.n_cells, low.n_cells) <= np.sqrt(size) + 1
