"""Programs on zeros that make SPU set up what a run will use: sources of oblivious transfers, and keys for products."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import cast

import numpy as np

from copublish.engines.spu.requests import Call, FirstUses, OwnedMatrix, Step, Xored
from copublish.types import IntArray

FIRST_RESULT = "first"
"""What the result of such a program is called until it is forgotten."""

FIRST_WORDS = 1024
"""Words of an AND that takes more oblivious transfers than SPU makes at first, so that it makes the millions that last
for a whole run; fewer would leave most of the work for later."""

FIRST_PRODUCT = (128, 2, 64)
"""Rows, records and columns of the smallest product, nearly, for which SPU makes the keys that all later ones use: it
takes two ciphertexts, which those keys pack into the one that comes back. How long packing takes goes with the number
of records here."""


def first_programs(first_uses: FirstUses) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of a program for everything that is going to be used."""
    if first_uses.coins:
        word = Xored(np.zeros(FIRST_WORDS, dtype=np.int64))
        yield word, word, Call(first_and, (0, 1), {})
    if first_uses.products:
        rows, records, columns = FIRST_PRODUCT
        factors = OwnedMatrix(0, (rows, records), None), OwnedMatrix(1, (records, columns), None)
        yield *factors, Call(first_product, (0, 1), {})


def first_and(xp: ModuleType, one: IntArray, other: IntArray) -> IntArray:
    """An AND on shares."""
    return one & other


def first_product(xp: ModuleType, left: IntArray, right: IntArray) -> IntArray:
    """A product of private matrices."""
    return cast(IntArray, xp.matmul(left, right))
