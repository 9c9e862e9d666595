"""Scores of how far secret tables of counts are from what a model says of them.

The model's answers are public, but they go in like secrets: a program is compiled once for all rounds, and what is
public to it is part of the code. Over the integers a score moves by at most 1 with one record, whatever the answers
are. Modulo 2^64 it does not: with an answer of 17 - 2^63 a distance would jump exactly at 17, a bit without noise. So
every party checks what it was told against bounds before anybody puts it in, and the engine takes what is put in
within a range alone, whoever puts in something else.

Leakage: none, the cost depends on shapes alone. Tables and scores are secret and NOT safe to open: exact counts would
show.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.errors import EngineError
from copublish.kernel.programs.noise import selection_fits
from copublish.kernel.programs.packing import bits_within
from copublish.types import IntArray


def part_of(xp: ModuleType, counts: IntArray, start: int, stop: int, size: int) -> IntArray:
    """Some of the counts, and zeros after them: shape (size, 1)."""
    missing = np.zeros((size - (stop - start), 1), dtype=np.int64)
    return cast(IntArray, xp.concatenate([counts[start:stop], missing]))


LARGEST_ANSWER, LARGEST_SUM, LARGEST_OFFSET = 2**31, 2**32, 2**40

NOT_ELIGIBLE = -LARGEST_OFFSET
"""The offset of a candidate that must not win: more than any distance and noise lift it by."""

LARGEST_TABLE = 2**44
"""Of a table's counts and of the answers for it, in size, added up over all parties whatever they put in."""

OFFSET_BITS = LARGEST_OFFSET.bit_length() + 1

LARGEST_SCORE = 2**46
"""Two tables, and offsets that up to 16 parties may put in."""


def count_bits(cells: list[int], n_parties: int) -> int:
    """Of every count and every answer that a party puts in: all of a table stay within their bound."""
    return bits_within(LARGEST_TABLE, max(cells) * n_parties)


def candidate_scores(
    xp: ModuleType, counts: IntArray, answers: IntArray, offsets: IntArray, places: IntArray, first: int
) -> IntArray:
    """The score of every candidate table: the L1 distance of its counts from the model's answers, plus its offset.

    Args:
        xp: Array module.
        counts: Secret counts of tables that have no score, then of all candidates: shape (first + n_cells, 1).
        answers: What the model says of them, shape (n_cells,).
        offsets: Of every candidate and of choosing none, shape (n_candidates + 1,).
        places: For each candidate where its counts are; n_cells where there are no more: shape (n_candidates, widest).
        first: How many counts have no score.

    Returns:
        Scores, shape (n_candidates + 1,). The last one, of choosing none, is its offset.
    """
    difference = counts.reshape(-1)[first:] - answers
    is_negative = difference < 0
    # A bit times a number is a choice on shares; twice the bit would be a number, and that a product.
    size = difference - 2 * (is_negative * difference)
    nothing = np.zeros(1, dtype=np.int64)
    distances = xp.concatenate([size, nothing])[places].sum(axis=1)
    return cast(IntArray, xp.concatenate([distances, nothing]) + offsets)


def places_of_tables(cells: list[int]) -> IntArray:
    """Where the counts of tables lie that stand one after the other, as `candidate_scores` takes it."""
    ends = np.cumsum(cells)
    found = np.full((len(cells), max(cells)), int(ends[-1]), dtype=np.int64)
    for row, (end, size) in enumerate(zip(ends.tolist(), cells, strict=True)):
        found[row, :size] = np.arange(end - size, end)
    return found


def refuse_out_of_bounds(answers: IntArray, offsets: IntArray, cells: list[int], noise_bits: int) -> None:
    """Raise unless scores with these public numbers cannot leave the integers that engines compare correctly.

    Privacy:
        Protects: the range of a score, which fixes the noise of a selection, from answers that would wrap the ring.

    Raises:
        EngineError: If a number is out of its bounds. Nothing of the round was computed.
    """
    starts = np.cumsum([0, *cells[:-1]])
    fits = (
        len(answers) == sum(cells)
        and len(offsets) == len(cells) + 1
        and bool((answers >= 0).all() and (answers <= LARGEST_ANSWER).all())
        and bool((np.add.reduceat(answers, starts) <= LARGEST_SUM).all())
        and bool((offsets >= -LARGEST_OFFSET).all() and (offsets <= LARGEST_OFFSET).all())
        and selection_fits(len(offsets), LARGEST_SCORE, noise_bits)
    )
    if not fits:
        raise EngineError("The answers of the model are out of bounds. They were not used, and nothing is published.")
