"""Synthetic records from noisy counts and a Gaussian copula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import About, Contents, Details, Mechanism, Publication
from copublish.mechanisms.copula import publish, report
from copublish.mechanisms.copula.model import CopulaResult
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.copula.publish import CopulaDetails, replicate
from copublish.mechanisms.copula.reading import CopulaReading
from copublish.mechanisms.copula.settings import CopulaSettings
from copublish.mechanisms.reading.estimate import Reading
from copublish.mechanisms.reading.replicates import Draws


class Copula(Mechanism[CopulaPlan, CopulaResult, CopulaDetails]):
    """Counts every column, measures how every two depend, and draws records that are alike."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = CopulaSettings
    details: ClassVar[type[Details]] = CopulaDetails
    details_file: ClassVar[str] = "copula.json"
    kind_of_records: ClassVar[str] = "synthetic"

    def plan(self, agreement: Agreement) -> CopulaPlan:
        """The plan of an agreement."""
        return CopulaPlan.of(agreement)

    def publish(self, result: CopulaResult) -> Contents:
        """The synthetic records, and what they were drawn from."""
        return publish.contents_of(result)

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release."""
        return report.show(publication, rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors."""
        return CopulaReading(publication, report.details_of(publication))

    def replicate(self, publication: Publication, draws: Draws) -> pa.Table:
        """Records as the same noise would make them once more."""
        return replicate(publication, report.details_of(publication), draws)

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
