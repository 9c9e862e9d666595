"""Records as points, and an owner's part of the sums that are measured.

Leakage: none, sums are local. They are secret and NOT safe to open: exact moments would show.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from copublish.agreement.domain import NumericalDomain
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates, quantized
from copublish.types import IntArray


def local_sums(coordinates: Coordinates, fragment: Fragment, *, total_is_public: bool) -> IntArray:
    """This party's part of all sums, by their weights, chunk by chunk: shape (n_sums, 1)."""
    products = np.zeros((coordinates.size, coordinates.size), dtype=np.int64)
    centered = np.zeros(coordinates.n_centered, dtype=np.int64)
    for rows in fragment.chunks():
        found = points(coordinates, fragment, rows)
        # Floating-point products of whole numbers are exact: a chunk's sums stay below 2^16 * 2^16 of 2^53.
        products += (found.T.astype(np.float64) @ found.astype(np.float64)).astype(np.int64)
        centered += found[:, : coordinates.n_centered].sum(axis=0) * UNIT
    total = [] if total_is_public else [int(fragment.counts().sum()) * UNIT**2]
    weighted = products[coordinates.pairs] * coordinates.weights[coordinates.pairs]
    parts = [weighted, centered * coordinates.centered_weights, np.array(total, dtype=np.int64)]
    return cast(IntArray, np.concatenate(parts).reshape(-1, 1))


def points(coordinates: Coordinates, fragment: Fragment, rows: slice) -> IntArray:
    """The records' points, in steps of 1/UNIT, 0 everywhere for null rows: shape (n_records, size)."""
    found = np.zeros((rows.stop - rows.start, coordinates.size), dtype=np.int64)
    for name, domain in coordinates.columns.items():
        codes = fragment.private_codes[name][rows].astype(np.int64)
        if isinstance(domain, NumericalDomain):
            is_there = codes < domain.number_codes
            found[np.arange(len(codes)), coordinates.cells[name].start + codes] = UNIT
            places = quantized(np.where(is_there, codes, 0), domain.number_codes - 1)
            found[:, coordinates.centered[name]] = np.where(is_there, places, 0)
        elif name in coordinates.centered:
            found[:, coordinates.centered[name]] = (2 * codes - 1) * (UNIT // 2)
        else:
            places = coordinates.groups[name].start + np.minimum(codes, domain.size - 1)  # null rows have no class
            found[np.arange(len(codes)), places] = UNIT
    return cast(IntArray, found * fragment.counts(rows)[:, None])
