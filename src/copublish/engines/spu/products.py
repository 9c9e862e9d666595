"""Joint counts on the secure engine as products of matrices: their tiles, how they are padded, and the programs.

A matrix says for every record in which cells of a party it is. Its lines (cells) come in groups, one for each
attribute, and a record is in at most one cell of a group. Whether what a party puts in is like that is checked inside
the product's own program, on the very variable that is multiplied. The check is a function of that party's input and
of public shapes, so its outcome, 0 for everybody who follows the protocol, tells nothing about anybody else's data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import ModuleType
from typing import cast

import numpy as np

from copublish.engines.spu.requests import OwnedMatrix
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import NO_CELL, Columns
from copublish.types import IntArray

MAX_PRODUCT_CELLS = 8192
"""Larger products come back in several ciphertexts that share their randomness; smaller ones in one. Every product of
two nodes' private matrices is cut into tiles for it (`tile_places`)."""

MAX_PRODUCT_WORK = 60_000_000
"""Records times cells of one product: the evaluating side needs about 40 bytes for each."""

PRODUCT_ROWS: tuple[int, ...] = tuple(1 << power for power in range(11, 17))
"""Products have at most one of these numbers of records."""

STEPS_PER_DOUBLING = 8
"""Products are padded to one of so many numbers of records between a power of two and the next: few programs are
compiled, and no product has more than an eighth of padding unless it is small."""

SPARE_RECORDS = 2
"""The last records of every product, which are nobody's: `without_zeros` says what for."""

ONE_COUNT = Packing(1)
"""How lines lie that hold one count each."""

Sizes = tuple[int, ...]
"""Numbers of cells, one for each group of lines."""

Between = tuple[int, int]
"""The first of some rows or columns, and the first after them."""

Scores = tuple[tuple[int, ...], ...]
"""Scores of the cells, one tuple for each group of lines."""


Pairs = tuple[tuple[int, int], ...]
"""Groups of lines, two by number each."""


def padded_records(n_records: int) -> int:
    """How many records a product of so many has, with those that pad it and the spare ones."""
    needed = n_records + SPARE_RECORDS
    fitting = [size for size in PRODUCT_ROWS if size >= needed]
    step = fitting[0] // (2 * STEPS_PER_DOUBLING)
    return max(PRODUCT_ROWS[0], -(-needed // step) * step)


def most_records(n_cells: int) -> int:
    """The largest number of records for which a product with so many cells fits into memory."""
    cells = min(MAX_PRODUCT_CELLS, n_cells)
    fitting = [size for size in PRODUCT_ROWS if size * cells <= MAX_PRODUCT_WORK]
    return (fitting[-1] if fitting else PRODUCT_ROWS[0]) - SPARE_RECORDS


def records_of_products(n_records: int, n_cells: int) -> int:
    """How many records all products of so many records have together, with those that pad them."""
    step = most_records(n_cells)
    whole, rest = divmod(n_records, step)
    return whole * padded_records(step) + (padded_records(rest) if rest else 0)


def tiles_per_row(n_columns: int) -> int:
    """How many tiles stand beside each other in a table with so many columns."""
    return -(-n_columns // MAX_PRODUCT_CELLS)


def tile_places(n_rows: int, n_columns: int, *, height: int | None = None) -> Iterator[tuple[Between, Between]]:
    """Yield the rows and the columns of every tile of a product, row by row of tiles.

    Args:
        n_rows: Of the product.
        n_columns: The same.
        height: How many rows a tile has, if what is multiplied is smaller than the matrices that are given.
    """
    width = min(n_columns, MAX_PRODUCT_CELLS)
    height = max(1, MAX_PRODUCT_CELLS // width) if height is None else height
    for top in range(0, n_rows, height):
        for left in range(0, n_columns, width):
            yield (top, min(top + height, n_rows)), (left, min(left + width, n_columns))


@dataclass(frozen=True)
class Lines:
    """One party's matrix by its entries: which record is on which line, and what it adds there.

    Attributes:
        sizes: Public: the number of lines of each group.
        scores: Public: the score of each line, by group, if the scores of records are multiplied.
        line: The line of each entry; empty at the other party, as the next two are.
        record: Its record.
        value: What it adds: 1, or 1 in the lane of its count.
        pairs: Public: the groups whose scores are multiplied with each other first, if so.
        packing: Public: how many counts share a line, each in a lane.
    """

    sizes: Sizes
    scores: Scores | None
    line: IntArray
    record: IntArray
    value: IntArray
    pairs: Pairs | None = None
    packing: Packing = ONE_COUNT

    @staticmethod
    def of(cells: Sequence[IntArray] | None, columns: Columns) -> Lines:
        """Lines of a party that knows the cell of each record in each group, or `NO_CELL`; none at the other party."""
        nothing, sizes, packing = np.empty(0, np.int64), columns.lines_of_columns, Packing(1, columns.lanes)
        if cells is None:
            return Lines(sizes, columns.scores, nothing, nothing, nothing, columns.pairs, packing)
        found = [np.flatnonzero(own != NO_CELL) for own in cells]
        there = [own[records] for own, records in zip(cells, found, strict=True)]
        line = [start + own // packing.lanes for start, own in zip(_starts(sizes), there, strict=False)]
        line, record, cell = (np.concatenate([nothing, *parts]) for parts in (line, found, there))
        return Lines(sizes, columns.scores, line, record, packing.weight(cell), columns.pairs, packing)

    @property
    def number(self) -> int:
        """How many lines there are."""
        return sum(self.sizes)

    @property
    def results(self) -> int:
        """How many rows or columns of the product they make."""
        return Columns(self.sizes, self.scores, self.pairs).lines

    def between(self, start: int, stop: int) -> tuple[IntArray, IntArray, IntArray]:
        """The entries on some of the lines, counted from the first of them."""
        here = (self.line >= start) & (self.line < stop)
        return self.line[here] - start, self.record[here], self.value[here]


@dataclass(frozen=True)
class Piece:
    """The lines of one group that are in a tile, and whether that is all of them."""

    group: int
    start: int
    stop: int
    is_whole: bool


@dataclass(frozen=True)
class Tile:
    """Two factors and where their product lies in the table."""

    x: OwnedMatrix
    y: OwnedMatrix
    down: tuple[Piece, ...]
    across: tuple[Piece, ...]
    top: int
    left: int


def tiles(rank: int, down: Lines, across: Lines, n_records: int) -> Iterator[Tile]:
    """Yield the two factors of every tile of a table of counts, row by row of tiles.

    Args:
        rank: Whose entries are filled in: 0 holds the rows of the table, 1 its columns.
        down: The rows.
        across: The columns.
        n_records: Public.
    """
    padded, height = padded_records(n_records), None
    if down.scores is not None:
        height = down.number
        if across.number > MAX_PRODUCT_CELLS or down.results * across.results > MAX_PRODUCT_CELLS:
            raise ValueError("scores of so many columns are not multiplied at once")
    for (top, bottom), (left, right) in tile_places(down.number, across.number, height=height):
        own_down, own_across = None, None
        if rank == 0:
            own_down = down.between(top, bottom)
        else:
            line, record, value = across.between(left, right)
            own_across = record, line, value
        yield Tile(
            OwnedMatrix(0, (bottom - top, padded), own_down),
            OwnedMatrix(1, (padded, right - left), own_across),
            _pieces(down.sizes, top, bottom),
            _pieces(across.sizes, left, right),
            top,
            left,
        )


def _starts(sizes: Sizes) -> list[int]:
    return list(accumulate(sizes, initial=0))


def _pieces(sizes: Sizes, start: int, stop: int) -> tuple[Piece, ...]:
    """What of each group lies between two lines, counted from the first of them."""
    return tuple(
        Piece(group, max(first, start) - start, min(last, stop) - start, start <= first and last <= stop)
        for group, (first, last) in enumerate(pairwise(_starts(sizes)))
        if first < stop and last > start
    )


def checked_product(
    xp: ModuleType,
    x: IntArray,
    y: IntArray,
    down: tuple[Piece, ...],
    across: tuple[Piece, ...],
    packings: tuple[Packing, Packing],
    scores: tuple[Scores, Scores] | None = None,
    pairs: tuple[Pairs | None, Pairs | None] = (None, None),
) -> tuple[IntArray, ...]:
    """Multiply two parties' matrices, or their records' scores, and tell of each whether it is what it should be.

    Returns:
        The product, secret. For the owner of x and for the owner of y one number, shape (1,): 0 if and only if no entry
        is anything else than 0 or 1 in a lane, no record is on two lines of a group that lies in this tile
        as a whole, and the spare records are on no line. Then for each group that does not lie in this tile as a whole,
        x's before y's, the number of its lines here that each record is on.
    """
    wrong_x, partial_x = _what_is_wrong(xp, x, down, packings[0])
    wrong_y, partial_y = _what_is_wrong(xp, y.T, across, packings[1])
    if scores is not None:
        x = _scores_of_records(xp, x, down, scores[0], pairs[0])
        y = _scores_of_records(xp, y.T, across, scores[1], pairs[1]).T
    return (cast(IntArray, xp.matmul(*without_zeros(xp, x, y))), wrong_x, wrong_y, *partial_x, *partial_y)


def without_zeros(xp: ModuleType, x: IntArray, y: IntArray) -> tuple[IntArray, IntArray]:
    """The same product of two factors of which none is 0, nor a line of x or y.

    SPU ends with an error where it would multiply a ciphertext by nothing but zeros, and that somebody's records are in
    none of some cells must not end a run. So the first spare record is on all lines of x and the second on all of y,
    where the other factor has none of them: each adds 0 to every count.
    """
    n = x.shape[1]
    nobody, one = np.zeros(n - SPARE_RECORDS, np.int64), np.ones(1, np.int64)
    on_x, on_y = (xp.concatenate([nobody, *spare]) for spare in ((one, 0 * one), (0 * one, one)))
    return x + on_x[None, :], y + on_y[:, None]


def _scores_of_records(
    xp: ModuleType, lines: IntArray, pieces: tuple[Piece, ...], scores: Scores, pairs: Pairs | None
) -> IntArray:
    """Every record's score in each group of lines, 0 for one that is on none: (n_lines, n) to (n_groups, n).

    Products of two groups' scores are made at their owner alone: (n_lines, n) to (n_pairs, n).
    """
    weighted = [
        lines[piece.start : piece.stop] * np.array(scores[piece.group], dtype=np.int64)[:, None] for piece in pieces
    ]
    found = [_sum_of_lines(xp, own) for own in weighted]
    return cast(IntArray, xp.concatenate(found if pairs is None else [found[i] * found[j] for i, j in pairs]))


def on_two_lines(xp: ModuleType, *partial: IntArray) -> IntArray:
    """Whether records are on more than one line of a group that lies in several tiles: 0 if none is, shape (1,)."""
    return _size(sum(partial[1:], start=partial[0]) & ~1).reshape(1)


def all_wrong(xp: ModuleType, *numbers: IntArray, of_first: int) -> IntArray:
    """What is wrong with the first party's inputs and with the second's: shape (2,)."""
    first, second = numbers[:of_first], numbers[of_first:]
    return cast(
        IntArray,
        xp.concatenate([sum(own[1:], start=own[0]) for own in (first, second)]),
    )


def _what_is_wrong(
    xp: ModuleType, lines: IntArray, pieces: tuple[Piece, ...], packing: Packing
) -> tuple[IntArray, list[IntArray]]:
    """Check a matrix with operations that SPU does at its owner alone: shifts, sums and ANDs with public numbers."""
    lanes = [packing.lane_bits * lane for lane in range(packing.lanes)]
    wrong = _size(lines & ~sum(1 << lane for lane in lanes)) + _size(lines[:, -SPARE_RECORDS:])
    partial = []
    for piece in pieces:
        counts = _lines_of_records(xp, lines[piece.start : piece.stop], packing)
        if piece.is_whole:
            wrong = wrong + _size(counts[0] & ~1)
        else:
            partial.append(counts[0])
    return wrong.reshape(1), partial


def _lines_of_records(xp: ModuleType, lines: IntArray, packing: Packing) -> IntArray:
    """On how many lines each record is, whatever lanes it is in there: (n_lines, n) to (1, n).

    Lines are added before lanes are told apart, no more of them at once than a lane can count: where all entries are 1
    in some lanes, which is checked as well, no lane runs over into the next.
    """
    most = (1 << packing.lane_bits) - 1
    found = [_sum_of_lines(xp, lines[top : top + most]) for top in range(0, lines.shape[0], most)]
    lanes = [packing.lane_bits * lane for lane in range(packing.lanes)]
    return _sum_of_lines(xp, xp.concatenate([(own >> lane) & most for own in found for lane in lanes]))


def _sum_of_lines(xp: ModuleType, lines: IntArray) -> IntArray:
    """Add lines by halves: SPU's sum along the first axis of a private matrix is not done by its owner alone."""
    while (n := lines.shape[0]) > 1:
        lines = xp.concatenate([lines[: n // 2] + lines[n // 2 : n // 2 * 2], lines[n // 2 * 2 :]])
    return lines


def _size(values: IntArray) -> IntArray:
    """A number that is 0 if and only if all values are: limbs of 22 bits are never negative, and too few to wrap."""
    limb = (1 << 22) - 1
    return cast(IntArray, ((values & limb) + ((values >> 22) & limb) + ((values >> 44) & limb)).sum())


def assemble(xp: ModuleType, *tiles: IntArray, per_row: int, shape: tuple[int, ...]) -> IntArray:
    """Put the tiles of a table together and give it its shape."""
    bands = [xp.concatenate(list(tiles[i : i + per_row]), axis=1) for i in range(0, len(tiles), per_row)]
    return cast(IntArray, xp.concatenate(bands, axis=0).reshape(shape))
