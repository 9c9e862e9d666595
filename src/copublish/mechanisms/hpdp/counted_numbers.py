"""Answers about numbers, by the counts of their cells. Released values only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copublish.errors import ReleaseError
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.hpdp.publish import HpdpDetails
from copublish.mechanisms.reading.cells import ColumnCells, NoisyTable, OtherTotal
from copublish.mechanisms.reading.noisy import deviation_of, excess_of
from copublish.mechanisms.reading.of_cells import CellReading


class CountedNumbers(CellReading):
    """Questions to one number's own counts."""

    def __init__(self, details: HpdpDetails, coordinates: Coordinates, noise: Noise) -> None:
        self._details, self._coordinates, self._noise = details, coordinates, noise

    @property
    def columns(self) -> Sequence[str]:
        """The columns of numbers."""
        return tuple(self._coordinates.cells)

    def table(self, columns: Sequence[str]) -> NoisyTable:
        """Counts of one number's cells."""
        if len(columns) != 1:
            raise ReleaseError("This release counted the cells of every number alone.")
        group = self._coordinates.cells[columns[0]]
        counts = {i: (noisy, weight) for i, j, noisy, weight in self._details.noisy_sums.products if i == j}
        own = [counts[place] for place in range(group.start, group.stop)]
        deviation = deviation_of(self._noise, points_per_person=UNIT**2)
        total = self._details.noisy_sums.records
        other = OtherTotal(total[0] / UNIT**2, deviation) if total else OtherTotal(self._details.estimated_records, 0.0)
        return NoisyTable(
            columns=(ColumnCells.of(self._coordinates.columns[columns[0]]),),
            counts=np.array([noisy / weight for noisy, weight in own]) / UNIT**2,
            deviation=deviation / own[0][1],
            excess=excess_of(self._noise),
            other_total=other,
        )
