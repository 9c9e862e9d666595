"""Adding up what a release costs, exactly, for each neighboring relation and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from copublish.kernel.accounting.concentrated import (
    Concentrated,
    ConcentratedMeasure,
    ConcentratedRounds,
    ConcentratedSelect,
)
from copublish.kernel.accounting.disclosures import Disclosure, Neighbors

PART = (ConcentratedSelect, ConcentratedMeasure, ConcentratedRounds)
"""What is paid by a budget of zero-concentrated differential privacy that it is part of."""


class Priced(Protocol):
    """A disclosure, or a budget that several of them share."""

    def epsilon(self, neighbors: Neighbors) -> Fraction | None:
        """The cost under a relation; none if no finite epsilon holds."""
        ...

    def delta(self, neighbors: Neighbors) -> Fraction:
        """What it costs of delta."""
        ...


@runtime_checkable
class ZeroConcentrated(Protocol):
    """A disclosure whose guarantee is zero-concentrated: it can be paid in rho as it is."""

    @property
    def samplers_distance(self) -> Fraction:
        """A bound on the total variation distance of all sampled noise to the exact one."""
        ...

    def rho(self, neighbors: Neighbors) -> Fraction:
        """The cost under a relation with exact noise, as zero-concentrated differential privacy."""
        ...


@dataclass(frozen=True, kw_only=True)
class RhoPrice:
    """What something costs if it is paid in rho. `None` means that no finite rho holds.

    Attributes:
        add_remove: Rho if one person's record is added or removed.
        replace: Rho if one person's record takes other values.
        delta: Of parts that are not Gaussian, as they would cost it in epsilon.
        distance: Of the Gaussian parts' sampled noise from the exact one. The limit says what it costs of delta.
    """

    add_remove: Fraction | None
    replace: Fraction | None
    delta: Fraction = Fraction(0)
    distance: Fraction = Fraction(0)

    def under(self, neighbors: Neighbors) -> Fraction | None:
        """Rho under a relation."""
        return self.add_remove if neighbors == "add-remove" else self.replace

    def __add__(self, other: RhoPrice) -> RhoPrice:
        return RhoPrice(
            add_remove=_plus(self.add_remove, other.add_remove),
            replace=_plus(self.replace, other.replace),
            delta=self.delta + other.delta,
            distance=self.distance + other.distance,
        )


NO_RHO = RhoPrice(add_remove=Fraction(0), replace=Fraction(0))


@dataclass(frozen=True, kw_only=True)
class GaussianPart:
    """What of a cost is of Gaussian noise: its rho, and what it is in epsilon and delta.

    Attributes:
        rho: Its rho, which has no delta, and the distances of its samplers.
        add_remove, replace, delta: What it counts as in the whole cost.
    """

    rho: RhoPrice = NO_RHO
    add_remove: Fraction | None = Fraction(0)
    replace: Fraction | None = Fraction(0)
    delta: Fraction = Fraction(0)

    @property
    def has_noise(self) -> bool:
        """Whether there is any."""
        return self.rho != NO_RHO

    def __add__(self, other: GaussianPart) -> GaussianPart:
        return GaussianPart(
            rho=self.rho + other.rho,
            add_remove=_plus(self.add_remove, other.add_remove),
            replace=_plus(self.replace, other.replace),
            delta=self.delta + other.delta,
        )


NOT_GAUSSIAN = GaussianPart()


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What something costs under each relation. `None` means that no finite epsilon holds.

    Attributes:
        add_remove: Epsilon if one person's record is added or removed.
        replace: Epsilon if one person's record takes other values.
        delta: Agreed for Gaussian noise, and a bound on the part of samplers; the larger of the two relations.
        gaussian: What of all that is of Gaussian noise, and could be paid in rho as it is.
    """

    add_remove: Fraction | None
    replace: Fraction | None
    delta: Fraction = Fraction(0)
    gaussian: GaussianPart = NOT_GAUSSIAN

    def under(self, neighbors: Neighbors) -> Fraction | None:
        """Epsilon under a relation."""
        return self.add_remove if neighbors == "add-remove" else self.replace

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            add_remove=_plus(self.add_remove, other.add_remove),
            replace=_plus(self.replace, other.replace),
            delta=self.delta + other.delta,
            gaussian=self.gaussian + other.gaussian,
        )

    def fits_in(self, limit: Cost) -> bool:
        """Whether this cost is within a limit, under both relations and in delta, whatever it is paid in."""
        ours, theirs = self.in_rho(), limit.in_rho()
        pairs = (
            (self.add_remove, limit.add_remove),
            (self.replace, limit.replace),
            (ours.add_remove, theirs.add_remove),
            (ours.replace, theirs.replace),
        )
        deltas = (self.delta, ours.delta, ours.distance), (limit.delta, theirs.delta, theirs.distance)
        return all(map(_at_most, *deltas)) and all(_at_most(cost, bound) for cost, bound in pairs)

    def in_rho(self) -> RhoPrice:
        """What this costs if it is paid in rho: Gaussian parts their rho, all others together half of epsilon squared.

        Privacy:
            Guarantee: `accounts.py` has the proof. Other parts are taken together, because what a run does not use for
            one of them another one may get.
        """
        gaussian = self.gaussian

        def rho(whole: Fraction | None, part: Fraction | None, own: Fraction | None) -> Fraction | None:
            return None if whole is None or part is None or own is None else (whole - part) ** 2 / 2 + own

        return RhoPrice(
            add_remove=rho(self.add_remove, gaussian.add_remove, gaussian.rho.add_remove),
            replace=rho(self.replace, gaussian.replace, gaussian.rho.replace),
            delta=self.delta - gaussian.delta,
            distance=gaussian.rho.distance,
        )


NOTHING = Cost(add_remove=Fraction(0), replace=Fraction(0))

UNLIMITED = Cost(add_remove=None, replace=None)
"""What a release costs that is not differentially private under any relation."""


def cost_of(disclosures: Sequence[Disclosure], *, number_of_records_is_public: bool) -> Cost:
    """Add up disclosures by sequential composition: epsilons add up and deltas add up, for adaptive choices as well.

    Parts of one budget of zero-concentrated differential privacy cost that budget, once.

    Args:
        disclosures: Everything that is opened.
        number_of_records_is_public: A public number of records shows whether somebody was added, so no finite
            epsilon holds under add/remove.
    """
    total = NOTHING
    wholes: list[Concentrated] = []
    for disclosure in disclosures:
        priced: Priced = disclosure
        if isinstance(disclosure, PART):
            if disclosure.whole in wholes:
                continue
            wholes.append(disclosure.whole)
            priced = disclosure.whole
        total += _cost_of_one(priced, number_of_records_is_public=number_of_records_is_public)
    return total


def _cost_of_one(priced: Priced, *, number_of_records_is_public: bool) -> Cost:
    add_remove = None if number_of_records_is_public else priced.epsilon("add-remove")
    replace, delta = priced.epsilon("replace"), max(priced.delta("add-remove"), priced.delta("replace"))
    gaussian = NOT_GAUSSIAN
    if isinstance(priced, ZeroConcentrated):
        rho = RhoPrice(
            add_remove=None if number_of_records_is_public else priced.rho("add-remove"),
            replace=priced.rho("replace"),
            distance=priced.samplers_distance,
        )
        gaussian = GaussianPart(rho=rho, add_remove=add_remove, replace=replace, delta=delta)
    return Cost(add_remove=add_remove, replace=replace, delta=delta, gaussian=gaussian)


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _at_most(cost: Fraction | None, bound: Fraction | None) -> bool:
    """Compare where None is infinity."""
    return bound is None or (cost is not None and cost <= bound)
