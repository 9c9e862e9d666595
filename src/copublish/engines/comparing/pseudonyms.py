"""Pseudonyms of identifiers under a fresh joint key, and comparing people with them by a helper that has no data.

Pseudonyms are keyed digests. The owners make the key afresh for every comparison and keep it in memory only, so a file
that outlives a run (a power cut) names nobody. The digests hide nothing from an owner, who has the key. They mean
nothing to the helper: it tells each owner where the common ones are in the list which that owner sent. Lists are sent
in the order of the digests, a new one for every key.

Lists of points and digests are checked when they arrive. A party that follows the protocol sends nothing that is
refused, and no check depends on anybody's data: made-up points pass like those of people.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import xor

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.protocol.table import ANY_SHARED, COMMON_PLACES, JOINT_KEY, PSEUDONYMS, ROWS_OF_PEOPLE
from copublish.engines.comparing.curve import Draw, Factor, Points, from_bytes, receive_list, send_list
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.progress import Progress, no_progress
from copublish.types import IntArray

KEY_BYTES = 32

PSEUDONYM_BYTES = 16
"""Two of N different identifiers collide with probability below N^2 / 2^129: for two lists of 2^40 that is 2^-47."""

Pseudonyms = NDArray[np.bytes_]
"""Of dtype S16, shape (n,). NumPy fills such strings up with zeros, so a digest that ends in zeros loses nothing."""

DTYPE = f"S{PSEUDONYM_BYTES}"


def part_of_key() -> str:
    """Part of one party in the key."""
    return os.urandom(KEY_BYTES).hex()


def joint_key(parts: Iterable[str]) -> bytes:
    """The XOR of every party's part."""
    return reduce(xor, (int(part, 16) for part in parts)).to_bytes(KEY_BYTES, "big")


def pseudonyms_of(identifiers: Iterable[str], how_many: int, key: bytes) -> Pseudonyms:
    """A keyed digest of every identifier."""
    keyed = hashlib.blake2b(key=key, digest_size=PSEUDONYM_BYTES)

    def digest(identifier: str) -> bytes:
        hashed = keyed.copy()
        hashed.update(identifier.encode(errors="surrogatepass"))
        return hashed.digest()

    return np.fromiter(map(digest, identifiers), dtype=DTYPE, count=how_many)


def padded(identifiers: Iterable[str], made_up: int, draw: Draw) -> Iterator[str]:
    """Identifiers, then so many made-up ones that nobody has: whoever works on all of them does the same for each.

    The made-up ones are one secret with a number behind it. Random bytes for each would take longer than a person does,
    and what is done with the list would then take the longer, the fewer people are on it.

    Privacy:
        Reveals: how long it takes tells the length of all, and not how many are made up.
    """
    secret = draw(KEY_BYTES).hex()
    yield from identifiers
    yield from (f"{secret}{number}" for number in range(made_up))


def made_up_pseudonyms(how_many: int) -> Pseudonyms:
    """Pseudonyms that nobody shares, to fill up a list."""
    return pseudonyms_from_bytes(os.urandom(how_many * PSEUDONYM_BYTES))


def pseudonyms_from_bytes(digests: bytes) -> Pseudonyms:
    """Digests that stand one after the other."""
    return np.frombuffer(digests, dtype=DTYPE)


def have_repeated(pseudonyms: Pseudonyms) -> bool:
    """Whether a pseudonym is listed twice."""
    ordered = np.sort(pseudonyms)
    return bool((ordered[1:] == ordered[:-1]).any())


def is_ascending(digests: NDArray[np.bytes_]) -> bool:
    """Whether digests, or points, stand in the order of their bytes, each of them once."""
    return not bool(np.less_equal(digests[1:], digests[:-1]).any())


def positions_of(common: Pseudonyms, own: Pseudonyms) -> IntArray:
    """Where the common ones are among one's own, by ascending pseudonym: the parties share that order.

    It is a new one every time, as the key is, and tells nothing.
    """
    order = np.argsort(own)
    places = np.searchsorted(own, np.sort(common), sorter=order)
    return np.asarray(order[places], dtype=np.int64)


def ascending_points(content: bytes, sender: str, *, length: int = 0, at_most: int | None = None) -> Points:
    """Points that another owner sent in the order of their bytes, each once.

    Args:
        content: What was sent.
        sender: The owner.
        length: How many they have to be, if the number is public.
        at_most: How many they may be; any number, if nothing is given.

    Raises:
        ProgramMismatchError: If it is something else.
    """
    points = from_bytes(content)
    refuse_more_than(at_most, len(points), sender)
    if (length and len(points) != length) or not is_ascending(points):
        raise no_points(sender)
    return points


def refuse_more_than(at_most: int | None, listed: int, sender: str) -> None:
    """Raise if another owner lists more people than may be compared; its own software refuses that, too.

    Raises:
        ProgramMismatchError: Naming it.
    """
    if at_most is not None and listed > at_most:
        raise ProgramMismatchError(
            f"Party '{sender}' lists more than {at_most:,} people, twice records.expected. Nothing was compared with "
            "them."
        )


def multiplied(factor: Factor, points: Points, sender: str) -> Points:
    """Another owner's points times a factor of one's own, in the same order.

    Raises:
        ProgramMismatchError: If one of them is not on the curve.
    """
    try:
        return factor.times(points)
    except ValueError:
        raise no_points(sender) from None


def no_points(sender: str) -> ProgramMismatchError:
    """The error for a list that is none."""
    return ProgramMismatchError(f"Party '{sender}' sent no list of points. Nothing was compared.")


def no_pseudonyms(sender: str) -> ProgramMismatchError:
    """The error for a list of other things, or of another length."""
    return ProgramMismatchError(f"Party '{sender}' sent no list of pseudonyms. Nothing was compared.")


def agree_on_key(messenger: Messenger, owners: Sequence[str], draw: Draw) -> bytes:
    """The XOR of a part from each owner.

    Raises:
        ProgramMismatchError: If an owner sent something else.
    """
    own = draw(KEY_BYTES).hex()
    others = [owner for owner in owners if owner != messenger.party]
    for owner in others:
        messenger.send(owner, JOINT_KEY, own.encode())
    return joint_key([own, *(messenger.receive(owner, JOINT_KEY).decode() for owner in others)])


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

    def __init__(
        self,
        messenger: Messenger,
        owners: Sequence[str],
        helper: str,
        draw: Draw = os.urandom,
        *,
        at_most: int | None = None,
    ) -> None:
        if helper in owners:
            raise EngineError(OWNER_COMPARES)
        self._at_most = at_most
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

    def place(self, identifiers: Sequence[str], join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Random rows for this party's people in a table of public length, drawn by the helper.

        Raises:
            ProgramMismatchError: If an owner or the helper sent something that neither sends.

        Privacy:
            Reveals: nothing to owners: an owner gets distinct random rows for a list of public length. To the helper,
                for each pseudonym, which owners list it; and where it lies in the table.
            Assumes: the helper colludes with no owner, and gives a person one row at all owners: epsilon rests on that.
        """
        n_rows = sum(join.at_most.values())
        nobody = Placement(np.empty(0, dtype=np.int64), n_rows)
        if self._party == self._helper:
            self._give_rows(join, n_rows)
        if self._party not in self._owners:
            return nobody
        length = join.at_most[self._party]
        if len(identifiers) > length:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        order, _ = self._send(identifiers, length - len(identifiers))
        given = np.frombuffer(receive_list(self._messenger, self._helper, ROWS_OF_PEOPLE), dtype=POSITION)
        is_there = (given >= 0) & (given < n_rows)
        if len(given) != length or not is_there.all() or len(np.unique(given)) != length:
            raise ProgramMismatchError(
                f"Party '{self._helper}' sent no rows for each of the people. Nothing is opened."
            )
        rows = np.empty(length, dtype=np.int64)
        rows[order] = given
        return Placement(rows[: len(identifiers)], n_rows)

    def _give_rows(self, join: HiddenJoin, n_rows: int) -> None:
        """Draw a row for every pseudonym, the same for all owners, and tell each owner those of its own."""
        lists = self._collect()
        for owner, own in zip(self._owners, lists, strict=True):
            if len(own) != join.at_most[owner]:
                raise no_pseudonyms(owner)
        union = np.unique(np.concatenate(lists))
        rows = np.argsort(np.frombuffer(self._draw(8 * n_rows), dtype=np.uint64)).astype(POSITION)
        for owner, own in zip(self._owners, lists, strict=True):
            send_list(self._messenger, owner, ROWS_OF_PEOPLE, rows[np.searchsorted(union, own)].tobytes())

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
        key = agree_on_key(self._messenger, self._owners, self._draw)
        pseudonyms = pseudonyms_of(padded(identifiers, made_up, self._draw), len(identifiers) + made_up, key)
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        order = np.argsort(pseudonyms)
        send_list(self._messenger, self._helper, PSEUDONYMS, pseudonyms[order].tobytes())
        return order, len(pseudonyms)

    def _collect(self) -> list[Pseudonyms]:
        """Every owner's pseudonyms, ascending."""
        lists = []
        for owner in self._owners:
            content = receive_list(self._messenger, owner, PSEUDONYMS)
            pseudonyms = pseudonyms_from_bytes(content)
            refuse_more_than(self._at_most, len(pseudonyms), owner)
            if have_repeated(pseudonyms):
                raise no_pseudonyms(owner)
            lists.append(np.sort(pseudonyms))
        return lists
