"""Finding the records that all owners have, without anybody else: from one owner to the next, in lists of one length.

Owner k knows which of its records are common to the owners 1 to k; the first one's are all of its own. Owner k + 1
finds which of its own are among them, by Diffie-Hellman: points P stand for identifiers, `a` is a secret factor of
owner k and `b` one of owner k + 1.

    owner k + 1  sends  b P(y) for each of its identifiers y, in the order of what is sent
    owner k      sends  a (b P(y)) for each of them, in the order it got
    owner k      sends  a P(x) for each common x, and made-up points up to the length of its list, in order of bytes
    owner k + 1  finds  each y with a b P(y) among b (a P(x))

The first two messages of all links do not wait for each other. The last owner tells all others which records are
common to all, by digests under a key that owners alone have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import ANSWERED, ASKED, COMMON, PADDED, PASSED
from copublish.engines.comparing.curve import Draw, Factor, Points, from_bytes, made_up_points, multiples_of
from copublish.engines.comparing.lists import receive_list, send_list
from copublish.engines.comparing.pseudonyms import (
    Pseudonyms,
    agree_on_key,
    ascending_points,
    have_repeated,
    is_ascending,
    multiplied,
    no_points,
    pseudonyms_from_bytes,
    pseudonyms_of,
)
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError
from copublish.types import BoolArray, IntArray


@dataclass(frozen=True)
class _Own:
    """One owner's list, as it goes into its links.

    Attributes:
        names: Digests that owners alone can compute.
        asked: Each identifier's point times the factor for the owner before; nothing at the first one.
        sent: The same times the factor for the owner after; nothing at the last one.
        padding: As many made-up points, at owners that have one before and one after.
    """

    names: Pseudonyms
    asked: Points
    sent: Points
    padding: Points


class PaddedChain:
    """One owner's part in finding the common records, once.

    Args:
        messenger: Its connections to all parties.
        owners: All owners, in the order of the chain.
        draw: Where its factors and made-up points come from.

    Privacy:
        Reveals: to every owner which of its records are common to all; to one between the first and the last also
            which are common to those before it and itself; to neighbors how many records each has. Nothing else, to
            any number of owners that follow the protocol and put together what they know.
        Assumes: decisional Diffie-Hellman on P-256, and that BLAKE2b and SHA-256 are random functions. What is sent,
            and when, depends on nothing but lengths: every list of points is as long as its sender's own.
        Reference: Huberman, Franklin, Hogg, EC 1999, for one link; each owner's part of a link is simulated from what
            it learns in it, so links compose.
    """

    def __init__(self, messenger: Messenger, owners: Sequence[str], draw: Draw = os.urandom) -> None:
        self._messenger, self._owners, self._draw = messenger, tuple(owners), draw
        self._before, self._after = Factor(draw), Factor(draw)

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share.

        Raises:
            ProgramMismatchError: If an owner sent something that no owner sends.
        """
        if self._messenger.party not in self._owners:
            self._wait_for(self._owners[:-1])
            return np.empty(0, dtype=np.int64)
        number = self._owners.index(self._messenger.party)
        before = self._owners[number - 1] if number > 0 else None
        after = self._owners[number + 1] if number + 1 < len(self._owners) else None
        own = self._prepare(identifiers, before, after)
        order = np.argsort(own.asked)
        if before is not None:
            send_list(self._messenger, before, ASKED, own.asked[order].tobytes())
        if after is not None:
            send_list(self._messenger, after, ANSWERED, self._multiply(self._after, after, ASKED).tobytes())
        is_common: BoolArray = np.ones(len(own.names), dtype=np.bool_)
        if before is not None:
            is_common[order] = self._find(before, len(order))
        if after is None:
            return self._tell(own.names, is_common)
        send_list(self._messenger, after, PADDED, self._padded(own, is_common).tobytes())
        for party in self._messenger.parties:
            if party not in (self._messenger.party, after):
                self._messenger.send(party, PASSED, b"")  # so that nobody takes a long chain for a broken one
        self._wait_for(self._owners[number + 1 : -1])
        return self._hear(own.names, is_common)

    def _prepare(self, identifiers: Sequence[str], before: str | None, after: str | None) -> _Own:
        """Everything that does not depend on other lists, so that it takes no time later, when it could tell."""
        key, n = agree_on_key(self._messenger, self._owners, self._draw), len(identifiers)
        names = pseudonyms_of(identifiers, n, key)
        if have_repeated(names):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        factors = [factor for factor, owner in ((self._before, before), (self._after, after)) if owner is not None]
        multiples = multiples_of(identifiers, n, key, *factors)
        nothing = from_bytes(b"")
        asked = multiples[0] if before is not None else nothing
        sent = multiples[-1] if after is not None else nothing
        padding = made_up_points(n, self._draw) if before is not None and after is not None else nothing
        return _Own(names, asked, sent, padding)

    def _find(self, before: str, n: int) -> BoolArray:
        """Which of this owner's records, in the order it asked, are common to it and all before it."""
        answered = from_bytes(receive_list(self._messenger, before, ANSWERED))
        if len(answered) != n or have_repeated(answered):
            raise no_points(before)
        self._wait_for(self._owners[: self._owners.index(before)])
        return np.isin(answered, self._multiply(self._before, before, PADDED))

    def _wait_for(self, owners: Sequence[str]) -> None:
        """Wait until these have passed on their lists, one after the other: no wait is longer than one link takes."""
        for owner in owners:
            self._messenger.receive(owner, PASSED)

    def _padded(self, own: _Own, is_common: BoolArray) -> Points:
        """The common records' points and made-up ones, together as many as this owner has records.

        The order of bytes is that of random points, so it does not tell which are made up.
        """
        return np.sort(np.where(is_common, own.sent, own.padding) if len(own.padding) else own.sent)

    def _multiply(self, factor: Factor, sender: str, message: Letter) -> Points:
        """What another owner sent in the order of its bytes, times a factor of this one."""
        return multiplied(factor, ascending_points(receive_list(self._messenger, sender, message), sender), sender)

    def _tell(self, names: Pseudonyms, is_common: BoolArray) -> IntArray:
        """Tell the other owners which records are common to all, by name: this is the last owner."""
        places = np.flatnonzero(is_common)
        order = places[np.argsort(names[places])]
        for owner in self._owners[:-1]:
            send_list(self._messenger, owner, COMMON, names[order].tobytes())
        return order.astype(np.int64)

    def _hear(self, names: Pseudonyms, may_be: BoolArray) -> IntArray:
        """Where the records are that the last owner names: among those that this owner knows may be common."""
        last = self._owners[-1]
        content = receive_list(self._messenger, last, COMMON)
        told = pseudonyms_from_bytes(content)
        places = np.flatnonzero(may_be)
        ordered = places[np.argsort(names[places])]
        at = np.searchsorted(names[ordered], told)
        is_there = at < len(ordered)
        is_there[is_there] = names[ordered][at[is_there]] == told[is_there]
        if not is_there.all() or not is_ascending(told):
            raise ProgramMismatchError(f"Party '{last}' named records that there are not.")
        return ordered[at].astype(np.int64)
