"""Every party fits the model by itself and computes what it says; all compare a hash.

Everything here follows from what was opened, and comes out the same to the last bit on every processor. So there is
nothing that one party tells the others, or publishes, in which it could hide what only it knows.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from copublish.kernel.secrets.computer import Computer
from copublish.mechanisms.marginals.junction_tree import Columns, marginals
from copublish.mechanisms.marginals.model import TABLE_BITS, FittingProblem, State, from_units, in_units
from copublish.types import FloatArray, IntArray

WHAT = "model"


@dataclass
class _LastFit:
    """The fit that was made last in this process: parties of a simulation are its threads, and fit the same model."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    of: bytes = b""
    factors: FloatArray = field(default_factory=lambda: np.zeros(0))

    def factors_of(self, problem: FittingProblem, start: IntArray) -> FloatArray:
        """The factors that fit, as every party finds them."""
        tables = [table.columns for table in problem.tables]
        given = hashlib.sha256(repr((problem.sizes, tables, problem.total)).encode())
        for numbers in (problem.wanted, problem.deviations, start):
            given.update(numbers.tobytes())
        with self.lock:
            if self.of != given.digest():
                self.factors, self.of = problem.fit(from_units(start)).factors, given.digest()
            return self.factors


_LAST_FIT = _LastFit()


def agree_on_model(
    problem: FittingProblem, start: IntArray, before: IntArray, computer: Computer
) -> tuple[IntArray, State, int]:
    """The factors that fit, in whole units, what they make, and by how many records the model moved.

    Args:
        problem: What was measured.
        start: Factors of the model before, in units; those of new tables are 0.
        before: What the model before said of the newest table's cells; nothing if nobody asks how far it moved.
        computer: This party's end of the computation.

    Raises:
        EngineError: If another party finds something else.
    """
    units = in_units(_LAST_FIT.factors_of(problem, start))
    state = problem.state(from_units(units))
    after = np.rint(state.answers[len(state.answers) - len(before) :]).astype(np.int64)
    moved = int(np.abs(after - before).sum())
    computer.confirm_same(WHAT, np.append(units, moved))
    return units, state, moved


def answers_of(problem: FittingProblem, state: State, tables: Sequence[Columns]) -> IntArray:
    """What the model says of tables, as whole numbers of records, one table after the other."""
    found = np.concatenate([found.ravel() for found in marginals(problem.tree, state.beliefs, tables)])
    answers: IntArray = np.rint(found * problem.total).astype(np.int64)
    return answers


def tables_of_cliques(state: State) -> list[IntArray]:
    """The marginals of the model's cliques as whole numbers, for records to be drawn from."""
    return [np.rint(belief * 2.0**TABLE_BITS).astype(np.int64) for belief in state.beliefs]
