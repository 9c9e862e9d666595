"""Every record, each value with noise of its owner's."""

from __future__ import annotations

from typing import ClassVar

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.published import Contents, Model, NoiseAt, Words
from copublish.mechanisms.vhdp.plan import VhdpPlan
from copublish.mechanisms.vhdp.publish import VhdpResult, contents_of
from copublish.mechanisms.vhdp.settings import VhdpSettings


class Vhdp(Mechanism[VhdpPlan, VhdpResult]):
    """Has every owner add noise to every value of its columns, and publishes all records.

    With the allocation "protect-informative" it is VHDP (Xia, Zhu, Ding, Jin and Zou 2019), with noisy scores, budgets
    that add up and noise that is scaled to ranges.
    """

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = VhdpSettings
    model: ClassVar[type[Model]] = Model
    words: ClassVar[Words] = Words(
        title="Perturbed records",
        kind="perturbed",
        made="The owner of a column added noise to every value before it left: "
        "numbers carry discrete Laplace noise and are clipped to their bounds, categories are kept with a stated "
        "probability and otherwise replaced by another value.",
        kept="Averages over many records can be computed without bias, because the law of the noise is published for "
        "every column. Of v categories that are kept with probability k, a published share s estimates the true share "
        "(s - q) / (k - q), where q = (1 - k) / (v - 1).",
        lost="A single value tells next to nothing. Noise and clipping pull means of the published values to the "
        "middle and weaken every dependence between columns.",
    )

    def plan(self, agreement: Agreement) -> VhdpPlan:
        """The plan of an agreement."""
        return VhdpPlan.of(agreement)

    def publish(self, result: VhdpResult, noise_at: NoiseAt) -> Contents:
        """The perturbed records, how they were perturbed, and the tables that divided the budget."""
        return contents_of(result, noise_at)
