"""Everything that a run of specialization releases, with the leaf counts and their error bars. Released values only."""

from __future__ import annotations

from dataclasses import dataclass

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.agreement.model import Agreement
from copublish.mechanisms.base import MeasuredCounts, Publication
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.plan import LEAVES
from copublish.mechanisms.specialization.score import Score
from copublish.types import IntArray


def measured_counts(publication: Publication) -> MeasuredCounts:
    """The leaf counts with the error that the certificate states."""
    (leaves,) = publication.certificate.at(LEAVES)
    counts, within = publication.contents.tables["counts"], float(leaves.noise.within_95_percent or 0)
    noisy = tuple(counts.column(NOISY_COUNT).to_pylist())
    return MeasuredCounts(counts.drop_columns([COUNT, NOISY_COUNT]), noisy, (within,) * len(noisy))


@dataclass(frozen=True, kw_only=True)
class SpecializationResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        agreement: What it was agreed on.
        cut: The generalized values of every attribute.
        score: How splits were compared.
        noisy_class_counts: Unbiased counts by class that the score weighs classes by; none if it needs none.
        noisy_counts: Unbiased counts by leaf and class, shape (n_leaves, n_classes).
        counts: Non-negative integers with the same total, same shape.
    """

    agreement: Agreement
    cut: Cut
    score: Score
    noisy_class_counts: IntArray | None
    noisy_counts: IntArray
    counts: IntArray
