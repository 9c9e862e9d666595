"""HPDP-DP's encryption as published: Paillier and one secret factor for each owner; and how the curator strips it.

The factor multiplies all p^2 ciphertexts of an owner: a one-time pad that is used p^2 times. The ratio of two entries
does not depend on it and is an ordinary ciphertext of their difference, and the curator holds the key.
"""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish_reproduction.plain_table import Floats

Ciphertexts = NDArray[np.object_]
"""Whole numbers below n^2, as large as they are."""

STEPS = 1 << 20
"""The paper encrypts real numbers; here they are multiples of 2^-20, and numbers above n/2 are negative."""


def paillier_library() -> Any:
    """The package `phe`, loaded when a number is encrypted and not before; it has no types."""
    return importlib.import_module("phe")


@dataclass(frozen=True)
class Owner:
    """What an owner gets from the dealer: the public key and its factor."""

    public_key: Any
    factor: int

    def encrypt_number(self, number: float) -> int:
        """One entry: its ciphertext times the factor (line 7)."""
        n = self.public_key.n
        whole = round(number * STEPS) % n
        ciphertext: int = self.public_key.raw_encrypt(whole) * self.factor % self.public_key.nsquare
        return ciphertext

    def encrypt(self, matrix: Floats) -> Ciphertexts:
        """The ciphertexts of all entries."""
        return np.array([[self.encrypt_number(float(x)) for x in row] for row in matrix], dtype=object)


@dataclass(frozen=True)
class Curator:
    """What the curator gets from the dealer: the private key and a factor."""

    private_key: Any
    factor: int

    def decrypt_number(self, ciphertext: int) -> float:
        """The number in a ciphertext that has no factor, or whose factors are complete."""
        n = int(self.private_key.public_key.n)
        whole = int(self.private_key.raw_decrypt(ciphertext))
        return (whole - n if whole > n // 2 else whole) / STEPS

    def multiply(self, ciphertexts: Sequence[int]) -> int:
        """The owners' ciphertexts of one entry and the curator's factor as one product (line 12)."""
        product = self.factor
        for ciphertext in ciphertexts:
            product = product * ciphertext % self.private_key.public_key.nsquare
        return product

    def add(self, matrices: Sequence[Ciphertexts]) -> Floats:
        """The sum of the owners' matrices, all that the paper means the curator to see (line 13)."""
        total = np.empty(matrices[0].shape)
        for place in np.ndindex(*total.shape):
            total[place] = self.decrypt_number(self.multiply([matrix[place] for matrix in matrices]))
        return total


def deal(n_owners: int, key_bits: int) -> tuple[list[Owner], Curator]:
    """Hand-out of the dealer: keys, and factors whose product is 1 modulo n^2.

    The paper's dealer is "the system"; it sees everything.
    """
    public_key, private_key = paillier_library().generate_paillier_keypair(n_length=key_bits)
    square = public_key.nsquare
    # A number without a common divisor with n, but for a chance of about 2^(1 - key_bits / 2).
    factors = [secrets.randbelow(square - 1) + 1 for _ in range(n_owners)]
    product = 1
    for factor in factors:
        product = product * factor % square
    return [Owner(public_key, factor) for factor in factors], Curator(private_key, pow(product, -1, square))


@dataclass(frozen=True)
class PaillierSum:
    """Adds matrices as the paper does, for `Hpdp.publish`.

    Attributes:
        key_bits: Length of n; tests take short ones.
    """

    key_bits: int = 2048

    def __call__(self, matrices: Sequence[Floats]) -> Floats:
        """Sum that the curator decrypts."""
        owners, curator = deal(len(matrices), self.key_bits)
        return curator.add([owner.encrypt(matrix) for owner, matrix in zip(owners, matrices, strict=True)])


def strip_factor(curator: Curator, ciphertexts: Ciphertexts) -> Floats:
    """One owner's matrix minus its first entry, from its message alone (E43).

    Args:
        curator: Who knows the private key and not the owner's factor.
        ciphertexts: What the owner sent.

    Privacy:
        Reveals: every difference between two entries of one owner's matrix, which carries that owner's share of the
            noise alone. One entry that is known otherwise gives all of them.
    """
    square = curator.private_key.public_key.nsquare
    inverse = pow(int(ciphertexts.flat[0]), -1, square)
    found = [curator.decrypt_number(int(ciphertext) * inverse % square) for ciphertext in ciphertexts.flat]
    return np.array(found).reshape(ciphertexts.shape)
