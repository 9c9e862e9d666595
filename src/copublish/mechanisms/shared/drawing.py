"""Chance for records that are drawn from released values: a hash of those values, so that all parties draw alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from copublish.types import IntArray

RECORDS_PER_BLOCK = 65_536


def key_of(opened: Iterable[IntArray]) -> bytes:
    """Return the key under which records are drawn: a hash of everything that was opened."""
    digest = hashlib.sha256(b"copublish copula 1")
    for values in opened:
        digest.update(len(values).to_bytes(8, "little") + values.astype("<i8").tobytes())
    return digest.digest()
