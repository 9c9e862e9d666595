"""Published values have the codes that the encoding of rows gives them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from copublish.agreement.domain import NumericalDomain
from copublish.release.publication import codes_of_column
from support.published import category


def test_published_numbers_lie_in_the_cells_that_their_encoding_has():
    edges = (Decimal("0.5"), Decimal("1.25"), Decimal(50))
    domain = NumericalDomain("income", lower=Decimal(0), upper=Decimal(100), thresholds=edges, missing=True)
    numbers = pa.chunked_array([[0, 0.49, 0.5, 1.24], [1.25, 49.99, 50, 100, None]])
    assert codes_of_column(domain, numbers).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_published_categories_have_the_codes_of_their_places():
    values = pa.chunked_array([["vet", "cook"], ["vet", "clerk"]])
    for stored in (values, values.dictionary_encode()):
        assert codes_of_column(category("job", "cook", "clerk", "vet"), stored).tolist() == [2, 0, 2, 1]
