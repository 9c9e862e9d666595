"""Synthetic records of many owners of whole rows, from noisy moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.hpdp import publish
from copublish.mechanisms.hpdp.model import HpdpResult
from copublish.mechanisms.hpdp.plan import HpdpPlan
from copublish.mechanisms.hpdp.released_model import HpdpModel
from copublish.mechanisms.hpdp.settings import HpdpSettings
from copublish.mechanisms.published import Contents, Model, NoiseAt, Published, Words


class Hpdp(Mechanism[HpdpPlan, HpdpResult]):
    """Draws synthetic records from a model that fits noisy sums of products over all owners' records."""

    settings: ClassVar[type[MechanismSettings]] = HpdpSettings
    version: ClassVar[int] = 1
    words: ClassVar[Words] = Words(
        title="Synthetic records",
        kind="synthetic",
        made="Records were drawn at random from a model that fits noisy sums over all owners' records.",
        kept="Up to noise, means, shares of values, and how every two columns go together are like the real ones. "
        "Numbers are spread evenly over the cells of their grids.",
        lost="Dependences that noise could have made are left out, and weak ones are made weaker. What three or more "
        "columns have in common beyond their pairs is not kept.",
    )
    model: ClassVar[type[Model]] = HpdpModel

    def plan(self, agreement: Agreement) -> HpdpPlan:
        """The plan of an agreement."""
        return HpdpPlan.of(agreement)

    def publish(self, result: HpdpResult, noise_at: NoiseAt) -> Contents:
        """Everything that was opened, and the fitted moments."""
        return publish.contents_of(result, noise_at)

    def fit(self, published: Published, public_total: int | None) -> HpdpModel:
        """The moments that measurements give."""
        return publish.fit(published, public_total)

    def sample(self, published: Published, key: bytes) -> Iterator[pa.Table]:
        """Yield the records that are drawn from the moments."""
        yield publish.sample(published, key)
