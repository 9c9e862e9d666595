"""Everything that a run of specialization releases. Released values only."""

from __future__ import annotations

from dataclasses import dataclass

from copublish.agreement.model import Agreement
from copublish.mechanisms.specialization.cut import Cut
from copublish.mechanisms.specialization.score import Score
from copublish.types import IntArray


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
