"""How large the noise of a measurement is, whatever its law, in people."""

from __future__ import annotations

import math
from collections.abc import Callable

from copublish.agreement.model import Agreement
from copublish.errors import AgreementError
from copublish.kernel.accounting.disclosures import GaussianMeasure, Measure
from copublish.kernel.accounting.formatting import NORMAL_95

GAUSSIAN_MEAN_SIZE = math.sqrt(2 / math.pi)
"""Of noise with deviation 1."""


def refuse_without_noise(agreement: Agreement, compute: Callable[[], object]) -> None:
    """Compute noise before anything is spent; what was computed is kept by its measurement.

    Raises:
        AgreementError: If none gives this epsilon and delta within the engine's integers.
    """
    try:
        compute()
    except ValueError as exc:
        raise AgreementError(
            agreement.name, [f"privacy: with these columns, epsilon and delta there is no noise: {exc}. Raise them"]
        ) from exc


def deviation(measure: Measure | GaussianMeasure) -> float:
    """Standard deviation of a measurement's noise, in people."""
    scale = measure.scale_in_people
    return scale if isinstance(measure, GaussianMeasure) else math.sqrt(2) * scale


def mean_size(measure: Measure | GaussianMeasure) -> float:
    """How far noise moves a count on average, in people."""
    scale = measure.scale_in_people
    return GAUSSIAN_MEAN_SIZE * scale if isinstance(measure, GaussianMeasure) else scale


def within_95_percent(measure: Measure | GaussianMeasure) -> float:
    """How far a count is off at most in 95 of 100 cases, in people."""
    return measure.within(0.95) if isinstance(measure, Measure) else round(NORMAL_95 * measure.scale_in_people, 3)
