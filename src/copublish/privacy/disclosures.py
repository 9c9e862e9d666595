"""The only two ways out of a secret: *select* an index and *measure* integers, each with what it costs.

What leaves a party unprotected, because the agreement says so in words, is a disclosure as well: one without a price.

A disclosure is calibrated to one neighbouring relation and costs a known amount in the other one as well, because
its noise is fixed while what one person can change differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

from copublish.privacy.geometric import Geometric, geometric_noise

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
        """One of select, measure and unprotected."""
        ...

    @property
    def scale_in_people(self) -> float:
        """The noise's scale, in people."""
        ...

    def epsilon(self, neighbours: Neighbours) -> Fraction | None:
        """Return the exact cost under a relation; none if no finite epsilon holds."""
        ...

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return a bound on what the sampler's distance to the exact law adds."""
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
    kind: Literal["unprotected"] = "unprotected"

    @property
    def scale_in_people(self) -> float:
        """None that hides a person."""
        return 0.0

    def epsilon(self, neighbours: Neighbours) -> None:
        """Return that no finite epsilon holds, under either relation."""
        return

    def delta(self, neighbours: Neighbours) -> Fraction:
        """Return that there is nothing to add to what is unbounded."""
        return Fraction(0)


def _exchange(epsilon: Fraction) -> Fraction:
    """Return a rational bound on 1 + e^epsilon: the price of exchanging a law before and after."""
    rounded_up = math.nextafter(math.exp(float(epsilon)) * (1 + 1e-12), math.inf)
    return 1 + Fraction(rounded_up)
