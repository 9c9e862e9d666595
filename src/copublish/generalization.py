"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.taxonomy import flat_taxonomy, parse_taxonomy
from copublish.errors import FragmentError
from copublish.fragments.encoding import column_expression, encode_batch, numbers_of
from copublish.fragments.fragment import Codes
from copublish.fragments.reading import ambiguous_columns
from copublish.fragments.sources import OpenSource, Source, open_source

__all__ = ["Source", "domain_of", "generalize", "read_values"]


def generalize(cut: Mapping[str, Any], source: Source) -> pa.Table:
    """Return data with every value replaced by the generalized value that the release uses for it.

    Args:
        cut: The `cut` of a release, or the content of its `cut.json`.
        source: A file, a table in a database or a data frame with the attributes, and the class if it is known.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """
    labels = {name: _label_of_code(entry["values"]) for name, entry in cut["attributes"].items()}
    labels[cut["class"]["name"]] = np.array(cut["class"]["values"], dtype=object)

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        return pa.array(labels[domain.name][codes], pa.string())

    return _read(cut, source, convert, number_type=pa.string())


def read_values(cut: Mapping[str, Any], source: Source) -> pa.Table:
    """Return the same columns as `generalize`, checked in the same way, with their own values.

    Categories are text without surrounding space, or the label of the missing category; numbers are float64, null
    where they are missing.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        if isinstance(domain, CategoricalDomain):
            return pa.array(np.array(domain.values, dtype=object)[codes], pa.string())
        return pa.array(numbers_of(batch.column(domain.name)), mask=codes >= domain.number_codes)

    return _read(cut, source, convert, number_type=pa.float64())


Convert = Callable[[Domain, Codes, pa.RecordBatch], pa.Array]
"""What a column of a batch becomes, from its domain, its codes and its values."""


def _read(cut: Mapping[str, Any], source: Source, convert: Convert, number_type: pa.DataType) -> pa.Table:
    with open_source(source) as opened:
        return _convert_table(cut, opened, convert, number_type)


def _convert_table(cut: Mapping[str, Any], opened: OpenSource, convert: Convert, number_type: pa.DataType) -> pa.Table:
    table = opened.table
    domains = {name: domain_of(name, entry["domain"]) for name, entry in cut["attributes"].items()}
    class_name = cut["class"]["name"]
    if ambiguous := ambiguous_columns(list(domains), list(table.columns)):
        raise FragmentError(None, ambiguous)
    absent = [name for name in domains if name not in table.columns]
    if absent:
        raise FragmentError(None, [f"Column '{name}' is in the release but not in the data." for name in absent])
    if class_name in table.columns:
        domains[class_name] = CategoricalDomain(class_name, flat_taxonomy(tuple(cut["class"]["values"])))
    spellings = tuple(cut["missing_spellings"])
    expressions = [column_expression(table[name], domain) for name, domain in domains.items()]
    columns: dict[str, list[pa.Array]] = {name: [] for name in domains}
    problems: set[str] = set()
    for batch in opened.batches(expressions):
        for name, domain in domains.items():
            codes, broken = encode_batch(domain, batch, spellings, null_is_elsewhere=False)
            problems.update(f"Column '{name}' has {rule}." for rule in broken)
            if not broken:
                columns[name].append(convert(domain, codes, batch))
    if problems:
        raise FragmentError(None, sorted(problems))
    types = {name: number_type if isinstance(domains[name], NumericalDomain) else pa.string() for name in domains}
    return pa.table({name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()})


def domain_of(name: str, described: Mapping[str, Any]) -> Domain:
    """Rebuild a public domain from its description in `cut.json`."""
    if described["kind"] == "categorical":
        return CategoricalDomain(name, parse_taxonomy(described["taxonomy"]), missing=described["missing"])
    lower, upper = (Decimal(bound) for bound in described["bounds"])
    thresholds = tuple(Decimal(threshold) for threshold in described["thresholds"])
    return NumericalDomain(name, lower, upper, thresholds, missing=described["missing"])


def _label_of_code(values: list[dict[str, Any]]) -> np.ndarray[Any, Any]:
    labels = np.array([value["label"] for value in values], dtype=object)
    return np.repeat(labels, [value["codes"][1] - value["codes"][0] for value in values])
