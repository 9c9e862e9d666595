"""Owners compare people among themselves: the right ones, in one order, from lists whose form is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import ANSWERED, ASKED, COMMON, COMPLETE, PADDED, PASSED, ROUND
from copublish.engines.comparing import curve
from copublish.engines.comparing.comparison import AmongOwners, ComparesByMessages, PaddedChain
from copublish.engines.comparing.curve import POINT_BYTES, Factor, from_bytes, multiples_of
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from support.messages import Post, QueueMessenger, all_of
from support.profiles import examples

people = st.lists(st.text(min_size=1, max_size=2), unique=True, max_size=8)
OWNERS = ("a", "b", "c", "d")
NOT_ON_THE_CURVE = bytes(31) + b"\1"
"""1 - 3 + b is no square, as a test below finds."""


def run(lists: dict[str, list[str]], job: Callable[[AmongOwners, list[str]], Any], post: Post | None = None) -> Any:
    owners = tuple(lists)
    post = post or Post(("idle", *owners))

    def one(messenger: QueueMessenger) -> Any:
        return job(AmongOwners(messenger, owners), lists.get(messenger.party, []))

    return post.run(one)


def align(comparison: AmongOwners, own: list[str]) -> Any:
    return comparison.common(own)


def look(length: int) -> Callable[[AmongOwners, list[str]], bool]:
    return lambda comparison, own: comparison.any_shared(own, length)


@examples(25)
@given(st.lists(people, min_size=2, max_size=5))
def test_all_owners_find_the_same_people_in_the_same_order(lists):
    named = {f"o{number}": own for number, own in enumerate(lists)}
    found = all_of(run(named, align))
    assert found["idle"].tolist() == []
    common = [[own[place] for place in found[owner].tolist()] for owner, own in named.items()]
    assert all(other == common[0] for other in common)
    assert sorted(common[0]) == sorted(set.intersection(*map(set, lists)))


@examples(25)
@given(st.lists(people, min_size=2, max_size=4), st.integers(0, 5))
def test_a_person_at_two_owners_is_found_and_lists_have_the_public_length(lists, extra):
    named = {f"o{number}": own for number, own in enumerate(lists)}
    length = max(1, max(map(len, lists)) + extra)
    post = Post(("idle", *named))
    found = all_of(run(named, look(length), post))
    assert set(found.values()) == {len(set().union(*lists)) < sum(map(len, lists))}
    sent = [content for _, _, topic, content in post.sent if topic in (ROUND.topic, COMPLETE.topic)]
    assert {len(content) for content in sent} == {POINT_BYTES * length}
    assert len(sent) == len(lists) * (len(lists) - 1) + len(lists) - 1


def test_lists_need_no_public_length_to_be_searched():
    for shared in (True, False):
        lists = {"a": ["x", "y"], "b": [], "c": ["u", "v", "x" if shared else "z"]}
        assert set(all_of(run(lists, look(0))).values()) == {shared}


def test_ten_owners_find_who_is_at_all_of_them():
    everybody = [f"person {number}" for number in range(20)]
    lists = {f"o{k}": [name for number, name in enumerate(everybody) if number % 11 != k] for k in range(10)}
    found = all_of(run(lists, align))
    assert {lists["o3"][place] for place in found["o3"]} == {"person 10"}


def test_lists_without_anybody_and_without_anybody_in_common_have_no_common_records():
    for lists in ({"a": ["x"], "b": [], "c": ["x"]}, {"a": ["x"], "b": ["y"], "c": ["z"]}, {"a": [], "b": []}):
        found = all_of(run(lists, align))
        assert all(places.tolist() == [] for places in found.values())


@pytest.mark.parametrize("piece", [32, 64, 160])
def test_long_lists_go_in_pieces(monkeypatch, piece):
    for message in (ASKED, ANSWERED, PADDED, COMMON, ROUND, COMPLETE):
        monkeypatch.setitem(message.__dict__, "piece_bytes", piece)
    lists = {owner: ["x", "y", "z", "u", owner] for owner in OWNERS}
    post = Post(OWNERS)
    found = all_of(run(lists, align, post))
    assert {lists["d"][place] for place in found["d"]} == {"x", "y", "z", "u"}
    assert set(all_of(run(lists, look(6))).values()) == {True}
    assert set(all_of(run({owner: [owner] for owner in OWNERS}, look(5))).values()) == {False}
    lengths = [len(content) for _, _, topic, content in post.sent if topic == PADDED.topic]
    assert sum(lengths) == 3 * 5 * 32 and max(lengths) == piece


def test_lists_that_are_too_long_are_not_sent_and_not_taken_in(monkeypatch):
    monkeypatch.setitem(ASKED.__dict__, "piece_bytes", 64)
    monkeypatch.setitem(ASKED.__dict__, "max_bytes", 100)
    with pytest.raises(EngineError, match="a longer one was not sent"):
        all_of(run({"a": ["x"], "b": ["x", "y", "z", "u"]}, align))
    for pieces in ([64, 64], [65]):
        post = Post(("a", "b"))
        for n_bytes in pieces:
            post._boxes["b", "a"].put((ASKED.topic.encode(), bytes(n_bytes)))
        with pytest.raises(ProgramMismatchError, match="'b' sent, or was about to send, more as 'points to multiply'"):
            curve.receive_list(post.messenger("a"), "b", ASKED)


def test_repeated_and_too_many_identifiers_are_not_sent():
    with pytest.raises(EngineError, match="listed twice"):
        all_of(run({"a": ["x", "x"], "b": ["x"]}, align))
    with pytest.raises(EngineError, match="listed twice"):
        all_of(run({"a": ["x", "x"], "b": ["x"]}, look(4)))
    with pytest.raises(EngineError, match="public length"):
        all_of(run({"a": ["x", "y"], "b": ["x"]}, look(1)))


def test_an_owner_that_lists_more_people_than_agreed_is_named_by_whoever_gets_its_list():
    lists = {"a": ["x"], "b": ["x", "y", "z"], "c": ["x"]}
    post = Post(tuple(lists))
    outcomes = post.run(
        lambda messenger: AmongOwners(messenger, tuple(lists), at_most=2).common(lists[messenger.party])
    )
    assert isinstance(outcomes["a"], ProgramMismatchError)
    assert "Party 'b' lists more than 2 people, twice records.expected" in str(outcomes["a"])
    assert all(isinstance(outcomes[owner], EngineError) for owner in ("b", "c"))
    found = Post(tuple(lists)).run(
        lambda messenger: AmongOwners(messenger, tuple(lists), at_most=3).common(lists[messenger.party])
    )
    assert [len(places) for places in all_of(found).values()] == [1, 1, 1]


class Work:
    """How often points were looked for, multiplied and digested at one owner."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.digests = self.multiplications = 0
        first_point, multiple = curve._first_point, Factor._multiple

        def counted_point(digest: bytes) -> Any:
            self.digests += 1
            return first_point(digest)

        def counted_multiple(factor: Factor, point: Any) -> bytes:
            self.multiplications += 1
            return multiple(factor, point)

        monkeypatch.setattr(curve, "_first_point", counted_point)
        monkeypatch.setattr(Factor, "_multiple", counted_multiple)


@pytest.mark.parametrize("listed", [0, 1, 7, 12])
def test_the_work_of_looking_for_people_depends_on_the_public_length_only(monkeypatch, listed):
    """Else the time until the first list is sent would tell how many people an owner has."""
    work = Work(monkeypatch)
    all_of(run({"a": [f"a{number}" for number in range(listed)], "b": []}, look(12)))
    # Each owner makes points of its own list, and multiplies that one and the other's.
    assert (work.digests, work.multiplications) == (2 * 12, 2 * 2 * 12)


def test_an_engine_that_nobody_told_how_compares_nobody():
    engine = ComparesByMessages()
    for ask in (lambda: engine.align(["x"]), lambda: engine.have_common(["x"], padded_to=3)):
        with pytest.raises(EngineError, match="no agreed way"):
            ask()


@pytest.mark.parametrize("job", [align, look(3)], ids=["common", "shared"])
@pytest.mark.parametrize("leaver", OWNERS)
def test_whoever_leaves_is_a_lost_party_to_the_others(leaver, job):
    lists = {owner: ["x", owner] for owner in OWNERS}
    post = Post(OWNERS)
    outcomes = run(lists, lambda one, own: "left" if one._messenger.party == leaver else job(one, own), post)
    assert outcomes.pop(leaver) == "left"
    assert all(isinstance(outcome, PartyLostError) for outcome in outcomes.values()), outcomes


class Changed(QueueMessenger):
    """A messenger that sends something else in the place of one message."""

    def __init__(self, post: Post, party: str, sender: str, message: Letter, change: Callable[[bytes], bytes]) -> None:
        super().__init__(post, party)
        self._sender, self._message, self._change = sender, message, change

    def send(self, to: str, message: Letter, content: bytes) -> None:
        if self.party == self._sender and message == self._message:
            content = self._change(content)
        super().send(to, message, content)


def swap(content: bytes) -> bytes:
    return content[32:64] + content[:32] + content[64:]


def repeat(content: bytes) -> bytes:
    return content[:32] + content[:32] + content[64:]


def off_the_curve(content: bytes) -> bytes:
    return NOT_ON_THE_CURVE + content[32:]


CHANGES = {
    "cut": lambda content: content[:-1],
    "swapped": swap,
    "repeated": repeat,
    "off the curve": off_the_curve,
}


def outcomes_with(sender: str, message: Letter, change: Callable[[bytes], bytes], job: Any) -> dict[str, Any]:
    lists = {owner: ["x", "y", owner] for owner in OWNERS}

    class ChangingPost(Post):
        def messenger(self, party: str) -> QueueMessenger:
            return Changed(self, party, sender, message, change)

    return run(lists, job, ChangingPost(OWNERS))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("sender", "message", "to"), [("b", ASKED, "a"), ("b", PADDED, "c")])
def test_lists_of_the_chain_that_are_none_are_refused_by_whoever_gets_them(sender, message, to, change):
    outcomes = outcomes_with(sender, message, CHANGES[change], align)
    assert isinstance(outcomes[to], ProgramMismatchError)
    assert f"'{sender}' sent " in str(outcomes[to])
    assert all(isinstance(outcome, EngineError) for outcome in outcomes.values())


@pytest.mark.parametrize(
    "change", [lambda content: content[:-1], lambda content: content[:-32], repeat], ids=["cut", "shorter", "repeated"]
)
def test_answers_that_are_none_are_refused(change):
    outcomes = outcomes_with("b", ANSWERED, change, align)
    assert "'b' sent " in str(outcomes["c"])


def test_who_says_more_than_that_it_is_done_is_refused():
    outcomes = outcomes_with("a", PASSED, lambda content: b"x", align)
    for owner in "cd":
        assert "'a' sent" in str(outcomes[owner])


@pytest.mark.parametrize("change", CHANGES)
def test_lists_of_the_rounds_that_are_none_are_refused(change):
    outcomes = outcomes_with("b", ROUND, CHANGES[change], look(5))
    assert "'b' sent " in str(outcomes["c"])
    if change != "off the curve":  # a list that all have had is compared and not multiplied
        outcomes = outcomes_with("b", COMPLETE, CHANGES[change], look(5))
        assert "'b' sent " in str(outcomes["a"])
    outcomes = outcomes_with("b", ROUND, lambda content: content[32:], look(5))
    assert "'b' sent " in str(outcomes["c"])


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content[16:] + content[:16],
        lambda content: content[:16] * 2,
        lambda content: b"\0" * 16 + content,
        lambda content: content + b"\xff" * 16,
    ],
    ids=["cut", "another order", "repeated", "nobody's at the front", "nobody's at the end"],
)
def test_names_of_records_that_there_are_not_are_refused(change):
    outcomes = outcomes_with("d", COMMON, change, align)
    for owner in "abc":
        assert "Party 'd' " in str(outcomes[owner])


def test_a_record_that_an_owner_knows_not_to_be_common_is_refused_by_it():
    """The last owner puts one of its own people into the answer whom the second owner has, and the first has not."""
    lists = {"a": ["x"], "b": ["x", "z"], "c": ["x", "z"]}

    class Lying(PaddedChain):
        def _find(self, before: str, n: int) -> Any:
            super()._find(before, n)
            return np.ones(n, dtype=np.bool_)

    def job(messenger: QueueMessenger) -> Any:
        chain = Lying if messenger.party == "c" else PaddedChain
        return chain(messenger, tuple(lists)).common(lists[messenger.party])

    outcomes = Post(tuple(lists)).run(job)
    for owner in "ab":
        assert "named records that there are not" in str(outcomes[owner])


def drawing(number: int) -> Callable[[int], bytes]:
    generator = np.random.default_rng(number)
    return lambda n: generator.bytes(n)


def test_points_are_those_of_an_independent_implementation_in_any_order_of_factors():
    """k P in affine coordinates over the field, by doubling and adding, beside the library's exchange."""
    prime = 2**256 - 2**224 + 2**192 + 2**96 - 1
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B

    def add(p: Any, q: Any) -> Any:
        if p is None or q is None:
            return q if p is None else p
        if p[0] == q[0] and (p[1] + q[1]) % prime == 0:
            return None
        slope = (
            (3 * p[0] ** 2 - 3) * pow(2 * p[1], -1, prime) if p == q else (q[1] - p[1]) * pow(q[0] - p[0], -1, prime)
        ) % prime
        x = (slope**2 - p[0] - q[0]) % prime
        return x, (slope * (p[0] - x) - p[1]) % prime

    def times(k: int, p: Any) -> Any:
        total = None
        for bit in bin(k)[2:]:
            total = add(total, total)
            total = add(total, p) if bit == "1" else total
        return total

    one, other = Factor(drawing(1)), Factor(drawing(2))
    (under_one,) = multiples_of(["anna", "bob"], 2, bytes(32), one)
    (under_other,) = multiples_of(["anna", "bob"], 2, bytes(32), other)
    assert np.array_equal(other.times(under_one), one.times(under_other))
    x = int.from_bytes(under_one.tobytes()[:32], "big")
    y = pow((x**3 - 3 * x + b) % prime, (prime + 1) // 4, prime)
    assert (y * y - (x**3 - 3 * x + b)) % prime == 0
    secret = other._key.private_numbers().private_value
    assert times(secret, (x, y))[0] == int.from_bytes(other.times(under_one).tobytes()[:32], "big")


def test_what_is_not_on_the_curve_is_not_multiplied():
    with pytest.raises(ValueError):
        Factor(drawing(3)).times(from_bytes(NOT_ON_THE_CURVE))


def test_another_key_or_factor_gives_other_points():
    factor = Factor(drawing(4))
    found = [
        multiples_of(["anna"], 1, key, used)[0].tobytes()
        for key, used in ((bytes(32), factor), (b"1" * 32, factor), (bytes(32), Factor(drawing(5))))
    ]
    assert len(set(found)) == 3
