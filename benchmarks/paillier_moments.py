"""Time and traffic of HPDP-DP's Paillier way: every owner encrypts p^2 entries, the curator multiplies and decrypts.

    make benchmark-paillier_moments

A slice of the entries is encrypted, multiplied and decrypted by the code of `copublish_reproduction`, and scaled up to
all p^2. One owner and one core at a time; owners can work at the same time, the curator waits for all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

import numpy as np

from copublish_reproduction.hpdp_paillier import STEPS, deal
from measuring import Measuring, run
from process_numbers import MIB

KEY_BITS, COLUMNS, OWNERS, SLICE_ENTRIES = 2048, 52, 10, 12
SHORT = ("--columns", "4", "--owners", "2", "--entries", "2", "--key-bits", "512")


def ciphertext_mib(key_bits: int) -> float:
    """Return the size of one ciphertext, a number modulo n^2."""
    return 2 * key_bits / 8 / MIB


@dataclass(frozen=True)
class PaillierMoments:
    """What the published way costs; everything per owner or per curator is scaled up from the slice.

    Attributes:
        key_bits: Length of n.
        columns: p.
        owners: M.
        sliced_entries: How many of the p^2 entries were really added.
        milliseconds_per_encryption: One entry at an owner, its factor included.
        milliseconds_per_product: Two ciphertexts at the curator.
        milliseconds_per_decryption: One sum at the curator.
        owner_seconds: All p^2 entries of one owner.
        curator_seconds: All p^2 sums.
        seconds: From the first encryption to the last decryption, if all owners work at the same time.
        processor_seconds: Of all owners and the curator.
        owner_mib: What one owner sends.
        curator_mib: What the curator receives.
    """

    key_bits: int
    columns: int
    owners: int
    sliced_entries: int
    milliseconds_per_encryption: float
    milliseconds_per_product: float
    milliseconds_per_decryption: float
    owner_seconds: float
    curator_seconds: float
    seconds: float
    processor_seconds: float
    owner_mib: float
    curator_mib: float


def measure_paillier_moments(
    columns: int = COLUMNS, owners: int = OWNERS, sliced_entries: int = SLICE_ENTRIES, key_bits: int = KEY_BITS
) -> PaillierMoments:
    """Measure a slice with real keys, check its sums, and scale up to all p^2 entries.

    Keys and factors are made beforehand and not counted.
    """
    dealt, curator = deal(owners, key_bits)
    numbers = np.random.default_rng(0).normal(0, 10_000, (owners, sliced_entries))
    start = time.perf_counter()
    sent = [[owner.encrypt_number(x) for x in row] for owner, row in zip(dealt, numbers, strict=True)]
    encrypted = time.perf_counter()
    products = [curator.multiply(entry) for entry in zip(*sent, strict=True)]
    multiplied = time.perf_counter()
    sums = [curator.decrypt_number(product) for product in products]
    decrypted = time.perf_counter()
    if np.abs(sums - numbers.sum(axis=0)).max() > owners / STEPS:
        raise AssertionError("Paillier added wrongly")
    encryption = (encrypted - start) / (owners * sliced_entries)
    product = (multiplied - encrypted) / (owners * sliced_entries)
    decryption = (decrypted - multiplied) / sliced_entries
    entries = columns**2
    owner_seconds, curator_seconds = entries * encryption, entries * (owners * product + decryption)
    return PaillierMoments(
        key_bits,
        columns,
        owners,
        sliced_entries,
        1000 * encryption,
        1000 * product,
        1000 * decryption,
        owner_seconds,
        curator_seconds,
        owner_seconds + curator_seconds,
        owners * owner_seconds + curator_seconds,
        entries * ciphertext_mib(key_bits),
        owners * entries * ciphertext_mib(key_bits),
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--owners", type=int, default=OWNERS)
    parser.add_argument("--entries", type=int, default=SLICE_ENTRIES, help="how many of the p^2 entries to run")
    parser.add_argument("--key-bits", type=int, default=KEY_BITS)


def measure(given: argparse.Namespace) -> Measuring:
    cost = measure_paillier_moments(given.columns, given.owners, given.entries, given.key_bits)
    title = f"{cost.owners} owners, p = {cost.columns}, {cost.key_bits} bits; {cost.sliced_entries} entries measured"
    yield (
        title,
        {
            "encryption, ms": cost.milliseconds_per_encryption,
            "product, ms": cost.milliseconds_per_product,
            "decryption, ms": cost.milliseconds_per_decryption,
            "an owner, s": cost.owner_seconds,
            "the curator, s": cost.curator_seconds,
            "all, owners at once, s": cost.seconds,
            "CPU s of all": cost.processor_seconds,
            "MiB of an owner": cost.owner_mib,
        },
    )


if __name__ == "__main__":
    run(sys.modules[__name__])
