"""iDP-IR as published: microaggregated records. Not differential privacy."""

from __future__ import annotations

from typing import ClassVar

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.publish import IdpIrModel, IdpIrResult, contents_of
from copublish.mechanisms.idp_ir.settings import IdpIrSettings
from copublish.mechanisms.published import Contents, Model, NoiseAt, Words


class IdpIr(Mechanism[IdpIrPlan, IdpIrResult]):
    """Publishes every record with the noisy means of its clusters. Nobody is promised anything."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = IdpIrSettings
    model: ClassVar[type[Model]] = IdpIrModel
    words: ClassVar[Words] = Words(
        title="Microaggregated records without differential privacy",
        kind="perturbed",
        made="Each owner sorted each of its columns, cut it into clusters and "
        "published every record with the noisy means of its clusters; with clusters of one record, every value has "
        "noise of its own.",
        kept="Where a record stands among all others in each column, up to the size of a cluster.",
        lost="This release states no errors: the noise of every cluster's mean was scaled with the data, its size is "
        "not published, and what varies within a cluster is lost. A mean or share of its records would be off by an "
        "unknown amount.",
    )

    def plan(self, agreement: Agreement) -> IdpIrPlan:
        """The plan of an agreement."""
        return IdpIrPlan.of(agreement)

    def publish(self, result: IdpIrResult, noise_at: NoiseAt) -> Contents:
        """The perturbed records, and how they were made. No law of their noise is stated."""
        return contents_of(result)
