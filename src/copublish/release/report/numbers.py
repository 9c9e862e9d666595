"""Numbers that every report has, from the certificate alone."""

from __future__ import annotations

import math
from fractions import Fraction

from copublish.kernel.certificate.certificate import Certificate

LARGE_BELIEF = 0.99


def budget_shares(certificate: Certificate) -> list[float]:
    """The share of each disclosure in the budget of the release, under the relation it is calibrated to.

    In rho where that is what adds up, else in epsilon.
    """
    relation = certificate.epsilon.calibrated_to
    parts = [
        Fraction(disclosure.epsilon[relation]) if disclosure.rho is None else Fraction(disclosure.rho[relation])
        for disclosure in certificate.disclosures
    ]
    return [float(part / sum(parts)) for part in parts]


def adds_up_in_rho(certificate: Certificate) -> bool:
    """Whether several disclosures share one budget of zero-concentrated differential privacy."""
    disclosures = certificate.disclosures
    return len(disclosures) > 1 and all(disclosure.rho is not None for disclosure in disclosures)


def belief_bound(epsilon: Fraction | None) -> float | None:
    """How far even odds can move to, e^epsilon / (1 + e^epsilon), or nothing if there is no protection.

    In whole percent, near certainty in tenths of one, rounded up: people are told that it cannot be more.
    """
    if epsilon is None:
        return None
    belief = 1 / (1 + math.exp(-float(epsilon)))
    steps = 100 if belief <= LARGE_BELIEF else 1000
    return min(math.ceil(belief * steps) / steps, 1.0)
