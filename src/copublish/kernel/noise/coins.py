"""Fair coins: the only source of randomness of a release.

Every party contributes its own words, and the engine XORs them, so the result is uniform and unknown to
everyone as long as one party is honest. There is no seed option anywhere in the package: a real run takes its
words from the operating system. Tests pass their own implementation of `Coins`.
"""

from __future__ import annotations

import math
import os
from typing import Protocol

import numpy as np

from copublish.types import IntArray


class Coins(Protocol):
    """One party's fair coins, 64 in a word. No coin is ever given out twice."""

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """Fresh uniform 64-bit words."""
        ...


class SystemCoins:
    """Coins from the operating system's generator."""

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """Fresh uniform 64-bit words."""
        return np.frombuffer(os.urandom(8 * math.prod(shape)), np.int64).reshape(shape)
