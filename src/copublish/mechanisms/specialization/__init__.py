"""DistDiffGen and ArbDistDP made sound: values split top-down, leaf counts with noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pyarrow as pa
from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import About, Contents, Details, MeasuredCounts, Mechanism, Publication
from copublish.mechanisms.reading.estimate import Reading
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.specialization import publish, report
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.publish import CutDetails
from copublish.mechanisms.specialization.reading import SpecializationReading
from copublish.mechanisms.specialization.replicate import replicate
from copublish.mechanisms.specialization.result import SpecializationResult, measured_counts
from copublish.mechanisms.specialization.settings import SpecializationSettings
from copublish.mechanisms.specialization.tuning import SpecializationTuning
from copublish.mechanisms.specialization.values import details_of


class Specialization(Mechanism[SpecializationPlan, SpecializationResult, CutDetails]):
    """Splits values where that tells most about a class, and publishes how many records fall into every leaf."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = SpecializationSettings
    details: ClassVar[type[Details]] = CutDetails
    details_file: ClassVar[str] = "cut.json"
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"counts": ("parquet", "csv"), "records": ("parquet",)}
    example: ClassVar[str] = report.EXAMPLE
    kind_of_records: ClassVar[str] = ""
    predicts_any_column: ClassVar[bool] = False
    tuning = SpecializationTuning()

    def plan(self, agreement: Agreement) -> SpecializationPlan:
        """The plan of an agreement."""
        plan = SpecializationPlan.of(agreement)
        plan.refuse_too_much_noise()
        return plan

    def publish(self, result: SpecializationResult) -> Contents:
        """The counts and the cut."""
        return publish.contents_of(result)

    def derives(self, table: str) -> bool:
        """Records follow from the counts."""
        return table == "records"

    def records(self, contents: Contents) -> pa.Table:
        """Every leaf and class as often as its `count` says."""
        return publish.records_of(contents.tables["counts"])

    def record_parts(self, contents: Contents) -> Iterator[pa.Table]:
        """The same, without all of them in memory: rows may have stayed where they lie because they are many."""
        return publish.record_parts(contents.tables["counts"])

    def measured_counts(self, publication: Publication) -> Iterator[MeasuredCounts]:
        """The leaf counts."""
        yield measured_counts(publication)

    def sizes(self, publication: Publication) -> dict[str, int]:
        """Records, and the cells that they are counted in."""
        counts = publication.contents.tables["counts"]
        return {"records": publish.number_of_records(counts), "cells": counts.num_rows}

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release."""
        return report.show(publication, rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors."""
        return SpecializationReading(publication, details_of(publication))

    def replicate(self, publication: Publication, draws: Draws) -> pa.Table:
        """Records as the same noise would make them once more."""
        return replicate(publication, details_of(publication), draws)

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
