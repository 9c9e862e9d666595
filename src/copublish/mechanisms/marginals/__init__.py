"""Synthetic records from noisy tables, most of them chosen by what a model gets most wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.base import Mechanism
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.publish import MarginalsModel, contents_of, fitted_model, sampled_records
from copublish.mechanisms.marginals.records import MarginalsResult
from copublish.mechanisms.marginals.settings import MarginalsSettings
from copublish.mechanisms.published import Contents, Model, NoiseAt, Published, Words


class Marginals(Mechanism[MarginalsPlan, MarginalsResult]):
    """Measures every column with the class, then tables that a model gets wrong, and draws records from the model."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = MarginalsSettings
    model: ClassVar[type[Model]] = MarginalsModel
    words: ClassVar[Words] = Words(
        title="Synthetic records",
        kind="synthetic",
        made="Records were drawn at random from a model that fits noisy tables of counts. The tables are published as "
        "well.",
        kept="The records have about the same counts as every measured table.",
        lost="What no measured table shows follows from those by the model, and may be missing from the records. "
        "Numbers are spread evenly over the agreed cells, so the records do not show where in a cell they lay.",
    )

    def plan(self, agreement: Agreement) -> MarginalsPlan:
        """The plan of an agreement."""
        return MarginalsPlan.of(agreement)

    def publish(self, result: MarginalsResult, noise_at: NoiseAt) -> Contents:
        """The measured tables, and the model that records are drawn from."""
        return contents_of(result, noise_at)

    def fit(self, published: Published, public_total: int | None) -> MarginalsModel:
        """The model that fits the measured tables."""
        return fitted_model(published, public_total)

    def sample(self, published: Published, key: bytes) -> Iterator[pa.Table]:
        """Yield the records that the model gives under a key, all at once."""
        yield sampled_records(published, key)
