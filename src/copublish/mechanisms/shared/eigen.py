"""Eigenvalues that are the same on every machine, and pairs of columns."""

from __future__ import annotations

import math

import numpy as np

from copublish.types import FloatArray

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
