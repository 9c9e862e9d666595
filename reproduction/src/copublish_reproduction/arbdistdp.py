"""ArbDistDP as published (Wang, Fung, Zhu, Peng: arbitrarily partitioned data), in the clear.

Not differentially private. Readings of what the paper leaves open or prints wrongly:

- the winner of a selection: running sums, as the proof says (`segment`), or as Algorithm 3 prints it (`literal`);
- every selection spends epsilon' = epsilon / (2 (d_num + 2h)), not epsilon;
- split points are the distinct values that occur, scored before the cursors move;
- leaves get Lap(2 / epsilon); a count below zero becomes zero;
- leaves carry no class: `class_in_leaf=False` hands a leaf's noisy number to its classes in their exact shares,
  `class_in_leaf=True` adds noise to every leaf and class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish_reproduction.leaks import LeakLog
from copublish_reproduction.plain_table import Floats, Ints, Piece, PlainTable
from copublish_reproduction.selection import Winner, draw, floored, log_weights
from copublish_reproduction.top_down import Cut, laplace_from_squares, specialize, step_epsilon


@dataclass(frozen=True)
class ArbDistDP:
    """One way to read the paper.

    Attributes:
        epsilon: The budget that the paper says it keeps.
        rounds: Number of specializations h.
        class_in_leaf: Whether the class of a record is covered by noise.
        floor_digits: The paper's l; none for weights without flooring.
        winner: How a selection ends.
    """

    epsilon: float
    rounds: int = 10
    class_in_leaf: bool = False
    floor_digits: int | None = None
    winner: Winner = "segment"

    def run(
        self, table: PlainTable, generator: np.random.Generator, leaks: LeakLog | None = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Generalized training cells with weights, and the generalized test records."""
        cut = self.specialize(table, generator, leaks)
        cells = noisy_cells(cut.leaf_counts(), 2 / self.epsilon, generator, class_in_leaf=self.class_in_leaf)
        return cut.records(cells), cut.generalized_test()

    def specialize(self, table: PlainTable, generator: np.random.Generator, leaks: LeakLog | None = None) -> Cut:
        """Run the first phase; `leaks` takes down what the parties see of each other."""
        epsilon = step_epsilon(table, self.epsilon, self.rounds)

        def choose_split(piece: Piece) -> tuple[Piece, Piece] | None:
            if leaks is not None:
                leaks.merge_lists(piece)
            return self.draw_split(table, piece, epsilon, generator)

        def choose_cut(scores: Ints) -> int:
            if leaks is not None:
                leaks.score_cuts(len(scores))
            return self.select(scores, epsilon, generator)

        return specialize(table, self.rounds, choose_split, choose_cut)

    def select(self, scores: Ints, epsilon: float, generator: np.random.Generator) -> int:
        """Run Algorithm 3: return the winner among candidates with these scores."""
        return draw(self._log_weights(scores, epsilon, generator), generator, self.winner)

    def draw_split(
        self, table: PlainTable, piece: Piece, epsilon: float, generator: np.random.Generator
    ) -> tuple[Piece, Piece] | None:
        """Run Algorithm 4: split an interval at one of the values that occur in it."""
        places, scores = split_scores(table, piece)
        if len(places) == 0:
            return None
        return split_at_value(table, piece, int(places[self.select(scores, epsilon, generator)]))

    def _log_weights(self, scores: Ints, epsilon: float, generator: np.random.Generator) -> Floats:
        if self.floor_digits is None:
            return log_weights(scores, epsilon)
        # Each party floors the exponential of its own part of the score; the product of both is the weight.
        first = generator.integers(0, scores + 1)
        parts = [floored(epsilon * part / 2, self.floor_digits) for part in (first, scores - first)]
        return parts[0] + parts[1]


def split_scores(table: PlainTable, piece: Piece) -> tuple[Ints, Ints]:
    """The codes of the values at which an interval can be split, and the score Max of each split."""
    column = table.columns[piece.column]
    if column.values is None:
        raise ValueError(f"'{column.name}' is no numerical attribute")
    places = np.arange(piece.start, piece.stop)
    places = places[column.values[piece.start : piece.stop] > piece.low]
    cumulative = column.cumulative
    below = cumulative[places] - cumulative[piece.start]
    above = cumulative[piece.stop] - cumulative[places]
    return places, below.max(axis=1) + above.max(axis=1)


def split_at_value(table: PlainTable, piece: Piece, place: int) -> tuple[Piece, Piece]:
    """Intervals [low, v) and [v, high) for the value v with this code."""
    values = table.columns[piece.column].values
    if values is None:
        raise ValueError("only numbers are split at a value")
    at = int(values[place])
    return (
        Piece(piece.column, piece.start, place, piece.low, at),
        Piece(piece.column, place, piece.stop, at, piece.high),
    )


def noisy_cells(counts: Ints, scale: float, generator: np.random.Generator, *, class_in_leaf: bool) -> Floats:
    """Weights by leaf and class.

    Without the class in the leaf, the noisy number of a leaf is divided in the exact shares of its classes; a leaf
    without records has no class to give, so it stays out.
    """
    if class_in_leaf:
        cells: Floats = np.maximum(np.rint(counts + laplace_from_squares(scale, counts.shape, generator)), 0)
        return cells
    totals = counts.sum(axis=1)
    noisy = np.maximum(np.rint(totals + laplace_from_squares(scale, totals.shape, generator)), 0)
    shared: Floats = counts * (noisy / np.maximum(totals, 1))[:, np.newaxis]
    return shared
