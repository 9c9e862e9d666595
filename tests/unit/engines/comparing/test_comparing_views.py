"""What a party sees while people are compared follows from what its certificate says it learns: a simulator shows it.

A simulator plays all other parties to the real code of one. It knows what that party may learn and nothing else of the
others' lists; where they have people, it has random points. The real run and the simulated one must agree in senders,
topics and lengths, and in everything that can be recognized with the party's own factors; under the same coins also in
every byte that does not stand for hidden people. Points of hidden people look random by the decisional Diffie-Hellman
assumption, which no test can show. Variants that send too much are noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol import table
from copublish.agreement.protocol.message import Letter
from copublish.engines.comparing import curve
from copublish.engines.comparing.comparison import PaddedChain, RoundsOfLists
from copublish.engines.comparing.curve import Factor, from_bytes, made_up_points
from copublish.engines.comparing.pseudonyms import KEY_BYTES, PseudonymJoin, is_ascending, joint_key, pseudonyms_of
from copublish.errors import ProgramMismatchError
from support.messages import Post, all_of
from support.profiles import examples

KEY, ASKED, ANSWERED, PADDED, DONE, COMMON, PASSED_ON, COMPLETE, ANSWER = (
    entry.topic
    for entry in (
        *(table.JOINT_KEY, table.ASKED, table.ANSWERED, table.PADDED, table.PASSED, table.COMMON),
        *(table.ROUND, table.COMPLETE, table.ANY_SHARED),
    )
)

NAMES = ("o0", "o1", "o2", "o3", "o4")
Lists = dict[str, list[str]]
Message = tuple[str, str, bytes]
"""Sender, topic, content."""

lists_of_people = st.integers(2, 4).flatmap(
    lambda n: st.tuples(*[st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=7)] * n)
)
FEW = examples(12)


def drawing(what: object) -> Callable[[int], bytes]:
    """Bytes that follow from a name, in the place of the system's."""
    seed = int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8], "big")
    generator = np.random.default_rng(seed)
    return lambda n: generator.bytes(n)


def named(lists: Sequence[list[str]]) -> Lists:
    return dict(zip(NAMES, map(list, lists), strict=False))


def real_run(lists: Lists, job: Callable[[Any], Any], parties: tuple[str, ...] = ()) -> tuple[Post, dict[str, Any]]:
    post = Post(parties or tuple(lists))
    return post, all_of(post.run(job))


def view_of(post: Post, party: str) -> list[Message]:
    """What one party received, by sender: in which order messages of different senders come depends on threads."""
    found = [(sender, topic, content) for sender, to, topic, content in post.sent if to == party]
    return sorted(found, key=lambda message: message[0])  # stable: messages of one sender stay in order


def points(content: bytes) -> set[bytes]:
    return {content[start : start + 32] for start in range(0, len(content), 32)}


# --- The chain ----------------------------------------------------------------------------------------------------


@dataclass
class Learned:
    """All that an owner learns in the chain, as the certificate says it."""

    partial: set[str]  # of its people those whom it and all owners before it list
    final: set[str]  # those whom all list
    size_before: int
    size_after: int

    @staticmethod
    def by(lists: Lists, owner: str) -> Learned:
        owners = tuple(lists)
        number, sizes = owners.index(owner), [len(own) for own in lists.values()]
        return Learned(
            partial=set.intersection(*(set(lists[other]) for other in owners[: number + 1])),
            final=set.intersection(*map(set, lists.values())),
            size_before=sizes[number - 1] if number else 0,
            size_after=sizes[number + 1] if number + 1 < len(owners) else 0,
        )


@dataclass
class ChainSimulator:
    """All other owners, made up from what one of them learns. A messenger to the real code of that one.

    Args:
        party: The one.
        parties: All owners.
        own: Its own list.
        learned: What it learns.
        coins: Those of the owners that are played, by name.
    """

    party: str
    parties: tuple[str, ...]
    own: list[str]
    learned: Learned
    coins: Callable[[str], Callable[[int], bytes]]
    received: list[Message] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        number = self.parties.index(self.party)
        self.before = self.parties[number - 1] if number else ""
        draw = self.coins(self.before)
        Factor(draw)  # for the owner before that one, which comes first
        self.factor = Factor(draw)
        self.parts = {other: self.coins(other) for other in self.parties if other != self.party}
        for part in self.parts.values():
            part(2 * 40)  # their factors come before their parts of the key
        self.parts = {other: part(KEY_BYTES).hex() for other, part in self.parts.items()}

    def send(self, to: str, message: Letter, content: bytes) -> None:
        self.sent.append((to, message.topic, content))

    def receive(self, sender: str, message: Letter) -> bytes:
        content = self.made_up(sender, message.topic)
        self.received.append((sender, message.topic, content))
        return content

    def made_up(self, sender: str, topic: str) -> bytes:
        if topic == DONE:
            return b""
        if topic == KEY:
            return self.parts[sender].encode()
        if topic == ASKED:
            return np.sort(made_up_points(self.learned.size_after, drawing("hidden"))).tobytes()
        if topic == ANSWERED:
            return self.factor.times(from_bytes(self.of(ASKED))).tobytes()
        if topic == PADDED:
            people = sorted(self.learned.partial)
            (known,) = curve.multiples_of(people, len(people), self.key(), self.factor)
            hidden = made_up_points(self.learned.size_before - len(people), drawing("others"))
            return np.sort(np.concatenate([known, hidden])).tobytes()
        assert topic == COMMON
        return np.sort(pseudonyms_of(sorted(self.learned.final), len(self.learned.final), self.key())).tobytes()

    def of(self, topic: str) -> bytes:
        return next(content for _, said, content in self.sent if said == topic)

    def key(self) -> bytes:
        return joint_key([*self.parts.values(), self.of(KEY).decode()])


def chain_of(lists: Lists, kind: type[PaddedChain] = PaddedChain) -> Callable[[Any], Any]:
    return lambda messenger: kind(messenger, tuple(lists), drawing(messenger.party)).common(lists[messenger.party])


def recognized(view: Sequence[Message], own: list[str], owner: str, key: bytes) -> dict[str, set[str]]:
    """Which of its people an owner finds in each message, with all that it has: its factors, its list and the key."""
    draw = drawing(owner)
    before = Factor(draw)
    answered = [content for _, topic, content in view if topic == ANSWERED]
    found: dict[str, set[str]] = {}
    for _, topic, content in view:
        if topic == PADDED:
            (asked,) = curve.multiples_of(own, len(own), key, before)
            in_order = [own[place] for place in np.argsort(asked)]
            multiples = [answered[0][start : start + 32] for start in range(0, len(answered[0]), 32)]
            back = points(before.times(from_bytes(content)).tobytes())
            found[topic] = {name for name, point in zip(in_order, multiples, strict=True) if point in back}
        if topic == COMMON:
            names = pseudonyms_of(own, len(own), key).tobytes()
            told = {content[start : start + 16] for start in range(0, len(content), 16)}
            found[topic] = {name for n, name in enumerate(own) if names[16 * n : 16 * n + 16] in told}
            assert len(told) == len(found[topic])
    return found


def compare_with_simulation(lists: Lists, owner: str, kind: type[PaddedChain] = PaddedChain) -> None:
    """Assert that an owner's view follows from what it learns."""
    post, outcome = real_run(lists, chain_of(lists, kind))
    real, learned = view_of(post, owner), Learned.by(lists, owner)
    simulator = ChainSimulator(owner, tuple(lists), lists[owner], learned, drawing)
    simulated_outcome = chain_of(lists, PaddedChain)(simulator)
    simulated = sorted(simulator.received, key=lambda message: message[0])
    # Who sends what, in which order and how long it is.
    assert [(s, t, len(c)) for s, t, c in real] == [(s, t, len(c)) for s, t, c in simulated]
    # The party itself cannot tell: it does the same, and finds the same people.
    mine = [message for message in post.sent if message[0] == owner]
    assert [(to, topic, len(content)) for _, to, topic, content in mine] == [
        (to, topic, len(content)) for to, topic, content in simulator.sent
    ]
    assert outcome[owner].tolist() == simulated_outcome.tolist()
    key = simulator.key()
    assert recognized(real, lists[owner], owner, key) == recognized(simulated, lists[owner], owner, key)
    # Under the same coins whatever is not hidden is the same, byte for byte, and what is hidden occurs nowhere else.
    seen: set[bytes] = set()
    for (_, topic, content), (_, _, other) in zip(real, simulated, strict=True):
        if topic in (KEY, ANSWERED, DONE, COMMON):
            assert content == other, topic
            continue
        assert is_ascending(from_bytes(content))
        hidden = points(content) - points(other)
        if topic == PADDED:
            assert len(points(content) & points(other)) == len(learned.partial)
        assert not hidden & seen
        seen |= hidden


@FEW
@given(lists_of_people)
def test_every_owners_view_of_the_chain_follows_from_what_it_is_said_to_learn(lists):
    for owner in named(lists):
        compare_with_simulation(named(lists), owner)


LISTS = named([list("abcdef"), list("bcdefgh"), list("cdeh"), list("dexyz")])


class Unpadded(PaddedChain):
    """It sends common records alone."""

    def _padded(self, own: Any, is_common: Any) -> Any:
        return np.sort(own.sent[is_common])


class WholeList(PaddedChain):
    """It fills up its list with records that are not common."""

    def _padded(self, own: Any, is_common: Any) -> Any:
        return np.sort(own.sent)


class InOrder(PaddedChain):
    """It sends points in the order of its records."""

    def _padded(self, own: Any, is_common: Any) -> Any:
        return np.where(is_common, own.sent, own.padding) if len(own.padding) else own.sent


class OneFactor(PaddedChain):
    """It uses one factor for both neighbors."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._after = self._before


def test_a_chain_without_padding_or_with_the_whole_list_is_noticed():
    for owner in LISTS:
        compare_with_simulation(LISTS, owner)
    for kind in (Unpadded, WholeList):
        with pytest.raises(AssertionError):
            compare_with_simulation(LISTS, "o2", kind)


def test_a_chain_in_the_order_of_records_is_refused_by_the_next_owner():
    with pytest.raises(ProgramMismatchError, match="'o0' sent no list of points"):
        real_run(LISTS, chain_of(LISTS, InOrder))


@FEW
@given(lists_of_people, st.data())
def test_people_outside_what_an_owner_learns_can_be_others_without_its_noticing(lists, data):
    """All coins are the same; of the others' people those are replaced whom the owner is not said to learn about."""
    lists = named(lists)
    owner = data.draw(st.sampled_from(list(lists)))
    learned, number = Learned.by(lists, owner), list(lists).index(owner)

    def known(other: str) -> set[str]:
        return learned.partial if list(lists).index(other) < number else learned.final

    others = {
        other: [name if name in known(other) or other == owner else f"{other} {name}" for name in own]
        for other, own in lists.items()
    }
    assert Learned.by(others, owner) == learned
    one, other = (view_of(real_run(these, chain_of(these))[0], owner) for these in (lists, others))
    assert [(s, t, len(c)) for s, t, c in one] == [(s, t, len(c)) for s, t, c in other]
    for (_, topic, content), (_, _, instead) in zip(one, other, strict=True):
        if topic in (KEY, ANSWERED, DONE, COMMON):
            assert content == instead
        if topic == PADDED:
            assert len(points(content) & points(instead)) >= len(learned.partial)


def inverse(factor: Factor) -> Factor:
    undone = Factor.__new__(Factor)
    number = factor._key.private_numbers().private_value
    undone._key = curve.ec.derive_private_key(pow(number, -1, curve._ORDER), curve._CURVE)
    return undone


def coincidences(lists: Lists, coalition: tuple[str, ...], kind: type[PaddedChain]) -> int:
    """How many points of different links are the same to owners that put together what they have.

    They take off every factor that one of them has. In each link every factor is another one, so nothing may be left
    that is the same: what they learn is what each of them learns.
    """
    post, _ = real_run(lists, chain_of(lists, kind))
    owners = tuple(lists)
    factors = {}
    for owner in coalition:
        draw = drawing(owner)
        before = Factor(draw)
        factors[owner] = (before, before if kind is OneFactor else Factor(draw))
    by_link: dict[tuple[str, str], set[bytes]] = {}
    for sender, to, topic, content in post.sent:
        if sender in coalition or to not in coalition or topic not in (ASKED, ANSWERED, PADDED):
            continue
        link = (to, sender) if topic == ASKED else (sender, to)
        found = from_bytes(content)
        if topic == ANSWERED:  # by the factor of an honest owner before and of the one that asked
            found = inverse(factors[to][0]).times(found)
        by_link.setdefault(link, set()).update(points(found.tobytes()))
    assert all(link[0] in owners for link in by_link)
    return sum(len(one & other) for one, other in combinations(by_link.values(), 2))


@pytest.mark.parametrize("coalition", [two for n in (2, 3) for two in combinations(LISTS, n)])
def test_owners_that_collude_find_no_point_in_two_links(coalition):
    assert coincidences(LISTS, coalition, PaddedChain) == 0


def test_one_factor_for_two_links_would_show_to_both_neighbors_together():
    assert coincidences(LISTS, ("o0", "o2"), OneFactor) > 0


# --- Rounds of lists ------------------------------------------------------------------------------------------------

LENGTH = 9


def rounds_of(lists: Lists, kind: type[RoundsOfLists] = RoundsOfLists) -> Callable[[Any], Any]:
    def job(messenger: Any) -> bool:
        party = messenger.party
        return kind(messenger, tuple(lists), drawing(party)).any_shared(lists.get(party, []), LENGTH)

    return job


def shared_by(lists: Lists) -> list[tuple[str, ...]]:
    """For every person at several owners, at which: what the first owner learns the numbers of."""
    people = sorted(set().union(*map(set, lists.values())))
    who = (tuple(owner for owner, own in lists.items() if name in own) for name in people)
    return sorted(owners for owners in who if len(owners) > 1)


def pattern(complete: dict[str, set[bytes]]) -> list[tuple[str, ...]]:
    """For every point in several lists, in which."""
    every = set().union(*complete.values())
    who = (tuple(owner for owner, own in complete.items() if point in own) for point in every)
    return sorted(owners for owners in who if len(owners) > 1)


@FEW
@given(lists_of_people)
def test_an_owners_view_of_the_rounds_is_lists_of_random_points_and_the_answer(lists):
    lists = named(lists)
    owners, shared = tuple(lists), shared_by(named(lists.values()))
    post, found = real_run(lists, rounds_of(lists), (*owners, "idle"))
    assert set(found.values()) == {bool(shared)}
    assert view_of(post, "idle") == [(owners[0], ANSWER, b"\1" if shared else b"\0")]
    for number, owner in enumerate(owners):
        before, view = owners[number - 1], view_of(post, owner)
        passed = [content for sender, topic, content in view if topic == PASSED_ON]
        assert [sender for sender, topic, _ in view if topic == PASSED_ON] == [before] * (len(owners) - 1)
        complete = {sender: content for sender, topic, content in view if topic == COMPLETE}
        assert set(complete) == (set(owners[1:]) if number == 0 else set())
        assert {len(content) for content in (*passed, *complete.values())} == {32 * LENGTH}
        assert all(is_ascending(from_bytes(content)) for content in (*passed, *complete.values()))
        # Lists that are passed on have had different owners, so nothing in them is the same, whoever is in them.
        assert len(set().union(*map(points, passed))) == LENGTH * len(passed)
        if number == 0:
            last = points(np.sort(Factor(drawing(owner)).times(from_bytes(passed[-1]))).tobytes())
            whose = {owners[(owners.index(sender) + 1) % len(owners)]: points(c) for sender, c in complete.items()}
            assert pattern({owner: whose.get(owner, last) for owner in owners}) == shared


def test_rounds_of_lists_without_padding_are_refused_by_the_next_owner():
    class Unpadded(RoundsOfLists):
        def _own_list(self, identifiers: Sequence[str], padded_to: int) -> Any:
            return super()._own_list(identifiers, 0)

    with pytest.raises(ProgramMismatchError, match="sent no list of points"):
        real_run(LISTS, rounds_of(LISTS, Unpadded))


# --- The helper ------------------------------------------------------------------------------------------------------


@FEW
@given(lists_of_people)
def test_views_of_helper_and_owners_follow_from_the_pattern_of_pseudonyms_and_the_common_records(lists):
    lists = named(lists)
    owners = tuple(lists)
    final = set.intersection(*map(set, lists.values()))

    def job(messenger: Any) -> Any:
        join = PseudonymJoin(messenger, owners, "helper", drawing(messenger.party))
        return join.common(lists.get(messenger.party, []))

    post, _ = real_run(lists, job, (*owners, "helper"))
    key = joint_key([drawing(owner)(KEY_BYTES).hex() for owner in owners])
    # The helper: sorted random names in the stated pattern, and nothing but them.
    seen = {sender: content for sender, _, content in view_of(post, "helper")}
    assert len(view_of(post, "helper")) == len(owners)
    names = {
        owner: {content[start : start + 16] for start in range(0, len(content), 16)} for owner, content in seen.items()
    }
    assert {owner: len(own) for owner, own in names.items()} == {owner: len(own) for owner, own in lists.items()}
    assert pattern(names) == shared_by(lists)
    # An owner: parts of a key, and its own positions, which follow from its list, the key and who is common.
    for owner, own in lists.items():
        told = [content for sender, topic, content in view_of(post, owner) if sender == "helper"]
        digests = np.sort(pseudonyms_of(own, len(own), key))
        common = pseudonyms_of(sorted(final), len(final), key)
        expected = np.flatnonzero(np.isin(digests, common)).astype("<i8").tobytes()
        assert told == [expected]
        assert {topic for sender, topic, _ in view_of(post, owner) if sender != "helper"} <= {KEY}
