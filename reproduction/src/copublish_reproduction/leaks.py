"""What the parties of ArbDistDP see of each other's data while it runs, beyond the release.

Algorithm 2 tells both parties which class has the majority in every child of every cut (for more than two classes:
the order of every pair). Algorithm 4 merges the parties' sorted lists by comparisons whose results both learn. All of
these are exact functions of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copublish_reproduction.plain_table import Bools, Ints, Piece, PlainTable


@dataclass
class LeakLog:
    """Counts what is opened in a run.

    Attributes:
        table: The joined table.
        is_first: Which cells the first party holds, shape (n, n_columns).
        majority_bits: Results of majority comparisons.
        order_bits: Results of comparisons between values of the two parties.
        selections: Random numbers that are drawn jointly, one for each selection.
        candidates: Candidates of all selections, each with a product of two shares and a comparison at most.
    """

    table: PlainTable
    is_first: Bools
    majority_bits: int = 0
    order_bits: int = 0
    selections: int = 0
    candidates: int = 0

    def __post_init__(self) -> None:
        self._larger: dict[int, Ints] = {}
        for place in self.table.numerical:
            column, first = self.table.columns[place], self.is_first[:, place]
            n_codes = len(column.counts)
            counts = [np.bincount(column.codes[mask], minlength=n_codes) for mask in (first, ~first)]
            # Equal values move both cursors, so a value takes as many steps as the party with more copies has.
            self._larger[place] = np.maximum(*counts)

    def merge_lists(self, piece: Piece) -> None:
        """Take down one search for a split point: a comparison and two majorities for each step of the cursors."""
        steps = int(self._larger[piece.column][piece.start : piece.stop].sum())
        self.order_bits += steps
        self.selections += 1
        self.candidates += steps
        self.majority_bits += 2 * steps * self._pairs

    def score_cuts(self, n_cuts: int) -> None:
        """Take down the scores of the cuts of a round: at least two majorities for each."""
        self.majority_bits += 2 * n_cuts * self._pairs
        self.selections += 1
        self.candidates += n_cuts

    @property
    def _pairs(self) -> int:
        return self.table.n_classes * (self.table.n_classes - 1) // 2


def random_holders(table: PlainTable, generator: np.random.Generator) -> Bools:
    """An arbitrary partition: every cell at a random one of two parties."""
    return generator.random((len(table.classes), len(table.columns))) < 0.5


def majorities(counts: Ints) -> Ints:
    """Knowledge that Algorithm 2 gives both parties about a cut: the majority class of each child."""
    winners: Ints = counts.argmax(axis=1)
    return winners


Comparison = int
"""-1, 0 or 1: the first party's value is smaller, equal or larger."""


def merge_transcript(first: Sequence[int], second: Sequence[int]) -> list[Comparison]:
    """The results that both parties see while Algorithm 4 merges two sorted lists."""
    results, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        result = (first[i] > second[j]) - (first[i] < second[j])
        results.append(result)
        i += result <= 0
        j += result >= 0
    return results


def learned_intervals(
    first: Sequence[int], transcript: Sequence[Comparison], n_second: int, low: int, high: int
) -> list[tuple[int, int]]:
    """Knowledge of the first party about each value of the other's sorted list after the merge.

    Args:
        first: Its own sorted list.
        transcript: The results of the comparisons.
        n_second: Length of the other's list.
        low: Lower bound of the attribute.
        high: Upper bound of the attribute, not included.

    Returns:
        For each of the other's values the smallest and, not included, the largest whole number that it can be.
    """
    learned, i = [], 0
    for result in transcript:
        if result < 0:  # own value is smaller: the other's next one is above it
            low = max(low, first[i] + 1)
            i += 1
        elif result == 0:
            learned.append((first[i], first[i] + 1))
            low = max(low, first[i])
            i += 1
        else:
            learned.append((low, first[i]))
    rest = n_second - len(learned)
    return learned + [(low, high)] * rest
