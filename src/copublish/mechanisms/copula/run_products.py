"""Sums over records of products of two attributes' scores, on secrets.

Parties put in cells, not scores: the engine knows the public score of each cell, so that no party can give a person a
score of its own choice.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open: exact sums would show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from copublish.agreement.axis import Axis
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer, ProgramComputer, computer_as
from copublish.kernel.secrets.secret import SecretCounts
from copublish.mechanisms.shared.normal import pairs_of
from copublish.mechanisms.shared.run_pairs import at_places, own_pairs, pair_counts
from copublish.types import IntArray


def joint_product_sums(
    table: JointTable,
    scores_of_code: Mapping[str, IntArray],
    computer: Computer,
    *,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SecretCounts:
    """For every pair of columns the secret sum over joint records of the product of their scores.

    Args:
        table: This party's aligned cells.
        scores_of_code: For every column, in agreed order, the public score of each code of its domain.
        computer: This party's end of the computation.
        progress: Told how many records are done and how many there are.
    """
    axes, scores = [], []
    for column, own in scores_of_code.items():
        levels, cell_of_code = np.unique(own, return_inverse=True)  # codes of one score are one cell
        axes.append([Axis(column, cell_of_code.astype(np.int64), len(levels))])
        scores.append(levels)
    places = np.array([i * len(axes) + j for i, j in pairs_of(len(axes))], dtype=np.int64)
    if table.agreement.partition == "horizontal":
        return SecretCounts(computer.share(own_pairs(table, axes, scores).reshape(-1, 1)[places]), Packing(1))
    sums = pair_counts(table, axes, computer, scores=scores, progress=progress)
    return SecretCounts(computer_as(ProgramComputer, computer).compute(at_places, sums, places=places), Packing(1))
