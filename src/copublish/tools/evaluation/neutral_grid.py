"""A grid to compare tables on that is not the agreed one.

On the agreed cells a coarse grid looks good: values within a cell are not compared at all, and one cell for everything
would have no error. So numbers are compared on quantiles of the data, with a cell of its own for every value that many
records share; categories as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.tools.evaluation.marginals import WAYS, MarginalErrors, marginal_errors
from copublish.tools.evaluation.values import codes_of
from copublish.types import FloatArray

CELLS = 10
"""Of a number, if its values are all different: each holds a tenth of the data."""


@dataclass(frozen=True)
class NeutralGrid:
    """Cells of every column, from data.

    Attributes:
        domains: The columns, the class included.
        upper_ends: Of every numerical column the largest value of each of its cells but the last, ascending.
    """

    domains: Mapping[str, Domain]
    upper_ends: Mapping[str, FloatArray]

    @classmethod
    def of(cls, data: pd.DataFrame, domains: Mapping[str, Domain]) -> NeutralGrid:
        """The grid of some data: values of the domains, as `read_values` gives them."""
        ends = {
            name: _upper_ends(data[name].dropna().to_numpy(dtype=float))
            for name, domain in domains.items()
            if isinstance(domain, NumericalDomain)
        }
        return cls(domains, ends)

    @property
    def sizes(self) -> dict[str, int]:
        """How many codes every column has."""
        return {
            name: len(self.upper_ends[name]) + 2 if name in self.upper_ends else domain.size
            for name, domain in self.domains.items()
        }

    def codes(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The cells of any records: values of the domains. Of a number the last code is that it is missing."""
        others = {name: domain for name, domain in self.domains.items() if name not in self.upper_ends}
        found = codes_of(others, frame)
        for name, ends in self.upper_ends.items():
            numbers = frame[name].to_numpy(dtype=float)
            found[name] = np.where(np.isnan(numbers), len(ends) + 1, np.searchsorted(ends, numbers, side="left"))
        return found[list(self.domains)]


def _upper_ends(numbers: FloatArray) -> FloatArray:
    """Deciles, and both ends of every value that at least a tenth of the records have."""
    if not len(numbers):
        return np.zeros(0)
    values, counts = np.unique(numbers, return_counts=True)
    common = values[counts * CELLS >= len(numbers)]
    deciles = np.quantile(numbers, np.arange(1, CELLS) / CELLS, method="inverted_cdf")
    ends = np.unique([*deciles, *common, *np.nextafter(common, -np.inf)])
    return np.asarray(ends[(ends >= values[0]) & (ends < values[-1])])  # the cells at both ends hold something


def neutral_errors(
    one: pd.DataFrame, data: pd.DataFrame, domains: Mapping[str, Domain], most: int | None = None
) -> dict[int, MarginalErrors | None]:
    """Total variations of all 1-, 2- and 3-way tables from those of data, on the quantiles of the data.

    Args:
        one: Records that are compared: values of the domains.
        data: The records that they shall resemble. Neither may be empty.
        domains: The columns to compare.
        most: The most tables of each size that are compared, as `marginal_errors` explains.
    """
    grid = NeutralGrid.of(data, domains)
    own, reference = grid.codes(one), grid.codes(data)
    return {ways: marginal_errors(own, reference, grid.sizes, ways, most) for ways in WAYS}
