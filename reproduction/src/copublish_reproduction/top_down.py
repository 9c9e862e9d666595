"""Top-down specialization in the clear, as DiffGen introduced it and the two papers distribute it.

Each numerical value gets a split point first; then h times a cut is selected and replaced by its children. What
differs between the algorithms is how a split point and a cut are selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish_reproduction.plain_table import Floats, Ints, Piece, PlainTable

WEIGHT = "copublish/weight"

SplitChooser = Callable[[Piece], tuple[Piece, Piece] | None]
"""Splits an interval in two, or finds that it cannot be split."""

CutChooser = Callable[[Ints], int]
"""Selects a cut by the scores of all cuts."""

MAX_LEAVES = 2**24


@dataclass(frozen=True)
class Cut:
    """The generalized values of every attribute, in ascending order of codes."""

    table: PlainTable
    pieces: tuple[tuple[Piece, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of generalized values of each attribute."""
        return tuple(len(pieces) for pieces in self.pieces)

    @property
    def n_leaves(self) -> int:
        """Number of combinations of generalized values, empty ones included."""
        return math.prod(self.shape)

    def leaf_counts(self) -> Ints:
        """The exact number of records by leaf and class, shape (n_leaves, n_classes)."""
        if self.n_leaves * self.table.n_classes > MAX_LEAVES:
            raise ValueError(f"{self.n_leaves} leaves do not fit into memory; ask for fewer specializations")
        leaf = np.zeros(len(self.table.classes), dtype=np.int64)
        for column, pieces in zip(self.table.columns, self.pieces, strict=True):
            if len(pieces) > 1:
                part = np.repeat(np.arange(len(pieces)), [piece.stop - piece.start for piece in pieces])
                leaf = leaf * len(pieces) + part[column.codes]
        cells = np.bincount(
            leaf * self.table.n_classes + self.table.classes, minlength=self.n_leaves * self.table.n_classes
        )
        return cells.reshape(self.n_leaves, self.table.n_classes)

    def records(self, cells: Floats) -> pd.DataFrame:
        """Generalized training cells with their weight; attributes that were never split are left out."""
        leaves, classes = np.nonzero(cells > 0)
        frame: dict[str, object] = {}
        for place, parts in enumerate(np.unravel_index(leaves, self.shape)):
            if len(self.pieces[place]) > 1:
                frame[self.table.columns[place].name] = parts
        frame[self.table.class_name] = np.array(self.table.class_values, dtype=object)[classes]
        frame[WEIGHT] = cells[leaves, classes]
        return pd.DataFrame(frame)

    def generalized_test(self) -> pd.DataFrame:
        """The test records under the same cut, coded as `records` are."""
        frame: dict[str, object] = {}
        for column, pieces in zip(self.table.columns, self.pieces, strict=True):
            if len(pieces) == 1:
                continue
            raw = self.table.test[column.name].to_numpy()
            starts = [piece.start if column.values is None else piece.low for piece in pieces[1:]]
            frame[column.name] = np.searchsorted(starts, raw, side="right")
        frame[self.table.class_name] = self.table.test[self.table.class_name].to_numpy()
        return pd.DataFrame(frame)


def specialize(table: PlainTable, rounds: int, choose_split: SplitChooser, choose_cut: CutChooser) -> Cut:
    """Run Algorithm 1 of ArbDistDP, which is Algorithm 3 of DistDiffGen.

    A value without children, or an interval that cannot be split, is no candidate; the run ends early when no
    candidate is left. The papers leave both open.
    """

    def split(piece: Piece) -> tuple[Piece, ...]:
        is_number = table.columns[piece.column].values is not None
        return (choose_split(piece) or ()) if is_number else table.children(piece)

    pieces = table.top()
    children = {piece: split(piece) for piece in pieces}
    for _ in range(rounds):
        candidates = [piece for piece in pieces if children[piece]]
        if not candidates:
            break
        scores = np.array([table.max_score(children[piece]) for piece in candidates], dtype=np.int64)
        winner = candidates[choose_cut(scores)]
        place = pieces.index(winner)
        pieces[place : place + 1] = children[winner]
        children |= {piece: split(piece) for piece in children[winner]}
    by_column = [tuple(piece for piece in pieces if piece.column == place) for place in range(len(table.columns))]
    return Cut(table, tuple(by_column))


def step_epsilon(table: PlainTable, epsilon: float, rounds: int) -> float:
    """The budget of one selection: half of epsilon over the number of selections."""
    return epsilon / (2 * (len(table.numerical) + 2 * rounds))


def laplace_from_squares(scale: float, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
    """Laplace noise as the papers draw it: two squares of Gaussians minus two, each of variance scale / 2."""
    squares = generator.normal(0, math.sqrt(scale / 2), size=(4, *shape)) ** 2
    noise: Floats = squares[0] + squares[1] - squares[2] - squares[3]
    return noise
