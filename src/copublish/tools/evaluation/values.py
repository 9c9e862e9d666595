"""A release and a user's data in the same terms, as values and codes, and a neutral grid to compare them on.

The neutral grid is not the agreed one. On the agreed cells a coarse grid looks good: values within a cell are not
compared at all, and one cell for everything would have no error. So numbers are compared on quantiles of the data, with
a cell of its own for every value that many records share; categories as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.release.generalization import Generalization, GeneralizedValue
from copublish.release.publication import Publication
from copublish.tools.evaluation.distances import WAYS, MarginalErrors, marginal_errors
from copublish.types import FloatArray, IntArray


def plain_records(release: Publication, cut: Generalization, seed: int = 0) -> pd.DataFrame:
    """The release's records with values of the domains in place of generalized ones.

    What a generalized value stands for is spread evenly: intervals over equally spaced points, groups of categories
    over their members, each in random order, independently for every attribute. That is all a release says about
    them. The seed makes it repeatable; it has nothing to do with the release's noise.
    """
    generator = np.random.default_rng(seed)
    records = release.records.to_pandas()
    columns: dict[str, Any] = {}
    for name, published in cut.values.items():
        is_number = isinstance(cut.columns.domains[name], NumericalDomain)
        column = np.full(len(records), np.nan) if is_number else np.empty(len(records), dtype=object)
        labels = records[name].astype(str).to_numpy()
        for value in published:
            here = np.flatnonzero(labels == value.label)
            column[here] = generator.permutation(_spread(value, len(here)))
        columns[name] = column
    others = {name: records[name].astype(str).to_numpy(dtype=object) for name in cut.labels() if name not in columns}
    return pd.DataFrame({**columns, **others})


def _spread(value: GeneralizedValue, n: int) -> NDArray[Any]:
    if value.members is not None:
        return np.resize(np.array(value.members, dtype=object), n)
    if value.lower is None or value.upper is None:  # the missing category of a numerical attribute
        return np.full(n, np.nan)
    lower, upper = float(value.lower), float(value.upper)
    return np.asarray(lower + (upper - lower) * (np.arange(n) + 0.5) / max(n, 1))


def codes_of(domains: Mapping[str, Domain], values: pd.DataFrame) -> pd.DataFrame:
    """The codes of the agreed domains for a frame of values, as `read_values` and `plain_records` give it."""
    found: dict[str, IntArray] = {}
    for name, domain in domains.items():
        column = values[name]
        if isinstance(domain, NumericalDomain):
            numbers = column.to_numpy(dtype=float)
            codes = np.searchsorted([float(t) for t in domain.thresholds], numbers, side="right").astype(np.int64)
            found[name] = np.where(np.isnan(numbers), domain.size - 1, codes)
        else:
            found[name] = _positions(column, domain.values)
    return pd.DataFrame(found)


def _positions(column: pd.Series, values: tuple[str, ...]) -> IntArray:
    place = {value: number for number, value in enumerate(values)}
    return np.asarray(column.map(place), dtype=np.int64)


def published_codes(cut: Generalization, codes: pd.DataFrame) -> pd.DataFrame:
    """For each code of a domain the number of the published value it falls into."""
    return pd.DataFrame({name: cut.part_of_code(name)[codes[name]] for name in codes})


def published_labels(cut: Generalization, published: pd.DataFrame) -> pd.DataFrame:
    """ScoredRelease codes as categorical columns, in the order in which the release lists its values."""
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(published[name].to_numpy(), categories=list(labels))
            for name, labels in cut.labels().items()
        }
    )


def published_sizes(cut: Generalization) -> dict[str, int]:
    """The number of published values of every attribute and of the class."""
    return {name: len(labels) for name, labels in cut.labels().items()}


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
