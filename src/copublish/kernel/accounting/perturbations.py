"""Columns that an owner perturbs record by record before they leave it, each with what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from copublish.kernel.accounting.disclosures import UNPLACED, Neighbors, Place, price_of_exchange
from copublish.kernel.noise.geometric import Geometric, geometric_noise
from copublish.kernel.noise.randomized_response import RandomizedResponse, randomized_response


@dataclass(frozen=True, kw_only=True)
class PerturbCategory:
    """Publish a column of categories record by record, each value by randomized response of its owner's.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the relation replace.
        n_values: Number of values.

    Privacy:
        Guarantee: budget-DP if one person's value is replaced, exactly: the other rows have one law under both
        neighbors. A row for every person shows how many there are, so nothing holds if somebody is added.
    """

    label: str
    budget: Fraction
    n_values: int
    place: Place = UNPLACED
    kind: Literal["perturb"] = "perturb"

    @property
    def response(self) -> RandomizedResponse:
        """The law of a published value."""
        return randomized_response(self.budget, self.n_values)

    def epsilon(self, neighbors: Neighbors) -> Fraction | None:
        """The exact cost under a relation; none if no finite epsilon holds."""
        return self.budget if neighbors == "replace" else None

    def delta(self, neighbors: Neighbors) -> Fraction:
        """Part of the sampler: nothing, its own law keeps the budget."""
        return Fraction(0)


@dataclass(frozen=True, kw_only=True)
class PerturbNumber:
    """Publish a column of numbers record by record, each with discrete Laplace noise of its owner's, within the bounds.

    Args:
        label: What becomes known.
        budget: Epsilon spent under the relation replace.
        steps: How many steps of the last decimal lie between the bounds: how far a replaced value moves at most.
        step: One such step, in the column's own unit.
        missing: Whether values may be missing.

    Privacy:
        Guarantee: budget-DP if one person's value is replaced: the ratio of the laws is at most p^-steps. Clipping to
        the bounds comes after. Where values may be missing, half of the budget is for randomized response on whether
        the value is missing and half for the noise; a missing value counts as a number in the middle, and what is
        said to be missing loses its number after the noise.
        Sampler: one entry changes, at distance 2 * distance, before and after.
    """

    label: str
    budget: Fraction
    steps: int
    step: float
    missing: bool = False
    place: Place = UNPLACED
    kind: Literal["perturb"] = "perturb"

    @property
    def noise(self) -> Geometric:
        """The noise of a number, in steps.

        Privacy:
            Guarantee: rate = budget / steps between the bounds (half of it where values may be missing), so that
                another value in a cell changes the odds by at most e^budget.
        """
        return geometric_noise(self.budget / (1 + self.missing) / self.steps)

    @property
    def response(self) -> RandomizedResponse | None:
        """The law of whether a value is said to be missing."""
        return randomized_response(self.budget / 2, 2) if self.missing else None

    def epsilon(self, neighbors: Neighbors) -> Fraction | None:
        """The exact cost under a relation; none if no finite epsilon holds."""
        return self.budget if neighbors == "replace" else None

    def delta(self, neighbors: Neighbors) -> Fraction:
        """A bound on what the sampler's distance to the exact law adds."""
        return price_of_exchange(self.budget) * 2 * self.noise.distance


Perturb = PerturbCategory | PerturbNumber
