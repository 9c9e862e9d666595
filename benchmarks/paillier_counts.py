"""The leaf counts of a secure release by Paillier encryption, as in papers: measured on a slice and scaled up."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import copublish as cp
from copublish.kernel.records.fragment import Fragment
from copublish.party.local.simulation import read_fragments
from copublish.release.generalization import Generalization
from copublish_reproduction.hpdp_paillier import paillier_library
from paillier_moments import KEY_BITS, ciphertext_mib

SLICE_RECORDS, SLICE_CELLS = 200, 2


@dataclass(frozen=True)
class PaillierCounts:
    """What counting all leaves would take, by one party and on one core at a time.

    Attributes:
        sliced_records: How many records were really counted.
        milliseconds_per_encryption: Of one record's mark.
        milliseconds_per_product: Of two ciphertexts.
        milliseconds_per_cell: Making a count unlinkable, and decrypting it.
        scaled_up: By way, the hours and MiB of all records and leaves.
    """

    sliced_records: int
    milliseconds_per_encryption: float
    milliseconds_per_product: float
    milliseconds_per_cell: float
    scaled_up: dict[str, tuple[float, float]]


def cells_of(fragment: Fragment, cut: Generalization, attributes: Sequence[str]) -> tuple[np.ndarray, int]:
    """Return each record's cell among one party's generalized attributes, and the number of such cells."""
    cells, number = np.zeros(fragment.n_records, dtype=np.int64), 1
    for name in attributes:
        size = len(cut.runs[name])
        cells, number = cells * size + cut.part_of_code(name)[fragment.private_codes[name]], number * size
    return cells, number


def measure_paillier_counts(
    agreement: cp.Agreement,
    frames: Mapping[str, pd.DataFrame],
    cut: Generalization,
    *,
    key_bits: int = KEY_BITS,
    sliced_records: int = SLICE_RECORDS,
) -> PaillierCounts:
    """Count the fullest cells of a slice by secure scalar products, and scale the time up to the whole table."""
    phe = paillier_library()
    fragments = read_fragments(agreement, {p: frame.head(sliced_records) for p, frame in frames.items()})
    first, second = agreement.party_names
    own = {party: [name for name in agreement.attributes if agreement.holders(name) == (party,)] for party in fragments}
    rows, n_rows = cells_of(fragments[first], cut, own[first])
    columns, n_columns = cells_of(fragments[second], cut, own[second])
    classes = fragments[second].private_codes[agreement.class_.name]
    n_sliced, n = len(rows), len(frames[first])
    n_cells = n_rows * n_columns * len(agreement.class_.values)

    public, private = phe.generate_paillier_keypair(n_length=key_bits)
    found, counts = np.unique(np.stack([rows, columns, classes]), axis=1, return_counts=True)
    fullest = found.T[np.argsort(-counts)[:SLICE_CELLS]]
    spent, done = dict.fromkeys(("encrypting", "multiplying", "cell"), 0.0), 0
    for row, column, class_ in fullest:
        start = time.perf_counter()
        encrypted = [public.encrypt(int(match)) for match in rows == row]
        spent["encrypting"] += time.perf_counter() - start
        start = time.perf_counter()
        matching = np.flatnonzero((columns == column) & (classes == class_))
        product = encrypted[matching[0]]
        for record in matching[1:]:
            product = product + encrypted[record]  # adding plaintexts is multiplying ciphertexts
        spent["multiplying"] += time.perf_counter() - start
        done += len(matching)
        start = time.perf_counter()
        product.obfuscate()
        count = private.decrypt(product)
        spent["cell"] += time.perf_counter() - start
        if count != ((rows == row) & (columns == column) & (classes == class_)).sum():
            raise AssertionError("Paillier counted wrongly")
    encrypting, multiplying = spent["encrypting"] / (SLICE_CELLS * n_sliced), spent["multiplying"] / done
    per_cell = spent["cell"] / SLICE_CELLS
    # Every record matches one column and class for each row, so there are n products for each of the rows.
    shared, mib = n * n_rows * multiplying + n_cells * per_cell, ciphertext_mib(key_bits)
    return PaillierCounts(
        sliced_records=n_sliced,
        milliseconds_per_encryption=1000 * encrypting,
        milliseconds_per_product=1000 * multiplying,
        milliseconds_per_cell=1000 * per_cell,
        scaled_up={
            "as published: match vector encrypted anew for every leaf and class": (
                (n * n_cells * encrypting + shared) / 3600,
                (n * n_cells + n_cells) * mib,
            ),
            "kinder: each match vector encrypted once": (
                (n * n_rows * encrypting + shared) / 3600,
                (n * n_rows + n_cells) * mib,
            ),
        },
    )
