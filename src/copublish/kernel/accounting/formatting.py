"""Disclosures, their prices and their noise as what certificates and descriptions state."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

from copublish.kernel.accounting.concentrated import ConcentratedRounds, ConcentratedSelect
from copublish.kernel.accounting.disclosures import (
    NEIGHBORS,
    Disclosure,
    Divided,
    GaussianMeasure,
    Measure,
    Select,
    Unprotected,
)
from copublish.kernel.accounting.perturbations import PerturbCategory, PerturbNumber
from copublish.kernel.accounting.statements import UNBOUNDED, UNPROTECTED, ByRelation, DisclosureStatement, Law, Noise
from copublish.kernel.noise.geometric import laplace_quantile

NORMAL_95 = 1.96

OWNER_ALONE = "the owner of the column, which draws it; nobody else"

KNOWN_TO = "all parties; then the public, as part of the release"


def state_disclosure(disclosure: Disclosure) -> DisclosureStatement:
    """One disclosure with its exact price and its noise."""
    if isinstance(disclosure, Unprotected):
        return DisclosureStatement(
            kind="unprotected",
            what=disclosure.label,
            place=disclosure.place,
            known_to=KNOWN_TO,
            epsilon=dict.fromkeys(NEIGHBORS, UNBOUNDED),
            noise=state_noise(disclosure),
        )
    rho = None
    if isinstance(disclosure, GaussianMeasure | ConcentratedSelect | ConcentratedRounds):
        rho = {relation: _rounded(disclosure.rho(relation), 6, decimal.ROUND_CEILING) for relation in NEIGHBORS}
    opened, padding = (1 if isinstance(disclosure, Select) else None), None
    if isinstance(disclosure, Measure | GaussianMeasure):
        opened, padding = disclosure.entries, disclosure.padding or None
    return DisclosureStatement(
        kind=disclosure.kind,
        what=disclosure.label,
        place=disclosure.place,
        known_to=KNOWN_TO,
        epsilon=epsilons_of(disclosure),
        delta_bound=show_bound(max(disclosure.delta("add-remove"), disclosure.delta("replace"))),
        noise=state_noise(disclosure),
        rho=rho,
        candidates=disclosure.candidates if isinstance(disclosure, Select) else None,
        values_opened=opened,
        values_of_padding=padding,
    )


def epsilons_of(disclosure: Disclosure) -> ByRelation:
    """The exact price of a disclosure under each relation."""
    return {relation: epsilon_or_not(disclosure.epsilon(relation)) for relation in NEIGHBORS}


def state_noise(disclosure: Disclosure) -> Noise:
    """The noise of one disclosure."""
    if isinstance(disclosure, Select):
        return Noise(law=Law.GEOMETRIC, scale_in_people=round(disclosure.scale_in_people, 3))
    if isinstance(disclosure, Measure):
        within = disclosure.within(0.95)
        is_count = disclosure.points_per_person == 1
        return Noise(
            law=Law.LAPLACE if disclosure.shares is None else Law.SHARED_LAPLACE,
            scale_in_people=round(disclosure.scale_in_people, 3),
            within_95_percent=within if is_count else round(within / disclosure.points_per_person, 3),
            times_less_where_weighted=_weight(disclosure),
        )
    if isinstance(disclosure, GaussianMeasure):
        return Noise(
            law=Law.GAUSSIAN,
            scale_in_people=round(disclosure.scale_in_people, 3),
            within_95_percent=round(NORMAL_95 * disclosure.scale_in_people, 3),
            times_less_where_weighted=_weight(disclosure),
        )
    if isinstance(disclosure, PerturbCategory):
        return Noise(law=Law.RESPONSE, known_to=OWNER_ALONE, kept=round(float(disclosure.response.kept), 6))
    if isinstance(disclosure, PerturbNumber):
        flag = disclosure.response
        return Noise(
            law=Law.LAPLACE_ON_VALUES,
            known_to=OWNER_ALONE,
            scale_in_own_unit=float(f"{disclosure.noise.scale * disclosure.step:.6g}"),
            within_95_percent=float(f"{laplace_quantile(disclosure.noise.rate, 0.95) * disclosure.step:.6g}"),
            missing_or_not_kept=None if flag is None else round(float(flag.kept), 6),
        )
    if isinstance(disclosure, Unprotected):
        return Noise(law=Law.NO_GUARANTEE, note=disclosure.kind_of_noise)
    if isinstance(disclosure, Divided | ConcentratedRounds) and disclosure.usual is not None:
        return state_noise(disclosure.usual)
    return Noise(law=Law.BY_COLUMN)


def _weight(disclosure: Measure | GaussianMeasure) -> int | None:
    """How many times less noise weighted entries have, if there are any; the label says which they are."""
    return disclosure.largest_weight if disclosure.largest_weight > 1 else None


def epsilon_or_not(epsilon: Fraction | None) -> str:
    """An exact epsilon, or that none holds."""
    return UNPROTECTED if epsilon is None else show_exact(epsilon)


def show_exact(number: Fraction) -> str:
    """A fraction as a decimal where that is exact and short, else as a fraction."""
    digits = format(float(number), ".10g")
    return digits if Fraction(digits) == number else str(number)


def show_bound(number: Fraction) -> str:
    """A number rounded up to two digits: what a certificate states is never less than what holds."""
    return "0" if number == 0 else format(_rounded(number, 2, decimal.ROUND_CEILING), ".1e")


def show_at_least(number: Fraction) -> str:
    """A number rounded down to two digits."""
    return "0" if number == 0 else format(_rounded(number, 2, decimal.ROUND_FLOOR), ".1e")


def _rounded(number: Fraction, digits: int, rounding: str) -> float:
    return float(decimal.Context(digits, rounding).divide(Decimal(number.numerator), Decimal(number.denominator)))
