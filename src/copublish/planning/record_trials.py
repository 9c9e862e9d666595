"""Releases of records tried out: mechanisms without settings of their own, over epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.agreement.model import Agreement
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.planning.trials import Scores, TrialGround, spell
from copublish.privacy.disclosures import PerturbCategory


@dataclass(frozen=True)
class RecordTrial:
    """A mechanism and an epsilon, and what some runs of it gave.

    Attributes:
        mechanism: Which one.
        epsilon: Budget, as text of an exact decimal.
        scores: Means over the runs.
        noise: What its noise does, in words and as a number.
    """

    mechanism: str
    epsilon: str
    scores: Scores
    noise: dict[str, Any]

    def described(self) -> dict[str, Any]:
        """Return it as JSON values."""
        own = {"mechanism": self.mechanism, "epsilon": self.epsilon}
        return {**own, **self.scores.described(), "noise": self.noise}


def try_records(ground: TrialGround, agreement: Agreement, runs: int) -> RecordTrial:
    """Release records `runs` times with fresh noise and score each release."""
    scores = ground.scores(ground.releases(agreement, runs))
    epsilon = spell(agreement.privacy.epsilon)
    return RecordTrial(agreement.mechanism.name, epsilon, scores, noise_of(agreement))


def noise_of(agreement: Agreement) -> dict[str, Any]:
    """Return what the noise of a release of records does to it, from public parameters alone."""
    plan = plan_of(agreement)
    if isinstance(plan, CopulaPlan):
        return {"what": "a correlation is off by about", "value": round(plan.correlation_error, 4)}
    if isinstance(plan, HpdpPlan):
        return {
            "what": "a value's share is off by about",
            "value": round(plan.deviation / agreement.records.expected, 4),
        }
    if isinstance(plan, VhdpPlan):
        label = agreement.class_.name
        told = plan.perturbation(label, plan.allocation.limits()[label][0])
        signal = told.response.signal if isinstance(told, PerturbCategory) else 0
        return {"what": "the share of classes that tell the truth is", "value": round(float(signal), 4)}
    raise TypeError(f"{type(plan).__name__} is no plan for records")
