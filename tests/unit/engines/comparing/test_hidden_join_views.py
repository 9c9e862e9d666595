"""An owner's view of a join that hides membership is made by a simulator from its list, two lengths and one number.

The simulator knows the owner's list and coins, the public lengths and the number of common entries of the padded lists.
It plays the other owner to the released code: where that one has points it has random ones. The real view and the
simulated one must agree in topics, lengths and order, and in everything that can be recognized with the owner's own
factors, entries and order. Points under a factor that nobody here has look random by the decisional Diffie-Hellman
assumption, which no test can show. Variants that send too much, or in a telling order, are noticed.

The last tests play owners whose software was changed. They show what the note on the limits of the protocol says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol import table
from copublish.agreement.protocol.message import Letter
from copublish.engines.comparing import hidden_join
from copublish.engines.comparing.curve import (
    _ORDER,
    POINT_BYTES,
    Factor,
    Points,
    digests_of,
    from_bytes,
    made_up_points,
)
from copublish.engines.comparing.hidden_join import PEOPLE, TwoOwnersJoin
from copublish.engines.comparing.pseudonyms import is_ascending
from copublish.errors import InvalidInputsError
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from support.hidden import FixedNoise, Lists, drawing, join_of, outcomes_of, played_by
from support.messages import Post, QueueMessenger, all_of
from support.profiles import examples

LIST, BOTH, NAMES, ASKED, TOLD, DIGEST = (
    *(table.HIDDEN_LIST, table.HIDDEN_BOTH, table.HIDDEN_NAMES, table.HIDDEN_ASKED, table.HIDDEN_TOLD),
    table.UNION_DIGEST,
)
TINY = FixedNoise(Fraction(1), Fraction(1, 4), 1)
LISTS = {"a": ["p", "q", "r", "s"], "b": ["u", "q", "s"]}
FEW = examples(4)


class Followed(TwoOwnersJoin):
    """The released code, and all that its owner has at the end: what it sent and got, its factors and its entries."""

    def place(self, identifiers: list[str]) -> dict[str, Any]:
        self.lists: dict[str, Points] = {}
        placement = super().place(identifiers)
        return {"placement": placement, "lists": self.lists, "factors": (self._a, self._c, self._r)}

    def _entries(self, identifiers: list[str]) -> Points:
        entries = super()._entries(identifiers)
        self.lists["own entries"] = Factor.of(1).times_points_of(entries)
        return entries

    def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
        received = super()._exchange(message, points, length, is_sorted=is_sorted)
        self.lists |= {f"sent: {message.topic}": points, f"got: {message.topic}": received}
        return received


class Simulator:
    """The other owner, made up from what the first one learns. A messenger to the real code of that one."""

    def __init__(self, n_own: int, n_theirs: int, n_common: int, seed: int) -> None:
        self.party, self.parties = "a", ("a", "b")
        self._n_own, self._n_theirs, self._n_common, self._draw = n_own, n_theirs, n_common, drawing(seed)
        self._sent: dict[str, bytes] = {}
        self.owner: Any = None

    def send(self, to: str, message: Letter, content: bytes) -> None:
        self._sent[message.topic] = content

    def receive(self, sender: str, message: Letter) -> bytes:
        if message == DIGEST:
            return self._digest()
        if message == NAMES:
            return self._uniform(self._n_own).tobytes()
        if message == BOTH:
            places = np.argsort(np.frombuffer(self._draw(8 * self._n_theirs), np.uint64))[: self._n_common]
            common = from_bytes(self._sent[BOTH.topic])[places]
            return np.sort(np.append(common, self._uniform(self._n_own - self._n_common))).tobytes()
        lengths = {
            LIST: self._n_theirs,
            ASKED: self._n_own - self._n_common,
            TOLD: self._n_theirs - self._n_common,
        }
        return np.sort(self._uniform(next(n for entry, n in lengths.items() if entry == message))).tobytes()

    def _uniform(self, n: int) -> Points:
        return made_up_points(n, self._draw)

    def _digest(self) -> bytes:
        """That of the names which the owner has by now: they follow from what it got."""
        return self.owner.expected


class Simulated(Followed):
    """The released code beside a simulator: it knows which digest fits its own names."""

    def _agree_on(self, union: Points) -> None:
        self.expected = hashlib.sha256(b"\1" + union.tobytes()).digest()
        super()._agree_on(union)


def real_view(lists: Lists, join: HiddenJoin, kind: type[Followed] = Followed, other: Any = None) -> dict[str, Any]:
    """What the first owner has after a run with the released code, or with other code, at the second."""

    def job(kind: type[TwoOwnersJoin], seed: int) -> Callable[[QueueMessenger], Any]:
        return lambda messenger: kind(messenger, ("a", "b"), join, drawing(seed)).place(lists[messenger.party])

    players = {"a": job(kind, 1), "b": job(other or Followed, 2)}
    return all_of(outcomes_of(lists, join, players=players))["a"]


def simulated_view(own: list[str], join: HiddenJoin, n_common: int) -> dict[str, Any]:
    n_own, n_theirs = (join.at_most[owner] + 2 * TINY.pool for owner in "ab")
    simulator = Simulator(n_own, n_theirs, n_common, seed=3)
    simulator.owner = Simulated(simulator, ("a", "b"), join, drawing(1))
    return simulator.owner.place(own)


def words_of(factors: tuple[Factor, ...]) -> list[Factor]:
    """Products of powers -1, 0 and 1 of an owner's factors, one of each two that are inverse to each other."""
    powers = [word for word in product((0, 1, -1), repeat=3) if next(filter(None, word), 1) > 0]
    return [
        Factor.of(math.prod(pow(f.number, power, _ORDER) for f, power in zip(factors, word, strict=True)) % _ORDER)
        for word in powers
    ]


def recognized(view: dict[str, Any]) -> dict[Any, Any]:
    """Lengths, which lists are sorted, and for any two lists and product of factors how many points are the same."""
    lists = view["lists"]
    found: dict[Any, Any] = {name: (len(points), is_ascending(points)) for name, points in lists.items()}
    for number, word in enumerate(words_of(view["factors"])):
        multiples = {name: word.times(points) for name, points in lists.items()}
        for (one, points), (other, times) in product(lists.items(), multiples.items()):
            if same := int(np.isin(points, times).sum()):
                found[number, one, other] = same
    return found


def common_entries(lists: Lists) -> int:
    """Of the padded lists: people, and what each lists of the other's pool."""
    return len(set(lists["a"]) & set(lists["b"])) + 2 * TINY.drawn


@pytest.mark.slow
@FEW
@given(st.tuples(*[st.lists(st.sampled_from("pqrs"), unique=True, max_size=4)] * 2), st.integers(0, 2))
def test_what_an_owner_can_recognize_is_what_a_simulator_makes_from_the_number_of_common_entries(lists, room):
    named = dict(zip("ab", lists, strict=True))
    join = join_of(named, room=room, size=TINY)
    real = recognized(real_view(named, join))
    assert real == recognized(simulated_view(named["a"], join, common_entries(named)))
    assert any(isinstance(key, tuple) for key in real)


def test_a_view_with_one_more_common_person_is_another_one():
    join = join_of(LISTS, size=TINY)
    real = recognized(real_view(LISTS, join))
    for n_common, is_the_same in ((common_entries(LISTS), True), (common_entries(LISTS) + 1, False)):
        assert (real == recognized(simulated_view(LISTS["a"], join, n_common))) == is_the_same


# --- broken variants, at both owners, are noticed --------------------------------------------------------------------


class WithoutNames(Followed):
    """No c and no d."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._c = Factor.of(1)


class WithoutAskedFactor(Followed):
    """No r and no s."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._r = Factor.of(1)


@pytest.mark.parametrize("broken", [WithoutNames, WithoutAskedFactor])
def test_a_protocol_without_one_of_its_factors_shows_more(broken):
    join = join_of(LISTS, size=TINY)
    expected = recognized(simulated_view(LISTS["a"], join, common_entries(LISTS)))
    assert recognized(real_view(LISTS, join, other=broken)) != expected


@pytest.mark.parametrize("topic", [LIST, BOTH, ASKED, TOLD], ids=lambda topic: topic.topic)
def test_a_list_that_is_left_in_its_own_order_is_noticed_and_refused(monkeypatch, topic):
    """The order of an owner's list, and the two shuffles of points under both factors, carry the secrecy."""
    join = join_of(LISTS, size=TINY)

    class OwnOrder(Followed):
        def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
            if message == topic:
                points = points[np.argsort(np.frombuffer(drawing(5)(8 * len(points)), np.uint64))]
            return super()._exchange(message, points, length, is_sorted=is_sorted)

    outcomes = outcomes_of(LISTS, join, players={"b": played_by(OwnOrder, LISTS, join)})
    assert "'b' sent no list of points" in str(outcomes["a"])
    monkeypatch.setattr(hidden_join, "is_ascending", lambda points: True)
    expected = recognized(simulated_view(LISTS["a"], join, common_entries(LISTS)))
    assert recognized(real_view(LISTS, join)) == expected
    assert recognized(real_view(LISTS, join, other=OwnOrder)) != expected


@pytest.mark.parametrize("seed", range(3))
def test_lists_under_both_factors_come_in_an_order_that_is_not_that_of_the_list_itself(seed):
    """Else places would tell: of points in a random order few stay in place; seeds are fixed."""
    join = join_of(LISTS, size=TINY)
    post = Post(("a", "b"))
    factors: dict[str, Factor] = {}

    def job(messenger: QueueMessenger) -> Any:
        owner = Followed(messenger, ("a", "b"), join, drawing(10 * seed + ord(messenger.party)))
        factors[messenger.party] = owner._a
        return owner.place(LISTS[messenger.party])

    all_of(post.run(job))
    content = {(sender, topic): from_bytes(c) for sender, _, topic, c in post.sent if len(c) % POINT_BYTES == 0}
    for owner, other in ("ab", "ba"):
        in_order = factors[other].times(content[owner, LIST.topic])
        shuffled = content[other, BOTH.topic]
        assert set(in_order) == set(shuffled)
        assert (in_order == shuffled).mean() < 0.5


# --- changed software: what no check prevents, or what only the end shows --------------------------------------------


def test_changed_software_that_leaves_out_its_pool_learns_the_exact_number_of_common_people():
    """A limit of the protocol: nobody notices."""

    class WithoutPool(TwoOwnersJoin):
        def _entries(self, identifiers: list[str]) -> Points:
            entries, pool = super()._entries(identifiers).copy(), self._size.pool
            start = len(entries) - pool - TINY.drawn
            entries[start : start + pool] = from_bytes(drawing(7)(POINT_BYTES * pool))
            return entries

    attackers_join = join_of(LISTS, size=TINY)
    exact = set()
    for k in range(0, TINY.pool + 1):
        honest = join_of(LISTS, size=FixedNoise(TINY.epsilon, TINY.delta, k))
        players = {"a": played_by(WithoutPool, LISTS, attackers_join), "b": played_by(TwoOwnersJoin, LISTS, honest)}
        n_rows = all_of(outcomes_of(LISTS, honest, players=players))["a"].n_rows
        exact.add(sum(honest.at_most.values()) + 4 * TINY.pool - n_rows - TINY.drawn)
    assert exact == {len(set(LISTS["a"]) & set(LISTS["b"]))}


def test_changed_software_with_a_factor_for_each_target_learns_which_of_them_the_other_one_lists():
    """A limit of the protocol: no cheap check finds it, since each message is a list of points."""
    join, targets = join_of(LISTS, size=TINY), ["p", "q", "r", "s"]
    found: list[str] = []

    def attack(messenger: QueueMessenger) -> None:
        n_own = join.at_most["a"] + 2 * TINY.pool
        factors = [Factor(drawing(20 + number)) for number in range(n_own)]
        entries = np.append(digests_of(targets, 4, PEOPLE), from_bytes(drawing(9)(POINT_BYTES * (n_own - 4))))
        own = np.concatenate([f.times_points_of(entries[k : k + 1]) for k, f in enumerate(factors)])
        messenger.send("b", LIST, np.sort(own).tobytes())
        theirs = from_bytes(messenger.receive("b", LIST))
        messenger.send("b", BOTH, np.sort(factors[0].times(theirs)).tobytes())
        both = from_bytes(messenger.receive("b", BOTH))
        found.extend(
            name for name, factor in zip(targets, factors, strict=False) if np.isin(factor.times(theirs), both).any()
        )

    outcomes_of(LISTS, join, players={"a": attack})
    assert found == [name for name in targets if name in LISTS["b"]]


def test_changed_software_that_asks_for_names_of_common_entries_learns_them_and_is_found_afterwards():
    """The fourth step as an oracle: it learns who is common, and the other owner's rows are other ones then."""

    class Oracle(TwoOwnersJoin):
        def place(self, identifiers: list[str]) -> Placement:
            self.people = identifiers
            return super().place(identifiers)

        def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
            if message == ASKED:
                wanted = self._r.times(self.common)[: len(points)]
                points = np.sort(np.append(wanted, points[len(wanted) :]))
            received = super()._exchange(message, points, length, is_sorted=is_sorted)
            if message == LIST:
                self.order = np.argsort(self._a.times_points_of(self.entries))
            if message == BOTH:
                self.common = np.intersect1d(received, points)
            if message == NAMES:
                self.to_name = received
            if message == TOLD:
                places = self.order[np.isin(self.to_name, self._r.inverse().times(received))]
                learned.extend(sorted(self.people[place] for place in places if place < len(self.people)))
            return received

        def _entries(self, identifiers: list[str]) -> Points:
            self.entries = super()._entries(identifiers)
            return self.entries

    learned: list[str] = []
    lists = LISTS | {"b": [*LISTS["b"], *(f"only-{number}" for number in range(20))]}  # so that it may ask for enough
    join = join_of(lists, size=TINY)
    outcomes = outcomes_of(lists, join, players={"a": played_by(Oracle, lists, join)})
    assert learned == ["q", "s"]
    assert isinstance(outcomes["b"], InvalidInputsError) and outcomes["b"].party == "a"


def test_changed_software_that_returns_names_in_another_order_moves_people_to_other_rows_and_is_not_found():
    """A limit of the protocol: both have the same rows. Each person of the other owner still has one row of its own."""

    class Reversed(TwoOwnersJoin):
        def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
            sent = points[::-1] if message == NAMES else points
            return super()._exchange(message, sent, length, is_sorted=is_sorted)

    people = [f"person {number}" for number in range(20)]
    lists = {"a": people, "b": people}
    join = join_of(lists, size=TINY)
    found = all_of(outcomes_of(lists, join, players={"b": played_by(Reversed, lists, join)}))
    assert found["a"].n_rows == found["b"].n_rows
    assert len(set(found["a"].rows.tolist())) == len(people)
    assert (found["a"].rows != found["b"].rows).sum() > len(people) // 2
