"""Adding up what a release costs, exactly, for each neighboring relation and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from copublish.privacy.concentrated import Concentrated, ConcentratedMeasure, ConcentratedRounds, ConcentratedSelect
from copublish.privacy.disclosures import Disclosure, Neighbors

PART = (ConcentratedSelect, ConcentratedMeasure, ConcentratedRounds)
"""What is paid by a budget of zero-concentrated differential privacy that it is part of."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What something costs under each relation. `None` means that no finite epsilon holds.

    Attributes:
        add_remove: Epsilon if one person's record is added or removed.
        replace: Epsilon if one person's record takes other values.
        delta: Agreed for Gaussian noise, and a bound on the part of samplers; the larger of the two relations.
    """

    add_remove: Fraction | None
    replace: Fraction | None
    delta: Fraction = Fraction(0)

    def under(self, neighbors: Neighbors) -> Fraction | None:
        """Epsilon under a relation."""
        return self.add_remove if neighbors == "add-remove" else self.replace

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            add_remove=_plus(self.add_remove, other.add_remove),
            replace=_plus(self.replace, other.replace),
            delta=self.delta + other.delta,
        )

    def fits_in(self, limit: Cost) -> bool:
        """Whether this cost is within a limit, under both relations and in delta."""
        pairs = ((self.add_remove, limit.add_remove), (self.replace, limit.replace))
        return self.delta <= limit.delta and all(_at_most(cost, bound) for cost, bound in pairs)


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
        priced: Disclosure | Concentrated = disclosure
        if isinstance(disclosure, PART):
            if disclosure.whole in wholes:
                continue
            wholes.append(disclosure.whole)
            priced = disclosure.whole
        total += Cost(
            add_remove=None if number_of_records_is_public else priced.epsilon("add-remove"),
            replace=priced.epsilon("replace"),
            delta=max(priced.delta("add-remove"), priced.delta("replace")),
        )
    return total


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _at_most(cost: Fraction | None, bound: Fraction | None) -> bool:
    """Compare where None is infinity."""
    return bound is None or (cost is not None and cost <= bound)
