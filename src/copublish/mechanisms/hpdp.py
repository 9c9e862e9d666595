"""Synthetic records from noisy moments: owners of whole rows add up products, and the rest follows from their sum.

Every record is a point within public bounds (`secure/moments.py`). Its products of two coordinates, its coordinates and
the number 1 are summed over all owners' records; one measurement opens these sums with noise. Owners' own means never
matter, so it makes no difference how the records are spread over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from copublish.agreement.domain import Domain
from copublish.agreement.mechanism import MAX_SYNTHETIC_RECORDS
from copublish.agreement.model import Agreement
from copublish.engine.interface import Engine
from copublish.engine.reveal import RevealGate
from copublish.errors import AgreementError
from copublish.mechanisms.hpdp_model import MomentModel, fit_moments
from copublish.mechanisms.specialization import Progress
from copublish.mechanisms.synthetic_records import key_of
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.certificate import Method
from copublish.privacy.coins import IntArray
from copublish.privacy.disclosures import Disclosure, GaussianMeasure, Measure
from copublish.privacy.masked_sums import how_noise_is_drawn
from copublish.privacy.noise_shares import NoiseShares
from copublish.secure.joint_counts import JointTable
from copublish.secure.moments import CLASS_WEIGHT, UNIT, Coordinates
from copublish.secure.packing import Packing, SecretCounts

HPDP_VERSION = 3
"""Changes whenever the same fragments and coins would give another release."""

LABEL = "sum over records of the product of every two coordinates, of every coordinate, and number of records"

WEIGHTED = f"; what the class is in is weighted by {CLASS_WEIGHT}"

LARGE_SHARE_ERROR = 0.05
"""From here on people are warned."""


@dataclass(frozen=True)
class HpdpPlan:
    """Everything about a run that is fixed before any data is touched."""

    agreement: Agreement

    @staticmethod
    def of(agreement: Agreement) -> HpdpPlan:
        """Return the plan of an agreement.

        Raises:
            AgreementError: If no noise gives this epsilon and delta within the engine's integers.
        """
        plan = HpdpPlan(agreement)
        try:
            plan.moments.noise  # noqa: B018  # computed once, and kept
        except ValueError as exc:
            raise AgreementError(
                agreement.name,
                [f"privacy: with these columns, epsilon and delta there is no Gaussian noise: {exc}. Raise them"],
            ) from exc
        return plan

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where columns lie in a record's point."""
        return Coordinates.of(self.agreement)

    @cached_property
    def moments(self) -> Measure | GaussianMeasure:
        """The one disclosure."""
        public, coordinates, neighbours = (
            self.agreement.records.public,
            self.coordinates,
            self.agreement.privacy.neighbours,
        )
        label = (LABEL.replace(", and number of records", "") if public else LABEL) + WEIGHTED
        entries = coordinates.n_sums(total_is_public=public)
        if self.agreement.mechanism.noise == "gaussian":
            return GaussianMeasure(
                label,
                self.agreement.epsilon,
                self.agreement.delta,
                neighbours,
                coordinates.squared_l2_sensitivity(total_is_public=public),
                entries,
                UNIT**2,
                CLASS_WEIGHT,
            )
        return Measure(
            label,
            self.agreement.epsilon,
            neighbours,
            coordinates.l1_sensitivity(total_is_public=public),
            coordinates.changed_sums(total_is_public=public),
            entries,
            UNIT**2,
            NoiseShares.of(self.agreement),
            CLASS_WEIGHT,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in people; of what the class is in it is CLASS_WEIGHT times smaller."""
        scale = self.moments.scale_in_people
        return scale if isinstance(self.moments, GaussianMeasure) else math.sqrt(2) * scale

    def records_to_draw(self, estimated: int) -> int:
        """Return how many records are made: as many as agreed, else as many as there are, by what was opened.

        Large noise can estimate many more than there are, and what they take would end a run after it was paid for.
        """
        agreed = self.agreement.mechanism.records
        return agreed or min(estimated, max(MAX_SYNTHETIC_RECORDS, 2 * self.agreement.records.expected))

    def disclosures(self) -> list[Disclosure]:
        """Return what a run opens."""
        return [self.moments]

    def cost(self) -> Cost:
        """Return what the ledger reserves."""
        return cost_of(self.disclosures(), number_of_records_is_public=self.agreement.records.public)

    def method(self) -> Method:
        """Return what the mechanism does, in words for the certificate."""
        law = "Gaussian" if isinstance(self.moments, GaussianMeasure) else "Laplace"
        return Method(
            "Synthetic microdata",
            f"Discrete {law} noise on the sums over records of products of every two coordinates and of coordinates; "
            f"sums that the class is in are multiplied by {CLASS_WEIGHT} before it is added. "
            f"{how_noise_is_drawn(self.agreement)}; all arithmetic on what is opened is on integers.",
            "Pooled covariances, shrunk by their noise; principal components above a noise floor; records drawn from a "
            "factor model with them under a key that is a hash of the noisy values.",
        )

    def describe(self) -> dict[str, Any]:
        """Return what is summed."""
        coordinates = self.coordinates
        return {
            "columns": len(coordinates.columns),
            "coordinates": coordinates.size,
            "centred_coordinates": coordinates.n_centred,
            "groups": len(coordinates.groups),
            "sums": self.moments.entries,
            "noise": self.agreement.mechanism.noise or "laplace",
            "share_error": round(self.deviation / self.agreement.records.expected, 4),
            "share_error_with_class": round(self.deviation / CLASS_WEIGHT / self.agreement.records.expected, 4),
        }

    def warnings(self) -> list[str]:
        """Return what people should think about before they spend anything."""
        expected = self.agreement.records.expected
        if self.deviation / expected <= LARGE_SHARE_ERROR:
            return []
        return [
            f"With about {expected:,} records and this epsilon, noise moves the share of every value, and of every two "
            f"together, by about {self.deviation / expected:.0%}, and {CLASS_WEIGHT} times less what the class is in. "
            "Raise epsilon or records.expected (if it is too low), leave columns out, or put values together."
        ]


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
