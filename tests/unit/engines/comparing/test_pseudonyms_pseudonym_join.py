"""Common records found by a party without data: the right ones, in one order, and nobody learns more than is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol.table import COMMON_PLACES, PSEUDONYMS
from copublish.engines.comparing import pseudonyms
from copublish.engines.comparing.pseudonyms import PSEUDONYM_BYTES, PseudonymJoin
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from support.messages import Post, QueueMessenger, all_of
from support.profiles import examples

OWNERS = ("a", "b", "c")
PARTIES = ("helper", *OWNERS)
people = st.lists(st.text(min_size=1, max_size=3), unique=True, max_size=12)


def run(lists: dict[str, list[str]], job: Any, post: Post | None = None) -> dict[str, Any]:
    owners = tuple(lists)
    post = post or Post(("helper", *owners))

    def one(messenger: QueueMessenger) -> Any:
        return job(MaskedSumEngine(messenger, owners, "helper"), lists.get(messenger.party, []))

    return post.run(one)


@examples(25)
@given(st.lists(people, min_size=2, max_size=4))
def test_all_owners_find_the_same_people_in_the_same_order(lists):
    named = {f"o{number}": own for number, own in enumerate(lists)}
    found = all_of(run(named, lambda engine, own: engine.align(own)))
    assert found["helper"].tolist() == []
    common = [[own[place] for place in found[owner].tolist()] for owner, own in named.items()]
    assert all(other == common[0] for other in common)
    assert sorted(common[0]) == sorted(set.intersection(*map(set, lists)))


@examples(25)
@given(st.lists(people, min_size=2, max_size=4), st.integers(0, 20))
def test_a_person_at_two_owners_is_found_and_lists_have_the_public_length(lists, extra):
    named = {f"o{number}": own for number, own in enumerate(lists)}
    length = max(map(len, lists)) + extra
    post = Post(("helper", *named))
    found = all_of(run(named, lambda engine, own: engine.have_common(own, padded_to=length), post))
    assert set(found.values()) == {len(set().union(*lists)) < sum(map(len, lists))}
    sent = [content for _, _, topic, content in post.sent if topic == PSEUDONYMS.topic]
    assert {len(content) for content in sent} == {PSEUDONYM_BYTES * length}


def test_pseudonyms_of_made_up_people_are_made_like_those_of_others(monkeypatch):
    asked: list[int] = []
    original = pseudonyms.pseudonyms_of

    def counted(identifiers, how_many, key):
        found = list(identifiers)
        asked.append(len(found))
        return original(found, how_many, key)

    monkeypatch.setattr(pseudonyms, "pseudonyms_of", counted)
    lists = {owner: ["x"] * (number == 1) for number, owner in enumerate(OWNERS)}
    all_of(run(lists, lambda engine, own: engine.have_common(own, padded_to=9)))
    assert asked == [9] * len(OWNERS)


def test_the_helper_sees_names_that_change_and_no_part_of_the_key():
    post = Post(PARTIES)
    lists = {owner: ["same", f"only {owner}"] for owner in OWNERS}
    all_of(run(lists, lambda engine, own: [engine.align(own) for _ in range(2)], post))
    seen = [content for sender, to, topic, content in post.sent if to == "helper"]
    names = [content[start : start + 16] for content in seen for start in (0, 16)]
    assert all(len(content) == 32 for content in seen)
    assert len(set(names)) == 2 * (3 + 1)  # per run the common one and three others
    assert {to for _, to, topic, _ in post.sent if "key" in topic} == set(OWNERS)


def test_an_owner_cannot_compare_for_the_others():
    post = Post(OWNERS)
    with pytest.raises(EngineError, match=r"holds no data.*data = false"):
        PseudonymJoin(post.messenger("a"), OWNERS, "a")
    assert post.sent == []


def test_where_the_one_that_adds_up_owns_data_owners_compare_among_themselves():
    lists = {owner: ["same", owner] for owner in OWNERS}
    post = Post(OWNERS)
    found = post.run(lambda messenger: MaskedSumEngine(messenger, OWNERS, "a").align(lists[messenger.party]))
    assert {owner: places.tolist() for owner, places in all_of(found).items()} == {owner: [0] for owner in OWNERS}
    assert not any(topic == PSEUDONYMS.topic for _, _, topic, _ in post.sent)


def test_repeated_and_too_many_identifiers_are_not_sent():
    lists = {owner: ["x", "x"] for owner in OWNERS}
    with pytest.raises(EngineError, match="listed twice"):
        all_of(run(lists, lambda engine, own: engine.align(own)))
    lists = {owner: ["x", "y"] for owner in OWNERS}
    with pytest.raises(EngineError, match="public length"):
        all_of(run(lists, lambda engine, own: engine.have_common(own, padded_to=1)))


@pytest.mark.parametrize("leaver", PARTIES)
def test_whoever_leaves_is_a_lost_party_to_the_others(leaver):
    lists = {owner: ["x"] for owner in OWNERS}

    def job(engine: MaskedSumEngine, own: list[str]) -> str:
        if engine.party != leaver:
            engine.align(own)
        return "done"

    outcomes = run(lists, job)
    assert outcomes.pop(leaver) == "done"
    assert all(isinstance(outcome, PartyLostError) for outcome in outcomes.values()), outcomes


@pytest.mark.parametrize(
    "places",
    [[2], [-1], [1, 1], [1, 0], [5, -(2**63), 0]],
    ids=str,
)
def test_positions_that_there_are_not_are_refused(places):
    post = Post(PARTIES)
    helper = post.messenger("helper")
    for owner in OWNERS:
        helper.send(owner, COMMON_PLACES, np.array(places, dtype="<i8").tobytes())
    outcomes = run({owner: ["x", "y"] for owner in OWNERS}, lambda engine, own: engine.align(own), post)
    assert all(isinstance(outcomes[owner], ProgramMismatchError) for owner in OWNERS)


@pytest.mark.parametrize("content", [b"x" * 15, b"x" * 32])
def test_lists_that_are_none_are_refused(content):
    post = Post(PARTIES)
    post.messenger("a").send("helper", PSEUDONYMS, content)
    outcomes = run({owner: ["x"] for owner in OWNERS}, lambda engine, own: engine.align(own), post)
    assert isinstance(outcomes["helper"], ProgramMismatchError)
    assert "'a' sent" in str(outcomes["helper"]) and "pseudonyms" in str(outcomes["helper"])
