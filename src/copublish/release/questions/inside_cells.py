"""How far a statistic of records depends on where numbers lie inside their cells. Released values only.

A release tells which cell a number is in, and records are spread evenly over the numbers of a cell. A cut at 33 goes
through the cell [30, 40): how many of its people are below 33 was never measured. All records of a cell are put at one
place after the other, which finds the ends for whatever adds up over records, such as shares and means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copublish.release.questions.cells import ColumnCells
from copublish.release.questions.estimate import Estimate
from copublish.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    Statistic = Callable[[pd.DataFrame], float]

PLACES = 5
"""Places in a cell that are tried, both ends among them; all of its numbers if they are no more."""

MOST_NAMED = 3
"""Cells of a column that a sentence names; where there are more, no cut is the reason."""


@dataclass(frozen=True)
class Inside:
    """A cell on whose inside a statistic depends.

    Attributes:
        column: The column.
        cell: How the cell is named.
        less: How much smaller the statistic is at most, if its records lie elsewhere in the cell; not above 0.
        more: How much larger; not below 0.
    """

    column: str
    cell: str
    less: float
    more: float


def dependences(records: pd.DataFrame, columns: Mapping[str, ColumnCells], statistic: Statistic) -> Iterator[Inside]:
    """Yield the cells in which it matters where records lie."""
    value = float(statistic(records))
    for name, cells in columns.items():
        if not cells.is_number or records[name].dtype.kind not in "iuf":  # records of cells have no places in them
            continue
        numbers = records[name].to_numpy(dtype=np.float64)
        codes = np.searchsorted(cells.low[cells.holds_numbers > 0][1:], numbers, side="right")
        there = [code for code in np.unique(codes[np.isfinite(numbers)]).tolist() if cells.low[code] < cells.high[code]]
        places = {code: _places(cells, code) for code in there}
        whole = [
            np.array([places[code][place] if code in places else 0.0 for code in range(len(cells.labels))])[codes]
            for place in (0, 1, -1)
            if there
        ]
        movable = np.isin(codes, there) & np.isfinite(numbers)
        if not any(_with(records, name, np.where(movable, moved, numbers), statistic) != value for moved in whole):
            continue
        for code in there:
            here = movable & (codes == code)
            found = [_with(records, name, np.where(here, place, numbers), statistic) for place in places[code]]
            less, more = min(0.0, *(one - value for one in found)), max(0.0, *(one - value for one in found))
            if not all(map(math.isfinite, found)):
                less, more = -math.inf, math.inf
            if less < 0 or more > 0:
                yield Inside(name, cells.labels[code], less, more)


def _places(cells: ColumnCells, code: int) -> list[float]:
    """Places in a cell in ascending order, at least two."""
    low, high = float(cells.low[code]), float(cells.high[code])
    if cells.is_exact:
        steps = round((high - low) / cells.unit)
        return [low + cells.unit * step for step in sorted({round(steps * i / (PLACES - 1)) for i in range(PLACES)})]
    is_last = code == int(np.flatnonzero(cells.holds_numbers)[-1])
    return [*np.linspace(low, high, PLACES)[:-1].tolist(), high if is_last else math.nextafter(high, low)]


def _with(records: pd.DataFrame, name: str, numbers: FloatArray, statistic: Statistic) -> float:
    """The statistic with other numbers in a column; infinite if it does not exist there."""
    dtype = records[name].dtype
    keeps = dtype.kind in "iu" and bool((numbers == np.rint(numbers)).all())
    found = float(statistic(records.assign(**{name: numbers.astype(dtype) if keeps else numbers})))
    return found if math.isfinite(found) else math.inf


def with_insides(estimate: Estimate, insides: list[Inside]) -> Estimate:
    """An estimate whose interval also holds what cells hide, and that names them."""
    if not insides:
        return estimate
    return replace(
        estimate,
        low=estimate.low + sum(inside.less for inside in insides),
        high=estimate.high + sum(inside.more for inside in insides),
        how=f"{estimate.how}. {' '.join(_in_words(insides))}",
        inside=tuple(f"{inside.column} {inside.cell}" for inside in insides),
    )


def _in_words(insides: list[Inside]) -> Iterator[str]:
    for column in dict.fromkeys(inside.column for inside in insides):
        cells = [inside.cell for inside in insides if inside.column == column]
        yield cut_in_words(column, cells)


def cut_in_words(column: str, cells: list[str]) -> str:
    """A sentence about cells of which a part counts."""
    if len(cells) <= MOST_NAMED:
        which = f"of '{column}' a cut goes through {' and '.join(cells)}"
    else:
        which = f"it depends on where in their cells numbers of '{column}' are"
    return (
        f"{which[0].upper()}{which[1:]}: inside a cell people are taken to be spread evenly, which was not measured; "
        "the interval holds them wherever they are."
    )
