"""Published columns as Arrow arrays: categories as text, numbers as numbers. Released values only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, NumericalDomain
from copublish.types import BoolArray, Codes, IntArray


def categories(domain: CategoricalDomain, codes: Codes | IntArray) -> pa.Array:
    """A column of categories, from the codes of its values."""
    labels = pa.array(domain.values, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)


def numbers(
    domain: NumericalDomain, units: IntArray, mask: BoolArray | None = None, *, decimals: int | None = None
) -> pa.Array:
    """A column of numbers, whole ones as integers.

    Args:
        domain: The column's public domain.
        units: The numbers in units of their last decimal.
        mask: Where a number is missing.
        decimals: How many decimals they have; those of the domain's numbers unless said otherwise.
    """
    places = domain.decimals_of_numbers if decimals is None else decimals
    return pa.array(units if places == 0 else units / float(10**places), mask=mask)
