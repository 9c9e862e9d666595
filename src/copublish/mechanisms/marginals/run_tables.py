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
        own = [np.zeros(0, dtype=np.int64), *(table.count_locally(axes) for axes in groups)]
        return engine.share(np.concatenate(own).reshape(-1, 1))
    computing, parts = engine_as(ProgramEngine, engine), []
    for number, axes in enumerate(groups):
        progress(number, len(groups))
        counts = table.count_jointly(axes, engine, noise_bits=None)
        shape = (n_cells(axes), 1)
        parts.append(
            computing.compute(in_agreed_order, counts.secret, place_of_cell=counts.place_of_cell(), shape=shape)
        )
    # Computed now, once: every later round uses it.
    (whole,) = computing.rows(computing.compute(one_after_the_other, *parts))
    return whole


def one_after_the_other(xp: ModuleType, *parts: IntArray) -> IntArray:
    """Tables of shape (n, 1) as one row of such a table: shape (1, n_cells, 1)."""
    return cast(IntArray, xp.concatenate(parts).reshape(1, -1, 1))


def part_of(xp: ModuleType, counts: IntArray, start: int, stop: int) -> IntArray:
    """Some of the counts: shape (stop - start, 1)."""
    return counts[start:stop]
