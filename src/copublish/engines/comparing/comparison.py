"""Comparing people by messages: by a helper if the agreement names one, else by the owners themselves.

Points P stand for identifiers, and every owner has a secret factor (`curve.py`). A helper gets pseudonyms
(`pseudonyms.py`). Owners by themselves find the records that all of them have by `PaddedChain`, from one owner to the
next. Owners of whole rows find out by `RoundsOfLists` whether any two of them list the same person. Two owners that do
not tell each other whom they list put their people into rows by `TwoOwnersJoin` (`hidden_join.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import ANSWERED, ANY_SHARED, ASKED, COMMON, COMPLETE, PADDED, PASSED, ROUND
from copublish.engines.comparing.curve import (
    Draw,
    Factor,
    Points,
    from_bytes,
    made_up_points,
    multiples_of,
    pass_on_list,
    receive_list,
    send_list,
)
from copublish.engines.comparing.hidden_join import TwoOwnersJoin
from copublish.engines.comparing.pseudonyms import (
    PseudonymJoin,
    Pseudonyms,
    agree_on_key,
    ascending_points,
    have_repeated,
    is_ascending,
    multiplied,
    no_points,
    padded,
    pseudonyms_from_bytes,
    pseudonyms_of,
)
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.progress import Progress, no_progress
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
    """One owner's part in finding the records that all owners have, once: from one owner to the next.

    Owner k knows which of its records are common to the owners 1 to k; the first one's are all of its own. Owner k + 1
    finds which of its own are among them, by Diffie-Hellman: points P stand for identifiers, `a` is a secret factor of
    owner k and `b` one of owner k + 1. Lists of a link have one length.

        owner k + 1  sends  b P(y) for each of its identifiers y, in the order of what is sent
        owner k      sends  a (b P(y)) for each of them, in the order it got
        owner k      sends  a P(x) for each common x, and made-up points up to the length of its list, in order of bytes
        owner k + 1  finds  each y with a b P(y) among b (a P(x))

    The first two messages of all links do not wait for each other. The last owner tells all others which records are
    common to all, by digests under a key that owners alone have.

    Args:
        messenger: Its connections to all parties.
        owners: All owners, in the order of the chain.
        draw: Where its factors and made-up points come from.
        at_most: How many people an owner may list; any number, if nothing is given.

    Privacy:
        Reveals: to every owner which of its records are common to all; to one between the first and the last also
            which are common to those before it and itself; to neighbors how many records each has. Nothing else, to
            any number of owners that follow the protocol and put together what they know.
        Assumes: decisional Diffie-Hellman on P-256, and that BLAKE2b and SHA-256 are random functions. What is sent,
            and when, depends on nothing but lengths: every list of points is as long as its sender's own.
        Reference: Huberman, Franklin, Hogg, EC 1999, for one link; each owner's part of a link is simulated from what
            it learns in it, so links compose.
    """

    def __init__(
        self, messenger: Messenger, owners: Sequence[str], draw: Draw = os.urandom, *, at_most: int | None = None
    ) -> None:
        self._messenger, self._owners, self._draw, self._at_most = messenger, tuple(owners), draw, at_most
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
        """Mask of this owner's records, in the order it asked, that are common to it and all before it."""
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
        """The points that another owner sent, in the order of their bytes, times a factor of this one."""
        content = receive_list(self._messenger, sender, message)
        return multiplied(factor, ascending_points(content, sender, at_most=self._at_most), sender)

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


class RoundsOfLists:
    """One party's part in finding out whether any person is at two owners, once: every list goes to every owner.

    Every owner multiplies its own list by its secret factor, fills it up to a public length with made-up points, and
    passes it on in the order of bytes. The next owner multiplies it and passes it on in the same way. When every owner
    has had every list, points are the same exactly where people are, and the first owner looks.

    Args:
        messenger: Its connections to all parties.
        owners: All owners, in the order in which lists go round.
        draw: Where its factor and made-up points come from.

    Privacy:
        Reveals: the answer to all parties; if it is yes, to the first owner how many people any of the owners share,
            and to none who they are. Owners that collude, all but one of them even, learn no more than such numbers:
            an honest owner's factor hides its list, and with it the order in which it passes on the others'.
        Assumes: decisional Diffie-Hellman on P-256, and that BLAKE2b and SHA-256 are random functions. Every list has
            the public length, and what fills it up is made-up people, so that all takes the same time.
    """

    def __init__(self, messenger: Messenger, owners: Sequence[str], draw: Draw = os.urandom) -> None:
        self._messenger, self._owners, self._draw = messenger, tuple(owners), draw
        self._factor = Factor(draw)

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length.

        Raises:
            ProgramMismatchError: If an owner sent something that no owner sends.
        """
        first, party = self._owners[0], self._messenger.party
        if party not in self._owners:
            return self._messenger.receive(first, ANY_SHARED) != b"\0"
        if padded_to and len(identifiers) > padded_to:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        complete = self._pass_round(self._own_list(identifiers, padded_to), padded_to)
        if party != first:
            send_list(self._messenger, first, COMPLETE, complete.tobytes())
            return self._messenger.receive(first, ANY_SHARED) != b"\0"
        others = [
            ascending_points(receive_list(self._messenger, owner, COMPLETE), owner, length=padded_to)
            for owner in self._owners[1:]
        ]
        is_shared = have_repeated(np.concatenate([complete, *others]))
        for other in self._messenger.parties:
            if other != party:
                self._messenger.send(other, ANY_SHARED, b"\1" if is_shared else b"\0")
        return is_shared

    def _own_list(self, identifiers: Sequence[str], padded_to: int) -> Points:
        key = agree_on_key(self._messenger, self._owners, self._draw)
        length = max(padded_to, len(identifiers))
        made_up = padded(identifiers, length - len(identifiers), self._draw)
        (own,) = multiples_of(made_up, length, key, self._factor)
        if have_repeated(own):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        return np.sort(own)

    def _pass_round(self, points: Points, length: int) -> Points:
        """Pass on every list that comes, multiplied; return the one that all owners have had."""
        number = self._owners.index(self._messenger.party)
        before, after = self._owners[number - 1], self._owners[(number + 1) % len(self._owners)]
        for _ in self._owners[1:]:
            content = pass_on_list(self._messenger, after, before, ROUND, points.tobytes())
            points = np.sort(multiplied(self._factor, ascending_points(content, before, length=length), before))
        return points


class Comparison(Protocol):
    """One party's part in comparing the owners' identifiers."""

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        ...

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        ...

    def place(self, identifiers: Sequence[str], join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Rows for this party's people, the same row at every owner that lists a person."""
        ...


class AmongOwners:
    """Owners compare among themselves. Every comparison has factors of its own."""

    def __init__(self, messenger: Messenger, owners: Sequence[str], *, at_most: int | None = None) -> None:
        self._messenger, self._owners, self._at_most = messenger, tuple(owners), at_most

    def common(self, identifiers: Sequence[str]) -> IntArray:
        """The positions of the identifiers that all owners list, in an order that all of them share."""
        return PaddedChain(self._messenger, self._owners, at_most=self._at_most).common(identifiers)

    def any_shared(self, identifiers: Sequence[str], padded_to: int) -> bool:
        """Whether two owners list the same identifier. Lists are padded to a public length."""
        return RoundsOfLists(self._messenger, self._owners).any_shared(identifiers, padded_to)

    def place(self, identifiers: Sequence[str], join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Rows for this party's people, the same row at both owners if they list a person."""
        return TwoOwnersJoin(self._messenger, self._owners, join, progress=progress).place(identifiers)


def comparison_by(
    messenger: Messenger, owners: Sequence[str], helper: str | None, *, at_most: int | None = None
) -> Comparison:
    """The agreed way to compare people.

    Args:
        messenger: A party's connections to all others.
        owners: The parties that hold data, in agreed order.
        helper: The party without data that compares pseudonyms; none if owners compare among themselves.
        at_most: How many people an owner may list; any number, if nothing is given.
    """
    if helper is None:
        return AmongOwners(messenger, owners, at_most=at_most)
    return PseudonymJoin(messenger, owners, helper, at_most=at_most)


class ComparesByMessages:
    """Part of an engine: what makes it a `Comparer` wherever there are messengers.

    Attributes:
        comparison: How people are compared; whoever makes the engine says it, if they are.
    """

    comparison: Comparison | None = None

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own; none at a party without data."""
        return self._comparison().common(identifiers or [])

    def place(self, identifiers: Sequence[str] | None, join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Rows for this party's people, the same row at every owner that lists a person."""
        return self._comparison().place(identifiers or [], join, progress)

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """Whether any two owners list the same identifier."""
        return self._comparison().any_shared(identifiers, padded_to)

    def _comparison(self) -> Comparison:
        if self.comparison is None:
            raise EngineError("There is no agreed way to compare people. Nothing was compared.")
        return self.comparison
