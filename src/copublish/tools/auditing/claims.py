"""What an agreement states of whole runs, as something that guesses can be compared with."""

from __future__ import annotations

from typing import Any

from copublish.mechanisms.base import Plan
from copublish.tools.auditing.statistics import Claim
from copublish.tools.auditing.tables import Pair

SHARE_OF_DELTA = 63 / 64
"""Of the agreed delta, what rho is converted with; the rest is for the sampler."""


def claim_of(plan: Plan[Any], pair: Pair) -> Claim:
    """What is stated of tables that differ as these do."""
    cost, relation = plan.cost(), pair.relation
    epsilon, rho = cost.under(relation), cost.in_rho().under(relation)
    if epsilon is None:
        raise ValueError("nothing is promised under this relation")
    if not cost.gaussian.has_noise or rho is None:
        return Claim(float(epsilon), slack=float(cost.delta), people=pair.people)
    delta = float(plan.agreement.privacy.delta or 0) * SHARE_OF_DELTA
    has_choices = any(made.kind == "divided" for made in plan.disclosures())
    return Claim(float(epsilon), delta, float(rho), is_gaussian=not has_choices, people=pair.people)
