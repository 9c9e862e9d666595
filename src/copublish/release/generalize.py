"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.encoding_rules import plain_rule
from copublish.errors import FragmentError
from copublish.fragments.encoding import broken_rule, column_expression, encode_batch, numbers_of
from copublish.fragments.reading import ambiguous_columns
from copublish.fragments.sources import OpenSource, Source, open_source
from copublish.mechanisms.base import Publication
from copublish.mechanisms.shared.generalization import Generalization
from copublish.release.folder import generalization_of
from copublish.types import Codes


def generalize(release: Publication | Generalization, data: Source) -> pa.Table:
    """Data with every value replaced by the generalized value that the release uses for it.

    Args:
        release: A release of generalized values, or the content of its `cut.json`.
        data: A file, a table in a database or a data frame with the attributes, and the class if it is known.

    Raises:
        ReleaseError: If the release has no generalized values.
        FragmentError: If a column is missing or has values outside the release's public domain.

    Privacy:
        The result has one row for every row that went in: it is NOT private.
    """
    cut = release if isinstance(release, Generalization) else generalization_of(release, CANNOT)
    labels = {
        name: np.array([value.label for value in attribute.values], dtype=object)[attribute.part_of_code()]
        for name, attribute in cut.attributes.items()
    }
    labels[cut.class_.name] = np.array(cut.class_.values, dtype=object)

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        return pa.array(labels[domain.name][codes], pa.string())

    return _read(cut.public_columns, data, convert, number_type=pa.string())


CANNOT = "other data cannot be generalized like it"


def read_values(columns: PublicColumns, source: Source) -> pa.Table:
    """The columns of a release from other data, checked as `generalize` checks them, with their own values.

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
            # Nobody else sees these data, so what does not fit is told and not changed.
            encoded = encode_batch(plain_rule(domain, wanted.missing_spellings), batch, null_is_elsewhere=False)
            problems.update(f"Column '{name}' has {broken_rule(rule, domain)}." for rule in encoded.changed)
            if not encoded.changed:
                columns[name].append(convert(domain, encoded.codes, batch))
    if problems:
        raise FragmentError(None, sorted(problems))
    types = {name: number_type if isinstance(domains[name], NumericalDomain) else pa.string() for name in domains}
    return pa.table({name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()})
