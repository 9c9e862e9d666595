"""Which plan an agreement's mechanism has, and which function runs it."""

from __future__ import annotations

from typing import Any, Protocol

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.mechanisms.copula import COPULA_VERSION, CopulaPlan, CopulaResult, run_copula
from copublish.mechanisms.hpdp import HPDP_VERSION, HpdpPlan, HpdpResult, run_hpdp
from copublish.mechanisms.specialization import (
    MECHANISM_VERSION,
    Plan,
    Progress,
    SpecializationResult,
    run_specialization,
)
from copublish.privacy.accounting import Cost
from copublish.privacy.certificate import Method
from copublish.privacy.disclosures import Disclosure
from copublish.secure.joint_counts import JointTable

Result = SpecializationResult | CopulaResult | HpdpResult

VERSIONS = {"specialization": MECHANISM_VERSION, "copula": COPULA_VERSION, "hpdp": HPDP_VERSION}
"""Of every mechanism; the parties compare them."""


class MechanismPlan(Protocol):
    """Everything about a run that is fixed before any data is touched: what it opens, and what that costs."""

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens."""
        ...

    def cost(self) -> Cost:
        """Return what the ledger reserves."""
        ...

    def method(self) -> Method:
        """Return what the mechanism does, in words for the certificate."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what only this mechanism has to say about a run, as plain JSON values."""
        ...

    def warnings(self) -> list[str]:
        """Return what people should think about before they spend anything."""
        ...


def plan_of(agreement: Agreement) -> MechanismPlan:
    """Return the plan of the agreed mechanism."""
    if agreement.mechanism.name == "copula":
        return CopulaPlan.of(agreement)
    return HpdpPlan.of(agreement) if agreement.mechanism.name == "hpdp" else Plan.of(agreement)


def run_mechanism(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> Result:
    """Run the agreed mechanism at one party; the function that runs it says what it reveals."""
    if table.agreement.mechanism.name == "copula":
        return run_copula(table, engine, gate, progress, public_total)
    if table.agreement.mechanism.name == "hpdp":
        return run_hpdp(table, engine, gate, progress, public_total)
    return run_specialization(table, engine, gate, progress, public_total)
