"""Masks that cancel: what one owner adds to its numbers, another one subtracts from its own.

Every pair of owners has a key that nobody else knows, so numbers under masks look random to whoever lacks the keys; the
sum over all owners does not hold any mask. Arithmetic is modulo 2^64.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from copublish.engines.messages import Messenger
from copublish.kernel.protocol.table import MASK_KEY

KEY_BYTES = 32

KEY_PURPOSE = b"copublish masked sum 1"

WORD = np.dtype("<u8")
"""How a masked number travels."""

Words = NDArray[np.uint64]


def agree_on_keys(messenger: Messenger, owners: Sequence[str]) -> dict[str, bytes]:
    """A fresh key for every other owner: a hash of random bytes of both, which only the two of them know."""
    others = [owner for owner in owners if owner != messenger.party]
    own = {other: os.urandom(KEY_BYTES) for other in others}
    for other in others:
        messenger.send(other, MASK_KEY, own[other])
    return {
        other: pair_key(messenger.party, own[other], other, messenger.receive(other, MASK_KEY), owners)
        for other in others
    }


def pair_key(one: str, part_of_one: bytes, other: str, part_of_other: bytes, owners: Sequence[str]) -> bytes:
    """The key of two owners; it is the same at both, and another one for every pair and list of owners."""
    (first, part_of_first), (second, part_of_second) = sorted([(one, part_of_one), (other, part_of_other)])
    digest = hashlib.sha256(KEY_PURPOSE)
    for text in (*(name.encode() for name in (*owners, first, second)), part_of_first, part_of_second):
        digest.update(len(text).to_bytes(8, "big") + text)
    return digest.digest()


def mask_of(party: str, owners: Sequence[str], keys: Mapping[str, bytes], opening: int, n: int) -> Words:
    """Mask of an owner for n numbers: its pairs' masks, those with owners before it with the sign turned.

    Args:
        party: Which owner this is.
        owners: All of them, in agreed order.
        keys: Its key with every other owner.
        opening: Number of this opening; no two of a run have the same, so no mask is used twice.
        n: How many numbers.
    """
    total = np.zeros(n, dtype=np.uint64)
    rank = owners.index(party)
    for other, key in keys.items():
        stream = key_stream(key, opening, n)
        total = total + stream if rank < owners.index(other) else total - stream
    return total


def key_stream(key: bytes, opening: int, n: int) -> Words:
    """ChaCha20 in n words under a key, with the number of the opening as nonce."""
    block_counter, nonce = bytes(4), opening.to_bytes(12, "little")
    encryptor = Cipher(ChaCha20(key, block_counter + nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(WORD.itemsize * n)), dtype=WORD).astype(np.uint64)
