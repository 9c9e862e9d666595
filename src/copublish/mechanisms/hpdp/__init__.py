"""Synthetic records of many owners of whole rows, from noisy moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import About, Contents, Details, Mechanism, Publication
from copublish.mechanisms.hpdp import publish, report
from copublish.mechanisms.hpdp.model import HpdpResult
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.hpdp.publish import HpdpDetails, replicate
from copublish.mechanisms.hpdp.reading import HpdpReading
from copublish.mechanisms.hpdp.settings import HpdpSettings
from copublish.mechanisms.reading.estimate import Reading
from copublish.mechanisms.reading.replicates import Draws


class Hpdp(Mechanism[HpdpPlan, HpdpResult, HpdpDetails]):
    """Draws synthetic records from a model that fits noisy sums of products over all owners' records."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = HpdpSettings
    details: ClassVar[type[Details]] = HpdpDetails
    details_file: ClassVar[str] = "hpdp.json"
    kind_of_records: ClassVar[str] = "synthetic"
    predicts_any_column: ClassVar[bool] = False  # records are drawn for each class

    def plan(self, agreement: Agreement) -> HpdpPlan:
        """The plan of an agreement."""
        return HpdpPlan.of(agreement)

    def publish(self, result: HpdpResult) -> Contents:
        """The synthetic records, and what they were drawn from."""
        return publish.contents_of(result)

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release: all columns, and so many correlations."""
        return report.show(publication, rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors."""
        return HpdpReading(publication, report.details_of(publication))

    def replicate(self, publication: Publication, draws: Draws) -> pa.Table:
        """Records as the same noise would make them once more."""
        return replicate(publication, report.details_of(publication), draws)

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
