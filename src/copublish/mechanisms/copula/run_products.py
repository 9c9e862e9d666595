"""Sums over records of products of two attributes' scores, on secrets.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open: exact sums would show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import cast

import numpy as np

from copublish.engine.counts import SecretCounts
from copublish.engine.interface import JoinEngine, SumEngine, engine_as
from copublish.engine.programs.packing import Packing
from copublish.engine.programs.sums import add
from copublish.mechanisms.shared.eigen import pairs_of
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.types import IntArray

LEAST_RECORDS = 2048
"""In every product, with those that pad it: answers of smaller ones would come back as several ciphertexts, which SPU
re-randomizes alike (docs/secure-engine.md)."""


def product_sums(xp: ModuleType, scores: IntArray) -> IntArray:
    """The sum of products of every pair of columns: shape (n_columns, n_records) to (1, n_pairs)."""
    n_columns = scores.shape[0]
    places = np.array([i * n_columns + j for i, j in pairs_of(n_columns)], dtype=np.int64)
    return cast(IntArray, xp.matmul(scores, scores.T).reshape(-1)[places].reshape(1, -1))


def joint_product_sums(
    table: JointTable,
    scores_of_code: Mapping[str, IntArray],
    engine: SumEngine,
    *,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SecretCounts:
    """For every pair of columns the secret sum over joint records of the product of their scores.

    Where every party holds whole rows, the parties' own sums add up. Otherwise every party puts in the scores of the
    cells it holds and 0 for the others, so that a record's scores are sums over parties, and the engine multiplies.

    Args:
        table: This party's aligned cells.
        scores_of_code: For every column, in agreed order, the public score of each code of its domain.
        engine: This party's end of the engine.
        progress: Told how many records are done and how many there are.
    """
    n_columns, n_records = len(scores_of_code), table.fragment.n_records
    if table.agreement.partition == "horizontal":
        local = np.zeros((1, len(pairs_of(n_columns))), dtype=np.int64)
        for rows in table.fragment.chunks():
            local += product_sums(np, _own_scores(table, scores_of_code, rows))
        return SecretCounts(engine.share(local.reshape(-1, 1)), Packing(1))
    joining = engine_as(JoinEngine, engine)
    step = joining.rows_per_product(n_columns, Packing(n_columns))
    parts = [engine.share(np.zeros(len(pairs_of(n_columns)), dtype=np.int64))]
    for start in range(0, n_records, step):
        rows = slice(start, min(start + step, n_records))
        own = _own_scores(table, scores_of_code, rows)
        # Records that pad a chunk score 0, so they add nothing; few shapes mean few programs to compile.
        padded = min(step, max(LEAST_RECORDS, 1 << max(0, rows.stop - rows.start - 1).bit_length()))
        own = np.pad(own, ((0, 0), (0, padded - own.shape[1])))
        # Computed chunk by chunk, so that memory does not grow with the number of records.
        parts += joining.rows(joining.compute(product_sums, engine.share(own)))
        progress(rows.stop, n_records)
    return SecretCounts(joining.compute(add_as_column, *parts), Packing(1))


def add_as_column(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Add secrets of shape (n,) and return them as rows of one number: shape (n, 1)."""
    return add(xp, *parts).reshape(-1, 1)


def _own_scores(table: JointTable, scores_of_code: Mapping[str, IntArray], rows: slice) -> IntArray:
    """The scores of the cells that this party puts in, 0 elsewhere and in null rows: shape (n_columns, n_records)."""
    found = np.zeros((len(scores_of_code), rows.stop - rows.start), dtype=np.int64)
    agreement, fragment = table.agreement, table.fragment
    for number, (column, scores) in enumerate(scores_of_code.items()):
        # A class that all parties hold is put in once.
        is_shared = column == agreement.class_.name and agreement.class_is_shared
        is_mine = not is_shared or fragment.party == agreement.class_owner
        if is_mine and column in fragment.private_codes:
            found[number] = np.append(scores, 0)[fragment.private_codes[column][rows]]  # the last code: held elsewhere
    return cast(IntArray, found * fragment.counts(rows))
