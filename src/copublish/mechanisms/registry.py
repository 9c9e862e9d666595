"""Which plan an agreement's mechanism has, and which function runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.fragments.fragment import Fragment
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.copula.run import COPULA_VERSION, CopulaResult, run_copula
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.hpdp.run import HPDP_VERSION, HpdpResult, run_hpdp
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.run import IDP_IR_VERSION, IdpIrResult, refuse_unfit_clusters, run_idp_ir
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.mechanisms.specialization.plan import Plan
from copublish.mechanisms.specialization.run import MECHANISM_VERSION, SpecializationResult, run_specialization
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.run import VHDP_VERSION, VhdpResult, run_vhdp
from copublish.privacy.accounting import Cost
from copublish.privacy.certificate import Method
from copublish.privacy.disclosures import Disclosure
from copublish.progress import Progress

Result = SpecializationResult | CopulaResult | HpdpResult | VhdpResult | IdpIrResult

VERSIONS = {
    "specialization": MECHANISM_VERSION,
    "copula": COPULA_VERSION,
    "hpdp": HPDP_VERSION,
    "vhdp": VHDP_VERSION,
    "idp-ir": IDP_IR_VERSION,
}
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
    plans: dict[str, Callable[[Agreement], MechanismPlan]] = {
        "copula": CopulaPlan.of,
        "hpdp": HpdpPlan.of,
        "vhdp": VhdpPlan.of,
        "idp-ir": IdpIrPlan.of,
    }
    return plans.get(agreement.mechanism.name, Plan.of)(agreement)


def refuse_unfit_records(agreement: Agreement, fragment: Fragment) -> None:
    """Check what the agreed mechanism asks of one party's records, beyond that they fit the schema.

    Raises:
        FragmentError: With every rule that they break.
    """
    if agreement.mechanism.name == "idp-ir":
        refuse_unfit_clusters(agreement, fragment)


def agree_that_records_fit(agreement: Agreement, fragment: Fragment, engine: Engine) -> None:
    """Check them at every party. One whose records do not fit stops everyone before anything is reserved.

    Privacy:
        Reveals: that some party's records do not fit, to the others. Which rule they break is told to that party alone.
    """
    if agreement.mechanism.name == "idp-ir":
        refuse_unfit_records(agreement, fragment)
        engine.exchange("fit", topic="records")


def run_mechanism(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> Result:
    """Run the agreed mechanism at one party; the function that runs it says what it reveals."""
    runs: dict[str, Callable[..., Result]] = {
        "copula": run_copula,
        "hpdp": run_hpdp,
        "vhdp": run_vhdp,
        "idp-ir": run_idp_ir,
    }
    run = runs.get(table.agreement.mechanism.name, run_specialization)
    return run(table, engine, gate, progress, public_total)
