"""The published counts, and the model that records are made from, from what was opened. Released values only."""

from __future__ import annotations

from dataclasses import replace

from pydantic.dataclasses import dataclass

from copublish.errors import ReleaseError
from copublish.kernel.accounting.disclosures import Place
from copublish.mechanisms.base import CountsModel, counted_table, counts_model
from copublish.mechanisms.published import Cells, Contents, Measured, NoiseAt, Published
from copublish.mechanisms.shared.post_processing import consistent_counts, consistent_counts_by_class
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.plan import CLASSES, LEAVES
from copublish.mechanisms.specialization.result import SpecializationResult
from copublish.types import TypedJson


@dataclass(frozen=True, kw_only=True)
class ScoreDetails(TypedJson):
    """The score that splits were compared by, with what it made of the class counts.

    Attributes:
        name: Its name.
        class_weights: The weight of each class, where the score has weights.
        class_shares: The share of each class in whole parts, where the score has shares.
    """

    name: str
    class_weights: tuple[int, ...] | None = None
    class_shares: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SpecializationModel(CountsModel):
    """Counts of leaves by class that records are made from.

    Attributes:
        score: The score that splits were compared by; none if it needed no class counts.
    """

    score: ScoreDetails | None = None


def contents_of(result: SpecializationResult, noise_at: NoiseAt) -> Contents:
    """The class counts, if they were opened, the leaf counts, and the model.

    Args:
        result: What the mechanism releases.
        noise_at: The noise that the certificate states of a disclosure.
    """
    classes = Cells(column=result.agreement.required_class.name)
    # With runs even where every value has its own: the column is one that this mechanism generalizes.
    attributes = [Cells(column=name, runs=parts) for name, parts in result.cut.parts.items()]
    leaves = Measured(
        place=Place(LEAVES),
        axes=(*attributes, classes),
        values=result.noisy_counts.ravel(),
        noise=noise_at(Place(LEAVES)),
    )
    if result.noisy_class_counts is None:
        return Contents(measured=(leaves,), model=_model(result))
    class_counts = Measured(
        place=Place(CLASSES),
        axes=(classes,),
        values=result.noisy_class_counts,
        noise=noise_at(Place(CLASSES)),
        steered=True,
    )
    return Contents(measured=(class_counts, leaves), model=_model(result))


def _model(result: SpecializationResult) -> SpecializationModel:
    model = counts_model(result.counts)
    return SpecializationModel(
        records=model.records, counts=model.counts, notes=_notes(result.cut), score=_score(result)
    )


def _notes(cut: Cut) -> tuple[str, ...]:
    unsplit = [name for name, parts in cut.parts.items() if len(parts) == 1]
    if len(unsplit) == len(cut.parts):
        return ("Nothing was split: the release tells only how many people are in each class.",)
    return (f"Not split, so that one value stands for all: {', '.join(unsplit)}.",) if unsplit else ()


def _score(result: SpecializationResult) -> ScoreDetails | None:
    if result.noisy_class_counts is None:
        return None
    weighed = {f"class_{name}": tuple(values.tolist()) for name, values in result.score.public.items()}
    return ScoreDetails(name=result.score.name, **weighed)


def fitted_model(published: Published, public_total: int | None) -> SpecializationModel:
    """The non-negative counts nearest to the noisy leaf counts; class by class where class counts were opened.

    Args:
        published: The measurements, and the released model, whose score and notes stay.
        public_total: The number of people, if it is public.

    Raises:
        ReleaseError: If the model is one of another mechanism.
    """
    model, leaves = published.model, counted_table(published)
    if not isinstance(model, SpecializationModel):
        raise ReleaseError("This release has no leaf counts that records could be made from.")
    total = max(0, int(leaves.values.sum())) if public_total is None else public_total
    if model.score is None:
        counts = consistent_counts(leaves.values, total)
    else:
        n_classes = leaves.shape(published.columns)[-1]
        counts = consistent_counts_by_class(leaves.values.reshape(-1, n_classes), total)
    fitted = counts_model(counts)
    return replace(model, records=fitted.records, counts=fitted.counts)
