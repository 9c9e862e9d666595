"""DistDiffGen and ArbDistDP made sound: values split top-down, leaf counts with noise."""

from __future__ import annotations

from typing import ClassVar

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.published import Contents, Model, NoiseAt, Published, Words
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.publish import SpecializationModel, contents_of, fitted_model
from copublish.mechanisms.specialization.result import SpecializationResult
from copublish.mechanisms.specialization.settings import SpecializationSettings


class Specialization(Mechanism[SpecializationPlan, SpecializationResult]):
    """Splits values where that tells most about a class, and publishes how many records fall into every leaf."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = SpecializationSettings
    model: ClassVar[type[Model]] = SpecializationModel
    words: ClassVar[Words] = Words(
        title="Generalized records",
        kind="counted",
        made="Step by step, the value whose split tells most about the class, as far as noise allows, was replaced by "
        "finer ones. The people with every combination of the published values and a class were then counted with "
        "noise, and each combination became as many records as its count says.",
        kept="The records have about as many people with each combination of published values and class as there are.",
        lost="Nothing is known about differences within a published value. Counts that are small beside the noise are "
        "pulled to 0 in the records.",
    )

    def plan(self, agreement: Agreement) -> SpecializationPlan:
        """The plan of an agreement."""
        plan = SpecializationPlan.of(agreement)
        plan.refuse_too_much_noise()
        return plan

    def publish(self, result: SpecializationResult, noise_at: NoiseAt) -> Contents:
        """The class counts, if they were opened, and the leaf counts."""
        return contents_of(result, noise_at)

    def fit(self, published: Published, public_total: int | None) -> SpecializationModel:
        """Non-negative counts for noisy ones of the same leaves."""
        return fitted_model(published, public_total)
