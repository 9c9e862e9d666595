"""Everything that was published, and what is guaranteed about it. Released values only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.agreement.encoding_rules import codes_of_numbers
from copublish.agreement.model import Agreement
from copublish.errors import ReleaseError
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.published import Contents, Published
from copublish.mechanisms.shared.information import LabelInformation, describe_information
from copublish.release.generalization import Generalization
from copublish.release.questions.estimate import Reading
from copublish.release.questions.reading import reading_of
from copublish.types import IntArray


def published_contents(agreement: Agreement, contents: Contents) -> Published:
    """Contents with the public columns that they are about: those of the agreement that some of them have."""
    having = {name for measured in contents.measured for name in measured.columns}
    if contents.rows is not None:
        having |= set(contents.rows.records.column_names)
    names = [name for name in agreement.columns if name in having]
    columns = PublicColumns.of_release(
        {name: describe_column(agreement, name) for name in names},
        agreement.records.missing_spellings,
        publishes_each_record=contents.rows is not None,
        has_class=agreement.class_ is not None and agreement.class_.name in names,
    )
    return Published(columns=columns, measured=contents.measured, model=contents.model, rows=contents.rows)


@dataclass(frozen=True, repr=False)
class Publication:
    """A published data set: measurements, the model, records, and the certificate.

    Attributes:
        certificate: What is guaranteed, to whom, under which assumptions.
        published: Measurements, model and published rows.
        mechanism: What made it.
        stored_records: The file of records of a release that was read from a folder.
    """

    certificate: Certificate
    published: Published
    mechanism: Mechanism[Any, Any]
    stored_records: bytes | None = None

    def record_parts(self) -> Iterator[pa.Table]:
        """Yield the records part by part, each with as many as a row group of a file has."""
        if self.stored_records is not None:
            file = pq.ParquetFile(pa.BufferReader(self.stored_records), pre_buffer=False)
            for number in range(file.num_row_groups):
                yield file.read_row_group(number, use_threads=False)
            if file.num_row_groups == 0:
                yield file.schema_arrow.empty_table()
        elif self.published.rows is not None:
            yield self.published.rows.records
        else:
            yield from self.mechanism.sample(self.published, bytes.fromhex(self.published.model.key))

    @cached_property
    def records(self) -> pa.Table:
        """The data set as records."""
        return pa.concat_tables(self.record_parts())

    @cached_property
    def reading(self) -> Reading:
        """Questions to the release, answered with the error that noise leaves.

        Raises:
            ReleaseError: If it tells no such error, and why.
        """
        return reading_of(self)

    @property
    def generalization(self) -> Generalization | None:
        """How values were generalized; nothing if records hold values of the agreed domains."""
        return Generalization.of(self.published)

    @cached_property
    def label_information(self) -> LabelInformation | None:
        """What the columns of the records tell about the label, where the budget was divided between columns."""
        division = self.published.model.division
        if division is None or division.label is None:
            return None
        domains = self.published.columns.domains
        budgets = {name: Fraction(column.epsilon) for name, column in division.columns.items()}
        return describe_information(domains, self.codes_of_records, division.label, budgets)

    @cached_property
    def codes_of_records(self) -> dict[str, IntArray]:
        """For every column the code of each record in its domain.

        Raises:
            ReleaseError: If values were generalized, so that records have none.
        """
        if self.published.generalized:
            raise ReleaseError("Values of this release were generalized, so its records have no codes.")
        return {name: codes_of_column(domain, self.records.column(name)) for name, domain in self._domains.items()}

    @property
    def _domains(self) -> dict[str, Domain]:
        return dict(self.published.columns.domains)

    @property
    def sizes(self) -> dict[str, int]:
        """How much was published, of what; the records first."""
        tables = len(self.published.tables)
        found = {"records": self.published.model.records, "columns": len(self.published.columns.domains)}
        if tables:
            found |= {"measured tables": tables, "cells": sum(table.values.size for table in self.published.tables)}
        return found


def codes_of_column(domain: Domain, values: pa.ChunkedArray) -> IntArray:
    """The codes of a published column."""
    if isinstance(domain, CategoricalDomain):
        encoded: Any = values.combine_chunks()
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
        place = {value: code for code, value in enumerate(domain.values)}
        numbers = np.array([place[value] for value in encoded.dictionary.to_pylist()], dtype=np.int64)
        return np.asarray(numbers[encoded.indices.to_numpy()], dtype=np.int64)
    is_missing = np.asarray(values.is_null().to_numpy(), dtype=bool)
    present = np.asarray(values.fill_null(0).to_numpy(), dtype=np.float64)
    return np.where(is_missing, domain.number_codes, codes_of_numbers(domain, present))
