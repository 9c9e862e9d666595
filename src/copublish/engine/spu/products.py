"""Joint counts on the secure engine as products of matrices: their tiles, how they are padded, and the programs."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import cast

import numpy as np

from copublish.engine.interface import NO_CELL
from copublish.engine.programs.packing import Packing
from copublish.engine.spu.requests import OwnedMatrix
from copublish.types import BoolArray, IntArray

MAX_PRODUCT_CELLS = 8192
"""Larger products come back in several ciphertexts that share their randomness; smaller ones in one."""

MAX_PRODUCT_WORK = 60_000_000
"""Records times cells of one product: the evaluating side needs about 40 bytes for each."""

PRODUCT_ROWS = tuple(2**power for power in range(11, 17))
"""Products are padded to one of these numbers of records, so that few programs are compiled."""


def padded_records(n_records: int) -> int:
    """How many records a product of so many has, with those that pad it."""
    fitting: list[int] = [size for size in PRODUCT_ROWS if size >= n_records]
    return fitting[0]


def most_records(n_cells: int) -> int:
    """The largest number of records for which a product with so many cells fits into memory."""
    cells = min(MAX_PRODUCT_CELLS, n_cells)
    fitting: list[int] = [size for size in PRODUCT_ROWS if size * cells <= MAX_PRODUCT_WORK]
    return fitting[-1] if fitting else PRODUCT_ROWS[0]


def tiles_per_row(n_columns: int) -> int:
    """How many tiles stand beside each other in a table with so many columns."""
    return -(-n_columns // MAX_PRODUCT_CELLS)


def histogram_tiles(
    rank: int, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
) -> Iterator[tuple[OwnedMatrix, OwnedMatrix]]:
    """Yield the two factors of every tile of a table of counts, row by row of tiles.

    Args:
        rank: Whose entries are filled in: 0 holds the rows of the table, 1 its columns.
        cells: This party's number of each record; `NO_CELL`, which is in no tile, for one that counts nowhere.
        places: Where in a cell of its own a record counts, at the party with the columns.
        sizes: How many numbers each party has.
        packing: How places share ring elements.
    """
    rows, columns = sizes[0], sizes[1] * packing.elements
    padded = padded_records(len(cells))
    width = min(columns, MAX_PRODUCT_CELLS)
    height = max(1, MAX_PRODUCT_CELLS // width)
    records = np.arange(len(cells), dtype=np.int64)
    if places is None:
        column, value = np.empty(0, np.int64), np.empty(0, np.int64)
    else:
        column = np.where(cells == NO_CELL, NO_CELL, cells * packing.elements + places // packing.lanes)
        value = packing.weight(places)
    for top in range(0, rows, height):
        bottom = min(top + height, rows)
        for left in range(0, columns, width):
            right = min(left + width, columns)
            if rank == 0:
                mine = (cells >= top) & (cells < bottom)
                entries = (cells[mine] - top, records[mine], np.ones(int(mine.sum()), dtype=np.int64))
            else:
                mine = (column >= left) & (column < right)
                entries = (records[mine], column[mine] - left, value[mine])
            x = OwnedMatrix(0, (bottom - top, padded), entries if rank == 0 else None)
            y = OwnedMatrix(1, (padded, right - left), entries if rank == 1 else None)
            yield x, y


def product(xp: ModuleType, x: IntArray, y: IntArray) -> IntArray:
    """Multiply two matrices."""
    return cast(IntArray, xp.matmul(x, y))


def match_product(
    xp: ModuleType, down0: IntArray, down1: IntArray, across0: IntArray, across1: IntArray, packing: Packing
) -> IntArray:
    """Multiply two tables of matches, each given bit by bit by two parties: (rows, n) by (places, n) transposed."""
    rows, places = _bits(down0 & down1), _bits(across0 & across1)
    return cast(IntArray, xp.matmul(rows, packing.pack(xp, places.T)))


def assemble(xp: ModuleType, *tiles: IntArray, per_row: int, shape: tuple[int, ...]) -> IntArray:
    """Put the tiles of a table together and give it its shape."""
    bands = [xp.concatenate(list(tiles[i : i + per_row]), axis=1) for i in range(0, len(tiles), per_row)]
    return cast(IntArray, xp.concatenate(bands, axis=0).reshape(shape))


def words_of(matches: BoolArray) -> IntArray:
    """Put matches into words of 64 bits; records that pad them match nowhere: (k, n) to (k, padded / 64)."""
    bits = np.zeros((len(matches), padded_records(matches.shape[1])), dtype=np.uint8)
    bits[:, : matches.shape[1]] = matches
    return np.packbits(bits, axis=1, bitorder="little").view(np.int64)


def _bits(words: IntArray) -> IntArray:
    """Spread words of 64 bits: (k, n / 64) to (k, n)."""
    lanes = np.arange(64, dtype=np.int64)
    return cast(IntArray, ((words[:, :, None] >> lanes) & 1).reshape(words.shape[0], -1))
