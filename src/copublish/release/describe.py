"""What a release would disclose and cost, from the agreement alone. Touches no data and costs nothing."""

from __future__ import annotations

from typing import Any

from copublish.agreement.model import Agreement
from copublish.engine.spu.coalitions import assumptions_of
from copublish.mechanisms.registry import plan_of
from copublish.privacy.certificate import assumptions, delta_words, describe_epsilon, not_protected, protected, view_of
from copublish.privacy.described import describe_disclosure, show_bound, show_exact
from copublish.privacy.masked_sums import describe_shares
from copublish.privacy.no_promise import with_warning

WEAK_EPSILON = 3


def describe(agreement: Agreement) -> dict[str, Any]:
    """Return everything that a run of this agreement would open, as plain JSON values."""
    plan = plan_of(agreement)
    disclosures, cost = plan.disclosures(), plan.cost()
    said = {
        "release": agreement.name,
        "agreement_hash": agreement.hash,
        "parties": list(agreement.parties),
        "partition": agreement.partition,
        "mechanism": agreement.mechanism.name,
        "epsilon": describe_epsilon(agreement, cost),
        "delta_bound": show_bound(cost.delta),
        "delta_is": delta_words(agreement),
        **plan.describe(),
        **describe_shares(agreement),
        "disclosures": [describe_disclosure(disclosure) for disclosure in disclosures],
        "protected": protected(agreement),
        "not_protected": not_protected(agreement),
        "views": {party: view_of(agreement, party) for party in agreement.parties},
        "assumptions": assumptions(agreement, _of_engine(agreement)),
        "warnings": [*_weak_epsilon(agreement), *plan.warnings()],
    }
    return with_warning(agreement, said)


def _of_engine(agreement: Agreement) -> tuple[str, ...]:
    """Return what secrecy would rest on where not all parties compute: who is to see nothing should know it before."""
    if not agreement.guests:
        return ()
    return assumptions_of(agreement.engine.agreed_protocol.upper(), agreement.compute_nodes, agreement.guests)


def _weak_epsilon(agreement: Agreement) -> list[str]:
    if agreement.epsilon <= WEAK_EPSILON:
        return []
    return [f"epsilon {show_exact(agreement.epsilon)} is weak protection; 0.1 to 2 is usual."]
