"""Every record, each value with noise of its owner's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import About, Contents, Details, Mechanism, Publication
from copublish.mechanisms.reading.estimate import Reading
from copublish.mechanisms.vhdp import publish, report
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.publish import VhdpDetails, VhdpResult
from copublish.mechanisms.vhdp.reading import VhdpReading
from copublish.mechanisms.vhdp.settings import VhdpSettings


class Vhdp(Mechanism[VhdpPlan, VhdpResult, VhdpDetails]):
    """Has every owner add noise to every value of its columns, and publishes all records.

    With the allocation "protect-informative" it is VHDP (Xia, Zhu, Ding, Jin and Zou 2019), with noisy scores, budgets
    that add up and noise that is scaled to ranges.
    """

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = VhdpSettings
    details: ClassVar[type[Details]] = VhdpDetails
    details_file: ClassVar[str] = "vhdp.json"
    example: ClassVar[str] = report.EXAMPLE
    drafted: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "records": {"public": True},
        "privacy": {"neighbors": "replace"},
    }
    kind_of_records: ClassVar[str] = "perturbed"

    def plan(self, agreement: Agreement) -> VhdpPlan:
        """The plan of an agreement."""
        return VhdpPlan.of(agreement)

    def publish(self, result: VhdpResult) -> Contents:
        """The perturbed records, and how they were perturbed."""
        return publish.contents_of(result)

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release."""
        return report.show(publication, rows)

    def reading(self, publication: Publication) -> Reading:
        """Questions to a release, answered with errors."""
        return VhdpReading(publication, report.details_of(publication))

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
