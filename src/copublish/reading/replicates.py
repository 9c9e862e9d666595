"""Intervals for any statistic of a release's records: noise is added to what was opened, and records are made again.

Replicates are to the release what the release is to a release without noise, about. So the difference between a
replicate's statistic and the release's tells how the release's differs from what records without noise would give, and
the interval is the release's value minus the quantiles of these differences (the basic bootstrap). Quantiles of the
replicates themselves would have the bias of post-processing twice instead of taking it off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from copublish.errors import ReleaseError
from copublish.privacy.statements import Law, Noise
from copublish.reading.estimate import Estimate
from copublish.reading.noisy import deviation_of
from copublish.types import FloatArray, IntArray

LEAST_REPLICATES = 20

HOW = (
    "from {n} replicates with fresh noise, by the basic bootstrap: what noise and drawing do to the records' own "
    "value. What the mechanism's model leaves out of the joint table is not in it"
)


@dataclass
class Draws:
    """Chance for one replicate: a stream of SHAKE-256 under a key, so that the same release gives the same interval.

    Privacy:
        The key is a hash of released values. Nothing here is noise that protects anybody.
    """

    key: bytes
    _calls: int = field(default=0, init=False)

    def next_key(self) -> bytes:
        """A key of its own, for records that are drawn."""
        self._calls += 1
        return hashlib.sha256(self.key + self._calls.to_bytes(8, "little")).digest()

    def uniform(self, size: int) -> FloatArray:
        """Numbers between 0 and 1, neither of them included."""
        words = np.frombuffer(hashlib.shake_256(self.next_key()).digest(8 * size), "<u8")
        found: FloatArray = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
        return found

    def noise(self, law: Noise, size: int, *, points_per_person: int = 1) -> FloatArray:
        """Noise of a law that a certificate states, in people."""
        deviation = deviation_of(law, points_per_person=points_per_person)
        if law.law is Law.GAUSSIAN:
            radius = np.sqrt(-2 * np.log(self.uniform(size)))
            normal: FloatArray = radius * np.cos(2 * np.pi * self.uniform(size))
            scaled: FloatArray = deviation * normal
            return scaled
        # The difference of two exponential variables, scaled to the deviation of the discrete law.
        both: FloatArray = np.log(self.uniform(size)) - np.log(self.uniform(size))
        laplace: FloatArray = deviation / np.sqrt(2.0) * both
        return laplace

    def counts(self, law: Noise, values: IntArray) -> IntArray:
        """Counts with fresh noise, in whole numbers."""
        noisy: IntArray = values + np.rint(self.noise(law, len(values))).astype(np.int64)
        return noisy


def check_replicates(number: int) -> int:
    """A number of replicates that makes an interval.

    Raises:
        ReleaseError: If it is too small for one.
    """
    if number < LEAST_REPLICATES:
        raise ReleaseError(f"replicates must be at least {LEAST_REPLICATES}, got {number}; 200 is usual.")
    return number


def basic_interval(value: float, replicates: Sequence[float], confidence: float) -> Estimate:
    """The release's value minus the quantiles of what fresh noise adds to it."""
    moved = np.asarray(replicates, dtype=np.float64) - value
    tail = (1 - confidence) / 2
    below, above = np.quantile(moved, [tail, 1 - tail])
    low, high = value - float(above), value - float(below)
    return Estimate(
        value=value,
        standard_error=float(moved.std(ddof=1)),
        within=max(high - value, value - low),
        low=low,
        high=high,
        confidence=confidence,
        how=HOW.format(n=len(moved)),
    )
