"""Comparing people by a helper: a party without data compares the owners' pseudonyms.

Pseudonyms are digests of identifiers under a key that the owners make and the helper does not know, so they mean
nothing to it; it tells each owner where the common ones are in the list which that owner sent. Lists are sent in the
order of the digests, a new one for every key.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from copublish.engines.comparing.curve import Draw
from copublish.engines.comparing.joint_key import agree_on_key
from copublish.engines.comparing.lists import receive_list, send_list
from copublish.engines.comparing.pseudonyms import (
    Pseudonyms,
    from_bytes,
    have_repeated,
    made_up_pseudonyms,
    pseudonyms_of,
)
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.protocol.table import ANY_SHARED, COMMON_PLACES, PSEUDONYMS
from copublish.types import IntArray

POSITION = np.dtype("<i8")
"""How a position travels."""

OWNER_COMPARES = (
    "Pseudonyms are compared by a party that holds no data: an owner knows their key. Name a party with data = false. "
    "Nothing was compared."
)


class PseudonymJoin:
    """One party's part in comparing the owners' identifiers, once.

    Privacy:
        Reveals: to every owner which of its records are common to all, or to everybody whether any person is at two
            owners; to the helper how many pseudonyms every owner sends, and for each of them which owners do.
        Assumes: the helper colludes with no owner. With the key it finds out by trial who is at which owner.
    """

    def __init__(self, messenger: Messenger, owners: Sequence[str], helper: str, draw: Draw = os.urandom) -> None:
        if helper in owners:
            raise EngineError(OWNER_COMPARES)
        self._messenger, self._owners, self._helper = messenger, tuple(owners), helper
        self._party, self._draw = messenger.party, draw

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        if self._party == self._helper:
            lists = self._collect()
            shared = lists[0]
            for other in lists[1:]:
                shared = np.intersect1d(shared, other, assume_unique=True)
            for owner, own in zip(self._owners, lists, strict=True):
                places = np.searchsorted(own, shared).astype(POSITION)
                send_list(self._messenger, owner, COMMON_PLACES, places.tobytes())
        if self._party not in self._owners:
            return np.empty(0, dtype=np.int64)
        order, n = self._send(identifiers, 0)
        content = receive_list(self._messenger, self._helper, COMMON_PLACES)
        places = np.frombuffer(content, dtype=POSITION)
        is_there = (places >= 0) & (places < n)
        if not is_there.all() or (np.diff(places) <= 0).any():
            raise ProgramMismatchError(f"Party '{self._helper}' named records that there are not.")
        return order[places].astype(np.int64)

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        if padded_to and len(identifiers) > padded_to:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        if self._party == self._helper:
            answer = b"\1" if have_repeated(np.concatenate(self._collect())) else b"\0"
            for party in self._messenger.parties:
                if party != self._party:
                    self._messenger.send(party, ANY_SHARED, answer)
            return answer == b"\1"
        if self._party in self._owners:
            self._send(identifiers, max(0, padded_to - len(identifiers)))
        return self._messenger.receive(self._helper, ANY_SHARED) != b"\0"

    def _send(self, identifiers: Sequence[str], made_up: int) -> tuple[IntArray, int]:
        """Send this owner's pseudonyms in their own order; return that order and how many they are."""
        pseudonyms = pseudonyms_of(
            identifiers, len(identifiers), agree_on_key(self._messenger, self._owners, self._draw)
        )
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        pseudonyms = np.concatenate([pseudonyms, made_up_pseudonyms(made_up)])
        order = np.argsort(pseudonyms)
        send_list(self._messenger, self._helper, PSEUDONYMS, pseudonyms[order].tobytes())
        return order, len(pseudonyms)

    def _collect(self) -> list[Pseudonyms]:
        """Every owner's pseudonyms, ascending."""
        lists = []
        for owner in self._owners:
            content = receive_list(self._messenger, owner, PSEUDONYMS)
            pseudonyms = from_bytes(content)
            if have_repeated(pseudonyms):
                raise ProgramMismatchError(f"Party '{owner}' sent no list of pseudonyms. Nothing was compared.")
            lists.append(np.sort(pseudonyms))
        return lists
