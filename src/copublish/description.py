"""What a release would disclose and cost, from the agreement alone. Touches no data and costs nothing."""

from __future__ import annotations

from typing import Any

from copublish.agreement.model import Agreement
from copublish.engine.coalitions import assumptions_of
from copublish.mechanisms.copula import CopulaPlan, columns_of
from copublish.mechanisms.plans import plan_of
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

LARGE_CORRELATION_ERROR = 0.15


def describe(agreement: Agreement) -> dict[str, Any]:
    """Return everything that a run of this agreement would open, as plain JSON values."""
    plan = plan_of(agreement)
    disclosures, cost = plan.disclosures(), plan.cost()
    own = _copula(plan) if isinstance(plan, CopulaPlan) else _specialization(plan)
    return {
        "release": agreement.name,
        "agreement_hash": agreement.hash,
        "parties": list(agreement.parties),
        "partition": agreement.partition,
        "mechanism": agreement.mechanism.name,
        "epsilon": describe_epsilon(agreement, cost),
        "delta_bound": show_bound(cost.delta),
        **own,
        "disclosures": [describe_disclosure(disclosure) for disclosure in disclosures],
        "protected": protected(agreement),
        "not_protected": not_protected(agreement),
        "views": {party: view_of(agreement, party) for party in agreement.parties},
        "assumptions": assumptions(agreement, _of_engine(agreement)),
        "warnings": [
            *_weak_epsilon(agreement),
            *(_copula_warnings(plan) if isinstance(plan, CopulaPlan) else _specialization_warnings(plan)),
        ],
    }


def _of_engine(agreement: Agreement) -> tuple[str, ...]:
    """Return what secrecy would rest on where not all parties compute: who is to see nothing should know it before."""
    if not agreement.guests:
        return ()
    return assumptions_of(agreement.engine.agreed_protocol.upper(), agreement.compute_nodes, agreement.guests)


def _specialization(plan: Plan) -> dict[str, Any]:
    """Return the size of the published table and how splits are compared."""
    return {
        "score": {"asked": plan.agreement.mechanism.score, "used": plan.score},
        "specializations": plan.rounds,
        "most_leaves": plan.max_leaves,
        "most_cells": plan.max_leaves * len(plan.agreement.class_.values),
        "unused_selections": "If nothing is left to split, the rest of the selections' budget goes to the leaf counts.",
    }


def _copula(plan: CopulaPlan) -> dict[str, Any]:
    """Return what is counted, and how the budget is split."""
    return {
        "columns": len(plan.epsilon_of),
        "pairs": plan.n_pairs,
        "budgets": {
            "columns": {name: show_exact(epsilon) for name, epsilon in plan.epsilon_of.items()},
            "dependence": show_exact(plan.epsilon_for_products),
        },
        "correlation_error": round(plan.correlation_error, 3),
    }


def _weak_epsilon(agreement: Agreement) -> list[str]:
    if agreement.epsilon <= WEAK_EPSILON:
        return []
    return [f"epsilon {show_exact(agreement.epsilon)} is weak protection; 0.1 to 2 is usual."]


def _copula_warnings(plan: CopulaPlan) -> list[str]:
    agreement, found = plan.agreement, []
    if plan.correlation_error > LARGE_CORRELATION_ERROR:
        found.append(
            f"With about {agreement.records.expected:,} records and this epsilon, correlations of two columns will be "
            f"off by about {plan.correlation_error:.2f}. Raise epsilon, mechanism.dependence_share or records.expected "
            "(if it is too low), or leave columns out."
        )
    noisy = [
        name
        for name, domain in columns_of(agreement).items()
        if plan.marginal(name).noise.scale * domain.size > agreement.records.expected
    ]
    if noisy:
        found.append(
            f"With about {agreement.records.expected:,} records and this epsilon, the counts of these columns will "
            f"hold mostly noise: {', '.join(noisy)}. Raise epsilon, take coarser grids, or leave columns out."
        )
    return found


def _specialization_warnings(plan: Plan) -> list[str]:
    agreement, found = plan.agreement, []
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
