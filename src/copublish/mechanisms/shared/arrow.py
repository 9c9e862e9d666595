"""Published columns as Arrow arrays: categories as text, numbers as numbers. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.types import BoolArray, Codes, IntArray

MOST_DECIMALS = 9
"""Of published numbers, when it is asked how they are written."""


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


def decimals_of(published: pa.ChunkedArray) -> int:
    """With how many decimals a published column of numbers is written."""
    values = np.asarray(published.drop_null().to_numpy(), dtype=np.float64)
    for decimals in range(MOST_DECIMALS):
        scaled = np.abs(values) * 10.0**decimals
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) < 1e-6 + 1e-12 * scaled.max(initial=0.0):
            return decimals
    return MOST_DECIMALS


def domains_as_published(domains: Mapping[str, Domain], records: pa.Table) -> dict[str, Domain]:
    """Domains with numbers written as in published records: descriptions do not say with how many decimals."""
    return {
        name: domain
        if isinstance(domain, CategoricalDomain)
        else replace(domain, decimals=decimals_of(records.column(name)))
        for name, domain in domains.items()
    }
