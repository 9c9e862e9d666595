"""The meaning of an epsilon, in words and in people, and the epsilon for an error that people can bear. No data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Literal

from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, EvaluationError
from copublish.release.describe import Description, describe
from copublish.release.render.privacy_words import another_owner_words
from copublish.tools.planning.tuning import Setting

TRIED = tuple(
    format(Decimal(digits).scaleb(power).normalize(), "f") for power in range(-7, 0) for digits in range(10, 101)
)
"""Budgets of two digits, rising: what an error is turned into."""

NEARBY = 10
"""How many of those below a budget are tried as well."""


@dataclass(frozen=True)
class CountError:
    """By how much noise moves counts of one kind: in 95 of 100 cases by at most so many people."""

    what: str
    people: float


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What an epsilon means for one agreement.

    Attributes:
        epsilon: The budget.
        sure: How sure an onlooker can become, in a sentence.
        delta: A bound on delta, and what it stands for.
        errors: Counts that are published, what takes the largest share of epsilon first.
        another_owner: Where membership is hidden, what it means against another owner, in a sentence; else nothing.
    """

    epsilon: str
    sure: str
    delta: str
    delta_is: str
    errors: tuple[CountError, ...]
    another_owner: str = ""


def epsilon_in_words(epsilon: str, neighbors: Literal["add-remove", "replace"] = "add-remove") -> str:
    """How sure somebody who wavered can become by a release of this epsilon, in a sentence.

    Privacy:
        Guarantee: by epsilon-DP the odds of two neighboring tables change by a factor of e^epsilon at most, so even
        odds become at most e^epsilon to 1. With a delta this fails with at most that probability.
    """
    most = math.ceil(100 / (1 + math.exp(-float(Fraction(epsilon)))))
    if neighbors == "replace":
        return (
            f"Somebody who thought 50:50 between two possible sets of values of a person can become at most {most} % "
            "sure of one of them."
        )
    return f"Somebody who thought 50:50 can become at most {most} % sure that a person is in the data."


def meaning(agreement: Agreement, epsilon: str) -> Meaning:
    """What an epsilon would mean for an agreement with everything else as it is.

    Raises:
        AgreementError: If the mechanism cannot do with it.
    """
    described = describe(Setting(epsilon).apply(agreement))
    return Meaning(
        epsilon=epsilon,
        sure=epsilon_in_words(epsilon, agreement.privacy.neighbors),
        delta=described.delta_bound,
        delta_is=described.delta_is,
        errors=_errors(described),
        another_owner=another_owner_words(described.epsilon),
    )


def _errors(described: Description) -> tuple[CountError, ...]:
    relation = described.epsilon.calibrated_to
    found: dict[tuple[str, float], Fraction] = {}
    for one in described.disclosures:
        if one.noise.scale_in_people is not None and one.noise.within_95_percent is not None:
            what = one.place.common or one.what
            price = Fraction(one.epsilon[relation]) if _is_number(one.epsilon[relation]) else Fraction(0)
            found.setdefault((what, one.noise.within_95_percent), price)
    ordered = sorted(found, key=lambda key: -found[key])
    return tuple(CountError(what, people) for what, people in ordered)


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def epsilon_for_error(agreement: Agreement, people: float) -> str:
    """The smallest epsilon, of two digits, with which published counts are off by at most so many people.

    In 95 of 100 cases; of several kinds of counts, those that take the largest share of epsilon. Where a mechanism
    changes what it measures, the error can rise a little with epsilon. So none of the `NEARBY` next smaller ones is
    enough either, but one far below might be.

    Raises:
        EvaluationError: If this mechanism publishes no counts, or no epsilon up to 10 is enough.
    """

    @cache
    def is_enough(place: int) -> bool:
        off_by = _error_at(agreement, TRIED[place])
        return off_by is not None and off_by <= people

    low, high = 0, len(TRIED)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    if low == len(TRIED):
        off_by = _error_at(agreement, TRIED[-1])
        if off_by is None:
            raise EvaluationError(
                f"The mechanism '{agreement.mechanism.name}' publishes no counts whose error is known in people."
            )
        raise EvaluationError(
            f"No epsilon up to 10 keeps counts within {people:g} people in 95 of 100 cases: at 10 it is {off_by:g}."
        )
    while (below := next(filter(is_enough, range(max(0, low - NEARBY), low)), None)) is not None:
        low = below
    return TRIED[low]


def _error_at(agreement: Agreement, epsilon: str) -> float | None:
    try:
        errors = meaning(agreement, epsilon).errors
    except AgreementError:  # so little that the mechanism cannot do with it
        return None
    return errors[0].people if errors else None
