"""A release and a user's data in the same terms: as values, as codes of the agreed domains, as published values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copublish.agreement.domain import Domain, NumericalDomain
from copublish.mechanisms.base import Publication
from copublish.mechanisms.shared.generalization import Generalization, GeneralizedValue
from copublish.types import IntArray


def plain_records(release: Publication, cut: Generalization, seed: int = 0) -> pd.DataFrame:
    """The release's records with values of the domains in place of generalized ones.

    What a generalized value stands for is spread evenly: intervals over equally spaced points, groups of categories
    over their members, each in random order, independently for every attribute. That is all a release says about
    them. The seed makes it repeatable; it has nothing to do with the release's noise.
    """
    generator = np.random.default_rng(seed)
    records = release.records.to_pandas()
    columns: dict[str, Any] = {}
    for name, attribute in cut.attributes.items():
        is_number = attribute.domain.kind == "numerical"
        column = np.full(len(records), np.nan) if is_number else np.empty(len(records), dtype=object)
        labels = records[name].astype(str).to_numpy()
        for value in attribute.values:
            here = np.flatnonzero(labels == value.label)
            column[here] = generator.permutation(_spread(value, len(here)))
        columns[name] = column
    class_name = cut.class_.name
    return pd.DataFrame({**columns, class_name: records[class_name].astype(str).to_numpy(dtype=object)})


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
    part_of_code = {name: attribute.part_of_code() for name, attribute in cut.attributes.items()}
    return pd.DataFrame(
        {name: part_of_code[name][codes[name]] if name in part_of_code else codes[name] for name in codes}
    )


def published_labels(cut: Generalization, published: pd.DataFrame) -> pd.DataFrame:
    """Published codes as categorical columns, in the order in which the release lists its values."""
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(published[name].to_numpy(), categories=list(labels))
            for name, labels in cut.labels().items()
        }
    )


def published_sizes(cut: Generalization) -> dict[str, int]:
    """The number of published values of every attribute and of the class."""
    return {name: len(labels) for name, labels in cut.labels().items()}
