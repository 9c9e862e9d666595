"""Chance for records that are drawn from released values: a hash of those values, so that all parties draw alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from copublish.types import IntArray

RECORDS_PER_BLOCK = 65_536

# The first mechanism that drew records named the key, in ASCII. The bytes stay: others would draw other records.
_NAME_OF_KEY = bytes.fromhex("636f7075626c69736820636f70756c612031")


def key_of(opened: Iterable[IntArray]) -> bytes:
    """The key under which records are drawn: a hash of everything that was opened."""
    digest = hashlib.sha256(_NAME_OF_KEY)
    for values in opened:
        digest.update(len(values).to_bytes(8, "little") + values.astype("<i8").tobytes())
    return digest.digest()
