"""An order for published records that tells nothing about the order in which their owners list them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from copublish.types import IntArray


def order_without_meaning(columns: Sequence[IntArray]) -> IntArray:
    """An order of records that is a function of their published values alone.

    Sorted by their values, records are a set without an order; they are then shuffled by words from SHAKE-256 under a
    hash of that set, so that a part of the file is not a part of the sorted values. All parties get the same order.

    Args:
        columns: The published values as whole numbers, each of shape (n_records,).
    """
    by_value = np.lexsort(columns[::-1])
    digest = hashlib.sha256(b"copublish order 1")
    for column in columns:
        digest.update(column[by_value].astype("<i8").tobytes())
    words = np.frombuffer(hashlib.shake_256(digest.digest()).digest(8 * len(by_value)), "<u8")
    order: IntArray = by_value[np.argsort(words, kind="stable")]
    return order
