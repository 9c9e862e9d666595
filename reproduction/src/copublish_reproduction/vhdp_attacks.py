"""What somebody learns from a VHDP release: a bit that several attributes carry, and values far apart.

All attacks read releases of `Vhdp.perturb`; none looks at anything else but public sets of values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copublish_reproduction.labeled_table import LabeledTable
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.vhdp import Vhdp, entropies, gain_ratios, privacy_weights


def success_allowed(epsilon: float) -> float:
    """How often somebody can tell two equally likely neighbors apart at most, if epsilon holds."""
    return 1 / (1 + math.exp(-epsilon))


def log_ratios(released: Floats, budgets: Floats) -> Floats:
    """How much more likely records are if all attributes are 1 than if all are 0, as logarithms, shape (n,)."""
    found: Floats = (np.abs(released) - np.abs(released - 1)) @ budgets
    return found


def guess_copied_bit(mechanism: Vhdp, trials: int, generator: np.random.Generator) -> tuple[float, float]:
    """Release people whose attributes all carry one fair bit, and guess it by likelihood.

    Returns:
        The share of people guessed right, and the largest log ratio of a release.
    """
    bits = generator.integers(2, size=trials)
    copies = np.repeat(bits[:, np.newaxis], len(mechanism.weights), axis=1).astype(np.float64)
    ratios = log_ratios(mechanism.perturb(copies, generator), mechanism.budgets)
    return float(((ratios > 0) == bits).mean()), float(np.abs(ratios).max())


@dataclass(frozen=True)
class ReadOff:
    """What is read off a released column of amounts, most of which are 0.

    Attributes:
        is_positive: Share of people of whom it is told rightly whether they have any.
        exact: Share of those who have any whose amount is found exactly.
        always_zero: What guessing 0 for everybody would get right of the first.
    """

    is_positive: float
    exact: float
    always_zero: float


def read_off(values: Floats, epsilon: float, generator: np.random.Generator) -> ReadOff:
    """Release a column with one attribute's budget and take the nearest of the amounts that occur."""
    released = Vhdp(epsilon, (1.0,)).perturb(values[:, np.newaxis], generator)[:, 0]
    amounts = np.unique(values)  # amounts of a tax form are public; here those that occur stand for them
    nearest = amounts[np.abs(released[:, np.newaxis] - amounts).argmin(axis=1)]
    has_any = values > 0
    return ReadOff(
        float(((nearest > 0) == has_any).mean()),
        float((nearest == values)[has_any].mean()),
        float((~has_any).mean()),
    )


def ratio_after_one_change(table: LabeledTable, label: int) -> float:
    """The score of an attribute that is constant but for one record with a label."""
    values = np.zeros(len(table.labels))
    values[np.flatnonzero(table.labels == label)[0]] = 1
    return entropies(values, table.labels).gain_ratio()


def records_that_move_weights(table: LabeledTable) -> int:
    """How many records change the published weights when they alone are left out."""
    weights = privacy_weights(gain_ratios(table.values, table.labels))
    moving = 0
    for record in range(len(table.labels)):
        kept = np.arange(len(table.labels)) != record
        without = privacy_weights(gain_ratios(table.values[kept], table.labels[kept]))
        moving += bool((without != weights).any())
    return moving
