"""Findings about selections: the winner as printed, split points from the data, floored weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from copublish_reproduction.arbdistdp import ArbDistDP, split_scores
from copublish_reproduction.plain_table import Floats, Ints, PlainTable, numerical_column
from copublish_reproduction.selection import floored, literal_law, log_weights, segment_law
from copublish_reproduction.top_down import specialize, step_epsilon

EXAMPLE_5_WEIGHTS = (567, 912)
"""The scaled products of ArbDistDP's Example 5: ANY_JOB and [1, 99)."""

TABLE_1_AGES = (35, 25, 36, 26, 25, 29, 38, 23, 38, 37)
TABLE_1_CLASSES = (1, 0, 1, 0, 0, 1, 1, 0, 1, 1)
"""ArbDistDP's Table 1: ages, and whether the class is Y."""


def example_5() -> tuple[Floats, Floats]:
    """The winning probabilities of Example 5 as printed and by running sums."""
    weights = np.log(np.array(EXAMPLE_5_WEIGHTS, dtype=np.float64))
    return literal_law(weights), segment_law(weights)


def first_round(table: PlainTable, epsilon: float, generator: np.random.Generator) -> Floats:
    """The winning probabilities of ArbDistDP's first selection as printed."""
    step = step_epsilon(table, epsilon, rounds=10)
    scores: list[int] = []

    def remember(found: Ints) -> int:
        scores.extend(found.tolist())
        return 0

    algorithm = ArbDistDP(epsilon)
    specialize(table, 1, lambda piece: algorithm.draw_split(table, piece, step, generator), remember)
    return literal_law(log_weights(np.array(scores), step))


def ages_table(ages: Sequence[int], classes: Sequence[int]) -> PlainTable:
    """A table with ages between 1 and 98 and two classes, as in ArbDistDP's Table 1."""
    column = numerical_column("Age", np.array(ages), np.array(classes), 2, low=1, high=99)
    return PlainTable((column,), np.array(classes), ("N", "Y"), pd.DataFrame(), "Class")


def split_point_law(ages: Sequence[int], classes: Sequence[int], epsilon: float) -> dict[int, float]:
    """The probability of every split point that Algorithm 4 can draw."""
    table = ages_table(ages, classes)
    places, scores = split_scores(table, table.top()[0])
    values = table.columns[0].values
    if values is None:
        raise ValueError("ages are numbers")
    law = segment_law(log_weights(scores, epsilon))
    return {int(values[place]): float(probability) for place, probability in zip(places, law, strict=True)}


def worst_loss_of_flooring(epsilon: float, digits: int) -> float:
    """The largest loss of one selection with floored weights and scores up to 2,000.

    Replacing a record raises one candidate's score by one and lowers another's. If the latter has nearly all of the
    weight, the loss is the step of the floored weight up plus epsilon / 2; without flooring that is epsilon.
    """
    weights = floored(epsilon * np.arange(2001) / 2, digits)
    return float(np.diff(weights).max()) + epsilon / 2
