"""Synthetic records from `hpdp`'s model. Released values only.

Chance comes from SHAKE-256 under a key that is a hash of the released noisy values, so the records are a function of
what was opened. All arithmetic gives the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.hpdp.cells import Spread
from copublish.mechanisms.hpdp.coordinates import Coordinates
from copublish.mechanisms.hpdp.model import MomentModel
from copublish.mechanisms.shared.normal import STEPS, normal_steps
from copublish.mechanisms.shared.number_cells import InCells
from copublish.mechanisms.shared.post_processing import RECORDS_PER_BLOCK, consistent_counts
from copublish.types import FloatArray, IntArray

LOADING_SCALE = 2**20
CHANCE = LOADING_SCALE * STEPS
"""Chances and expected values are whole numbers of 1/CHANCE."""

CHANCE_BITS_DROPPED = 9
"""Before chances are multiplied with 32-bit words."""

WEIGHT, LARGEST_WEIGHT, WEIGHT_ROUNDS = 2**12, 2**16, 8

WEIGHING_RECORDS = 16_384
"""Enough to see what cutting chances off does to shares."""

SHARE_BITS, SMALLEST_SHARE = 20, 1e-6


@dataclass(frozen=True)
class Drawn:
    """Synthetic records, column by column.

    Attributes:
        codes: For every category the code of each record's value.
        in_cells: For every number in which cell it lies, and where in it.
        is_missing: For every number that may be missing whether it is.
    """

    codes: dict[str, IntArray] = field(default_factory=dict)
    in_cells: dict[str, InCells] = field(default_factory=dict)
    is_missing: dict[str, NDArray[np.bool_]] = field(default_factory=dict)


def draw_records(coordinates: Coordinates, model: MomentModel, n_records: int, key: bytes) -> Drawn:
    """Draw records; classes have exactly the released shares, and every category is one of the agreed ones."""
    classes = _classes(model, n_records, key)
    # Row c: expected values in class c; whole numbers from here on.
    expected = np.rint((model.means + model.class_effects) * CHANCE).astype(np.int64)
    loadings = np.rint(model.loadings * LOADING_SCALE)
    numbers = list(coordinates.cells)
    rests = {name: _rest(coordinates, model, name) for name in numbers}
    drawn, behind = Drawn(), {name: np.empty(n_records, dtype=np.int64) for name in numbers}
    categories = [name for name in coordinates.columns if name not in (*numbers, coordinates.class_name)]
    drawn.codes.update({name: np.empty(n_records, dtype=np.int64) for name in categories})
    weights: dict[str, IntArray] = {}
    for start in range(0, n_records, RECORDS_PER_BLOCK):
        rows = slice(start, min(start + RECORDS_PER_BLOCK, n_records))
        size = rows.stop - rows.start
        steps = _normal(key, "factors", start, (size, len(loadings)))
        # Whole numbers below 2^53, so that floating point is exact in whatever order it adds them up.
        moved = (steps @ loadings).astype(np.int64)
        here = expected[classes[rows]] + moved
        for name in numbers:
            place = coordinates.centered[name]
            alone = _normal(key, f"number {name}", start, (size,)).astype(np.int64)
            behind[name][rows] = moved[:, place] + alone * rests[name]
        for name in categories:
            chances = _chances(coordinates, name, here)
            if start == 0:
                first = slice(0, min(size, WEIGHING_RECORDS))
                weights[name] = _weights(chances[first], classes[first], _chances(coordinates, name, expected))
            words = _words(key, f"category {name}", start, size)
            drawn.codes[name][rows] = _choose(chances * weights[name][classes[rows]] // WEIGHT, words)
    if coordinates.class_name is not None:
        drawn.codes[coordinates.class_name] = classes
    for name, spread in model.spreads.items():
        is_missing = _missing(spread, name, classes, key)
        drawn.in_cells[name] = _cells(spread.by_class, classes, behind[name], ~is_missing)
        if coordinates.columns[name].missing:
            drawn.is_missing[name] = is_missing
    return drawn


def _classes(model: MomentModel, n_records: int, key: bytes) -> IntArray:
    """Each record's class: in released shares, in random order."""
    scaled = model.class_counts * n_records // max(int(model.class_counts.sum()), 1)
    counts = consistent_counts(scaled, n_records)
    order = np.argsort(_all_words(key, "order", n_records), kind="stable")
    found = np.empty(n_records, dtype=np.int64)
    found[order] = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    return found


def _rest(coordinates: Coordinates, model: MomentModel, name: str) -> int:
    """The deviation of a number that classes and factors leave, in steps of 1/LOADING_SCALE."""
    place = coordinates.centered[name]
    explained = math.fsum((model.loadings[:, place] * model.loadings[:, place]).tolist())
    return round(math.sqrt(max(float(model.within_class[place]) - explained, 0.0)) * LOADING_SCALE)


def _chances(coordinates: Coordinates, name: str, here: IntArray) -> IntArray:
    """The chance of each value of a category, not below 0: shape (n_records, n_values)."""
    if name in coordinates.groups:
        return np.maximum(here[:, coordinates.groups[name]], 0)
    second = np.clip(here[:, coordinates.centered[name]] + CHANCE // 2, 0, CHANCE)
    return np.stack([CHANCE - second, second], axis=1)


def _weights(chances: IntArray, classes: IntArray, expected: IntArray) -> IntArray:
    """What chances are to be multiplied with so that every class has the expected shares: (n_classes, n_values).

    Where factors take a chance below 0 it is cut off, which would lift the mean of small ones.
    """
    found = np.full(expected.shape, WEIGHT, dtype=np.int64)
    coarse = chances >> CHANCE_BITS_DROPPED
    for _ in range(WEIGHT_ROUNDS):
        weighted = coarse * found[classes] // WEIGHT
        shares = (weighted << SHARE_BITS) // np.maximum(weighted.sum(axis=1), 1)[:, None]
        for number, wanted in enumerate(expected):
            here = shares[classes == number].sum(axis=0)  # whole numbers: the same in whatever order
            if here.sum() > 0 and wanted.sum() > 0:
                ratios = (wanted / float(wanted.sum())) / np.maximum(here / float(here.sum()), SMALLEST_SHARE)
                found[number] = np.clip(np.rint(found[number] * ratios), 0, LARGEST_WEIGHT).astype(np.int64)
    return found


def _choose(chances: IntArray, words: IntArray) -> IntArray:
    """The value that each record's word falls on."""
    up_to = np.cumsum(chances >> CHANCE_BITS_DROPPED, axis=1)
    falls_at = (words * np.maximum(up_to[:, -1], 1)) >> 32
    found: IntArray = (up_to <= falls_at[:, None]).sum(axis=1)
    return np.minimum(found, chances.shape[1] - 1)


def _missing(spread: Spread, name: str, classes: IntArray, key: bytes) -> NDArray[np.bool_]:
    """Which records miss a number: as many of every class as were counted, at random."""
    found = np.zeros(len(classes), dtype=bool)
    if not spread.missing.any():
        return found
    words = _all_words(key, f"missing {name}", len(classes))
    for number, (missing, present) in enumerate(zip(spread.missing.tolist(), spread.by_class, strict=True)):
        members = np.flatnonzero(classes == number)
        share = missing * len(members) // max(missing + int(present.sum()), 1)
        found[members[np.argsort(words[members], kind="stable")[:share]]] = True
    return found


def _cells(by_class: IntArray, classes: IntArray, behind: IntArray, is_present: NDArray[np.bool_]) -> InCells:
    """The cell of each record, and where in it: in released shares, class by class, in the order of what is behind."""
    cells, places, counts = (np.zeros(len(classes), dtype=np.int64) for _ in range(3))
    for number, own in enumerate(by_class):
        members = np.flatnonzero((classes == number) & is_present)
        wanted = consistent_counts(own * len(members) // max(int(own.sum()), 1), len(members))
        order = members[np.argsort(behind[members], kind="stable")]
        cells[order] = np.repeat(np.arange(len(wanted), dtype=np.int64), wanted)
        places[order] = np.arange(len(members)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
        counts[order] = np.repeat(wanted, wanted)
    return InCells(cells=cells, places=places, counts=counts)


def _normal(key: bytes, purpose: str, block: int, shape: tuple[int, ...]) -> FloatArray:
    words = _words(key, purpose, block, math.prod(shape))
    return normal_steps(words.astype(np.uint32)).astype(np.float64).reshape(shape)


def _all_words(key: bytes, purpose: str, n_records: int) -> IntArray:
    """Uniform 32-bit words, one for every record."""
    blocks = [
        _words(key, purpose, start, min(RECORDS_PER_BLOCK, n_records - start))
        for start in range(0, n_records, RECORDS_PER_BLOCK)
    ]
    return np.concatenate([np.zeros(0, np.int64), *blocks])


def _words(key: bytes, purpose: str, block: int, size: int) -> IntArray:
    """Uniform 32-bit words, different ones for every purpose and block."""
    name = purpose.encode()
    stream = hashlib.shake_256(key + len(name).to_bytes(8, "little") + name + block.to_bytes(8, "little"))
    return np.frombuffer(stream.digest(4 * size), "<u4").astype(np.int64)
