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

from copublish.types import IntArray

KEY_BYTES = 32

PSEUDONYM_BYTES = 16
"""Two of N different identifiers collide with probability below N^2 / 2^129: for two lists of 2^40 that is 2^-47."""

Pseudonyms = NDArray[np.bytes_]
"""Of dtype S16, shape (n,). NumPy fills such strings up with zeros, so a digest that ends in zeros loses nothing."""

DTYPE = f"S{PSEUDONYM_BYTES}"


def part_of_key() -> str:
    """Part of one party in the key."""
    return os.urandom(KEY_BYTES).hex()


def joint_key(parts: Iterable[str]) -> bytes:
    """The XOR of every party's part."""
    return reduce(xor, (int(part, 16) for part in parts)).to_bytes(KEY_BYTES, "big")


def pseudonyms_of(identifiers: Iterable[str], how_many: int, key: bytes) -> Pseudonyms:
    """A keyed digest of every identifier."""
    keyed = hashlib.blake2b(key=key, digest_size=PSEUDONYM_BYTES)

    def digest(identifier: str) -> bytes:
        hashed = keyed.copy()
        hashed.update(identifier.encode(errors="surrogatepass"))
        return hashed.digest()

    return np.fromiter(map(digest, identifiers), dtype=DTYPE, count=how_many)


def made_up_pseudonyms(how_many: int) -> Pseudonyms:
    """Pseudonyms that nobody shares, to fill up a list."""
    return from_bytes(os.urandom(how_many * PSEUDONYM_BYTES))


def from_bytes(digests: bytes) -> Pseudonyms:
    """Digests that stand one after the other."""
    return np.frombuffer(digests, dtype=DTYPE)


def have_repeated(pseudonyms: Pseudonyms) -> bool:
    """Whether a pseudonym is listed twice."""
    ordered = np.sort(pseudonyms)
    return bool((ordered[1:] == ordered[:-1]).any())


def is_ascending(digests: NDArray[np.bytes_]) -> bool:
    """Whether digests, or points, stand in the order of their bytes, each of them once."""
    return not bool(np.less_equal(digests[1:], digests[:-1]).any())


def positions_of(common: Pseudonyms, own: Pseudonyms) -> IntArray:
    """Where the common ones are among one's own, by ascending pseudonym: the parties share that order.

    It is a new one every time, as the key is, and tells nothing.
    """
    order = np.argsort(own)
    places = np.searchsorted(own, np.sort(common), sorter=order)
    return np.asarray(order[places], dtype=np.int64)
