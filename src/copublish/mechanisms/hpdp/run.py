"""Synthetic records from noisy moments: owners of whole rows add up products, and the rest follows from their sum.

Every record is a point within public bounds (`secure/moments.py`). Its products of two coordinates, its coordinates and
the number 1 are summed over all owners' records; one measurement opens these sums with noise. Owners' own means never
matter, so it makes no difference how the records are spread over them.
"""

from __future__ import annotations

from dataclasses import dataclass

from copublish.agreement.domain import Domain
from copublish.engine.counts import SecretCounts
from copublish.engine.interface import Engine
from copublish.engine.programs.packing import Packing
from copublish.engine.reveal import RevealGate
from copublish.mechanisms.hpdp.coordinates import Coordinates
from copublish.mechanisms.hpdp.model import MomentModel, fit_moments
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.shared.drawing import key_of
from copublish.mechanisms.shared.joint_table import JointTable
from copublish.privacy.disclosures import GaussianMeasure
from copublish.progress import Progress
from copublish.types import IntArray

HPDP_VERSION = 3
"""Changes whenever the same fragments and coins would give another release."""


@dataclass(frozen=True)
class HpdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        coordinates: Where columns lie.
        noisy_sums: Weighted and unbiased, in units of 1/UNIT^2.
        deviation: Standard deviation of their noise, in people; where the weight is 1.
        model: What the records are drawn from.
        n_records: How many.
    """

    coordinates: Coordinates
    noisy_sums: IntArray
    deviation: float
    model: MomentModel
    n_records: int

    @property
    def columns(self) -> dict[str, Domain]:
        """Public domain of every column in agreed order; the class is the last."""
        return dict(self.coordinates.columns)

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        return key_of([self.noisy_sums])


def run_hpdp(
    table: JointTable, engine: Engine, gate: RevealGate, progress: Progress, public_total: int | None
) -> HpdpResult:
    """Run the mechanism at one party.

    Args:
        table: This party's rows.
        engine: Its end of the engine.
        gate: Where sums are opened.
        progress: Told about every step.
        public_total: The number of records, if the agreement makes it public.

    Privacy:
        Protects: one person, with all their cells.
        Guarantee: the whole budget goes to one measurement, see `Coordinates.l1_sensitivity` and, for Gaussian noise,
            `Coordinates.squared_l2_sensitivity`.
        Reveals: the noisy sums over all owners' records, to all parties. Nothing of a
            single owner, but for what follows from them and from what its own coalition knows.
    """
    plan = HpdpPlan.of(table.agreement)
    progress("moments", 0, 2)
    local = plan.coordinates.local_sums(table.fragment, total_is_public=table.agreement.records.public)
    secret_sums = engine.share(local)
    progress("moments", 1, 2)
    # Opens every sum plus noise, to all parties; covered by the whole budget.
    if isinstance(plan.moments, GaussianMeasure):
        noisy_sums = gate.reveal_gaussian_measurement(secret_sums, plan.moments)
    else:
        noisy_sums = gate.reveal_measurement(SecretCounts(secret_sums, Packing(1)), plan.moments)
    progress("moments", 2, 2)
    model = fit_moments(plan.coordinates, noisy_sums, plan.deviation, public_total)
    return HpdpResult(plan.coordinates, noisy_sums, plan.deviation, model, plan.records_to_draw(model.total))
