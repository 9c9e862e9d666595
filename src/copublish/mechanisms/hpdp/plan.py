"""What a run of hpdp opens and costs, from the agreement alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from copublish.agreement.columns import coarse_grid_warnings
from copublish.agreement.model import Agreement
from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Place
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.comparing import how_noise_is_drawn
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.mechanisms.base import Plan
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT, Coordinates
from copublish.mechanisms.hpdp.settings import MAX_SYNTHETIC_RECORDS, HpdpSettings
from copublish.mechanisms.shared.normal import deviation, refuse_without_noise
from copublish.mechanisms.shared.number_cells import NumberError, number_errors, number_warnings, rounded_means

if TYPE_CHECKING:
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.hpdp.model import HpdpResult
    from copublish.progress import Progress

MOMENTS = "moments"
"""The one step of a run that opens something."""

PRODUCTS_SUMS_AND_CELLS = (
    "sum over records of the product of every two coordinates, of every coordinate, of every cell of a number and of "
    "its product with the class"
)

WITHOUT_CLASS = (
    "sum over records of the product of every two coordinates, of every coordinate and of every cell of a number"
)

TOTAL = ", and number of records"

WEIGHTED = f"; counts, and what the class is in, are weighted by {CLASS_WEIGHT}"

COUNTS_WEIGHTED = f"; counts are weighted by {CLASS_WEIGHT}"

LARGE_SHARE_ERROR = 0.05
"""From here on people are warned."""

LARGE_CORRELATION_ERROR = 0.15
"""The same for correlations of two numbers."""

EVEN_VARIANCE = 1 / 12
"""Of a number that is spread evenly over the cells of its grid."""


@dataclass(frozen=True)
class HpdpPlan(Plan["HpdpResult"]):
    """Everything about a run that is fixed before any data is touched."""

    agreement: Agreement

    @staticmethod
    def of(agreement: Agreement) -> HpdpPlan:
        """The plan of an agreement.

        Raises:
            AgreementError: If no noise gives this epsilon and delta within the engine's integers.
        """
        plan = HpdpPlan(agreement)
        refuse_without_noise(agreement, lambda: plan.moments.noise)
        return plan

    @property
    def settings(self) -> HpdpSettings:
        """The agreed settings."""
        return self.agreement.settings(HpdpSettings)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Where columns lie in a record's point."""
        return Coordinates(self.agreement.columns, has_class=self.has_class)

    @property
    def has_class(self) -> bool:
        """Whether the agreement has a class."""
        return self.agreement.class_ is not None

    @cached_property
    def moments(self) -> Measure | GaussianMeasure:
        """The one disclosure."""
        public, coordinates = self.agreement.records.public, self.coordinates
        sums, weighted = (PRODUCTS_SUMS_AND_CELLS, WEIGHTED) if self.has_class else (WITHOUT_CLASS, COUNTS_WEIGHTED)
        label = sums + ("" if public else TOTAL) + weighted
        entries = coordinates.n_sums(total_is_public=public)
        if self.settings.uses_gaussian_noise:
            return GaussianMeasure(
                place=Place(MOMENTS),
                label=label,
                budget=self.agreement.mechanism_epsilon,
                agreed_delta=self.agreement.delta,
                calibrated_to=self.agreement.privacy.neighbors,
                squared_l2_sensitivity=coordinates.squared_l2_sensitivity(total_is_public=public),
                entries=entries,
                points_per_person=UNIT**2,
                largest_weight=CLASS_WEIGHT,
            )
        return Measure(
            place=Place(MOMENTS),
            label=label,
            budget=self.agreement.mechanism_epsilon,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=coordinates.l1_sensitivity(total_is_public=public),
            changed_entries=coordinates.changed_sums(total_is_public=public),
            entries=entries,
            points_per_person=UNIT**2,
            shares=NoiseShares.of(self.agreement),
            largest_weight=CLASS_WEIGHT,
        )

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, in people, where the weight is 1."""
        return deviation(self.moments)

    @property
    def share_error(self) -> float:
        """How far noise moves the share of a value, as a standard deviation, among the expected records."""
        return self.deviation / CLASS_WEIGHT / self.agreement.records.expected

    @property
    def share_error_of_pairs(self) -> float:
        """The same of the share of two values together."""
        return self.deviation / self.agreement.records.expected

    def records_to_draw(self, estimated: int) -> int:
        """How many records are made: as many as agreed, else as many as there are, by what was opened.

        Large noise can estimate many more than there are, and what they take would end a run after it was paid for.
        """
        most = max(MAX_SYNTHETIC_RECORDS, 2 * self.agreement.records.expected)
        return self.settings.records or min(estimated, most)

    def disclosures(self) -> list[Disclosure]:
        """What a run opens."""
        return [self.moments]

    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""
        law = "Gaussian" if isinstance(self.moments, GaussianMeasure) else "Laplace"
        counted = "in all and by class; counts and sums that the class is in are" if self.has_class else "which are"
        return Method(
            product="Synthetic microdata",
            mechanisms=f"Discrete {law} noise on the sums over records of products of every two coordinates and of "
            f"coordinates, and on the counts of the cells of numbers, {counted} multiplied by {CLASS_WEIGHT} before it "
            f"is added. {how_noise_is_drawn(self.agreement)}; all arithmetic on what is opened is on integers.",
            post_processing="Pooled covariances, shrunk by their noise; principal components above a noise floor; "
            "records drawn from a factor model with them under a key that is a hash of the noisy values.",
        )

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> HpdpResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.hpdp.run import run_hpdp

        return run_hpdp(self, table, computer, gate, progress)

    def describe(self) -> dict[str, Any]:
        """What is summed, and what its noise does."""
        coordinates = self.coordinates
        return {
            "columns": len(coordinates.columns),
            "coordinates": coordinates.size,
            "centered_coordinates": coordinates.n_centered,
            "groups": len(coordinates.groups),
            "sums": self.moments.entries,
            "noise": self.settings.noise or "laplace",
            "share_error": round(self.share_error, 4),
            "correlation_error": round(self.correlation_error, 3),
            "mean_within_95_percent": rounded_means(self.number_errors()),
            **({"share_error_with_class": round(self.share_error, 4)} if self.has_class else {}),
        }

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        return {
            "Publishes": f"synthetic records with {len(self.coordinates.columns)} columns",
            "From": f"{self.moments.entries:,} sums of {self.coordinates.size} coordinates",
        }

    def typical_noise(self) -> tuple[str, float]:
        """What noise does to the share of a value."""
        return "a value's share is off by about", round(self.share_error, 4)

    def number_errors(self) -> dict[str, NumberError]:
        """What noise does to every number."""
        columns, records = self.coordinates.columns, self.agreement.records.expected
        return number_errors(columns, dict.fromkeys(columns, self.deviation / CLASS_WEIGHT), records=records)

    @property
    def correlation_error(self) -> float:
        """About how far noise moves the correlation of two numbers that are spread evenly, before it is shrunk."""
        return self.share_error_of_pairs / EVEN_VARIANCE

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        records = self.agreement.records.expected
        found = [*self._large_share_error(), *number_warnings(self.number_errors(), records=records)]
        found += coarse_grid_warnings(self.agreement.columns)
        several = len(self.number_errors()) > 1
        if several and self.correlation_error > LARGE_CORRELATION_ERROR:
            found.append(
                f"With about {records:,} records and this epsilon, correlations of two numbers will be off by about "
                f"{self.correlation_error:.2f} or more, or be left out. Raise epsilon, or leave columns out."
            )
        return found

    def _large_share_error(self) -> list[str]:
        if self.share_error <= LARGE_SHARE_ERROR:
            return []
        return [
            f"With about {self.agreement.records.expected:,} records and this epsilon, noise moves the share of every "
            f"value by about {self.share_error:.0%}, and of every two together by {self.share_error_of_pairs:.0%}. "
            "Raise epsilon or records.expected (if it is too low), leave columns out, or put values together."
        ]
