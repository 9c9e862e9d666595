"""Finding common records without a secure engine: a party without data compares the owners' pseudonyms.

Pseudonyms are digests of identifiers under a key that the owners make and the aggregator does not know, so they mean
nothing to it; it tells each owner where the common ones are in the list which that owner sent. Lists are sent in the
order of the digests, a new one for every key.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from copublish.engine.masked.pseudonyms import (
    KEY_BYTES,
    PSEUDONYM_BYTES,
    Pseudonyms,
    from_bytes,
    have_repeated,
    joint_key,
    made_up_pseudonyms,
    pseudonyms_of,
)
from copublish.engine.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError
from copublish.types import IntArray

POSITION = np.dtype("<i8")
"""How a position travels."""

OWNER_COMPARES = (
    "Without a secure engine identifiers are compared by an aggregator that holds no data: an owner knows the key of "
    "the pseudonyms. Name a party with data = false as engine.aggregator, or agree on the engine 'spu'. Nothing was "
    "compared."
)


class PseudonymJoin:
    """One party's part in comparing the owners' identifiers, once."""

    def __init__(self, messenger: Messenger, owners: Sequence[str], aggregator: str) -> None:
        if aggregator in owners:
            raise EngineError(OWNER_COMPARES)
        self._messenger, self._owners, self._aggregator = messenger, tuple(owners), aggregator
        self._party = messenger.party

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        if self._party == self._aggregator:
            lists = self._collect()
            shared = lists[0]
            for other in lists[1:]:
                shared = np.intersect1d(shared, other, assume_unique=True)
            for owner, own in zip(self._owners, lists, strict=True):
                places = np.searchsorted(own, shared).astype(POSITION)
                self._messenger.send(owner, "common records", places.tobytes())
        if self._party not in self._owners:
            return np.empty(0, dtype=np.int64)
        order, n = self._send(identifiers, 0)
        content = self._messenger.receive(self._aggregator, "common records")
        places = np.frombuffer(content[: len(content) // POSITION.itemsize * POSITION.itemsize], dtype=POSITION)
        is_there = (places >= 0) & (places < n)
        if len(content) % POSITION.itemsize or not is_there.all() or (np.diff(places) <= 0).any():
            raise ProgramMismatchError(f"Party '{self._aggregator}' named records that there are not.")
        return order[places].astype(np.int64)

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        if padded_to and len(identifiers) > padded_to:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        if self._party == self._aggregator:
            answer = b"\1" if have_repeated(np.concatenate(self._collect())) else b"\0"
            for party in self._messenger.parties:
                if party != self._party:
                    self._messenger.send(party, "any shared", answer)
            return answer == b"\1"
        if self._party in self._owners:
            self._send(identifiers, max(0, padded_to - len(identifiers)))
        return self._messenger.receive(self._aggregator, "any shared") != b"\0"

    def _send(self, identifiers: Sequence[str], made_up: int) -> tuple[IntArray, int]:
        """Send this owner's pseudonyms in their own order; return that order and how many they are."""
        pseudonyms = pseudonyms_of(identifiers, len(identifiers), self._key())
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        pseudonyms = np.concatenate([pseudonyms, made_up_pseudonyms(made_up)])
        order = np.argsort(pseudonyms)
        self._messenger.send(self._aggregator, "pseudonyms", pseudonyms[order].tobytes())
        return order, len(pseudonyms)

    def _key(self) -> bytes:
        """A fresh key that all owners have, and nobody else: the XOR of a part from each."""
        own = os.urandom(KEY_BYTES).hex()
        others = [owner for owner in self._owners if owner != self._party]
        for owner in others:
            self._messenger.send(owner, "part of the pseudonyms' key", own.encode())
        parts = [own]
        for owner in others:
            part = self._messenger.receive(owner, "part of the pseudonyms' key")
            if len(part) != 2 * KEY_BYTES or not set(part) <= set(b"0123456789abcdef"):
                raise ProgramMismatchError(f"Party '{owner}' sent no part of a key. Nothing was compared.")
            parts.append(part.decode())
        return joint_key(parts)

    def _collect(self) -> list[Pseudonyms]:
        """Every owner's pseudonyms, ascending."""
        lists = []
        for owner in self._owners:
            content = self._messenger.receive(owner, "pseudonyms")
            pseudonyms = from_bytes(content) if len(content) % PSEUDONYM_BYTES == 0 else None
            if pseudonyms is None or have_repeated(pseudonyms):
                raise ProgramMismatchError(f"Party '{owner}' sent no list of pseudonyms. Nothing was compared.")
            lists.append(np.sort(pseudonyms))
        return lists
