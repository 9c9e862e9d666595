"""Answers from the measured tables that have the columns in question. Released values only.

`replicate` makes records once more: the model is fitted to the measured tables with fresh noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.columns import NOISY_COUNT
from copublish.errors import ReleaseError
from copublish.kernel.accounting.statements import Law, Noise
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.measurements import AGAIN, CHOSEN, FIRST
from copublish.mechanisms.marginals.model import TABLE_BITS, FittingProblem, MeasuredTable, from_units
from copublish.mechanisms.marginals.publish import TABLES, MarginalsDetails, records_table
from copublish.mechanisms.marginals.records import draw_codes
from copublish.mechanisms.reading.noisy import LAPLACE_EXCESS
from copublish.mechanisms.reading.of_cells import CellReading, ColumnCells, NoisyTable, OtherTotal
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.post_processing import domains_as_published
from copublish.types import FloatArray


@dataclass(frozen=True)
class _PublishedTable:
    """A measured table."""

    columns: tuple[str, ...]
    counts: FloatArray
    deviation: float
    within_95_percent: float


class MarginalsReading(CellReading):
    """Questions to noisy tables. Where several have the columns, their sums are weighted by how exact they are."""

    def __init__(self, publication: Publication, details: MarginalsDetails) -> None:
        self._details, self._certificate = details, publication.certificate
        self._published = publication.contents.tables[TABLES]

    @cached_property
    def columns(self) -> Sequence[str]:
        """The columns, the class last."""
        return tuple(self._details.columns)

    @cached_property
    def _cells(self) -> dict[str, ColumnCells]:
        return {name: ColumnCells.of(domain) for name, domain in self._details.public_columns.domains.items()}

    @cached_property
    def _measured(self) -> list[_PublishedTable]:
        """The tables with their counts, in the order of measurement; noise has no part in which of them are used."""
        numbers = self._published.column("table")
        found = []
        for number, table in enumerate(self._details.tables, start=1):
            values = self._published.filter(pc.equal(numbers, number)).column(NOISY_COUNT).to_numpy()
            shape = [len(self._cells[name].labels) for name in table.columns]
            counts = values.astype(np.float64).reshape(shape)
            deviation, within = table.noise_deviation_in_people, table.within_95_percent
            found.append(_PublishedTable(table.columns, counts, deviation, within))
        return found

    @cached_property
    def _excess(self) -> float:
        """Excess kurtosis of the noise of a count."""
        return 0.0 if law_of_tables(self._certificate) is Law.GAUSSIAN else LAPLACE_EXCESS

    def table(self, columns: Sequence[str]) -> NoisyTable:
        """Joint counts of columns that are in one measured table, or in several."""
        having = [table for table in self._measured if set(columns) <= set(table.columns)]
        if not having:
            names = " and ".join(f"'{name}'" for name in columns)
            raise ReleaseError(
                f"No measured table has {names} together. What the records show of them follows from the model, and "
                "by how much that is off is not known; `replicates` tells what noise has to do with it."
            )
        cells = tuple(self._cells[name] for name in columns)
        sums = [_summed(table, columns) for table in having]
        weights = np.array([1 / variance for _, variance, _ in sums])
        weights = weights / weights.sum()
        counts = np.zeros([len(column.labels) for column in cells])
        variance = kurtosis = 0.0
        for weight, (part, own, merged) in zip(weights.tolist(), sums, strict=True):
            counts += weight * part
            variance += weight**2 * own
            kurtosis += weight**4 * own**2 * self._excess / merged
        single = having[0].within_95_percent if len(sums) == 1 and sums[0][2] == 1 else None
        return NoisyTable(
            columns=cells,
            counts=counts,
            deviation=math.sqrt(variance),
            excess=kurtosis / variance**2,
            other_total=self._other_total(having),
            single_within=single,
        )

    def _other_total(self, used: Sequence[_PublishedTable]) -> OtherTotal | None:
        """The number of records: public, or from all tables that are not used."""
        public = self._certificate.public_facts.number_of_records
        if public is not None:
            return OtherTotal(public, 0.0)
        others = [table for table in self._measured if all(table is not one for one in used)]
        if not others:
            return None
        weights = [1 / (table.deviation**2 * table.counts.size) for table in others]
        value = sum(w * float(table.counts.sum()) for w, table in zip(weights, others, strict=True)) / sum(weights)
        return OtherTotal(value, math.sqrt(1 / sum(weights)))


def law_of_tables(certificate: Certificate) -> Law:
    """Of the noise in every measured table; all have the same. What is counted besides the tables may have another."""
    (law,) = {made.noise.law for step in (FIRST, CHOSEN, AGAIN) for made in certificate.at(step)}
    return law


def _summed(table: _PublishedTable, columns: Sequence[str]) -> tuple[FloatArray, float, int]:
    """The counts of some of a table's columns in their order, each one's variance, and of how many cells it is."""
    away = tuple(axis for axis, name in enumerate(table.columns) if name not in columns)
    left = [name for name in table.columns if name in columns]
    counts = table.counts.sum(axis=away).transpose([left.index(name) for name in columns])
    merged = table.counts.size // counts.size
    return counts, table.deviation**2 * merged, merged


def replicate(publication: Publication, details: MarginalsDetails, draws: Draws) -> pa.Table:
    """The records that the measured tables with fresh noise would give; which were measured is not chosen again."""
    domains = domains_as_published(details.public_columns.domains, publication.records)
    names = list(domains)
    is_gaussian = law_of_tables(publication.certificate) is Law.GAUSSIAN
    published = publication.contents.tables[TABLES]
    tables = []
    for number, table in enumerate(details.tables, start=1):
        values = published.filter(pc.equal(published.column("table"), number)).column(NOISY_COUNT).to_numpy()
        deviation = table.noise_deviation_in_people
        # Of Laplace noise that is not tiny the deviation is the root of 2 times the scale.
        scale = deviation if is_gaussian else deviation / float(np.sqrt(2))
        law = Noise(law=Law.GAUSSIAN if is_gaussian else Law.LAPLACE, scale_in_people=scale)
        columns = tuple(names.index(name) for name in table.columns)
        tables.append(MeasuredTable(columns, draws.counts(law, values), deviation, table.within_95_percent))
    sizes = tuple(domain.size for domain in domains.values())
    total = publication.certificate.public_facts.number_of_records
    if total is None:
        weights = np.array([1 / (table.deviation**2 * len(table.values)) for table in tables])
        total = round(float(weights @ [float(table.values.sum()) for table in tables] / weights.sum()))
    problem = FittingProblem(sizes, tuple(tables), max(1, total))
    factors = np.concatenate([np.array(table.factors, dtype=np.int64) for table in details.tables])
    state = problem.fit(from_units(factors))
    cliques = tuple(np.rint(belief * 2.0**TABLE_BITS).astype(np.int64) for belief in state.beliefs)
    key = draws.next_key()
    codes = draw_codes(problem.tree, cliques, publication.records.num_rows, key)
    return records_table(domains, codes, key)
