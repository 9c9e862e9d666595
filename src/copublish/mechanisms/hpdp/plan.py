"""What a run of hpdp opens and costs, from the agreement alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from copublish.agreement.mechanism import MAX_SYNTHETIC_RECORDS
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT, Coordinates
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.certificate import Method
from copublish.privacy.disclosures import Disclosure, GaussianMeasure, Measure
from copublish.privacy.masked_sums import how_noise_is_drawn
from copublish.privacy.noise_shares import NoiseShares

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
