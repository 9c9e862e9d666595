"""Joins of any number of owners on the secure engine: all share marks with the compute nodes, which multiply shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copublish.engines.spu.node import SpuNode
from copublish.engines.spu.one_hot import (
    banded_product,
    banded_square,
    crossed_product,
    half_of_square,
    one_cell_each,
    places_of_each,
    scores_of_each,
    square,
    words_of,
)
from copublish.engines.spu.products import (
    Between,
    assemble,
    most_records,
    padded_records,
    tile_places,
    tiles_per_row,
)
from copublish.engines.spu.requests import Call, ComputeSteps, Forget, Kept, OwnProducts, ShareOf, Step, Xored
from copublish.engines.spu.shares import Expression, kept_step
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import Columns, Marks
from copublish.kernel.secrets.secret import Secret
from copublish.kernel.secrets.shards import Count, Done, no_word, sum_in_turn
from copublish.types import Program


class MarkingNode(SpuNode):
    """One of two compute nodes that join the columns of any number of parties by marks.

    Every party that holds part of a table marks the cells that a record may be in. Nodes' marks are their own share;
    guests send each node a part whose XOR they are.
    """

    def joint_matches(self, down: Marks, across: Marks, packing: Packing) -> Secret:
        """Count aligned records: what all parties fit is found by AND on bits, then shares are multiplied."""
        n_rows, n_records = len(down.own), padded_records(down.own.shape[1])
        rows = self._marks(down, one_cell_each, (n_rows, n_records), sizes=(n_rows,))
        places = self._marks(across, places_of_each, (n_records, packing.elements), packing=packing)
        product = self._multiplied(rows, places)
        self._forget(rows, places)
        return product

    def joint_match_pairs(self, marks: Marks, columns: Columns) -> Secret:
        """Count aligned records by pairs of cells that all parties fit: one product of shares with themselves."""
        shape = (columns.lines, padded_records(marks.own.shape[1]))
        if columns.scores is None:
            cells = self._marks(marks, one_cell_each, shape, sizes=columns.sizes)
        else:
            cells = self._marks(marks, scores_of_each, shape, columns=columns)
        squared = self._squared(cells)
        self._forget(cells)
        return squared

    def _multiplied(self, rows: Kept, places: Kept) -> Secret:
        """A product of shares, in tiles that each come back in one ciphertext."""
        (n_rows, n_records), elements = rows.shape, places.shape[1]
        found, call = [], Call(crossed_product, (0, 1, 2, 3, 4), {})
        for band, across in tile_places(n_rows, elements):
            shares = [ShareOf(rows, rank, band) for rank in range(2)] + [
                ShareOf(places, rank, (0, n_records), across) for rank in range(2)
            ]
            found += self._keep_parts((*shares, OwnProducts(rows, places, band, across), call), [_size(band, across)])
        return self.compute(assemble, *found, per_row=tiles_per_row(elements), shape=(n_rows, elements))

    def _squared(self, cells: Kept) -> Secret:
        """A product of shares with themselves, of which one half is computed."""
        n_cells, found = cells.shape[0], []
        for band, across in tile_places(n_cells, n_cells):
            shares = (ShareOf(cells, 0, band), ShareOf(cells, 1, across))
            found += self._keep_parts((*shares, Call(half_of_square, (0, 1), {})), [_size(band, across)])
        n, shape = len(found), (n_cells, n_cells)
        (squared,) = self._keep_parts(
            (
                *map(kept_step, found),
                Call(assemble, tuple(range(n)), {"per_row": tiles_per_row(n_cells), "shape": shape}),
                OwnProducts(cells, cells, (0, n_cells), is_transposed=True),
                Call(square, (n, n + 1), {}),
            ),
            [shape],
        )
        return squared

    def _marks(self, marks: Marks, program: Program, shape: tuple[int, ...], **public: Any) -> Kept:
        """Compute and keep what all holders' marks say together."""
        own = words_of(marks.own)
        steps: list[Step] = []
        for holder in (self.parties[number] for number in marks.holders):
            if holder in self.nodes:
                steps.append(Xored(own if holder == self.party else np.zeros_like(own)))
            else:
                steps.append(Xored(self._guests().bits_of(holder, own.shape)))
        (kept,) = self._keep_parts((*steps, Call(program, tuple(range(len(steps))), public)), [shape])
        return kept_step(kept)

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """The largest number of records for which a product fits into memory."""
        return most_records(n_rows * packing.elements)

    def sum_over_records(
        self, count: Count, n_records: int, *, size: int, shape: tuple[int, ...], done: Done = no_word
    ) -> Secret:
        """The sum of what is counted of all records, some at a time."""
        return sum_in_turn(self, count, n_records, size, shape, done)

    def _forget(self, *kept: Kept) -> None:
        self._ask(Forget(tuple(secret.name for secret in kept)))

    def _keep_parts(self, steps: tuple[Step, ...], shapes: Sequence[tuple[int, ...]]) -> list[Secret]:
        """Compute the last step now and keep what comes out of it, one part for each shape."""
        names = tuple(self._new_name() for _ in shapes)
        self._ask(ComputeSteps(steps, keep_as=names, by_rows=len(shapes) > 1))
        return [Secret(Expression(Kept(name, shape)), shape) for name, shape in zip(names, shapes, strict=True)]


class ReplicatedMarkingNode(MarkingNode):
    """One of three compute nodes that join columns of any number of parties by marks: products cost next to nothing.

    Each pair of nodes has all parts of a secret between them, so a product takes one message whatever its factors are.
    """

    def _multiplied(self, rows: Kept, places: Kept) -> Secret:
        shape = (rows.shape[0], places.shape[1])
        return self._keep_parts((rows, places, Call(banded_product, (0, 1), {})), [shape])[0]

    def _squared(self, cells: Kept) -> Secret:
        shape = (cells.shape[0], cells.shape[0])
        return self._keep_parts((cells, Call(banded_square, (0,), {})), [shape])[0]


def _size(rows: Between, columns: Between) -> tuple[int, int]:
    return rows[1] - rows[0], columns[1] - columns[0]
