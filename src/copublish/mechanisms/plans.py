"""Which plan an agreement's mechanism has, and which function runs it."""

from __future__ import annotations

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.mechanisms.copula import CopulaPlan, CopulaResult, run_copula
from copublish.mechanisms.specialization import Plan, Progress, SpecializationResult, run_specialization
from copublish.secure.joint_counts import JointTable


def plan_of(agreement: Agreement) -> Plan | CopulaPlan:
    """Return everything about a run that is fixed before any data is touched: what it opens, and what that costs."""
    return CopulaPlan.of(agreement) if agreement.mechanism.name == "copula" else Plan.of(agreement)


def run_mechanism(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> SpecializationResult | CopulaResult:
    """Run the agreed mechanism at one party; `run_specialization` and `run_copula` say what it reveals."""
    run = run_copula if table.agreement.mechanism.name == "copula" else run_specialization
    return run(table, engine, gate, progress, public_total)
