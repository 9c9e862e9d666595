"""What a release would disclose and cost, from the agreement alone. Touches no data and costs nothing."""

from __future__ import annotations

from typing import Any

from copublish.agreement.model import Agreement
from copublish.mechanisms.specialization import Plan
from copublish.privacy.certificate import (
    assumptions,
    describe_disclosure,
    describe_epsilon,
    not_protected,
    protected,
    show_bound,
    show_exact,
    view_of,
)

WEAK_EPSILON = 3


def describe(agreement: Agreement) -> dict[str, Any]:
    """Return everything that a run of this agreement would open, as plain JSON values."""
    plan = Plan.of(agreement)
    disclosures, cost = plan.disclosures(), plan.cost()
    n_classes = len(agreement.class_.values)
    return {
        "release": agreement.name,
        "agreement_hash": agreement.hash,
        "parties": list(agreement.parties),
        "partition": agreement.partition,
        "mechanism": agreement.mechanism.name,
        "score": {"asked": agreement.mechanism.score, "used": plan.score},
        "epsilon": describe_epsilon(agreement, cost),
        "delta_bound": show_bound(cost.delta),
        "specializations": plan.rounds,
        "most_leaves": plan.max_leaves,
        "most_cells": plan.max_leaves * n_classes,
        "disclosures": [describe_disclosure(disclosure) for disclosure in disclosures],
        "unused_selections": "If nothing is left to split, the rest of the selections' budget goes to the leaf counts.",
        "protected": protected(agreement),
        "not_protected": not_protected(agreement),
        "views": {party: view_of(agreement, party) for party in agreement.parties},
        "assumptions": assumptions(agreement, []),
        "warnings": _warnings(agreement, plan),
    }


def _warnings(agreement: Agreement, plan: Plan) -> list[str]:
    found = []
    if agreement.epsilon > WEAK_EPSILON:
        found.append(f"epsilon {show_exact(agreement.epsilon)} is weak protection; 0.1 to 2 is usual.")
    asked = agreement.mechanism.specializations
    if plan.rounds < asked:
        found.append(
            f"{plan.rounds} of {asked} specializations will be made: with about {agreement.records.expected:,} records "
            "and this epsilon, more cells would hold mostly noise. Raise epsilon or records.expected (if it is too "
            "low), or set mechanism.max_cells to insist."
        )
    if plan.rounds == 0:
        found.append("Nothing will be split: the release will only tell how many records each class has.")
    return found
