"""Joins that hide membership, between parties in threads, and what their placements have to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from copublish.engines.comparing.comparison import comparison_by
from copublish.engines.comparing.hidden_join import TwoOwnersJoin
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from support.messages import Post, QueueMessenger, all_of


@dataclass(frozen=True)
class FixedNoise(HiddenSize):
    """A law of which a test knows the draw."""

    drawn: int = 0

    def draw(self, draw: Callable[[int], bytes]) -> int:
        return self.drawn


SMALL = HiddenSize(Fraction(1), Fraction(1, 20))
"""Pools of few entries, so that lists are short."""

Lists = dict[str, list[str]]


def join_of(lists: Mapping[str, list[str]], *, room: int = 0, size: HiddenSize | None = SMALL) -> HiddenJoin:
    """A join whose public lengths leave some room."""
    return HiddenJoin({owner: max(1, len(own)) + room for owner, own in lists.items()}, size)


def outcomes_of(
    lists: Lists,
    join: HiddenJoin,
    *,
    helper: str | None = None,
    idle: tuple[str, ...] = (),
    post: Post | None = None,
    players: Mapping[str, Callable[[QueueMessenger], Any]] | None = None,
) -> dict[str, Any]:
    """How placing people ended at each party.

    Args:
        lists: Each owner's people.
        join: What all know.
        helper: The party without data that puts people into rows, if one does.
        idle: Other parties without data.
        post: Carries the messages.
        players: What some parties run in the place of the released code.
    """
    owners = tuple(lists)

    def one(messenger: QueueMessenger) -> Any:
        if players and messenger.party in players:
            return players[messenger.party](messenger)
        return comparison_by(messenger, owners, helper).place(lists.get(messenger.party, []), join)

    return (post or Post((*owners, *((helper,) if helper else ()), *idle))).run(one)


def placed(lists: Lists, join: HiddenJoin, **others: Any) -> dict[str, Placement]:
    """The placements, after checking what holds for all of them."""
    found: dict[str, Placement] = all_of(outcomes_of(lists, join, **others))
    check_placements(lists, found)
    return found


def check_placements(lists: Mapping[str, list[str]], found: Mapping[str, Placement]) -> None:
    """Fail unless each person has one row of its own, the same at every owner, in a table that all know."""
    n_rows = next(iter(found.values())).n_rows
    assert all(placement.n_rows == n_rows for placement in found.values())
    row_of: dict[str, int] = {}
    for party, placement in found.items():
        assert len(placement.rows) == len(lists.get(party, []))
        for name, row in zip(lists.get(party, []), placement.rows.tolist(), strict=True):
            assert row_of.setdefault(name, row) == row
    assert len(set(row_of.values())) == len(row_of) and all(0 <= row < n_rows for row in row_of.values())


def played_by(kind: type[TwoOwnersJoin], lists: Lists, join: HiddenJoin) -> Callable[[QueueMessenger], Any]:
    """An owner that runs other code than the released one."""
    return lambda messenger: kind(messenger, tuple(lists), join).place(lists[messenger.party])


def drawing(seed: int) -> Callable[[int], bytes]:
    """Bytes with a seed, in the place of the system's."""
    return np.random.default_rng(seed).bytes
