"""What certificates and descriptions say of a disclosure: typed, so that nobody reads it back by its wording."""

from __future__ import annotations

import re
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from copublish.kernel.accounting.disclosures import NEIGHBORS, Kind, Neighbors, Place
from copublish.types import TypedJson

T = TypeVar("T")

UNPROTECTED, UNBOUNDED = "not protected", "unbounded"
"""What stands in the place of an epsilon where none holds: by the relation, or by the mechanism."""

EXACT = r"[0-9]{1,400}(\.[0-9]{1,400})?(e-[0-9]{1,3})?|[0-9]{1,4000}/0*[1-9][0-9]{0,4000}"
"""How an exact epsilon is spelled: a decimal, with an exponent where it is small, or a fraction."""


def _both(by_relation: dict[Neighbors, T]) -> dict[Neighbors, T]:
    """Refuse what is said of one relation alone."""
    if by_relation.keys() != set(NEIGHBORS):
        raise ValueError(f"needs both of {', '.join(NEIGHBORS)}")
    return by_relation


def _epsilon(said: str) -> str:
    """Refuse what is neither an exact epsilon nor one of the words in its place."""
    if said not in (UNPROTECTED, UNBOUNDED) and re.fullmatch(EXACT, said) is None:
        raise ValueError(f"an epsilon is a number or a fraction, or '{UNPROTECTED}' or '{UNBOUNDED}'")
    return said


Epsilon = Annotated[str, AfterValidator(_epsilon)]

ByRelation = Annotated[dict[Neighbors, Epsilon], AfterValidator(_both)]
"""An exact epsilon, or one of the two words above, for each relation."""


class Law(StrEnum):
    """The law of noise."""

    GEOMETRIC = "geometric"
    LAPLACE = "discrete Laplace"
    SHARED_LAPLACE = "sum of owners' shares; without those of the agreed number of colluders it is discrete Laplace"
    GAUSSIAN = "discrete Gaussian"
    RESPONSE = "randomized response"
    LAPLACE_ON_VALUES = "discrete Laplace on every value"
    BY_COLUMN = "by column"
    NO_GUARANTEE = "no guarantee"


@dataclass(frozen=True, kw_only=True)
class Noise(TypedJson):
    """The noise of one disclosure, in people or in the column's own unit.

    Attributes:
        law: Its law.
        known_to: Who knows it, if somebody does.
        scale_in_people: Its scale; of Gaussian noise its standard deviation.
        scale_in_own_unit: The same for a column of numbers that is published value by value.
        kept: With which probability a category is published as it is.
        within_95_percent: How far a value is off at most in 95 of 100 cases.
        missing_or_not_kept: With which probability it is told rightly whether a number is missing.
        times_less_where_weighted: How many times less noise weighted entries have.
        note: What else is to be said.
    """

    law: Law
    known_to: str | None = None
    scale_in_people: float | None = None
    scale_in_own_unit: float | None = None
    kept: float | None = None
    within_95_percent: int | float | None = None
    missing_or_not_kept: float | None = None
    times_less_where_weighted: int | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class DisclosureStatement(TypedJson):
    """One disclosure with its exact price and its noise.

    Attributes:
        kind: How it became known.
        what: What became known, in plain words.
        place: Which step of the mechanism it is, and of which column.
        known_to: Who knows it.
        epsilon: Its exact price under each relation.
        delta_bound: A bound on its delta; none where nothing is guaranteed.
        noise: Its noise.
        rho: For Gaussian noise its price as zero-concentrated differential privacy.
        candidates: Of a selection, among how many it chose.
        values_opened: How many numbers became known.
        values_of_padding: How many of them are noise in places that hold nothing, which are not published.
    """

    kind: Kind
    what: str
    place: Place
    known_to: str
    epsilon: ByRelation
    delta_bound: str | None = None
    noise: Noise
    rho: Annotated[dict[Neighbors, float], AfterValidator(_both)] | None = None
    candidates: int | None = None
    values_opened: int | None = None
    values_of_padding: int | None = None


@dataclass(frozen=True, kw_only=True)
class MembershipStatement(TypedJson):
    """Owners that hide from each other which people they have in common: how, and what another owner learns.

    Attributes:
        helper: The party without data that puts people into rows; none where two owners do it themselves.
        at_most: The public length that every owner's list is padded to.
        size_epsilon: The price of the noisy number of common people, which another owner learns besides the release; 0
            where it learns nothing of it.
        size_delta_bound: A bound on the delta of that.
        another_person: Epsilon towards another owner if one person is exchanged for another.
        delta_bound: A bound on delta towards another owner, for the release and that number together.
    """

    helper: str | None = None
    at_most: dict[str, int]
    size_epsilon: Epsilon
    size_delta_bound: str
    another_person: Epsilon
    delta_bound: str


@dataclass(frozen=True, kw_only=True)
class EpsilonStatement(TypedJson):
    """Epsilon by who looks and what changes.

    Attributes:
        calibrated_to: The relation that noise is calibrated to.
        agreed: The budget under that relation.
        public: For everybody who sees the release.
        insiders: For the other parties; where membership is hidden, for another owner.
        insiders_know_members: Whether the parties know who is in the table.
        membership: How it is hidden from other owners who is in the table; none where it is not.
    """

    calibrated_to: Neighbors
    agreed: Epsilon
    public: ByRelation
    insiders: ByRelation
    insiders_know_members: bool
    membership: MembershipStatement | None = None

    def exact(self, who: Literal["public", "insiders"], neighbors: Neighbors) -> Fraction | None:
        """The epsilon as a number; none if no finite one holds."""
        said = (self.public if who == "public" else self.insiders)[neighbors]
        return None if said in (UNPROTECTED, UNBOUNDED) else Fraction(said)
