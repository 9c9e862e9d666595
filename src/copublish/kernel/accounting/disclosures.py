"""What becomes known in a release, each with what it costs.

There are two ways out of a secret: *select* an index and *measure* integers. An owner may also *perturb* a column of
its own records before it leaves, see `perturbations.py`. What leaves it unprotected, because the agreement says so in
words, is a disclosure as well: one without a price.

A disclosure is calibrated to one neighboring relation and costs a known amount in the other one as well, because its
noise is fixed while what one person can change differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

from pydantic.dataclasses import dataclass as typed

from copublish.kernel.accounting.zcdp import epsilon_for, rho_for
from copublish.kernel.noise.discrete_gaussian import BATCHES, DiscreteGaussian, gaussian_noise
from copublish.kernel.noise.geometric import Geometric, geometric_noise, laplace_quantile
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace, shared_laplace
from copublish.types import TypedJson

Neighbors = Literal["add-remove", "replace"]
"""add-remove: one person's record is there or not. replace: one person's record has other values."""

NEIGHBORS: tuple[Neighbors, Neighbors] = ("add-remove", "replace")

Influence = dict[Neighbors, int]
"""How far one person can move what is disclosed, under each relation."""

HISTOGRAM_L1: Influence = {"add-remove": 1, "replace": 2}
"""A person is in one cell, so a record adds 1 to one count; replacing one changes two counts."""


Kind = Literal["select", "measure", "perturb", "divided", "unprotected"]
"""How something becomes known."""


@typed(frozen=True)
class Place(TypedJson):
    """Which step of a mechanism a disclosure is: what pages and commands find it by.

    Attributes:
        step: The step, by a name that the mechanism gives it.
        column: Of which column, where there is a disclosure for each.
        number: Which of several alike, from 1 on.
        common: What those have in common, in words, to tell them in one row.
    """

    step: str
    column: str | None = None
    number: int | None = None
    common: str | None = None


UNPLACED = Place("unnamed")


class Disclosure(Protocol):
    """What `reveal` takes: something opened to all parties, and its price."""

    @property
    def place(self) -> Place:
        """Which step of the mechanism it is."""
        ...

    @property
    def label(self) -> str:
        """What becomes known, in plain words."""
        ...

    @property
    def kind(self) -> Kind:
        """How it becomes known: select, measure, perturb, divided, or unprotected."""
        ...

    def epsilon(self, neighbors: Neighbors) -> Fraction | None:
        """The exact cost under a relation; none if no finite epsilon holds."""
        ...

    def delta(self, neighbors: Neighbors) -> Fraction:
        """A bound on what the sampler's distance to the exact law adds."""
        ...


@dataclass(frozen=True, kw_only=True)
class Select:
    """Open the index of the largest score plus one-sided geometric noise, ties to the lowest index.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        calibrated_to: The relation that `budget` is stated for.
        score_range: For each relation, the largest value over neighbors of (largest change of any candidate's
            score) minus (smallest change). It, not the sensitivity, fixes the noise.
        candidates: Number of candidates.
        points_per_person: How many points of the score stand for one person.

    Privacy:
        Guarantee: budget-DP with exact noise. Fix the other candidates' noise; candidate i wins iff its noise
        reaches a threshold t_i, so with probability p^max(0, t_i). A neighbor moves t_i by at most the range
        R, the probability by a factor of at most p^-R = e^budget.
        Sampler: (1 + e^epsilon) * candidates * distance is added as delta.
    """

    label: str
    budget: Fraction
    calibrated_to: Neighbors
    score_range: Influence
    candidates: int
    points_per_person: int = 1
    place: Place = UNPLACED
    kind: Literal["select"] = "select"

    @cached_property
    def noise(self) -> Geometric:
        """The noise, fixed by epsilon and the calibrated relation.

        Privacy:
            Guarantee: rate = budget / score range, so that one person changes the odds of every index by at most
                e^budget.
        """
        return geometric_noise(self.budget / self.score_range[self.calibrated_to])

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        return self.noise.scale / self.points_per_person

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """The exact cost under a relation."""
        return self.noise.rate * self.score_range[neighbors]

    def delta(self, neighbors: Neighbors) -> Fraction:
        """A bound on what the sampler's distance to the exact law adds."""
        return price_of_exchange(self.epsilon(neighbors)) * self.candidates * self.noise.distance


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Open integers plus discrete Laplace noise, one independent draw per entry.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        calibrated_to: The relation that `budget` is stated for.
        l1_sensitivity: For each relation, the largest L1 change one person can make.
        changed_entries: For each relation, how many entries one person can change.
        entries: Number of entries.
        points_per_person: How many points of an entry stand for one person: 1 for counts.
        shares: The owners that add the noise in shares; none if nobody knows any of it.
        largest_weight: What some entries were multiplied with at most, as the label says: they have so many times less
            noise, and one person adds at most so many times `points_per_person` to an entry or takes it from it.
        padding: How many of the entries hold noise only, because they stand for nothing, and are not published. It
            changes neither noise nor price.

    Privacy:
        Guarantee: budget-DP with exact noise: the ratio of the laws is at most p^-(L1 change). With shares it holds
        against owners that collude, up to the agreed number of them; `SharedLaplace` says why.
        Sampler: entries that do not change have one law under both neighbors whatever the sampler, so only
        the changed ones are exchanged for exact ones, each at distance 2 * distance, before and after.
    """

    label: str
    budget: Fraction
    calibrated_to: Neighbors
    l1_sensitivity: Influence
    changed_entries: Influence
    entries: int
    points_per_person: int = 1
    shares: NoiseShares | None = None
    largest_weight: int = 1
    padding: int = 0
    place: Place = UNPLACED
    kind: Literal["measure"] = "measure"

    @cached_property
    def noise(self) -> Geometric | SharedLaplace:
        """The noise, fixed by epsilon, the calibrated relation and who draws it.

        Privacy:
            Guarantee: rate = budget / L1 sensitivity, so that one person changes the odds of every outcome by at most
                e^budget.
        """
        rate = self.budget / self.l1_sensitivity[self.calibrated_to]
        return geometric_noise(rate) if self.shares is None else shared_laplace(rate, self.shares)

    @property
    def noise_variance(self) -> Fraction:
        """A little more than the variance of an entry's noise, 2 p / (1 - p)^2 with p = e^-rate: 2 / rate^2."""
        return 2 / self.noise.rate**2 * (1 if self.shares is None else self.shares.variance_factor)

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        return self.noise.scale / self.points_per_person

    def within(self, confidence: float) -> int:
        """How far an entry is off at most with this probability, in its own unit."""
        if isinstance(self.noise, SharedLaplace):
            return self.noise.within(confidence)
        return laplace_quantile(self.noise.rate, confidence)

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """The exact cost under a relation."""
        return self.noise.rate * self.l1_sensitivity[neighbors]

    def delta(self, neighbors: Neighbors) -> Fraction:
        """A bound on what the sampler's distance to the exact law adds."""
        return price_of_exchange(self.epsilon(neighbors)) * 2 * self.changed_entries[neighbors] * self.noise.distance


@dataclass(frozen=True, kw_only=True)
class GaussianMeasure:
    """Open integers plus discrete Gaussian noise, one independent draw per entry.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the calibrated relation.
        agreed_delta: Delta spent under both relations, the sampler's part included.
        calibrated_to: The relation that `budget` is stated for.
        squared_l2_sensitivity: For each relation, the square of the largest L2 change one person can make.
        entries: Number of entries.
        points_per_person, largest_weight, padding: As for `Measure`.

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
    calibrated_to: Neighbors
    squared_l2_sensitivity: Influence
    entries: int
    points_per_person: int = 1
    largest_weight: int = 1
    padding: int = 0
    place: Place = UNPLACED
    kind: Literal["measure"] = "measure"

    @cached_property
    def noise(self) -> DiscreteGaussian:
        """The noise, fixed by epsilon, delta and the calibrated relation.

        Raises:
            ValueError: If delta is too small for the sampler, or the noise is too large for the engine.

        Privacy:
            Guarantee: variance = squared L2 sensitivity / (2 rho), rounded up, for the rho that the budget allows at
                the delta that is left beside the sampler's part.
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
        return price_of_exchange(epsilon) * self._distance(noise)

    def _distance(self, noise: DiscreteGaussian) -> Fraction:
        return BATCHES * noise.candidates(self.entries) * noise.distance

    @property
    def samplers_distance(self) -> Fraction:
        """A bound on the total variation distance of all sampled noise to the exact one."""
        return self._distance(self.noise)

    def rho(self, neighbors: Neighbors) -> Fraction:
        """The exact cost under a relation, as zero-concentrated differential privacy."""
        return Fraction(self.squared_l2_sensitivity[neighbors], 2 * self.noise.variance)

    @property
    def scale_in_people(self) -> float:
        """The noise's standard deviation, in people."""
        return self.noise.deviation / self.points_per_person

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """The cost under a relation, at the agreed delta."""
        if neighbors == self.calibrated_to:
            return self.budget
        return epsilon_for(self.rho(neighbors), self._delta_without_sampler)

    def delta(self, neighbors: Neighbors) -> Fraction:
        """Delta: the agreed one, which holds the sampler's part, or more if that is larger than foreseen."""
        sampler = self._sampler_delta(self.epsilon(neighbors), self.noise)
        return max(self.agreed_delta, self._delta_without_sampler + sampler)


@dataclass(frozen=True, kw_only=True)
class Divided:
    """Several disclosures with one budget, whose parts follow from what was opened before. For plans, not for the gate.

    Args:
        label: What becomes known.
        parts: For each of them, what it is with the smallest and with the largest part of the budget it can get.
        budget: What the parts add up to at most, under each relation; none if no finite epsilon holds.
        usual: Whose noise is shown, if one has a noise to show.

    Privacy:
        Guarantee: adaptive composition: whatever the parts are, they add up to the budget under the relation it is
        calibrated to, and to no more than is stated under the other one.
        Sampler: distances are largest for the smallest part, what they cost for the largest one.
    """

    label: str
    parts: tuple[tuple[Disclosure, Disclosure], ...]
    budget: Mapping[Neighbors, Fraction | None]
    usual: Disclosure | None = None
    place: Place = UNPLACED
    kind: Literal["divided"] = "divided"

    def epsilon(self, neighbors: Neighbors) -> Fraction | None:
        """The cost under a relation, or a bound on it; none if no finite epsilon holds."""
        return self.budget[neighbors]

    def delta(self, neighbors: Neighbors) -> Fraction:
        """A bound on what the samplers' distances to the exact laws add, however the budget is divided."""
        total = Fraction(0)
        for least, most in self.parts:
            relation = neighbors if least.epsilon(neighbors) is not None else "replace"
            small, large = least.epsilon(relation) or Fraction(0), most.epsilon(relation) or Fraction(0)
            total += least.delta(neighbors) * price_of_exchange(large) / price_of_exchange(small)
        return total


@dataclass(frozen=True, kw_only=True)
class Unprotected:
    """Open something that no epsilon is claimed for.

    Args:
        label: What becomes known, and that it is not protected.
        kind_of_noise: What is done to it all the same, in words.

    Privacy:
        Guarantee: none.
    """

    label: str
    kind_of_noise: str
    place: Place = UNPLACED
    kind: Literal["unprotected"] = "unprotected"

    def epsilon(self, neighbors: Neighbors) -> None:
        """No finite epsilon, under either relation."""
        return

    def delta(self, neighbors: Neighbors) -> Fraction:
        """Nothing to add to what is unbounded."""
        return Fraction(0)


def price_of_exchange(epsilon: Fraction) -> Fraction:
    """A rational bound on 1 + e^epsilon: the price of exchanging a law before and after."""
    rounded_up = math.nextafter(math.exp(float(epsilon)) * (1 + 1e-12), math.inf)
    return 1 + Fraction(rounded_up)
