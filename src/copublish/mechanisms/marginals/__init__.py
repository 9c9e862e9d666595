"""Synthetic records from noisy tables, most of them chosen by what a model gets most wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import About, Contents, Details, MeasuredCounts, Mechanism, Publication
from copublish.mechanisms.marginals import report
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.publish import TABLES, MarginalsDetails, contents_of, measured_counts, single_tables
from copublish.mechanisms.marginals.reading import MarginalsReading, replicate
from copublish.mechanisms.marginals.records import MarginalsResult
from copublish.mechanisms.marginals.settings import MarginalsSettings
from copublish.mechanisms.reading.estimate import Reading
from copublish.mechanisms.reading.replicates import Draws


class Marginals(Mechanism[MarginalsPlan, MarginalsResult, MarginalsDetails]):
    """Measures every column with the class, then tables that a model gets wrong, and draws records from the model."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = MarginalsSettings
    details: ClassVar[type[Details]] = MarginalsDetails
    details_file: ClassVar[str] = "marginals.json"
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"records": ("parquet", "csv"), TABLES: ("parquet",)}
    kind_of_records: ClassVar[str] = "synthetic"

    def plan(self, agreement: Agreement) -> MarginalsPlan:
        """The plan of an agreement."""
        return MarginalsPlan.of(agreement)

    def publish(self, result: MarginalsResult) -> Contents:
        """The synthetic records, and the tables they were drawn from."""
        return contents_of(result)

    def single_tables(self, contents: Contents) -> Mapping[str, pa.Table]:
        """Every measured table in a file of its own."""
        return single_tables(contents.tables[TABLES])

    def measured_counts(self, publication: Publication) -> Iterator[MeasuredCounts]:
        """Every measured table."""
        return measured_counts(publication.contents.tables[TABLES])

    def sizes(self, publication: Publication) -> dict[str, int]:
        """How much was published, of what."""
        return {**super().sizes(publication), "measured tables": len(report.details_of(publication).tables)}

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release."""
        return report.show(publication, rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors."""
        return MarginalsReading(publication, report.details_of(publication))

    def replicate(self, publication: Publication, draws: Draws) -> pa.Table:
        """Records as the same noise would make them once more."""
        return replicate(publication, report.details_of(publication), draws)

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
