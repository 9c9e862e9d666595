"""Rows for the people of two owners, so that neither learns which of its people the other one lists.

Every entry of either list has a row, and both owners compute the same one for a person that both list. This is
Private-ID (Buddhavarapu and others, eprint 2020/599) on lists that are padded to a public length. Pools of entries that
both know hide the number of common people (`kernel/noise/hidden_size.py`).

Points P stand for entries. The curve's order is prime and a point travels as its x coordinate (`curve.py`). The point
at infinity has none, so every list that is taken holds points that generate the whole curve: none is of small order.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import numpy as np

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import (
    HIDDEN_ASKED,
    HIDDEN_BOTH,
    HIDDEN_LIST,
    HIDDEN_NAMES,
    HIDDEN_TOLD,
    PASSED,
    UNION_DIGEST,
    UNION_ROWS,
)
from copublish.engines.comparing.curve import (
    Draw,
    Factor,
    Points,
    are_on_the_curve,
    digests_of,
    from_bytes,
    pass_on_list,
)
from copublish.engines.comparing.multiplying import Multiplier
from copublish.engines.comparing.pseudonyms import have_repeated, is_ascending, no_points, padded
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, InvalidInputsError, ProgramMismatchError
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.progress import Progress, no_progress
from copublish.types import IntArray

PEOPLE, POOLS = b"copublish: people", (b"copublish: pool of the first", b"copublish: pool of the second")
"""Keys of digests that nobody has to hide: they keep people, and the entries of each pool, apart."""

_LISTS = 5
"""Lists that each owner sends."""


class TwoOwnersJoin:
    """One party's part in putting two owners' people into rows, once.

    An owner has secret factors a, c and r, which nobody else learns and which are used once; the other one has b, d and
    s in their place. For entries x of the one and y of the other:

        1  it sends  a P(x), sorted
        2  it sends  ab P(y), sorted: which of them are whose, the other one cannot tell
           and       abc P(y), in the order in which it got b P(y)
        3  it takes  c (abd P(x)): the names of its own entries
        4  it finds  how many ab P(x) and ab P(y) are the same, and which y, in an order that means nothing to it,
                     the other one lists alone
           it sends  r (abc P(y)) of these, sorted
           it sends  c (s abd P(x)), sorted: what the other one has asked for, with this owner's factor
           it takes  r from d (r abc P(y)): the names of the entries that the other one lists alone
        5  it sorts  all names: the rank is the row; and both compare a digest of all of them

    To sort is to shuffle: points under a factor that the receiver does not know are in an order that means nothing to
    it. Nobody can choose another one: a list that is not sorted is refused.

    Args:
        messenger: This party's connections to all parties.
        owners: The two owners.
        join: What all parties know of the join; it has a law of noise.
        draw: Source of all factors, made-up entries and noise.
        progress: Called with the number of entries that are multiplied.

    Privacy:
        Reveals: to each owner the number of common entries, which is the number of common people, plus its own noise,
            plus the other's; to a party without data the number of rows, with the noise of both. Nothing else: the view
            of an owner is made by a simulator from its list, the public lengths and that number.
        Guarantee: that of `join.size` for the number. An owner's list may name anybody.
        Assumes: decisional Diffie-Hellman on P-256; BLAKE2b and SHA-256 are random functions; the other owner runs the
            released code. Code that leaves out its own pool learns the number without this owner's noise; code that
            gives each entry a factor of its own learns which of the people it lists this owner has.
        Time: what is sent, and when, is a function of the public lengths and the noisy number; but for the time before
            the first list is sent, which differs by microseconds from one person to another and a made-up one.
    """

    def __init__(
        self,
        messenger: Messenger,
        owners: Sequence[str],
        join: HiddenJoin,
        draw: Draw = os.urandom,
        progress: Progress = no_progress,
    ) -> None:
        self._messenger, self._owners, self._join = messenger, tuple(owners), join
        self._draw, self._progress = draw, progress
        self._a, self._c, self._r = Factor(draw), Factor(draw), Factor(draw)

    @property
    def _size(self) -> HiddenSize:
        if self._join.size is None or len(self._owners) != 2:
            raise EngineError("Two owners hide membership with noise on its size. Nothing was compared.")
        return self._join.size

    @property
    def _peer(self) -> str:
        return self._owners[1 - self._number]

    @property
    def _number(self) -> int:
        return self._owners.index(self._messenger.party)

    def length_of(self, owner: str) -> int:
        """The public length of an owner's list, pool entries included."""
        return self._join.at_most[owner] + 2 * self._size.pool

    def place(self, identifiers: Sequence[str]) -> Placement:
        """Rows for this party's people; none at a party without data.

        Raises:
            InvalidInputsError: If the other owner has other rows: it deviated, since this one did not.
            ProgramMismatchError: If it sent something that no owner sends.
        """
        if self._messenger.party not in self._owners:
            return self._hear_rows()
        entries = self._entries(identifiers)
        n_own, n_theirs = len(entries), self.length_of(self._peer)
        with Multiplier(max(n_own, n_theirs), self._progress, 3 * n_own + 4 * n_theirs) as by:
            own_a = by.times_points_of(self._a, entries)  # finished before its first byte is sent
            if have_repeated(own_a):
                raise EngineError("An identifier is listed twice. Nothing was compared.")
            order = order_of(own_a)
            their_b = self._exchange(HIDDEN_LIST, own_a[order], n_theirs)
            their_ab = self._multiplied(by, self._a, their_b)
            their_abc = self._multiplied(by, self._c, their_ab)
            own_ab = self._exchange(HIDDEN_BOTH, shuffled(their_ab), n_own)
            if not are_on_the_curve(own_ab):
                raise no_points(self._peer)
            own_abd = self._exchange(HIDDEN_NAMES, their_abc, n_own, is_sorted=False)
            names = np.empty_like(own_a)
            names[order] = self._multiplied(by, self._c, own_abd)
            alone_abc = their_abc[~np.isin(their_ab, own_ab)]
            n_common = n_theirs - len(alone_abc)
            alone_abcr = shuffled(self._multiplied(by, self._r, alone_abc))
            requested = self._exchange(HIDDEN_ASKED, alone_abcr, n_own - n_common)
            answer = shuffled(self._multiplied(by, self._c, requested))
            alone_abcdr = self._exchange(HIDDEN_TOLD, answer, len(alone_abc))
            other_names = self._multiplied(by, self._r.inverse(), alone_abcdr)
        union = np.sort(np.concatenate([names, other_names]))
        self._agree_on(union)
        return Placement(np.searchsorted(union, names[: len(identifiers)]).astype(np.int64), len(union))

    def _entries(self, identifiers: Sequence[str]) -> Points:
        """Digests of this owner's people, of made-up ones up to the public length, and of entries of both pools.

        Privacy:
            Draws: how many entries of the other owner's pool are listed; that many made-up ones fewer, so that the
                length is public. All are digested, and later multiplied, alike.
        """
        pool, n_people = self._size.pool, len(identifiers)
        at_most = self._join.at_most[self._messenger.party]
        if n_people > at_most:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        noise = self._size.draw(self._draw)
        made_up = at_most - n_people + pool - noise
        labels = [str(number) for number in range(pool)]
        own_pool, other_pool = POOLS[self._number], POOLS[1 - self._number]
        return np.concatenate(
            [
                digests_of(padded(identifiers, made_up, self._draw), n_people + made_up, PEOPLE),
                digests_of(labels, pool, own_pool),
                digests_of(labels[:noise], noise, other_pool),
            ]
        )

    def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
        """Send the other owner a list and return the one it sends in the same step, of a length that follows.

        Raises:
            ProgramMismatchError: If that has another length or order, or a point twice.
        """
        received = from_bytes(pass_on_list(self._messenger, self._peer, self._peer, message, points.tobytes()))
        if len(received) != length or not is_ascending(received if is_sorted else np.sort(received)):
            raise no_points(self._peer)
        for party in self._parties_without_data():
            self._messenger.send(party, PASSED, b"")  # so that nobody takes long lists for a broken party
        return received

    def _multiplied(self, by: Multiplier, factor: Factor, points: Points) -> Points:
        """Points that come from the other owner times a factor of this one.

        Raises:
            ProgramMismatchError: If one of them is not on the curve.
        """
        try:
            return by.times(factor, points)
        except ValueError:
            raise no_points(self._peer) from None

    def _agree_on(self, union: Points) -> None:
        """Raise unless the other owner has the same rows, then tell the parties without data how many they are.

        Digests of the two owners differ, so that nobody can send back what it got.

        Raises:
            InvalidInputsError: Naming the other owner.
        """
        own, theirs = (hashlib.sha256(bytes([n]) + union.tobytes()).digest() for n in (self._number, 1 - self._number))
        self._messenger.send(self._peer, UNION_DIGEST, own)
        if self._messenger.receive(self._peer, UNION_DIGEST) != theirs or have_repeated(union):
            raise InvalidInputsError(self._peer)
        for party in self._parties_without_data():
            self._messenger.send(party, UNION_ROWS, len(union).to_bytes(8, "big"))

    def _hear_rows(self) -> Placement:
        """The number of rows, from both owners: this party holds no data.

        Raises:
            ProgramMismatchError: If they differ.
        """
        for _ in range(_LISTS):
            for owner in self._owners:
                self._messenger.receive(owner, PASSED)
        row_counts = {self._messenger.receive(owner, UNION_ROWS) for owner in self._owners}
        n_rows = int.from_bytes(min(row_counts), "big")
        lengths = [self.length_of(owner) for owner in self._owners]
        if len(row_counts) != 1 or not max(lengths) <= n_rows <= sum(lengths):
            raise ProgramMismatchError("The owners have different numbers of rows. Nothing is published.")
        return Placement(np.empty(0, dtype=np.int64), n_rows)

    def _parties_without_data(self) -> list[str]:
        return [party for party in self._messenger.parties if party not in self._owners]


def order_of(points: Points) -> IntArray:
    """The places of points in the order of their bytes."""
    return np.argsort(points)


def shuffled(points: Points) -> Points:
    """Points in an order that says nothing of the one they had."""
    return points[order_of(points)]
