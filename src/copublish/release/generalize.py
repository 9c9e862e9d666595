"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.agreement.taxonomy import flat_taxonomy, parse_taxonomy
from copublish.errors import FragmentError
from copublish.fragments.encoding import column_expression, encode_batch, numbers_of
from copublish.fragments.reading import ambiguous_columns
from copublish.fragments.sources import OpenSource, Source, open_source
from copublish.types import Codes

__all__ = ["PublicColumns", "Source", "domain_of", "generalize", "read_values"]


@dataclass(frozen=True)
class PublicColumns:
    """What has to be known to read data that shall fit a release.

    Attributes:
        domains: Public domain of every column in agreed order, the class last.
        missing_spellings: Texts that stand for a missing value.
    """

    domains: Mapping[str, Domain]
    missing_spellings: tuple[str, ...]

    @classmethod
    def of_agreement(cls, agreement: Agreement) -> PublicColumns:
        """Return the columns that are agreed."""
        return cls(agreement.columns, agreement.records.missing_spellings)

    @classmethod
    def of_cut(cls, cut: Mapping[str, Any]) -> PublicColumns:
        """Return the columns of a release of generalized values, from its `cut`."""
        domains = {name: domain_of(name, entry["domain"]) for name, entry in cut["attributes"].items()}
        name, classes = cut["class"]["name"], tuple(cut["class"]["values"])
        return cls({**domains, name: CategoricalDomain(name, flat_taxonomy(classes))}, tuple(cut["missing_spellings"]))

    @property
    def class_name(self) -> str:
        """The class of the records."""
        return list(self.domains)[-1]


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

    return _read(PublicColumns.of_cut(cut), source, convert, number_type=pa.string())


def read_values(columns: PublicColumns, source: Source) -> pa.Table:
    """Return the columns of a release from other data, checked as `generalize` checks them, with their own values.

    Categories are text without surrounding space, or the label of the missing category; numbers are float64, null
    where they are missing. The class may not be there.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        if isinstance(domain, CategoricalDomain):
            return pa.array(np.array(domain.values, dtype=object)[codes], pa.string())
        return pa.array(numbers_of(batch.column(domain.name)), mask=codes >= domain.number_codes)

    return _read(columns, source, convert, number_type=pa.float64())


Convert = Callable[[Domain, Codes, pa.RecordBatch], pa.Array]
"""What a column of a batch becomes, from its domain, its codes and its values."""


def _read(wanted: PublicColumns, source: Source, convert: Convert, number_type: pa.DataType) -> pa.Table:
    with open_source(source) as opened:
        return _convert_table(wanted, opened, convert, number_type)


def _convert_table(wanted: PublicColumns, opened: OpenSource, convert: Convert, number_type: pa.DataType) -> pa.Table:
    table, class_name = opened.table, wanted.class_name
    domains = {name: domain for name, domain in wanted.domains.items() if name != class_name}
    if ambiguous := ambiguous_columns(list(domains), list(table.columns)):
        raise FragmentError(None, ambiguous)
    absent = [name for name in domains if name not in table.columns]
    if absent:
        raise FragmentError(None, [f"Column '{name}' is in the release but not in the data." for name in absent])
    if class_name in table.columns:
        domains[class_name] = wanted.domains[class_name]
    expressions = [column_expression(table[name], domain) for name, domain in domains.items()]
    columns: dict[str, list[pa.Array]] = {name: [] for name in domains}
    problems: set[str] = set()
    for batch in opened.batches(expressions):
        for name, domain in domains.items():
            codes, broken = encode_batch(domain, batch, wanted.missing_spellings, null_is_elsewhere=False)
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
