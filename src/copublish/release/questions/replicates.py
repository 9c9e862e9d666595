"""Intervals for any statistic of a release's records: noise is added to what was opened, and records are made again.

Replicates are to the release what the release is to one without noise, about. So how far they are from the release's
own value tells how far that is from the value without noise. The interval is the value plus and minus a multiple of
their root mean square distance, which holds noise, the chance of drawing, and the bias of post-processing alike.

Pivoting on the published records (the basic bootstrap) would count the chance with which these were drawn twice, and
in the wrong direction: the release's value has one draw in it, and replicates are spread around the model's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from copublish.errors import ReleaseError
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.published import Measured
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.questions.estimate import Estimate
from copublish.release.questions.noisy import normal_quantile
from copublish.types import FloatArray

if TYPE_CHECKING:
    from copublish.release.publication import Publication

LEAST_REPLICATES = 20

HOW = (
    "from {n} replicates with fresh noise, by how far they are from the records' own value: what noise, drawing and "
    "post-processing do to it. What the mechanism's model leaves out of the joint table is not in it"
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


def replicate(publication: Publication, draws: Draws) -> pa.Table:
    """Records as a release with fresh noise would have them, were what this one opened the truth.

    Which tables were measured, and by which cells and scores, stays as it is.

    Privacy:
        Post-processing: made of released values and of chance that knows nothing else.

    Raises:
        ReleaseError: If records are not made from a model.
    """
    published, mechanism = publication.published, publication.mechanism
    if published.rows is not None or not published.measured:
        raise ReleaseError(f"The mechanism '{mechanism.name}' has no model that records could be drawn from again.")
    fresh = replace(published, measured=tuple(_with_fresh_noise(measured, draws) for measured in published.measured))
    model = mechanism.fit(fresh, publication.certificate.public_facts.number_of_records)
    return pa.concat_tables(mechanism.sample(replace(fresh, model=model), draws.next_key()))


def _with_fresh_noise(measured: Measured, draws: Draws) -> Measured:
    if measured.steered:  # what followed from its noise stays
        return measured
    noise = draws.noise(measured.noise, measured.values.size, points_per_person=measured.points) * measured.points
    return replace(measured, values=measured.values + np.rint(noise).astype(np.int64))


def check_replicates(number: int) -> int:
    """A number of replicates that makes an interval.

    Raises:
        ReleaseError: If it is too small for one.
    """
    if number < LEAST_REPLICATES:
        raise ReleaseError(f"replicates must be at least {LEAST_REPLICATES}, got {number}; 200 is usual.")
    return number


def interval_by_replicates(value: float, replicates: Sequence[float], confidence: float) -> Estimate:
    """The release's value, plus and minus a multiple of how far replicates are from it.

    Raises:
        ReleaseError: If the statistic is no number on the records, or on a replicate.
    """
    if not np.isfinite(value):
        raise ReleaseError(f"The statistic is {value} on the published records, so it has no interval.")
    lost = int(np.sum(~np.isfinite(np.asarray(replicates, dtype=np.float64))))
    if lost:
        raise ReleaseError(
            f"The statistic is no number on {lost} of {len(replicates)} replicates with fresh noise: noise alone "
            "decides whether it exists, so it has no interval. Take one that is defined for every table."
        )
    moved = np.asarray(replicates, dtype=np.float64) - value
    distance = float(np.sqrt((moved * moved).mean()))
    z = normal_quantile(confidence)
    within = z * (1 + (z * z + 1) / (4 * len(moved))) * distance  # Student's quantile, to first order
    return Estimate(
        value=value,
        standard_error=float(moved.std(ddof=1)),
        within=within,
        low=value - within,
        high=value + within,
        confidence=confidence,
        how=HOW.format(n=len(moved)),
    )
