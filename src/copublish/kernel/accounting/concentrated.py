"""Several disclosures with one budget of zero-concentrated differential privacy (zCDP), chosen from what was opened.

Why a filter is enough. A run takes steps. Which mechanism a step runs, and its rho, is a function of what earlier steps
opened, and a step is refused unless all rho so far and its own add up to at most r. The number of steps is bounded.
Claim: the whole run is r-zCDP. By induction on the number of steps that are left. Without steps nothing is opened. Else
let the first step have rho_1 <= r; before it nothing was opened, so rho_1 is one number. After any output y the rest is
a run with one step less and the filter r - rho_1, the same for every y, so it is (r - rho_1)-zCDP by induction. For
neighbors with laws P and Q of the whole, P_1 and Q_1 of the first output, P_y and Q_y of the rest, and every alpha > 1,

    exp((alpha - 1) D(P, Q)) = sum over y of P_1(y)^alpha Q_1(y)^(1 - alpha) exp((alpha - 1) D(P_y, Q_y))
                            <= exp((alpha - 1) alpha rho_1) exp((alpha - 1) alpha (r - rho_1)),

with D the Renyi divergence of order alpha: that is r-zCDP (arXiv:1605.02065v1, Definition 1.1). For pure epsilon the
same holds with ratios of probabilities instead. Fully adaptive composition: Rogers, Roth, Ullman and Vadhan 2016 for
pure epsilon, Feldman and Zrnic 2021 for Renyi divergences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt
from typing import Literal

from copublish.errors import BudgetExceededError
from copublish.kernel.accounting.disclosures import (
    NEIGHBORS,
    UNPLACED,
    GaussianMeasure,
    Neighbors,
    Place,
    Select,
    price_of_exchange,
)
from copublish.kernel.accounting.zcdp import epsilon_for, rho_for
from copublish.kernel.noise.discrete_gaussian import DiscreteGaussian, gaussian_noise

SELECTION_GRID = 10**9
"""Epsilons of selections are multiples of its inverse."""

LARGEST_SAMPLERS_PART = 32
"""In 64ths of delta."""

REPLACED_TABLE, REPLACED_SELECTION = 2, 4
"""How many times the rho of adding a record replacing one costs: two cells of a table change, so its squared L2 change
doubles; a selection's range doubles, and its rho goes with the square."""


@dataclass(frozen=True, kw_only=True)
class Concentrated:
    """A budget of zCDP that tables of counts and selections share.

    Args:
        budget: Epsilon spent under the calibrated relation.
        agreed_delta: Delta spent under both relations, the samplers' part included.
        calibrated_to: The relation that `budget` is stated for.
        selections_share: The most of rho that selections take under the calibrated relation.
        samplers_distance: A bound on the total variation distance of all sampled noise together to the exact one.

    Privacy:
        Guarantee: parts are let pass by a `RhoFilter`, so together they are rho-zCDP with `rho`, as the module says;
        that is (epsilon, delta)-DP as `zcdp.py` says. The budget counts as spent as a whole with its first part.
        Sampler: some 64ths of delta, mostly one, are kept free for what exchanging all sampled noise for exact noise
        adds.
    """

    budget: Fraction
    agreed_delta: Fraction
    calibrated_to: Neighbors
    selections_share: Fraction
    samplers_distance: Fraction

    @cached_property
    def delta_without_sampler(self) -> Fraction:
        """What is left of delta for the conversion of rho: so many 64ths of it that the samplers' part fits beside."""
        samplers = price_of_exchange(self.budget) * self.samplers_distance
        parts = max(1, ceil(64 * samplers / self.agreed_delta))
        if parts > LARGEST_SAMPLERS_PART:
            raise ValueError("delta is too small for the samplers")
        return self.agreed_delta * Fraction(64 - parts, 64)

    @cached_property
    def agreed_rho(self) -> Fraction:
        """Rho under the calibrated relation.

        Raises:
            ValueError: If delta is too small for the samplers.
        """
        return rho_for(self.budget, self.delta_without_sampler)

    def rho(self, neighbors: Neighbors) -> Fraction:
        """The most that all parts cost under a relation."""
        if neighbors == self.calibrated_to:
            return self.agreed_rho
        if self.calibrated_to == "replace":
            return self.agreed_rho / REPLACED_TABLE  # selections cost a quarter, tables a half
        return self.agreed_rho * (REPLACED_TABLE + (REPLACED_SELECTION - REPLACED_TABLE) * self.selections_share)

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """The cost under a relation, at the agreed delta."""
        if neighbors == self.calibrated_to:
            return self.budget
        return epsilon_for(self.rho(neighbors), self.delta_without_sampler)

    def delta(self, neighbors: Neighbors) -> Fraction:
        """Delta: the agreed one, which holds the samplers' part, or more if that is larger than foreseen."""
        samplers = price_of_exchange(self.epsilon(neighbors)) * self.samplers_distance
        return max(self.agreed_delta, self.delta_without_sampler + samplers)


@dataclass(frozen=True, kw_only=True)
class ConcentratedSelect(Select):
    """A selection that is part of a budget of zCDP.

    Privacy:
        Guarantee: epsilon-DP as any `Select`, so epsilon^2 / 2-zCDP (arXiv:1605.02065v1, Proposition 1.4). A noisy
        maximum with geometric noise has no bounded range, which would cost a quarter of that: two candidates reach it.
    """

    whole: Concentrated

    def rho(self, neighbors: Neighbors) -> Fraction:
        """The cost under a relation, as zCDP."""
        return self.epsilon(neighbors) ** 2 / 2


@dataclass(frozen=True, kw_only=True)
class ConcentratedMeasure(GaussianMeasure):
    """A table with discrete Gaussian noise that is part of a budget of zCDP.

    Args:
        rho_budget: Rho spent under the calibrated relation, at most: variances are rounded up.
        whole: The budget.
    """

    rho_budget: Fraction
    whole: Concentrated

    @cached_property
    def noise(self) -> DiscreteGaussian:
        """The noise, fixed by rho and the calibrated relation.

        Privacy:
            Guarantee: variance = squared L2 sensitivity / (2 rho), rounded up, so the table is rho-zCDP.
        """
        return gaussian_noise(self.squared_l2_sensitivity[self.calibrated_to] / (2 * self.rho_budget))

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """What this table alone would cost under a relation, at the agreed delta."""
        return epsilon_for(self.rho(neighbors), self._delta_without_sampler)


@dataclass(frozen=True, kw_only=True)
class ConcentratedRounds:
    """Rounds that select and measure from a budget of zCDP. For plans, not for the gate.

    Args:
        label: What becomes known.
        rho_budget: Rho that they may take together under the calibrated relation.
        whole: The budget they are part of.
        usual: Whose noise is shown.
    """

    label: str
    rho_budget: Fraction
    whole: Concentrated
    usual: ConcentratedMeasure
    place: Place = UNPLACED
    kind: Literal["divided"] = "divided"

    def rho(self, neighbors: Neighbors) -> Fraction:
        """The most that they cost under a relation."""
        return self.rho_budget * self.whole.rho(neighbors) / self.whole.agreed_rho

    def epsilon(self, neighbors: Neighbors) -> Fraction:
        """What they alone would cost under a relation, at the agreed delta."""
        return epsilon_for(self.rho(neighbors), self.whole.delta_without_sampler)

    def delta(self, neighbors: Neighbors) -> Fraction:
        """The agreed delta, which is spent once for the whole budget."""
        return self.whole.delta(neighbors)


Part = ConcentratedSelect | ConcentratedMeasure
"""What the gate opens of a budget of zCDP."""


@dataclass
class RhoFilter:
    """Lets parts of a budget pass as long as their rho adds up to no more, under both relations.

    Privacy:
        Guarantee: whatever parts were chosen, those that passed are together rho-zCDP; the module has the proof.
    """

    whole: Concentrated
    spent: dict[Neighbors, Fraction] = field(default_factory=lambda: dict.fromkeys(NEIGHBORS, Fraction(0)))

    def let_pass(self, part: Part) -> None:
        """Spend what a part costs.

        Raises:
            BudgetExceededError: If the budget does not cover it under one of the relations; nothing is spent then.

        Privacy:
            A part that would exceed the budget is refused before it is opened, and what was spent stays as it was.
        """
        after = {relation: spent + part.rho(relation) for relation, spent in self.spent.items()}
        if part.whole != self.whole or any(after[relation] > self.whole.rho(relation) for relation in NEIGHBORS):
            raise BudgetExceededError(
                f"'{part.label}' would cost more than is left of this release's rho. It was not opened."
            )
        self.spent = after


def selection_epsilon(rho: Fraction) -> Fraction:
    """The largest epsilon on the grid whose square is at most twice rho."""
    doubled = 2 * rho * SELECTION_GRID**2
    return Fraction(isqrt(doubled.numerator // doubled.denominator), SELECTION_GRID)
