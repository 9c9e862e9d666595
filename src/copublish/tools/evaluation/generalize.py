"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.errors import FragmentError
from copublish.release.folder import generalization_of
from copublish.release.generalization import Generalization
from copublish.release.publication import Publication
from copublish.rows.agreed_columns import ambiguous_columns
from copublish.rows.changes import AnyRule, Change, Changes, changed_cells
from copublish.rows.encoding import Encoded, encode_batch, need_of
from copublish.rows.sources import OpenRows, Source, open_rows

CANNOT = "other data cannot be generalized like it"
WITHOUT_CLASS = "without a class here, as a run counts them nowhere"


@dataclass(frozen=True)
class GeneralizedData:
    """Other data in a release's terms, and what had to be changed for it.

    Attributes:
        table: One row for every row that went in.
        changes: By column and rule, how many rows were not as agreed and what was done about them. For the owner of the
            data alone.
    """

    table: pa.Table
    changes: tuple[Change, ...]

    def counted_records(self, class_name: str | None) -> pd.DataFrame:
        """The rows that a run would count: those with a listed class, or all where there is no class."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame if class_name is None else frame[frame[class_name].notna()].reset_index(drop=True)


def generalize(release: Publication | Generalization, data: Source, *, strict: bool = False) -> pa.Table:
    """Data with every value replaced by the generalized value that the release uses for it.

    No value ends it: what is not as agreed is changed by the rules by which the release was made, as in a run. A class
    that is not listed is left empty, where a run would have counted the record nowhere.

    Args:
        release: A release of generalized values, or how one generalized them.
        data: A file, a table in a database or a data frame with the attributes, and the class if it is known.
        strict: Whether values that would have to be changed are an error.

    Raises:
        ReleaseError: If the release has no generalized values.
        FragmentError: If a column is missing or, with `strict`, has values outside the release's public domain.

    Privacy:
        The result has one row for every row that went in: it is NOT private.
    """
    return generalize_and_tell(release, data, strict=strict).table


def generalize_and_tell(
    release: Publication | Generalization, data: Source, *, strict: bool = False
) -> GeneralizedData:
    """As `generalize`, and what had to be changed for it.

    Raises:
        ReleaseError: If the release has no generalized values.
        FragmentError: If a column is missing or, with `strict`, has values outside the release's public domain.
    """
    cut = release if isinstance(release, Generalization) else generalization_of(release, CANNOT)
    labels = {
        # One more than there are values: that of a record without a listed class.
        name: np.array([*published, None], dtype=object)[cut.part_of_code(name)]
        for name, published in cut.labels().items()
    }

    def convert(domain: Domain, encoded: Encoded) -> pa.Array:
        return pa.array(labels[domain.name][encoded.codes], pa.string())

    return _read(cut.columns, data, convert, number_type=pa.string(), strict=strict)


def read_values(columns: PublicColumns, source: Source, *, strict: bool = False) -> GeneralizedData:
    """The columns of a release from other data, with their own values where they are as agreed.

    Categories are text without surrounding space, or the label of the missing category; numbers are float64, null
    where they are missing. What is not as agreed is changed by the rules by which the release was made. The class may
    not be there; it is null in a record that a run would count nowhere.

    Raises:
        FragmentError: If a column is missing or, with `strict`, has values outside the release's public domain.
    """

    def convert(domain: Domain, encoded: Encoded) -> pa.Array:
        if isinstance(domain, CategoricalDomain):
            return pa.array(np.array([*domain.values, None], dtype=object)[encoded.codes], pa.string())
        return pa.array(encoded.numbers, mask=encoded.codes >= domain.number_codes)

    return _read(columns, source, convert, number_type=pa.float64(), strict=strict)


Convert = Callable[[Domain, Encoded], pa.Array]
"""What a column of a batch becomes, from its domain, its codes and its numbers."""


def _read(
    wanted: PublicColumns, source: Source, convert: Convert, *, number_type: pa.DataType, strict: bool
) -> GeneralizedData:
    with open_rows(source) as opened:
        told = _convert_table(wanted, opened, convert, number_type)
    if strict and told.changes:
        raise FragmentError(None, sorted({change.problem for change in told.changes}))
    return told


def _convert_table(
    wanted: PublicColumns, opened: OpenRows, convert: Convert, number_type: pa.DataType
) -> GeneralizedData:
    class_name = wanted.class_name
    domains = {name: domain for name, domain in wanted.domains.items() if name != class_name}
    if ambiguous := ambiguous_columns(list(domains), list(opened.columns)):
        raise FragmentError(None, ambiguous)
    absent = [name for name in domains if name not in opened.columns]
    if absent:
        raise FragmentError(None, [f"Column '{name}' is in the release but not in the data." for name in absent])
    if class_name is not None and class_name in opened.columns:
        domains[class_name] = wanted.domains[class_name]
    rules = {name: wanted.rule(name) for name in domains}
    columns: dict[str, list[pa.Array]] = {name: [] for name in domains}
    changes = Changes(with_rows=False)
    for batch in opened.batches([opened.expression(name, need_of(domain)) for name, domain in domains.items()]):
        for name, rule in rules.items():
            encoded = encode_batch(rule, batch, null_is_elsewhere=False)
            columns[name].append(convert(rule.domain, encoded))
            for broken, rows in encoded.changed.items():
                named: AnyRule = "null class" if rule.makes_null_rows else broken
                is_class, values = name == class_name, batch.column(name)
                for (what, effect), found in changed_cells(broken, rows, rule, values, is_class=is_class):
                    changes.note(name, named, (what, WITHOUT_CLASS if rule.makes_null_rows else effect), found)
    types = {name: number_type if isinstance(domains[name], NumericalDomain) else pa.string() for name in domains}
    table = pa.table({name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()})
    return GeneralizedData(table, changes.listed(of=len(table)))
