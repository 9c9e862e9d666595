"""Synthetic records from a copula and released marginals. Works on released values only.

Drawing needs chance, but no secret one: the words come from SHAKE-256 under a key that is a hash of the released noisy
values. The records are then a function of what was opened and of nothing else, so they cost no privacy, whoever knows
the function; and all parties draw the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.shared.normal import normal_steps
from copublish.mechanisms.shared.post_processing import RECORDS_PER_BLOCK
from copublish.types import IntArray

Column = tuple[IntArray, IntArray]
"""The cell of each record, and its place among the records of that cell, by the normal variable behind the column."""


def draw_columns(loadings: IntArray, counts: Sequence[IntArray], key: bytes) -> Iterator[Column]:
    """Yield each column of the synthetic records; each has exactly the released counts.

    Records are ranked by the normal variable behind a column, and the lowest ones go into its first cell, as many as
    were counted there, and so on.
    """
    n = int(counts[0].sum())
    steps = _independent_steps(n, len(counts), key)
    for weights, cells in zip(loadings, counts, strict=True):
        behind = np.concatenate([block @ weights for block in _blocks(steps)] or [np.zeros(0, dtype=np.int64)])
        order = np.argsort(behind, kind="stable")
        cell, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cell[order] = np.repeat(np.arange(len(cells), dtype=np.int64), cells)
        first = np.cumsum(cells) - cells
        place[order] = np.arange(n, dtype=np.int64) - np.repeat(first, cells)
        yield cell, place


def _independent_steps(n: int, n_columns: int, key: bytes) -> NDArray[np.int16]:
    found = np.empty((n, n_columns), dtype=np.int16)
    for number, start in enumerate(range(0, n, RECORDS_PER_BLOCK)):
        block = found[start : start + RECORDS_PER_BLOCK]
        stream = hashlib.shake_256(key + number.to_bytes(8, "little")).digest(4 * block.size)
        block[:] = normal_steps(np.frombuffer(stream, "<u4")).reshape(block.shape)
    return found


def _blocks(steps: NDArray[np.int16]) -> Iterator[IntArray]:
    for start in range(0, len(steps), RECORDS_PER_BLOCK):
        yield steps[start : start + RECORDS_PER_BLOCK].astype(np.int64)
