"""Opened sums in blocks: each is a table over one or two columns, every opened sum is in one of them.

A block's axes say what a person counts as. Sums are in units of 1/UNIT^2 and coordinates in units of 1/UNIT, while an
axis of cells counts people. So `times` holds a factor UNIT for every coordinate that is missing from the axes or is 1
for a cell, besides the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from copublish.agreement.domain import NumericalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.published import Axis, Cells, Measured, Position, Scores
from copublish.types import IntArray

HALF = UNIT // 2


@dataclass(frozen=True)
class Block:
    """Opened sums that are one table.

    Attributes:
        axes: One for each column; none for the number of people.
        times: What every sum over people was multiplied with.
        places: Where its values are among the opened sums, the last axis fastest, shape (n_values,).
    """

    axes: tuple[Axis, ...]
    times: int
    places: IntArray


@dataclass(frozen=True)
class _Part:
    """Some coordinates of one column.

    Attributes:
        axis: The same in a table.
        places: Where they lie in a record's point.
        unit: What a 1 of the axis is in units of a coordinate.
    """

    axis: Axis
    places: IntArray
    unit: int


def blocks_of(coordinates: Coordinates, *, total_is_public: bool) -> list[Block]:
    """All opened sums: the number of people if it is not public, then columns one by one, then every two."""
    first, second = coordinates.pairs
    opened_at = np.full((coordinates.size, coordinates.size), -1, dtype=np.int64)
    opened_at[first, second] = opened_at[second, first] = np.arange(len(first))
    found = [] if total_is_public else [Block((), UNIT**2, np.array([len(first) + coordinates.n_centered]))]
    for name in coordinates.columns:
        found += _blocks_of_column(coordinates, name, opened_at)
    for one, other in _pairs_of_parts(coordinates):
        weight = int(coordinates.weights[one.places[0], other.places[0]])
        times = weight * one.unit * other.unit
        found.append(Block((one.axis, other.axis), times, opened_at[np.ix_(one.places, other.places)].ravel()))
    return found


def _blocks_of_column(coordinates: Coordinates, name: str, opened_at: IntArray) -> Iterator[Block]:
    """Yield counts of cells, and the sum and the sum of squares of a centered coordinate."""
    for part in _parts(coordinates, name):
        weight, places = int(coordinates.weights[part.places[0], part.places[0]]), opened_at[part.places, part.places]
        if isinstance(part.axis, Cells):
            yield Block((part.axis,), weight * UNIT**2, places)
            continue
        (place,) = part.places
        own_sum = np.array([len(coordinates.pairs[0]) + place])
        yield Block((part.axis,), int(coordinates.centered_weights[place]) * UNIT, own_sum)
        square = (
            Position(column=name, parts=UNIT, power=2)
            if isinstance(part.axis, Position)
            else Scores(column=name, scores=(HALF**2, HALF**2))
        )
        yield Block((square,), weight, places)


def _pairs_of_parts(coordinates: Coordinates) -> Iterator[tuple[_Part, _Part]]:
    """Yield the parts of different columns whose products were summed, in agreed order of columns."""
    for one, other in combinations(coordinates.columns, 2):
        linked, *cells = _parts(coordinates, one)
        second = _parts(coordinates, other)[0]
        yield linked, second
        if other == coordinates.class_name:
            yield from ((part, second) for part in cells)


def _parts(coordinates: Coordinates, name: str) -> list[_Part]:
    """The coordinate or group of a column that every product is summed of; then, of a number, its cells."""
    if name in coordinates.groups:
        return [_cells(name, coordinates.groups[name])]
    is_number = isinstance(coordinates.columns[name], NumericalDomain)
    axis = Position(column=name, parts=UNIT) if is_number else Scores(column=name, scores=(-HALF, HALF))
    centered = _Part(axis, np.array([coordinates.centered[name]]), 1)
    return [centered, _cells(name, coordinates.cells[name])] if is_number else [centered]


def _cells(name: str, place: slice) -> _Part:
    return _Part(Cells(column=name), np.arange(place.start, place.stop), UNIT)


def opened_sums(blocks: Sequence[Block], measured: Sequence[Measured]) -> IntArray:
    """The opened sums in the order in which they were opened, from the tables that they were published as.

    Raises:
        ReleaseError: If these are not the tables.
    """
    tables = [(table.axes, table.times, len(table.values)) for table in measured]
    if tables != [(block.axes, block.times, len(block.places)) for block in blocks]:
        raise ReleaseError("The measurements of this release are not the sums of its columns.")
    found = np.empty(sum(len(block.places) for block in blocks), dtype=np.int64)
    for block, table in zip(blocks, measured, strict=True):
        found[block.places] = np.rint(table.values).astype(np.int64)
    return found
