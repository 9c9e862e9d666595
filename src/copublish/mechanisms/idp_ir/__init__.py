"""iDP-IR as published: microaggregated records. Not differential privacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import RenderableType

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.errors import ReleaseError
from copublish.mechanisms.base import About, Contents, Details, Mechanism, Publication
from copublish.mechanisms.idp_ir import publish, report
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.publish import IdpIrDetails, IdpIrResult
from copublish.mechanisms.idp_ir.settings import IdpIrSettings
from copublish.mechanisms.reading.estimate import Reading
from copublish.types import IntArray

if TYPE_CHECKING:
    from copublish.kernel.records.fragment import Fragment


class IdpIr(Mechanism[IdpIrPlan, IdpIrResult, IdpIrDetails]):
    """Publishes every record with the noisy means of its clusters. Nobody is promised anything."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = IdpIrSettings
    details: ClassVar[type[Details]] = IdpIrDetails
    details_file: ClassVar[str] = "idp-ir.json"
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"records": ("parquet",)}  # a CSV cannot carry the warning
    kind_of_records: ClassVar[str] = "perturbed"
    checks_records: ClassVar[bool] = True

    def plan(self, agreement: Agreement) -> IdpIrPlan:
        """The plan of an agreement."""
        return IdpIrPlan.of(agreement)

    def publish(self, result: IdpIrResult) -> Contents:
        """The perturbed records, and how they were made."""
        return publish.contents_of(result)

    def refuse_unfit_records(self, plan: IdpIrPlan, fragment: Fragment) -> None:
        """Check that one party's records make a cluster, and that none of its columns is constant.

        Raises:
            FragmentError: With every rule that they break, for this party's people alone.
        """
        from copublish.mechanisms.idp_ir.run import refuse_unfit_clusters

        refuse_unfit_clusters(plan, fragment)

    def places_of_records(self, opened: Sequence[IntArray]) -> IntArray:
        """The inverse of the order in which joined records are published."""
        return publish.places_of_records(opened)

    def about(self, publication: Publication) -> About:
        """What the README of a release folder says."""
        return report.about(publication)

    def show(self, publication: Publication, rows: int) -> Iterator[RenderableType]:
        """What a terminal shows of a release: no rows, each stands for a person."""
        return report.show(publication)

    def reading(self, publication: Publication) -> Reading:
        """Nothing: how large the noise is depends on the data, and is not published.

        Raises:
            ReleaseError: Always.
        """
        raise ReleaseError(
            "This release tells no errors: the noise of every cluster's mean was scaled with the data, its size is not "
            "published, and what varies within a cluster is lost. A mean or share of its records would be off by an "
            "unknown amount."
        )

    def report_facts(self, publication: Publication) -> dict[str, Any]:
        """What the report says."""
        return report.facts(publication)
