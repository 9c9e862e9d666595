"""Synthetic records from noisy moments: owners of whole rows add up products, and the rest follows from their sum.

Every record is a point within public bounds (`coordinates.py`). Its products of two coordinates, its coordinates and
the number 1 are summed over all owners' records; one measurement opens these sums with noise. Owners' own means never
matter, so it makes no difference how the records are spread over them.
"""

from __future__ import annotations

from copublish.kernel.accounting.disclosures import GaussianMeasure
from copublish.kernel.programs.packing import Packing
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.counts import SecretCounts
from copublish.kernel.secrets.engine import SumEngine
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.hpdp.model import fit_moments
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.hpdp.result import HpdpResult
from copublish.mechanisms.hpdp.run_moments import local_sums
from copublish.progress import Progress


def run_hpdp(plan: HpdpPlan, table: JointTable, engine: SumEngine, gate: RevealGate, progress: Progress) -> HpdpResult:
    """Run the mechanism at one party.

    Args:
        plan: What is opened, at which price.
        table: This party's rows.
        engine: Its end of the engine.
        gate: Where sums are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells.
        Guarantee: the whole budget goes to one measurement, see `Coordinates.l1_sensitivity` and, for Gaussian noise,
            `Coordinates.squared_l2_sensitivity`.
        Reveals: the noisy sums over all owners' records, to all parties. Nothing of a
            single owner, but for what follows from them and from what its own coalition knows.
    """
    progress("moments", 0, 2)
    local = local_sums(plan.coordinates, table.fragment, total_is_public=plan.agreement.records.public)
    secret_sums = engine.share(local)
    progress("moments", 1, 2)
    # Opens every sum plus noise, to all parties; covered by the whole budget.
    if isinstance(plan.moments, GaussianMeasure):
        noisy_sums = gate.reveal_gaussian_measurement(secret_sums, plan.moments)
    else:
        noisy_sums = gate.reveal_measurement(SecretCounts(secret_sums, Packing(1)), plan.moments)
    progress("moments", 2, 2)
    model = fit_moments(plan.coordinates, noisy_sums, deviation=plan.deviation, public_total=table.public_total)
    return HpdpResult(
        agreement=plan.agreement,
        coordinates=plan.coordinates,
        noisy_sums=noisy_sums,
        deviation=plan.deviation,
        model=model,
        n_records=plan.records_to_draw(model.total),
    )
