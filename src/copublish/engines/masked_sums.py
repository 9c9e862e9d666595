"""Sums without a secure engine: owners mask their numbers and send them to one party, which adds them up.

Every owner adds its share of the noise first. Masks cancel in the sum: what one owner adds, another one subtracts.

Every pair of owners has a key that nobody else knows, so numbers under masks look random to whoever lacks the keys; the
sum over all owners does not hold any mask. Arithmetic is modulo 2^64.

For owners of whole rows who cannot run the secure engine. Nothing is computed on secrets: a `Secret` is each owner's
own part of a sum, and sums are all that can be opened. The aggregator, which may be an owner, adds up numbers that look
random to it. Everything goes over messages between pairs of parties.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import MASK_KEY, MASKED_SUM, SUM_HASH
from copublish.engines.comparing.comparison import ComparesByMessages, comparison_by
from copublish.engines.messages import EngineWithoutWorker, Messenger
from copublish.engines.secrecy import ASSUMPTIONS_OF_SUMS, secrecy_of_sums
from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.noise.geometric import Coins, Geometric, SystemCoins
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.kernel.secrets.added_noise import own_share
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.types import IntArray

KEY_BYTES = 32

KEY_PURPOSE = b"copublish masked sum 1"

WORD = np.dtype("<u8")
"""How a masked number travels."""

Words = NDArray[np.uint64]


def agree_on_keys(messenger: Messenger, owners: Sequence[str]) -> dict[str, bytes]:
    """A fresh key for every other owner: a hash of random bytes of both, which only the two of them know."""
    others = [owner for owner in owners if owner != messenger.party]
    own = {other: os.urandom(KEY_BYTES) for other in others}
    for other in others:
        messenger.send(other, MASK_KEY, own[other])
    return {
        other: pair_key(messenger.party, own[other], other, messenger.receive(other, MASK_KEY), owners)
        for other in others
    }


def pair_key(one: str, part_of_one: bytes, other: str, part_of_other: bytes, owners: Sequence[str]) -> bytes:
    """The key of two owners; it is the same at both, and another one for every pair and list of owners."""
    (first, part_of_first), (second, part_of_second) = sorted([(one, part_of_one), (other, part_of_other)])
    digest = hashlib.sha256(KEY_PURPOSE)
    for text in (*(name.encode() for name in (*owners, first, second)), part_of_first, part_of_second):
        digest.update(len(text).to_bytes(8, "big") + text)
    return digest.digest()


def mask_of(party: str, owners: Sequence[str], keys: Mapping[str, bytes], opening: int, n: int) -> Words:
    """Mask of an owner for n numbers: its pairs' masks, those with owners before it with the sign turned.

    Args:
        party: Which owner this is.
        owners: All of them, in agreed order.
        keys: Its key with every other owner.
        opening: Number of this opening; no two of a run have the same, so no mask is used twice.
        n: How many numbers.
    """
    total = np.zeros(n, dtype=np.uint64)
    rank = owners.index(party)
    for other, key in keys.items():
        stream = key_stream(key, opening, n)
        total = total + stream if rank < owners.index(other) else total - stream
    return total


def key_stream(key: bytes, opening: int, n: int) -> Words:
    """ChaCha20 in n words under a key, with the number of the opening as nonce."""
    block_counter, nonce = bytes(4), opening.to_bytes(12, "little")
    encryptor = Cipher(ChaCha20(key, block_counter + nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(WORD.itemsize * n)), dtype=WORD).astype(np.uint64)


WHAT_WORKS = (
    "Without a secure engine only sums of what every owner counts alone can be measured (horizontal data, mechanisms "
    "that open nothing but sums). Agree on the engine 'spu' for anything else."
)


@dataclass(frozen=True)
class OwnPart:
    """One party's own part of a sum, and whether its share of the noise is in it."""

    values: IntArray
    has_noise: bool


class MaskedSumEngine(ComparesByMessages, EngineWithoutWorker):
    """One party's end of a run without a secure engine.

    Args:
        messenger: Its connections to all parties.
        owners: The parties that hold data, in agreed order.
        aggregator: Who adds up.
        coins: This party's coins, for its share of the noise.
        opens_sums: Whether sums are opened, or owners tell perturbed columns alone.
    """

    name = "masked-sum"

    def __init__(
        self,
        messenger: Messenger,
        owners: Sequence[str],
        aggregator: str,
        coins: Coins | None = None,
        *,
        opens_sums: bool = True,
    ) -> None:
        super().__init__(messenger)
        self._owners, self._aggregator = tuple(owners), aggregator
        if len(self._owners) < 2 or not {*self._owners, aggregator} <= set(self.parties):
            raise EngineError("Masked sums need two or more owners of data and an aggregator among the parties.")
        self.own_coins: Coins = coins or SystemCoins()
        helper = None if aggregator in self._owners else aggregator
        self.comparison = comparison_by(messenger, self._owners, helper)
        self._keys: dict[str, bytes] | None = None
        self._openings = 0
        self.secrecy = secrecy_of_sums(self._owners, aggregator, opens_sums=opens_sums)
        self.assumptions = ASSUMPTIONS_OF_SUMS

    def share(self, local: IntArray) -> Secret:
        """The sum of what every owner puts in: its own part stays with each of them."""
        return Secret(OwnPart(np.array(local, dtype=np.int64), has_noise=False), local.shape)

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """The counts with this owner's share of the noise, and once the public offset.

        Privacy:
            Guarantee: see `SharedLaplace`. Every owner's share leaves it only as part of a masked sum.
        """
        if not isinstance(noise, SharedLaplace) or noise.shares.owners != self._owners:
            raise EngineError(f"This noise cannot be drawn in shares by the owners. Nothing was opened. {WHAT_WORKS}")
        part = _part_of(counts.secret)
        if part.has_noise:
            raise EngineError("These sums have noise already. Nothing was opened.")
        if self._keys is None and self.party in self._owners:
            self._keys = agree_on_keys(self._messenger, self._owners)  # before anything is charged
        added = own_share(self.party, self.own_coins, counts, noise, offset)
        return Secret(OwnPart(part.values + added, has_noise=True), counts.secret.shape)

    def _open(self, secret: Secret) -> IntArray:
        part = _part_of(secret)
        if not part.has_noise:
            raise EngineError("These sums have no noise. They are not opened.")
        self._openings += 1
        message = MASKED_SUM.of(number=self._openings, shape=secret.shape)
        n = part.values.size
        masked = self._masked(part.values.ravel().view(np.uint64)) if self.party in self._owners else None
        if self.party == self._aggregator:
            opened = self._add_up(masked, message, n)
        else:
            if masked is not None:
                self._messenger.send(self._aggregator, message, masked.astype(WORD).tobytes())
            opened = _words(self._messenger.receive(self._aggregator, message), n, self._aggregator)
        digest = hashlib.sha256(opened.astype(WORD).tobytes()).hexdigest()
        if len(set(self.exchange(SUM_HASH.of(number=self._openings, shape=secret.shape), digest))) > 1:
            raise EngineError(f"'{self._aggregator}' told the parties different sums. Nothing is published.")
        return opened.view(np.int64).reshape(secret.shape).copy()

    def _masked(self, values: Words) -> Words:
        if self._keys is None:
            raise EngineError("There are no keys for masks yet. Nothing was sent.")
        return values + mask_of(self.party, self._owners, self._keys, self._openings, len(values))

    def _add_up(self, own: Words | None, message: Letter, n: int) -> Words:
        """Add up what all owners sent, and tell everyone."""
        total = np.zeros(n, dtype=np.uint64) if own is None else own
        for owner in self._owners:
            if owner != self.party:
                total = total + _words(self._messenger.receive(owner, message), n, owner)
        for party in self.parties:
            if party != self.party:
                self._messenger.send(party, message, total.astype(WORD).tobytes())
        return total


def _part_of(secret: Secret) -> OwnPart:
    return cast(OwnPart, secret._handle)


def _words(content: bytes, n: int, sender: str) -> Words:
    if len(content) != WORD.itemsize * n:
        raise ProgramMismatchError(f"Party '{sender}' sent another number of sums. Nothing is published.")
    return np.frombuffer(content, dtype=WORD).astype(np.uint64)
