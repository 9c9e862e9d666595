"""Integers that cannot be out of range, whoever puts them in.

A party's integer enters as bits, of which the program takes as many as the range has. What is compared afterwards
stays in the middle of the ring, where comparing by the sign of a difference is right.

Leakage: none, the cost depends on shapes alone. The result is secret and NOT safe to open.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.types import IntArray


def bits_within(most: int, summands: int) -> int:
    """The bits of integers of which so many add up to no more than `most`, in size."""
    return (most // summands).bit_length()


def as_bits(local: IntArray, bits: int) -> IntArray:
    """Integers as `sum_within` takes them, those out of range cut to it."""
    half = 2 ** (bits - 1)
    return cast(IntArray, np.clip(local, -half, half - 1) + half)


def sum_within(xp: ModuleType, *words: IntArray, bits: int) -> IntArray:
    """Add integers that were put in as words of bits; bits above those of the range are not looked at."""
    half, mask = 2 ** (bits - 1), 2**bits - 1
    return cast(IntArray, sum((own & mask for own in words[1:]), start=words[0] & mask) - len(words) * half)
