"""Coins for runs on made-up tables: a few from the operating system, stretched to as many as are needed.

The sampler takes 62 fair coins for every biased bit, and the operating system's generator makes most of what a run
costs. A release takes all its coins from there; of an audit nobody's privacy hangs on them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from copublish.types import IntArray

KEY_BYTES, BLOCK_BYTES = 32, 16


class StretchedCoins:
    """The key stream of AES-256 in counter mode, under a fresh key of the operating system.

    Whoever could tell it from fair coins would have broken AES; its own generator is such a stream as well.
    """

    def __init__(self) -> None:
        self._stream = Cipher(algorithms.AES(os.urandom(KEY_BYTES)), modes.CTR(bytes(BLOCK_BYTES))).encryptor()

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """The next 64-bit words."""
        return np.frombuffer(self._stream.update(bytes(8 * math.prod(shape))), np.int64).reshape(shape)


def stretched_coins(parties: Iterable[str]) -> dict[str, StretchedCoins]:
    """Coins of its own for every party."""
    return {party: StretchedCoins() for party in parties}
