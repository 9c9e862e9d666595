"""Synthetic records from the tables of a model, and everything that a run releases. Released values only.

Records are drawn clique by clique: given the columns that are known already, the others by the clique's whole-numbered
table. Within every combination of known values each cell gets its expected number of records, rounded up or down at
random, and the records are shuffled: that adds less chance than drawing one by one. Words come from SHAKE-256 under a
key that is a hash of what was opened, and all arithmetic is on integers, so all parties draw the same records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import Domain
from copublish.agreement.model import Agreement
from copublish.mechanisms.marginals.junction_tree import Columns, JunctionTree
from copublish.mechanisms.marginals.model import MeasuredTable
from copublish.mechanisms.shared.post_processing import key_of
from copublish.types import IntArray


def draw_codes(tree: JunctionTree, cliques: tuple[IntArray, ...], n_records: int, key: bytes) -> IntArray:
    """Draw records: codes of every column, shape (n_columns, n_records)."""
    codes = np.zeros((len(tree.sizes), n_records), dtype=np.int64)
    for number, (clique, known, table) in enumerate(zip(tree.cliques, tree.separators, cliques, strict=True)):
        new = tuple(column for column in clique if column not in known)
        order = [clique.index(column) for column in (*known, *new)]
        group = _numbers(codes, known, tree.sizes)
        weights = table.transpose(order).reshape(int(np.prod([tree.sizes[column] for column in known])), -1)
        drawn = _draw_given(group, weights, key + number.to_bytes(8, "little"))
        for column, values in zip(new, np.unravel_index(drawn, [tree.sizes[column] for column in new]), strict=True):
            codes[column] = values
    return codes


def _numbers(codes: IntArray, columns: Columns, sizes: tuple[int, ...]) -> IntArray:
    """For every record the number of its combination of values."""
    found = np.zeros(codes.shape[1], dtype=np.int64)
    for column in columns:
        found = found * sizes[column] + codes[column]
    return found


def _draw_given(group: IntArray, weights: IntArray, key: bytes) -> IntArray:
    """A cell for every record, by the weights of its group."""
    order = np.lexsort((_words(key + b"order", len(group)), group))  # by group, shuffled within
    present, counts = np.unique(group, return_counts=True)
    words = _words(key + b"start", len(present))
    drawn = [
        np.repeat(np.arange(weights.shape[1], dtype=np.int64), _shared_out(weights[number], count, word))
        for number, count, word in zip(present.tolist(), counts.tolist(), words.tolist(), strict=True)
    ]
    found = np.empty(len(group), dtype=np.int64)
    found[order] = np.concatenate([np.zeros(0, dtype=np.int64), *drawn])
    return found


def _shared_out(weights: IntArray, count: int, word: int) -> IntArray:
    """Whole numbers that add up to `count`, each the expected one rounded up or down.

    What is left after rounding down goes to cells at equal distances on a line of all remainders, from a random start
    on: every cell gets one more with a probability that is its remainder.
    """
    total = int(weights.sum())
    if total == 0:  # rounding left nothing of a combination that another clique kept: all cells are alike
        weights, total = np.ones_like(weights), len(weights)
    # Weights add up to at most 2^37, and there are fewer than 2^24 records.
    found, remainders = np.divmod(weights * count, total)
    missing = count - int(found.sum())
    if missing:
        falls = word % total + total * np.arange(missing, dtype=np.int64)
        found += np.bincount(np.searchsorted(np.cumsum(remainders), falls, side="right"), minlength=len(found))
    return found


def _words(key: bytes, size: int) -> IntArray:
    """Uniform words below 2^62."""
    return (np.frombuffer(hashlib.shake_256(key).digest(8 * size), "<u8") >> np.uint64(2)).astype(np.int64)


def spread_evenly(cells: IntArray, key: bytes) -> IntArray:
    """For every record its place among those of its cell, at random: numbers are spread evenly by it."""
    order = np.lexsort((_words(key, len(cells)), cells))
    _, counts = np.unique(cells, return_counts=True)
    place = np.empty(len(cells), dtype=np.int64)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    place[order] = np.arange(len(cells), dtype=np.int64) - firsts
    return place


@dataclass(frozen=True)
class RoundChoice:
    """What a round chose.

    Attributes:
        columns: The table; nothing if none was worth its noise.
        table: Its number among all measured tables.
    """

    columns: Columns | None
    table: int | None


@dataclass(frozen=True, kw_only=True)
class MarginalsResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        agreement: What it was agreed on.
        sizes: Number of cells of every column.
        tables: Every measured table, unbiased, in the order of measurement.
        choices: What every round chose.
        factors: Of the model, table by table, in units.
        tree: The cliques of the model.
        cliques: Their marginals in whole numbers.
        total: Number of records, public or estimated.
        n_records: How many records are drawn.
    """

    agreement: Agreement
    sizes: tuple[int, ...]
    tables: tuple[MeasuredTable, ...]
    choices: tuple[RoundChoice, ...]
    factors: IntArray
    tree: JunctionTree
    cliques: tuple[IntArray, ...]
    total: int
    n_records: int

    @property
    def columns(self) -> Mapping[str, Domain]:
        """Public domain of every column in agreed order; the class is the last."""
        return self.agreement.columns

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        chosen = [-1 if choice.table is None else choice.table for choice in self.choices]
        return key_of([np.array(chosen, dtype=np.int64), *(table.values for table in self.tables)])
