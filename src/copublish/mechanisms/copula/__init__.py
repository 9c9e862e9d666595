"""Synthetic records from noisy counts and a Gaussian copula."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.copula import publish, records
from copublish.mechanisms.copula.model import CopulaResult
from copublish.mechanisms.copula.plan import CopulaPlan
from copublish.mechanisms.copula.records import CopulaModel
from copublish.mechanisms.copula.settings import CopulaSettings
from copublish.mechanisms.published import Contents, Model, NoiseAt, Published, Words


class Copula(Mechanism[CopulaPlan, CopulaResult]):
    """Counts every column, measures how every two depend, and draws records that are alike."""

    settings: ClassVar[type[MechanismSettings]] = CopulaSettings
    version: ClassVar[int] = 1
    words: ClassVar[Words] = Words(
        title="Synthetic records",
        kind="synthetic",
        made="Records were drawn at random from a model that has noisy counts of every "
        "column, and noisy correlations of every two columns.",
        kept="Up to noise, every column is spread like the real one, and every two columns are correlated like the "
        "real ones.",
        lost="What three or more columns have in common beyond their pairs is not kept, nor is a dependence that "
        "neither rises nor falls.",
    )
    model: ClassVar[type[Model]] = CopulaModel

    def plan(self, agreement: Agreement) -> CopulaPlan:
        """The plan of an agreement."""
        return CopulaPlan.of(agreement)

    def publish(self, result: CopulaResult, noise_at: NoiseAt) -> Contents:
        """Everything that was opened, and the copula."""
        return publish.contents_of(result, noise_at)

    def fit(self, published: Published, public_total: int | None) -> CopulaModel:
        """The copula that measurements give."""
        return publish.fit(published, public_total)

    def sample(self, published: Published, key: bytes) -> Iterator[pa.Table]:
        """Yield the records that are drawn from the copula."""
        yield records.sample(published, key)
