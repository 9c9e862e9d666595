"""Secret tables of counts, one after the other, and parts of them.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open: exact counts would show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import cast

import numpy as np

from copublish.agreement.axis import Axis, n_cells
from copublish.engine.interface import ProgramEngine, SumEngine, engine_as
from copublish.engine.programs.sums import in_agreed_order
from copublish.engine.secret import Secret
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.types import IntArray


def secret_tables(
    table: JointTable,
    groups: Sequence[Sequence[Axis]],
    engine: SumEngine,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Secret:
    """The secret counts of several tables, one after the other, each with its last axis fastest: shape (n_cells, 1).

    Args:
        table: This party's aligned cells.
        groups: The axes of each table.
        engine: This party's end of the engine.
        progress: Told how many tables are counted and how many there are.
    """
    if all(table.is_additive(axes) for axes in groups):
        # One message for all of them; where owners have whole rows there is nothing else to do.
        return engine.share(np.concatenate([table.count_locally(axes) for axes in groups]).reshape(-1, 1))
    computing, parts = engine_as(ProgramEngine, engine), []
    for number, axes in enumerate(groups):
        progress(number, len(groups))
        counts = table.count_jointly(axes, engine, noise_bits=None)
        shape = (n_cells(axes), 1)
        parts.append(
            computing.compute(in_agreed_order, counts.secret, place_of_cell=counts.place_of_cell(), shape=shape)
        )
    return kept(computing.compute(one_after_the_other, *parts), engine)


def kept(secret: Secret, engine: SumEngine) -> Secret:
    """A secret that is computed now, once, to be used in many computations."""
    computing = engine_as(ProgramEngine, engine)
    (row,) = computing.rows(computing.compute(as_one_row, secret))
    return row


def as_one_row(xp: ModuleType, counts: IntArray) -> IntArray:
    """The same in a row of its own."""
    return counts.reshape(1, *counts.shape)


def one_after_the_other(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Tables of shape (n, 1) as one of them: shape (n_cells, 1)."""
    return cast(IntArray, xp.concatenate(parts))


def part_of(xp: ModuleType, counts: IntArray, start: int, stop: int, size: int) -> IntArray:
    """Some of the counts, and zeros after them: shape (size, 1)."""
    missing = np.zeros((size - (stop - start), 1), dtype=np.int64)
    return cast(IntArray, xp.concatenate([counts[start:stop], missing]))
