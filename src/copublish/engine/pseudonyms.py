"""Identifiers under names that mean nothing outside one private set intersection.

The intersection runs on files. What is written there are keyed digests, under a key that both parties make afresh for
every intersection and keep in memory alone, so that a file which outlives a run (a power cut) names nobody. The
digests hide nothing from the other party, which has the key: that is what the intersection itself is for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import reduce
from operator import xor

import numpy as np
from numpy.typing import NDArray

from copublish.privacy.coins import IntArray

KEY_BYTES = 32

PSEUDONYM_BYTES = 16
"""Two of N different identifiers collide with probability below N^2 / 2^129: for two lists of 2^40 that is 2^-47."""

Pseudonyms = NDArray[np.uint8]
"""Shape (n, PSEUDONYM_BYTES)."""


def part_of_key() -> str:
    """Return what one party adds to the key."""
    return os.urandom(KEY_BYTES).hex()


def joint_key(parts: Iterable[str]) -> bytes:
    """Return the XOR of every party's part."""
    return reduce(xor, (int(part, 16) for part in parts)).to_bytes(KEY_BYTES, "big")


def pseudonyms_of(identifiers: Iterable[str], how_many: int, key: bytes) -> Pseudonyms:
    """Return a keyed digest of every identifier."""
    digests = (
        hashlib.blake2b(identifier.encode(errors="surrogatepass"), digest_size=PSEUDONYM_BYTES, key=key).digest()
        for identifier in identifiers
    )
    # NumPy pads what it calls a string with zeros, so that nothing of a digest that ends in zeros is lost.
    return _as_rows(np.fromiter(digests, dtype=f"S{PSEUDONYM_BYTES}", count=how_many).view(np.uint8))


def made_up_pseudonyms(how_many: int) -> Pseudonyms:
    """Return pseudonyms that nobody shares, to fill up a list."""
    return _as_rows(np.frombuffer(os.urandom(how_many * PSEUDONYM_BYTES), dtype=np.uint8))


def have_repeated(pseudonyms: Pseudonyms) -> bool:
    """Return whether a pseudonym is listed twice."""
    ordered = pseudonyms[_order(pseudonyms)]
    return bool((ordered[1:] == ordered[:-1]).all(axis=1).any())


def in_common_order(pseudonyms: Pseudonyms, positions: IntArray) -> IntArray:
    """Return the positions by ascending pseudonym: an order that the parties share and that tells nothing."""
    return positions[_order(pseudonyms[positions])]


def _order(pseudonyms: Pseudonyms) -> IntArray:
    high, low = pseudonyms.view(">u8").T
    return np.asarray(np.lexsort((low, high)), dtype=np.int64)


def _as_rows(digests: NDArray[np.uint8]) -> Pseudonyms:
    return digests.reshape(-1, PSEUDONYM_BYTES)
