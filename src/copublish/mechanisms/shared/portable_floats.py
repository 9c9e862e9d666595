"""Exponentials, logarithms and inner products that come out the same on every processor, to the last bit.

Every party fits a model by itself from what was opened, and all have to end with the same one. Single additions,
products and quotients are fixed by IEEE 754, and NumPy adds up in one order. Libraries choose exponentials, logarithms
and inner products by the processor. So they are built here from single operations.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache

import numpy as np

from copublish.types import FloatArray

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""The logarithm of 2 in two parts; whole multiples of the first up to 2^11 are exact."""

_TERMS = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
"""Terms of the exponential series; the next one is below a unit in the last place within half of log 2."""

_ODD = tuple(1.0 / k for k in range(23, 0, -2))

SMALLEST_EXPONENT = -745.0
"""Of what is not rounded to 0."""


def exp(x: FloatArray) -> FloatArray:
    """The exponential of numbers that are not above 0; 0 below what floating point holds."""
    held = np.maximum(x, SMALLEST_EXPONENT)
    powers = np.rint(held * _LOG2_E)
    rest = held - powers * _LN2_HIGH - powers * _LN2_LOW
    found = _TERMS[0] * rest
    for term in _TERMS[1:-1]:
        found += term
        found *= rest
    found += _TERMS[-1]
    return np.where(x < SMALLEST_EXPONENT, 0.0, np.ldexp(found, powers.astype(np.int32)))


def log(x: float) -> float:
    """The natural logarithm of a number above 0."""
    mantissa, power = math.frexp(x)
    if mantissa < math.sqrt(0.5):
        mantissa, power = 2 * mantissa, power - 1
    ratio = (mantissa - 1) / (mantissa + 1)
    square, found = ratio * ratio, 0.0
    for term in _ODD:
        found = found * square + term
    return power * _LN2_HIGH + (2 * ratio * found + power * _LN2_LOW)


def dot(x: FloatArray, y: FloatArray) -> float:
    """The inner product, added up in NumPy's one order."""
    return float((x * y).sum())


@cache
def fingerprint() -> str:
    """A hash of what this machine makes of fixed numbers; parties compare it before anything is spent."""
    words = np.frombuffer(hashlib.shake_256(b"copublish portable floats").digest(8 * 4096), "<u8")
    numbers = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    table = numbers.reshape(4, 8, 16, 8)
    parts = [
        exp(-50 * numbers),
        np.array([log(float(number)) for number in numbers[:64]]),
        np.array([dot(numbers[:1000], numbers[1000:2000]), float(numbers.sum())]),
        np.sqrt(numbers) / (numbers + 0.5),
        *(table.sum(axis=axes) for axes in ((0,), (3,), (1, 2), (0, 2, 3))),
        table.transpose(2, 0, 3, 1).sum(axis=(1, 3)),
    ]
    content = b"".join(np.ascontiguousarray(part, dtype="<f8").tobytes() for part in parts)
    return hashlib.sha256(content).hexdigest()
