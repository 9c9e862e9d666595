"""Disclosures, their prices and their noise as plain JSON values, for descriptions and certificates."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from typing import Any

from copublish.privacy.disclosures import (
    NEIGHBOURS,
    Disclosure,
    Divided,
    GaussianMeasure,
    Measure,
    PerturbCategory,
    PerturbNumber,
    Select,
    Unprotected,
)
from copublish.privacy.geometric import laplace_quantile
from copublish.privacy.no_promise import UNBOUNDED

NORMAL_95 = 1.96

UNPROTECTED = "not protected"

SHARED_LAW = "sum of owners' shares; without those of the agreed number of colluders it is discrete Laplace"

OWNER_ALONE = "the owner of the column, which draws it; nobody else"

KNOWN_TO = "all parties; then the public, as part of the release"


def describe_disclosure(disclosure: Disclosure) -> dict[str, Any]:
    """Return one disclosure with its exact price and its noise: in people, or in the column's own unit."""
    if isinstance(disclosure, Unprotected):
        return {
            "kind": disclosure.kind,
            "what": disclosure.label,
            "known_to": KNOWN_TO,
            "epsilon": dict.fromkeys(NEIGHBOURS, UNBOUNDED),
            "noise": {"law": disclosure.kind_of_noise},
        }
    described: dict[str, Any] = {
        "kind": disclosure.kind,
        "what": disclosure.label,
        "known_to": KNOWN_TO,
        "epsilon": {relation: epsilon_or_not(disclosure.epsilon(relation)) for relation in NEIGHBOURS},
        "delta_bound": show_bound(max(disclosure.delta("add-remove"), disclosure.delta("replace"))),
        "noise": describe_noise(disclosure),
    }
    if isinstance(disclosure, Measure):
        described["values_opened"] = disclosure.entries
    elif isinstance(disclosure, GaussianMeasure):
        described["rho"] = {
            relation: _rounded(disclosure.rho(relation), 6, decimal.ROUND_CEILING) for relation in NEIGHBOURS
        }
        described["values_opened"] = disclosure.entries
    elif isinstance(disclosure, Select):
        described["candidates"] = disclosure.candidates
        described["values_opened"] = 1
    return described


def describe_noise(disclosure: Disclosure) -> dict[str, Any]:
    """Return the noise of one disclosure as plain JSON values."""
    if isinstance(disclosure, Select):
        return {"law": "geometric", "scale_in_people": round(disclosure.scale_in_people, 3)}
    if isinstance(disclosure, Measure):
        within = disclosure.within(0.95)
        is_count = disclosure.points_per_person == 1
        return {
            "law": "discrete Laplace" if disclosure.shares is None else SHARED_LAW,
            "scale_in_people": round(disclosure.scale_in_people, 3),
            "within_95_percent": within if is_count else round(within / disclosure.points_per_person, 3),
            **_weight(disclosure),
        }
    if isinstance(disclosure, GaussianMeasure):
        return {
            "law": "discrete Gaussian",
            "scale_in_people": round(disclosure.scale_in_people, 3),
            "within_95_percent": round(NORMAL_95 * disclosure.scale_in_people, 3),
            **_weight(disclosure),
        }
    if isinstance(disclosure, PerturbCategory):
        return {"law": "randomized response", "known_to": OWNER_ALONE, "kept": round(disclosure.response.kept, 6)}
    if isinstance(disclosure, PerturbNumber):
        number = {
            "law": "discrete Laplace on every value",
            "known_to": OWNER_ALONE,
            "scale_in_own_unit": float(f"{disclosure.noise.scale * disclosure.step:.6g}"),
            "within_95_percent": float(f"{laplace_quantile(disclosure.noise.rate, 0.95) * disclosure.step:.6g}"),
        }
        flag = disclosure.response
        return number if flag is None else {**number, "missing_or_not_kept": round(flag.kept, 6)}
    if isinstance(disclosure, Divided) and disclosure.usual is not None:
        return describe_noise(disclosure.usual)
    return {"law": "by column"}


def _weight(disclosure: Measure | GaussianMeasure) -> dict[str, Any]:
    """Return how many times less noise weighted entries have, if there are any; the label says which they are."""
    return {"times_less_where_weighted": disclosure.largest_weight} if disclosure.largest_weight > 1 else {}


def epsilon_or_not(epsilon: Fraction | None) -> str:
    """Return an exact epsilon, or that none holds."""
    return UNPROTECTED if epsilon is None else show_exact(epsilon)


def show_exact(number: Fraction) -> str:
    """Return a fraction as a decimal where that is exact and short, else as a fraction."""
    digits = format(float(number), ".10g")
    return digits if Fraction(digits) == number else str(number)


def show_bound(number: Fraction) -> str:
    """Return a number rounded up to two digits: what a certificate states is never less than what holds."""
    return "0" if number == 0 else format(_rounded(number, 2, decimal.ROUND_CEILING), ".1e")


def show_at_least(number: Fraction) -> str:
    """Return a number rounded down to two digits."""
    return "0" if number == 0 else format(_rounded(number, 2, decimal.ROUND_FLOOR), ".1e")


def _rounded(number: Fraction, digits: int, rounding: str) -> float:
    return float(decimal.Context(digits, rounding).divide(Decimal(number.numerator), Decimal(number.denominator)))
