"""DiffGen (Mohammed, Chen, Fung, Yu: KDD 2011) and its two-party form DistDiffGen as published, in the clear.

Both select split points in the sound way: an interval between consecutive data values has one score and wins with
probability proportional to its length times exp(epsilon' score / 2); then a point inside it is drawn uniformly.
DistDiffGen floors the weights of cuts to l digits; apart from that it is DiffGen on joined data. What it exchanges
between the parties (each adds half of the noise) is not differentially private; what it publishes would be, with
noise in exact arithmetic.

Readings: the winner is the first candidate whose running sum is *above* R; cells are leaf and class, each with
Lap(2 / epsilon), empty ones included; a count below zero becomes zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish_reproduction.arbdistdp import noisy_cells
from copublish_reproduction.plain_table import Floats, Ints, Piece, PlainTable
from copublish_reproduction.selection import draw, log_weights
from copublish_reproduction.top_down import Cut, specialize, step_epsilon


@dataclass(frozen=True)
class DistDiffGen:
    """DistDiffGen; without `floor_digits` it is DiffGen.

    Attributes:
        epsilon: The budget of what is published.
        rounds: Number of specializations h.
        floor_digits: The paper's l.
    """

    epsilon: float
    rounds: int = 10
    floor_digits: int | None = None

    def run(self, table: PlainTable, generator: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Generalized training cells with weights, and the generalized test records."""
        cut = self.specialize(table, generator)
        cells = noisy_cells(cut.leaf_counts(), 2 / self.epsilon, generator, class_in_leaf=True)
        return cut.records(cells), cut.generalized_test()

    def specialize(self, table: PlainTable, generator: np.random.Generator) -> Cut:
        """Run the first phase."""
        epsilon = step_epsilon(table, self.epsilon, self.rounds)

        def choose_split(piece: Piece) -> tuple[Piece, Piece] | None:
            return draw_split_point(table, piece, epsilon, generator)

        def choose_cut(scores: Ints) -> int:
            return draw(log_weights(scores, epsilon, self.floor_digits), generator)

        return specialize(table, self.rounds, choose_split, choose_cut)


def draw_split_point(
    table: PlainTable, piece: Piece, epsilon: float, generator: np.random.Generator
) -> tuple[Piece, Piece] | None:
    """Split [low, high) at a whole number inside it, drawn by the exponential mechanism on intervals of equal score."""
    if piece.high - piece.low < 2:
        return None
    lowest, highest, scores = split_intervals(table, piece)
    with np.errstate(divide="ignore"):
        weights: Floats = np.log(np.maximum(highest - lowest, 0)) + epsilon * scores / 2
    interval = draw(weights, generator)
    at = int(generator.integers(lowest[interval] + 1, highest[interval] + 1))
    place = piece.start + interval
    return (
        Piece(piece.column, piece.start, place, piece.low, at),
        Piece(piece.column, place, piece.stop, at, piece.high),
    )


def split_intervals(table: PlainTable, piece: Piece) -> tuple[Ints, Ints, Ints]:
    """The runs (lowest, highest] of split points with equal score, and their scores Max.

    Run number i holds the points that leave i of the interval's distinct values below them.
    """
    column = table.columns[piece.column]
    if column.values is None:
        raise ValueError(f"'{column.name}' is no numerical attribute")
    inside = column.values[piece.start : piece.stop]
    lowest = np.concatenate([[piece.low], inside])
    highest = np.concatenate([inside, [piece.high - 1]])
    cumulative = column.cumulative[piece.start : piece.stop + 1]
    below, above = cumulative - cumulative[0], cumulative[-1] - cumulative
    return lowest, highest, below.max(axis=1) + above.max(axis=1)
