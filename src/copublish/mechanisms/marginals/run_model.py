"""One party fits the model and tells it; all others check it before they use it.

Everything here follows from what was opened, so a party that tells another model costs exactness and no privacy, once
numbers that go into a computation are checked against bounds. It has to be one model all the same: floating point
differs from machine to machine, and the parties' releases are the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copublish.agreement.protocol.table import ANSWERS, CLIQUES, MODEL
from copublish.errors import EngineError
from copublish.kernel.secrets.computer import Computer
from copublish.mechanisms.marginals.junction_tree import Columns, marginals
from copublish.mechanisms.marginals.model import (
    ACCEPTED,
    LARGEST_FACTOR,
    TABLE_BITS,
    FittingProblem,
    State,
    from_units,
    in_units,
)
from copublish.types import FloatArray, IntArray

LARGEST_ROUNDING = 1.01
"""By how much a whole-numbered answer may be off: half for rounding, the rest for another machine's floating point."""


def agree_on_model(
    problem: FittingProblem, start: IntArray, before: IntArray, fitter: str, computer: Computer
) -> tuple[IntArray, State, int]:
    """The factors that fit, in whole units, what they make, and by how many records the model moved.

    What a later round spends goes by the last: a number that is told, because parties must not round it differently.

    Args:
        problem: What was measured.
        start: Factors of the model before, in units; those of new tables are 0.
        before: What the model before said of the newest table's cells; nothing if nobody asks how far it moved.
        fitter: The party that fits.
        computer: This party's end of the computation.

    Raises:
        EngineError: If what the fitter tells does not fit.
    """
    own = None
    if computer.party == fitter:
        fitted = problem.fit(from_units(start))
        after = np.rint(fitted.answers[len(fitted.answers) - len(before) :]).astype(np.int64)
        own = np.append(in_units(fitted.factors), np.abs(after - before).sum())

    def check(numbers: IntArray) -> tuple[IntArray, State, int]:
        units, moved = numbers[:-1], int(numbers[-1])
        if (units < -LARGEST_FACTOR).any() or (units > LARGEST_FACTOR).any() or moved < 0:
            raise _does_not_fit(fitter)
        try:
            state = problem.state(from_units(units))
        except FloatingPointError:
            raise _does_not_fit(fitter) from None
        if not problem.misfit(state) <= ACCEPTED:
            raise _does_not_fit(fitter)
        return units, state, moved

    return computer.tell_numbers(MODEL, own, size=len(problem.wanted) + 1, teller=fitter, check=check)


def agree_on_answers(
    fitted: tuple[FittingProblem, State],
    tables: Sequence[Columns],
    offsets: IntArray | None,
    fitter: str,
    computer: Computer,
) -> tuple[IntArray, IntArray]:
    """What the model says of tables, as whole numbers of records, one table after the other; and the fitter's offsets.

    Args:
        fitted: What was measured, and the model of it.
        tables: The tables, each of which has an offset; there is one more.
        offsets: From the fitter alone: what is added to every table's distance from the model.
        fitter: The party that fits.
        computer: This party's end of the computation.
    """
    problem, state = fitted
    own = np.concatenate([found.ravel() for found in marginals(problem.tree, state.beliefs, tables)]) * problem.total
    numbers = None if offsets is None else np.concatenate([np.rint(own).astype(np.int64), offsets])

    def check(told: IntArray) -> tuple[IntArray, IntArray]:
        refuse_other_numbers(told[: len(own)], own, fitter)
        return told[: len(own)], told[len(own) :]

    size = len(own) + len(tables) + 1
    return computer.tell_numbers(ANSWERS, numbers, size=size, teller=fitter, check=check)


def agree_on_cliques(state: State, fitter: str, computer: Computer) -> list[IntArray]:
    """The marginals of the model's cliques as whole numbers, for records to be drawn from."""
    own = np.concatenate([belief.ravel() for belief in state.beliefs]) * 2.0**TABLE_BITS
    rounded = np.rint(own).astype(np.int64) if computer.party == fitter else None
    ends = np.cumsum([belief.size for belief in state.beliefs])

    def check(numbers: IntArray) -> list[IntArray]:
        refuse_other_numbers(numbers, own, fitter)
        parts = np.split(numbers, ends[:-1])
        return [part.reshape(belief.shape) for part, belief in zip(parts, state.beliefs, strict=True)]

    return computer.tell_numbers(CLIQUES, rounded, size=len(own), teller=fitter, check=check)


def refuse_other_numbers(told: IntArray, own: FloatArray, fitter: str) -> None:
    """Raise unless the fitter's whole numbers are one's own, rounded.

    Raises:
        EngineError: If one is off by more than rounding, or negative.
    """
    # Large numbers are off in proportion: sums of many floating-point numbers.
    if (told < 0).any() or (np.abs(told - own) > LARGEST_ROUNDING + 1e-9 * np.abs(own).max(initial=0.0)).any():
        raise _does_not_fit(fitter)


def _does_not_fit(fitter: str) -> EngineError:
    return EngineError(
        f"The model that party '{fitter}' told does not fit what was measured. It was not used. Nothing is published."
    )
