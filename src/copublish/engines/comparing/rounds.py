"""Whether any two owners list the same person, without anybody else: every list goes to every owner.

Points stand for identifiers, and every owner has one secret factor. Each multiplies its own list, fills it up to a
public length with made-up points, and passes it on in the order of bytes. Whoever gets a list multiplies it and passes
it on in the same way. When every owner has had every list, points are the same exactly where people are, and the first
owner looks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from copublish.agreement.protocol.table import ANY_SHARED, COMPLETE, ROUND
from copublish.engines.comparing.curve import Draw, Factor, Points, made_up_points, multiples_of
from copublish.engines.comparing.lists import pass_on_list, receive_list, send_list
from copublish.engines.comparing.pseudonyms import agree_on_key, ascending_points, have_repeated, multiplied
from copublish.engines.messages import Messenger
from copublish.errors import EngineError


class RoundsOfLists:
    """One party's part in finding out whether any person is at two owners, once.

    Args:
        messenger: Its connections to all parties.
        owners: All owners, in the order in which lists go round.
        draw: Where its factor and made-up points come from.

    Privacy:
        Reveals: the answer to all parties; if it is yes, to the first owner how many people any of the owners share,
            and to none who they are. Owners that collude, all but one of them even, learn no more than such numbers:
            an honest owner's factor hides its list, and with it the order in which it passes on the others'.
        Assumes: decisional Diffie-Hellman on P-256, and that BLAKE2b and SHA-256 are random functions. Every list has
            the public length.
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
        (own,) = multiples_of(identifiers, len(identifiers), key, self._factor)
        if have_repeated(own):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        return np.sort(np.concatenate([own, made_up_points(max(0, padded_to - len(own)), self._draw)]))

    def _pass_round(self, points: Points, length: int) -> Points:
        """Pass on every list that comes, multiplied; return the one that all owners have had."""
        number = self._owners.index(self._messenger.party)
        before, after = self._owners[number - 1], self._owners[(number + 1) % len(self._owners)]
        for _ in self._owners[1:]:
            content = pass_on_list(self._messenger, after, before, ROUND, points.tobytes())
            points = np.sort(multiplied(self._factor, ascending_points(content, before, length=length), before))
        return points
