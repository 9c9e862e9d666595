"""The exponential mechanism as the papers print it, in log space so that no weight overflows.

ArbDistDP draws R uniformly below the sum of all weights and gives the win to the first cut whose *own* weight is
above R. The proof beside it describes running sums, which is the exponential mechanism. `segment` is the latter,
`literal` the former: it redraws while nobody wins.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from copublish_reproduction.plain_table import Floats, Ints

Winner = Literal["segment", "literal"]

EXACT_BITS = 52
"""Above 2^52 flooring changes a weight by less than a double can tell."""


def log_weights(scores: Ints | Floats, epsilon: float, floor_digits: int | None = None) -> Floats:
    """Weight log floor(exp(epsilon score / 2) 10^l); without `floor_digits` the weights are not floored."""
    exact = epsilon * np.asarray(scores, dtype=np.float64) / 2
    return exact if floor_digits is None else floored(exact, floor_digits)


def floored(exact: Floats, digits: int) -> Floats:
    """The logarithm of weights, given as logarithms, after they are scaled by 10^digits and floored."""
    scaled = exact + digits * np.log(10)
    largest = EXACT_BITS * np.log(2)
    # The small tolerance keeps exp(log 10^l) from falling just below the whole number that it is.
    whole = np.floor(np.exp(np.minimum(scaled, largest)) * (1 + 1e-12))
    with np.errstate(divide="ignore"):
        return np.where(scaled < largest, np.log(whole), scaled)


def segment_law(weights: Floats) -> Floats:
    """Each candidate's probability to win: proportional to its weight."""
    shares = np.exp(weights - weights.max())
    law: Floats = shares / shares.sum()
    return law


def literal_law(weights: Floats) -> Floats:
    """Each candidate's probability to win one draw as printed; what is missing to 1 is nobody's."""
    shares = np.exp(weights - weights.max())
    best_before = np.maximum.accumulate(np.concatenate([[0.0], shares[:-1]]))
    law: Floats = np.maximum(0.0, shares - best_before) / shares.sum()
    return law


def draw(weights: Floats, generator: np.random.Generator, winner: Winner = "segment") -> int:
    """The number of the winning candidate."""
    if winner == "literal":
        law = literal_law(weights)
        return int(generator.choice(len(law), p=law / law.sum()))
    return int(np.argmax(weights + generator.gumbel(size=len(weights))))  # the maximum has exactly the segment law
