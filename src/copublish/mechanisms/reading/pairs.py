"""How every two columns go together, the surest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from copublish.errors import ReleaseError
from copublish.mechanisms.reading.estimate import CONFIDENCE, Estimate
from copublish.mechanisms.reading.interface import Reading


@dataclass(frozen=True)
class CorrelatedPair:
    """Two columns and their correlation."""

    one: str
    other: str
    estimate: Estimate


def correlations(reading: Reading, columns: Sequence[str]) -> list[CorrelatedPair]:
    """Every two of some columns: the strongest first, those that noise leaves nothing of last.

    Pairs of which the release tells nothing are left out.
    """
    found = []
    for one, other in combinations(columns, 2):
        try:
            found.append(CorrelatedPair(one, other, reading.correlation(one, other, CONFIDENCE)))
        except ReleaseError:
            continue
    return sorted(found, key=lambda pair: -1.0 if pair.estimate.value is None else abs(pair.estimate.value))[::-1]
