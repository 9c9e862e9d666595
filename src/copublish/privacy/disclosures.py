"""The only two ways out of a secret: *select* an index and *measure* integers, each with what it costs.

A disclosure is calibrated to one neighbouring relation and costs a known amount in the other one as well, because
its noise is fixed while what one person can change differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

from copublish.privacy.discrete_gaussian import BATCHES, DiscreteGaussian, gaussian_noise
from copublish.privacy.geometric import Geometric, geometric_noise
from copublish.privacy.zcdp import epsilon_for, rho_for

Neighbours = Literal["add-remove", "replace"]
"""add-remove: one person's record is there or not. replace: one person's record has other values."""

NEIGHBOURS: tuple[Neighbours, Neighbours] = ("add-remove", "replace")

Influence = dict[Neighbours, int]
"""How far one person can move what is disclosed, under each relation."""


class Disclosure(Protocol):
    """What `reveal` takes: something opened to all parties, and its price."""

    @property
    def label(self) -> str:
        """What becomes known, in plain words."""
        ...

    @property
    def kind(self) -> str:
        """Either select or measure."""
        ...

    @property
    def noise(self) -> Geometric | DiscreteGaussian:
        """The noise, fixed by epsilon and the calibrated relation."""
        ...

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        ...

    def epsilon(self, neighbours: Neighbours) -> Fraction:
        """Return the exact cost under a relation."""
        ...

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return delta: what the sampler's distance to the exact law adds, and what Gaussian noise needs itself."""
        ...


@dataclass(frozen=True)
class Select:
    """Open the index of the largest score plus one-sided geometric noise, ties to the lowest index.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        calibrated_to: The relation that `budget` is stated for.
        score_range: For each relation, the largest value over neighbours of (largest change of any candidate's
            score) minus (smallest change). It, not the sensitivity, fixes the noise.
        candidates: Number of candidates.
        points_per_person: How many points of the score stand for one person.

    Privacy:
        Guarantee: budget-DP with exact noise. Fix the other candidates' noise; candidate i wins iff its noise
        reaches a threshold t_i, so with probability p^max(0, t_i). A neighbour moves t_i by at most the range
        R, the probability by a factor of at most p^-R = e^budget.
        Sampler: (1 + e^epsilon) * candidates * distance is added as delta.
    """

    label: str
    budget: Fraction
    calibrated_to: Neighbours
    score_range: Influence
    candidates: int
    points_per_person: int = 1
    kind: Literal["select"] = "select"

    @cached_property
    def noise(self) -> Geometric:
        """The noise, fixed by epsilon and the calibrated relation."""
        return geometric_noise(self.budget / self.score_range[self.calibrated_to])

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        return self.noise.scale / self.points_per_person

    def epsilon(self, neighbours: Neighbours) -> Fraction:
        """Return the exact cost under a relation."""
        return self.noise.rate * self.score_range[neighbours]

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return a bound on what the sampler's distance to the exact law adds."""
        return _exchange(self.epsilon(neighbours)) * self.candidates * self.noise.distance


@dataclass(frozen=True)
class Measure:
    """Open integers plus discrete Laplace noise, one independent draw per entry.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        calibrated_to: The relation that `budget` is stated for.
        l1_sensitivity: For each relation, the largest L1 change one person can make.
        changed_entries: For each relation, how many entries one person can change.
        entries: Number of entries.
        points_per_person: The most that one person adds to an entry or takes from it: 1 for counts.

    Privacy:
        Guarantee: budget-DP with exact noise: the ratio of the laws is at most p^-(L1 change).
        Sampler: entries that do not change have one law under both neighbours whatever the sampler, so only
        the changed ones are exchanged for exact ones, each at distance 2 * distance, before and after.
    """

    label: str
    budget: Fraction
    calibrated_to: Neighbours
    l1_sensitivity: Influence
    changed_entries: Influence
    entries: int
    points_per_person: int = 1
    kind: Literal["measure"] = "measure"

    @cached_property
    def noise(self) -> Geometric:
        """The noise, fixed by epsilon and the calibrated relation."""
        return geometric_noise(self.budget / self.l1_sensitivity[self.calibrated_to])

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        return self.noise.scale / self.points_per_person

    def epsilon(self, neighbours: Neighbours) -> Fraction:
        """Return the exact cost under a relation."""
        return self.noise.rate * self.l1_sensitivity[neighbours]

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return a bound on what the sampler's distance to the exact law adds."""
        return _exchange(self.epsilon(neighbours)) * 2 * self.changed_entries[neighbours] * self.noise.distance


@dataclass(frozen=True)
class GaussianMeasure:
    """Open integers plus discrete Gaussian noise, one independent draw per entry.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        agreed_delta: Delta spent under both relations, the sampler's part included.
        calibrated_to: The relation that `budget` is stated for.
        squared_l2_sensitivity: For each relation, the square of the largest L2 change one person can make.
        entries: Number of entries.
        points_per_person: The most that one person adds to an entry or takes from it.

    Privacy:
        Guarantee: with exact noise of parameter v, rho-zCDP with rho = squared_l2_sensitivity / (2 v)
        (arXiv:2004.00010v4, Theorem 14), so (epsilon, delta)-DP as `zcdp.py` says.
        Kept candidates: each is independent of the others and, given that it is kept, has exactly the discrete Gaussian
        law; which ones are kept depends on coins alone. So given all these bits the noise of every entry, the first
        kept candidates in order, is independent discrete Gaussian, and the bits may be open.
        Sampler: all candidates of all draws are exchanged for exact ones, before and after; a 64th of delta is kept
        free for what that adds.
    """

    label: str
    budget: Fraction
    agreed_delta: Fraction
    calibrated_to: Neighbours
    squared_l2_sensitivity: Influence
    entries: int
    points_per_person: int = 1
    kind: Literal["measure"] = "measure"

    @cached_property
    def noise(self) -> DiscreteGaussian:
        """The noise, fixed by epsilon, delta and the calibrated relation.

        Raises:
            ValueError: If delta is too small for the sampler, or the noise is too large for the engine.
        """
        rho = rho_for(self.budget, self._delta_without_sampler)
        noise = gaussian_noise(self.squared_l2_sensitivity[self.calibrated_to] / (2 * rho))
        if self._sampler_delta(self.budget, noise) > self.agreed_delta - self._delta_without_sampler:
            raise ValueError("delta is too small for the sampler")
        return noise

    @property
    def _delta_without_sampler(self) -> Fraction:
        return self.agreed_delta * Fraction(63, 64)

    def _sampler_delta(self, epsilon: Fraction, noise: DiscreteGaussian) -> Fraction:
        return _exchange(epsilon) * BATCHES * noise.candidates(self.entries) * noise.distance

    def rho(self, neighbours: Neighbours) -> Fraction:
        """Return the exact cost under a relation, as zero-concentrated differential privacy."""
        return Fraction(self.squared_l2_sensitivity[neighbours], 2 * self.noise.variance)

    @property
    def scale_in_people(self) -> float:
        """The noise's standard deviation, in people."""
        return self.noise.deviation / self.points_per_person

    def epsilon(self, neighbours: Neighbours) -> Fraction:
        """Return the cost under a relation, at the agreed delta."""
        if neighbours == self.calibrated_to:
            return self.budget
        return epsilon_for(self.rho(neighbours), self._delta_without_sampler)

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return delta: the agreed one, which holds the sampler's part, or more if that is larger than foreseen."""
        sampler = self._sampler_delta(self.epsilon(neighbours), self.noise)
        return max(self.agreed_delta, self._delta_without_sampler + sampler)


def _exchange(epsilon: Fraction) -> Fraction:
    """Return a rational bound on 1 + e^epsilon: the price of exchanging a law before and after."""
    rounded_up = math.nextafter(math.exp(float(epsilon)) * (1 + 1e-12), math.inf)
    return 1 + Fraction(rounded_up)
