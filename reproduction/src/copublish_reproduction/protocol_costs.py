"""Cost of ArbDistDP's protocol at the sizes of its Figure 9: counted operations times measured unit costs.

The figure is about time between two parties. Here the algorithm runs in the clear and counts what its protocol would
do: secure comparisons (SCP), products of shares (SDPP), joint random numbers (RVP) and the encrypted vectors of
Algorithm 5.
"""

from __future__ import annotations

import importlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from copublish_reproduction.arbdistdp import ArbDistDP
from copublish_reproduction.hpdp_paillier import paillier_library
from copublish_reproduction.leaks import LeakLog, random_holders
from copublish_reproduction.plain_table import PlainTable

OPERAND_BITS = 32
"""L, the length of what is compared; the paper has no value."""


@dataclass(frozen=True)
class Operations:
    """What one run of the protocol does.

    Attributes:
        comparisons: Secure comparisons: of values, of class counts, and one for each candidate of a selection.
        products: Products of two shares, one for each candidate.
        random_numbers: Joint random numbers, one for each selection.
        encryptions: Encrypted entries of the vectors whose inner product counts a leaf.
        leaves: Leaves, each with a decryption.
    """

    comparisons: int
    products: int
    random_numbers: int
    encryptions: int
    leaves: int


def count_operations(table: PlainTable, generator: np.random.Generator, epsilon: float = 1.0) -> Operations:
    """Run the first phase with every cell at a random party, and count."""
    log = LeakLog(table, random_holders(table, generator))
    cut = ArbDistDP(epsilon, floor_digits=2).specialize(table, generator, log)
    comparisons = log.order_bits + log.majority_bits + log.candidates
    n = len(table.classes)
    return Operations(comparisons, log.candidates, log.selections, n * cut.n_leaves, cut.n_leaves)


@dataclass(frozen=True)
class UnitCosts:
    """Seconds of the cryptographic operations on this machine.

    Attributes:
        key_bits: Length of the modulus.
        exponentiation: A modular exponentiation, about an oblivious transfer, as both papers say.
        encryption: Of one number.
        decryption: Of one number.
    """

    key_bits: int
    exponentiation: float
    encryption: float
    decryption: float

    def seconds(self, operations: Operations) -> dict[str, float]:
        """Seconds by kind of operation, one processor and no waiting.

        A comparison takes an oblivious transfer for each bit of an operand; a product and a random number take an
        encryption and a decryption each.
        """
        both = self.encryption + self.decryption
        return {
            "comparisons": operations.comparisons * OPERAND_BITS * self.exponentiation,
            "products and random numbers": (operations.products + operations.random_numbers) * both,
            "counts of leaves": operations.encryptions * self.encryption + operations.leaves * self.decryption,
        }


def measure_unit_costs(key_bits: int = 2048, times: int = 20) -> UnitCosts:
    """Measure the operations with fresh keys.

    Args:
        key_bits: Length of the modulus.
        times: How often each is done; the mean counts.
    """
    public, private = paillier_library().generate_paillier_keypair(n_length=key_bits)
    library = importlib.import_module("gmpy2")  # it has no types
    base, exponent, modulus = (library.mpz(secrets.randbits(key_bits) | 1) for _ in range(3))
    ciphertext = public.raw_encrypt(7)
    return UnitCosts(
        key_bits,
        _mean_seconds(lambda: library.powmod(base, exponent, modulus), times),
        _mean_seconds(lambda: public.raw_encrypt(7), times),
        _mean_seconds(lambda: private.raw_decrypt(ciphertext), times),
    )


def _mean_seconds(work: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        work()
    return max(time.process_time() - start, 1e-9) / times
