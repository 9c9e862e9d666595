"""Answers from the counts of generalized values, with the law of their noise. Released values only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.columns import NOISY_COUNT
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.build import estimate_count
from copublish.mechanisms.reading.estimate import CONFIDENCE, Among, Estimate, exactly
from copublish.mechanisms.reading.noisy import NoisyNumber, deviation_of, excess_of
from copublish.mechanisms.reading.of_cells import BY_COUNTS, CellReading, ColumnCells, NoisyTable
from copublish.mechanisms.specialization.plan import LEAVES
from copublish.mechanisms.specialization.publish import CutDetails
from copublish.types import FloatArray, IntArray


class SpecializationReading(CellReading):
    """Questions to the leaf counts. They are independent, so any sum of them has the noise of its cells."""

    def __init__(self, publication: Publication, details: CutDetails) -> None:
        self._details = details
        self._counts = publication.contents.tables["counts"]
        self._codes_of: dict[str, IntArray] = {}
        self._tables: dict[tuple[str, ...], NoisyTable] = {}
        self._public_total = publication.certificate.public_facts.number_of_records
        (leaves,) = publication.certificate.at(LEAVES)
        self.noise: Noise = leaves.noise

    @cached_property
    def columns(self) -> Sequence[str]:
        """The attributes, and the class."""
        return (*self._details.attributes, self._details.class_.name)

    @cached_property
    def _cells(self) -> dict[str, ColumnCells]:
        domains = self._details.public_columns.domains
        found = {
            name: ColumnCells.of(domains[name], [value.codes for value in attribute.values])
            for name, attribute in self._details.attributes.items()
        }
        return {**found, self.columns[-1]: ColumnCells.of(domains[self.columns[-1]])}

    @cached_property
    def noisy_counts(self) -> FloatArray:
        """Every leaf's unbiased count."""
        found: FloatArray = self._counts.column(NOISY_COUNT).to_numpy().astype(np.float64)
        return found

    @property
    def deviation(self) -> float:
        """Standard deviation of one count's noise, in people."""
        return deviation_of(self.noise)

    def count(self, among: Among, confidence: float) -> Estimate:
        """How many people have some values; how many there are may be public."""
        if among or self._public_total is None:
            return super().count(among, confidence)
        return exactly(self._public_total, confidence)

    def leaf(self, count: float) -> Estimate:
        """One leaf's count as an estimate."""
        number = NoisyNumber(count, np.array([self.deviation]), np.array([excess_of(self.noise)]))
        return estimate_count(number, CONFIDENCE, BY_COUNTS, stated_within=float(self.noise.within_95_percent or 0))

    def _codes(self, column: str) -> IntArray:
        """For every leaf the number of its published value; kept, because there may be a million leaves."""
        if column not in self._codes_of:
            self._codes_of[column] = self._encoded(column)
        return self._codes_of[column]

    def _encoded(self, column: str) -> IntArray:
        encoded: Any = self._counts.column(column).combine_chunks()
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
        place = {label: number for number, label in enumerate(self._cells[column].labels)}
        numbers = np.array([place[label] for label in encoded.dictionary.to_pylist()], dtype=np.int64)
        found: IntArray = numbers[encoded.indices.to_numpy()]
        return found

    def table(self, columns: Sequence[str]) -> NoisyTable:
        """Joint counts of any columns: sums of leaves."""
        if tuple(columns) not in self._tables:
            self._tables[tuple(columns)] = self._summed(columns)
        return self._tables[tuple(columns)]

    def _summed(self, columns: Sequence[str]) -> NoisyTable:
        cells = tuple(self._cells[name] for name in columns)
        shape = [len(column.labels) for column in cells]
        place = np.ravel_multi_index([self._codes(name) for name in columns], shape)
        summed = np.bincount(place, weights=self.noisy_counts, minlength=math.prod(shape)).astype(np.float64)
        merged = len(self.noisy_counts) // math.prod(shape)
        return NoisyTable(
            columns=cells,
            counts=summed.reshape(shape),
            deviation=self.deviation * math.sqrt(merged),
            excess=excess_of(self.noise) / merged,
            single_within=self.noise.within_95_percent if merged == 1 else None,
        )
