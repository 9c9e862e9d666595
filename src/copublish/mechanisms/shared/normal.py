"""The normal law and eigenvalues, the same on every machine, and the size of a measurement's noise in people.

Parties compute what follows from opened values on their own and compare the result byte by byte, while libraries and
processors round exponentials and matrix products differently. So values of the normal law are whole steps of 1/512, its
tables come from decimal arithmetic, which is exact everywhere, and looking up is all that is left to do.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.errors import AgreementError
from copublish.kernel.accounting.disclosures import GaussianMeasure, Measure
from copublish.kernel.accounting.formatting import NORMAL_95
from copublish.types import FloatArray, IntArray

STEPS = 512
"""Steps in one standard deviation."""

REACH = 5 * STEPS
"""The farthest value that is told apart; 6 in 10 million lie beyond."""

PROBABILITY_BITS = 32

_CONTEXT = decimal.Context(prec=40)


def quantile(numerator: int, denominator: int) -> int:
    """The step nearest to the normal quantile of a probability, from -REACH to REACH."""
    scaled = (numerator << PROBABILITY_BITS) // denominator
    return int(np.searchsorted(_borders(), scaled, side="right")) - REACH


def normal_steps(words: NDArray[np.uint32]) -> NDArray[np.int16]:
    """Normal variables, in steps, from uniform words."""
    return (np.searchsorted(_borders(), words.astype(np.int64), side="right") - REACH).astype(np.int16)


def density(step: int) -> float:
    """The normal density at a step."""
    return _densities()[abs(step)]


@cache
def _borders() -> IntArray:
    """The probabilities, times 2^32, at which one step ends and the next begins: shape (2 * REACH,)."""
    with decimal.localcontext(_CONTEXT):
        upper = [_cumulative(Decimal(2 * k + 1) / (2 * STEPS)) for k in range(REACH)]
        scale = Decimal(2**PROBABILITY_BITS)
        found = [int((1 - p) * scale) for p in reversed(upper)] + [int(p * scale) for p in upper]
    return np.array(found, dtype=np.int64)


@cache
def _densities() -> list[float]:
    with decimal.localcontext(_CONTEXT):
        return [float(_density(Decimal(k) / STEPS)) for k in range(REACH + 1)]


def _cumulative(x: Decimal) -> Decimal:
    """The normal distribution function at x >= 0: 1/2 + density * (x + x^3/3 + x^5/15 + ...)."""
    term, total, odd = x, x, 1
    while term > Decimal("1e-30"):
        odd += 2
        term = term * x * x / odd
        total += term
    return Decimal("0.5") + _density(x) * total


def _density(x: Decimal) -> Decimal:
    pi = Decimal("3.141592653589793238462643383279502884197")
    return (-x * x / 2).exp() / (2 * pi).sqrt()


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


SWEEPS = 30


def pairs_of(n_columns: int) -> list[tuple[int, int]]:
    """All pairs of columns, the first one's pairs first."""
    return [(i, j) for i in range(n_columns) for j in range(i + 1, n_columns)]


def symmetric_eigen(matrix: FloatArray) -> tuple[list[float], FloatArray]:
    """Eigenvalues and eigenvectors (as columns) of a symmetric matrix by Jacobi's rotations.

    A library's routine would be faster and give other last digits on another machine.
    """
    a, vectors = matrix.copy(), np.eye(len(matrix))
    for _ in range(SWEEPS):
        if all(a[i, j] == 0 for i, j in pairs_of(len(a))):
            break
        for i, j in pairs_of(len(a)):
            if abs(a[i, j]) < 1e-15:
                a[i, j] = a[j, i] = 0.0
                continue
            theta = float(a[j, j] - a[i, i]) / (2 * float(a[i, j]))
            t = (1.0 if theta >= 0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1))
            c = 1 / math.sqrt(t * t + 1)
            s = t * c
            a[[i, j]] = c * a[i] - s * a[j], s * a[i] + c * a[j]
            a[:, [i, j]] = np.stack([c * a[:, i] - s * a[:, j], s * a[:, i] + c * a[:, j]], axis=1)
            vectors[:, [i, j]] = np.stack(
                [c * vectors[:, i] - s * vectors[:, j], s * vectors[:, i] + c * vectors[:, j]], axis=1
            )
    return [float(value) for value in np.diag(a)], vectors
