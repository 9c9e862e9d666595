"""A black-box audit: how much a mechanism's outputs on two neighboring tables tell them apart, at least.

The first half of the runs picks an event, the second half tests it, so the bound is honest: with probability
1 - alpha or more it lies below the mechanism's true epsilon. A bound above the claim refutes the claim; a bound below
it proves nothing.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from copublish_reproduction.plain_table import Ints


def audit(outputs: Ints, neighbor_outputs: Ints, alpha: float = 1e-3) -> float:
    """A lower confidence bound on epsilon.

    Args:
        outputs: One whole number per run on a table: whatever the auditor makes of the output.
        neighbor_outputs: The same on its neighbor.
        alpha: Probability that the bound is above the true epsilon.
    """
    table, neighbor = _halves(outputs), _halves(neighbor_outputs)
    bounds = []
    for (picking, testing), (other_picking, other_testing) in ((table, neighbor), (neighbor, table)):
        event = most_telling_event(picking, other_picking, alpha)
        hits, other_hits = (int(np.isin(values, event).sum()) for values in (testing, other_testing))
        bounds.append(epsilon_bound(hits, len(testing), other_hits, len(other_testing), alpha / 2))
    return max(bounds)


def _halves(values: Ints) -> tuple[Ints, Ints]:
    return values[: len(values) // 2], values[len(values) // 2 :]


def most_telling_event(outputs: Ints, neighbor_outputs: Ints, alpha: float) -> Ints:
    """The set of outputs whose bound is largest among the sets of largest ratios (Neyman and Pearson)."""
    values, places = np.unique(np.concatenate([outputs, neighbor_outputs]), return_inverse=True)
    counts = np.bincount(places[: len(outputs)], minlength=len(values))
    neighbor_counts = np.bincount(places[len(outputs) :], minlength=len(values))
    # Rare outputs have large ratios by chance, so each is ranked by what its counts prove.
    proved = [
        epsilon_bound(int(k), len(outputs), int(m), len(neighbor_outputs), alpha)
        for k, m in zip(counts, neighbor_counts, strict=True)
    ]
    order = np.lexsort((-(counts + 0.5) / (neighbor_counts + 0.5), -np.array(proved)))
    hits, neighbor_hits = counts[order].cumsum(), neighbor_counts[order].cumsum()
    bounds = [
        epsilon_bound(int(k), len(outputs), int(m), len(neighbor_outputs), alpha)
        for k, m in zip(hits, neighbor_hits, strict=True)
    ]
    event: Ints = values[order[: int(np.argmax(bounds)) + 1]]
    return event


def epsilon_bound(hits: int, runs: int, neighbor_hits: int, neighbor_runs: int, alpha: float) -> float:
    """The log ratio of Clopper-Pearson bounds on an event's two probabilities, each at alpha / 2."""
    if hits == 0:
        return 0.0
    lowest = stats.beta.ppf(alpha / 2, hits, runs - hits + 1)
    highest = 1.0
    if neighbor_hits < neighbor_runs:
        highest = stats.beta.isf(alpha / 2, neighbor_hits + 1, neighbor_runs - neighbor_hits)
    return max(0.0, math.log(lowest / highest))
