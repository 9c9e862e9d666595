"""People in rows, and no owner knows who is common: the right rows, public lengths, and lists whose form is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol import table
from copublish.agreement.protocol.message import Letter
from copublish.engines.comparing import curve
from copublish.engines.comparing.curve import POINT_BYTES, Factor, Points, made_up_points
from copublish.engines.comparing.hidden_join import TwoOwnersJoin
from copublish.engines.comparing.pseudonyms import PSEUDONYM_BYTES
from copublish.errors import EngineError, InvalidInputsError, PartyLostError, ProgramMismatchError
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from support.hidden import SMALL, FixedNoise, check_placements, drawing, join_of, outcomes_of, placed, played_by
from support.messages import Post, all_of
from support.profiles import examples

people = st.lists(st.text(min_size=1, max_size=2), unique=True, max_size=8)
LISTS = {"a": ["x", "y", "z"], "b": ["u", "y", "x", "v"]}
TOPICS = [
    *(table.HIDDEN_LIST, table.HIDDEN_BOTH, table.HIDDEN_NAMES, table.HIDDEN_ASKED, table.HIDDEN_TOLD),
]
LENGTHS = {"a": 3 + 2 * SMALL.pool, "b": 4 + 2 * SMALL.pool}


def overlapping(n: int, common: int) -> dict[str, list[str]]:
    return {owner: [f"{'both' if k < common else owner}-{k}" for k in range(n)] for owner in ("a", "b")}


CASES = {
    "nobody in common": overlapping(100, 0),
    "1 % in common": overlapping(100, 1),
    "half in common": overlapping(100, 50),
    "all in common": overlapping(100, 100),
    "one owner lists nobody": {"a": ["x", "y"], "b": []},
    "nobody lists anybody": {"a": [], "b": []},
    "one list inside the other": {"a": ["x", "y", "z", "u"], "b": ["z", "x"]},
}


@pytest.mark.parametrize("room", [0, 7])
@pytest.mark.parametrize("case", CASES)
def test_a_person_has_one_row_at_both_owners_and_the_table_is_the_noisy_union(case, room):
    lists = CASES[case]
    join = join_of(lists, room=room)
    found = placed(lists, join, idle=("relay", "node"))
    padded = sum(join.at_most.values()) + 4 * SMALL.pool
    n_common = len(set(lists["a"]) & set(lists["b"]))
    assert padded - n_common - 2 * SMALL.pool <= found["relay"].n_rows <= padded - n_common
    assert found["relay"].rows.tolist() == found["node"].rows.tolist() == []


@pytest.mark.parametrize("room", [0, 7])
@pytest.mark.parametrize("case", CASES)
def test_a_helper_gives_a_person_one_row_in_a_table_of_public_length(case, room):
    join = join_of(CASES[case], room=room, size=None)
    found = placed(CASES[case], join, helper="helper", idle=("node",))
    assert {placement.n_rows for placement in found.values()} == {sum(join.at_most.values())}


@examples(10)
@given(st.tuples(people, people), st.integers(0, 5))
def test_two_owners_place_any_lists(lists, room):
    named = dict(zip("ab", lists, strict=True))
    placed(named, join_of(named, room=room))


@examples(20)
@given(st.sampled_from([2, 3, 5]).flatmap(lambda n: st.tuples(*[people] * n)), st.integers(0, 5))
def test_a_helper_places_the_lists_of_any_number_of_owners(lists, room):
    named = {f"o{number}": own for number, own in enumerate(lists)}
    placed(named, join_of(named, room=room, size=None), helper="helper")


def test_a_wrong_placement_is_noticed():
    lists = {"a": ["x", "y"], "b": ["x"]}
    right = {"a": Placement(np.array([3, 1]), 5), "b": Placement(np.array([3]), 5)}
    check_placements(lists, right)
    for wrong in ([1, 1], [2, 1], [1, 3]):
        with pytest.raises(AssertionError):
            check_placements(lists, right | {"a": Placement(np.array(wrong), 5)})
    with pytest.raises(AssertionError):
        check_placements(lists, right | {"b": Placement(np.array([3]), 6)})


@pytest.mark.parametrize("k_a, k_b", [(0, 0), (SMALL.pool, 0), (3, 2), (SMALL.pool, SMALL.pool)])
def test_the_number_of_rows_is_that_of_the_union_less_both_owners_noise(k_a, k_b):
    players = {}
    for owner, k in (("a", k_a), ("b", k_b)):
        join = join_of(LISTS, room=2, size=FixedNoise(SMALL.epsilon, SMALL.delta, k))
        players[owner] = played_by(TwoOwnersJoin, LISTS, join)
    found = all_of(outcomes_of(LISTS, join, players=players))
    check_placements(LISTS, found)
    assert found["a"].n_rows == 3 + 2 + 4 + 2 + 4 * SMALL.pool - len({"x", "y"}) - k_a - k_b


def sent_in(lists: dict[str, list[str]], join: HiddenJoin, **others: Any) -> list[tuple[str, str, str, bytes]]:
    owners = tuple(lists)
    post = Post((*owners, *filter(None, (others.get("helper"),))))
    placed(lists, join, post=post, **others)
    return post.sent


def test_lists_have_public_lengths_whoever_is_on_them():
    for lists in ({"a": [], "b": []}, {"a": ["x"], "b": ["x", "y", "z", "u"]}, {"a": ["x", "y", "z"], "b": ["x"]}):
        sent = sent_in(lists, HiddenJoin({"a": 3, "b": 4}, SMALL))
        for owner, other in ("ab", "ba"):
            lengths = {topic: len(content) // POINT_BYTES for sender, _, topic, content in sent if sender == owner}
            assert lengths[table.HIDDEN_LIST.topic] == LENGTHS[owner]
            assert lengths[table.HIDDEN_BOTH.topic] == lengths[table.HIDDEN_NAMES.topic] == LENGTHS[other]
            assert lengths[table.HIDDEN_ASKED.topic] - lengths[table.HIDDEN_TOLD.topic] == (
                1 if owner == "b" else -1
            ) * (LENGTHS["a"] - LENGTHS["b"])
        helped = sent_in(lists, HiddenJoin({"a": 3, "b": 4}, None), helper="helper")
        assert {
            (sender, to): len(content) for sender, to, topic, content in helped if topic != table.JOINT_KEY.topic
        } == {
            ("a", "helper"): 3 * PSEUDONYM_BYTES,
            ("b", "helper"): 4 * PSEUDONYM_BYTES,
            ("helper", "a"): 3 * 8,
            ("helper", "b"): 4 * 8,
        }


def test_nothing_of_one_run_recurs_in_the_next():
    runs = [sent_in(LISTS, join_of(LISTS)) for _ in range(2)]
    one, other = (
        {content[k : k + POINT_BYTES] for _, _, topic, content in run for k in range(0, len(content), POINT_BYTES)}
        for run in runs
    )
    assert len(one) > 8 * SMALL.pool and not one & other


def test_a_helpers_rows_are_random():
    """200 tables of 4 rows: each row holds the first person 50 times on average; 15 or fewer has probability 2e-10."""
    join = HiddenJoin({"a": 2, "b": 2}, None)
    rows = [placed({"a": ["x"], "b": []}, join, helper="h")["a"].rows[0] for _ in range(200)]
    assert min(np.bincount(rows, minlength=4)) > 15


@pytest.mark.parametrize("piece", [32, 96])
def test_long_lists_go_in_pieces(monkeypatch, piece):
    for message in (*TOPICS, table.ROWS_OF_PEOPLE, table.PSEUDONYMS):
        monkeypatch.setitem(message.__dict__, "piece_bytes", piece)
    placed(LISTS, join_of(LISTS))
    placed(LISTS, join_of(LISTS, size=None), helper="helper")


def test_what_cannot_be_placed_is_not_sent():
    for helper, size in ((None, SMALL), ("helper", None)):
        for lists, problem in (({"a": ["x", "x"], "b": ["y"]}, "listed twice"), ({"a": ["x"] * 3, "b": []}, "length")):
            post = Post(("a", "b", *filter(None, (helper,))))
            outcomes = outcomes_of(lists, HiddenJoin({"a": 2, "b": 2}, size), helper=helper, post=post)
            assert isinstance(outcomes["a"], EngineError) and problem in str(outcomes["a"])
            assert not [content for sender, _, topic, content in post.sent if sender == "a" and "key" not in topic]


def test_three_owners_without_a_helper_and_joins_without_noise_are_refused():
    three = {"a": [], "b": [], "c": []}
    for lists, size in ((three, SMALL), (LISTS, None)):
        outcomes = outcomes_of(lists, join_of(lists, size=size))
        assert all(isinstance(outcome, EngineError) for outcome in outcomes.values())


@pytest.mark.parametrize("leaver", ["a", "b"])
def test_whoever_leaves_is_a_lost_party_to_the_others(leaver):
    outcomes = outcomes_of(LISTS, join_of(LISTS), idle=("idle",), players={leaver: lambda messenger: "left"})
    assert outcomes.pop(leaver) == "left"
    assert all(isinstance(outcome, PartyLostError) for outcome in outcomes.values())


# --- what others send -------------------------------------------------------------------------------------------------

NOT_ON_THE_CURVE = np.frombuffer(bytes(31) + b"\1", "S32")
"""1 - 3 + b is no square."""

BEYOND_THE_FIELD = np.frombuffer(b"\xff" * 32, "S32")

MADE_UP = made_up_points(1, drawing(1))


DAMAGES: dict[str, Callable[[Points], bytes]] = {
    "off the curve": lambda points: np.sort(np.append(points[1:], NOT_ON_THE_CURVE)).tobytes(),
    "x beyond the field": lambda points: np.sort(np.append(points[1:], BEYOND_THE_FIELD)).tobytes(),
    "repeated": lambda points: np.sort(np.append(points[1:], points[-1:])).tobytes(),
    "one too few": lambda points: points[1:].tobytes(),
    "one too many": lambda points: np.sort(np.append(points, MADE_UP)).tobytes(),
    "none": lambda points: b"",
}


def sending(topic: Letter, damage: Callable[[Points], bytes]) -> type[TwoOwnersJoin]:
    """An owner that damages one of its messages and follows the protocol otherwise."""

    class Damaging(TwoOwnersJoin):
        def _exchange(self, message: Letter, points: Points, length: int, *, is_sorted: bool = True) -> Points:
            sent = np.frombuffer(damage(points), "S32") if message == topic else points
            return super()._exchange(message, sent, length, is_sorted=is_sorted)

    return Damaging


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.topic)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("cheat", ["a", "b"])
def test_lists_that_no_owner_sends_are_refused_and_the_other_owner_is_named(topic, damage, cheat):
    join = join_of(LISTS)
    player = played_by(sending(topic, DAMAGES[damage]), LISTS, join)
    outcomes = outcomes_of(LISTS, join, idle=("idle",), players={cheat: player})
    honest = outcomes["b" if cheat == "a" else "a"]
    assert type(honest) is ProgramMismatchError and f"'{cheat}' sent no list of points" in str(honest)
    assert isinstance(outcomes["idle"], PartyLostError)


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic is not table.HIDDEN_NAMES], ids=lambda t: t.topic)
def test_lists_in_another_order_are_refused(topic):
    player = played_by(sending(topic, lambda points: points[::-1].tobytes()), LISTS, join_of(LISTS))
    outcomes = outcomes_of(LISTS, join_of(LISTS), players={"a": player})
    assert "'a' sent no list of points" in str(outcomes["b"])


@pytest.mark.parametrize("grown", TOPICS[1:], ids=lambda topic: topic.topic)
def test_a_list_that_grows_between_messages_is_refused(grown):
    """The first list had the public length; a later one has a point more."""
    player = played_by(sending(grown, DAMAGES["one too many"]), LISTS, join_of(LISTS))
    outcomes = outcomes_of(LISTS, join_of(LISTS), players={"b": player})
    assert "'b' sent no list of points" in str(outcomes["a"])


@pytest.mark.parametrize("topic", [table.HIDDEN_NAMES, table.HIDDEN_TOLD], ids=lambda t: t.topic)
@pytest.mark.parametrize("cheat, honest", [("a", "b"), ("b", "a")])
def test_rows_of_ones_own_choice_are_found_and_the_other_owner_is_to_blame(topic, cheat, honest):
    """One point in the place of another: every message is well-formed, and the tables of rows differ."""
    join = join_of(LISTS)

    def other_point(points: Points) -> bytes:
        changed = np.append(points[1:], MADE_UP)
        return (changed if topic is table.HIDDEN_NAMES else np.sort(changed)).tobytes()

    player = played_by(sending(topic, other_point), LISTS, join)
    outcomes = outcomes_of(LISTS, join, idle=("idle",), players={cheat: player})
    assert isinstance(outcomes[honest], InvalidInputsError) and outcomes[honest].party == cheat
    assert isinstance(outcomes["idle"], PartyLostError)


def test_who_hides_that_entries_are_common_is_found_by_the_length_of_what_follows():
    hide = sending(table.HIDDEN_BOTH, lambda points: np.sort(made_up_points(len(points), drawing(2))).tobytes())
    outcomes = outcomes_of(LISTS, join_of(LISTS), players={"a": played_by(hide, LISTS, join_of(LISTS))})
    assert isinstance(outcomes["b"], ProgramMismatchError) and "'a' sent no list of points" in str(outcomes["b"])


def test_every_point_has_an_x_coordinate_and_each_generates_the_curve():
    """The encoding has no room for the point at infinity: 0 is the x coordinate of a point like all others."""
    zero, order = np.zeros(1, "S32"), curve._ORDER
    assert Factor.of(order - 1).times(zero).tolist() == zero.tolist()  # -P has the x coordinate of P
    assert Factor.of(2).times(zero).tolist() != zero.tolist()
    assert all(order % prime for prime in (2, 3, 5, 7, 11, 13)) and pow(2, order - 1, order) == 1


def test_a_digest_that_is_sent_back_is_no_proof_of_the_same_rows():
    class Echo(TwoOwnersJoin):
        def _agree_on(self, union: Points) -> None:
            self._messenger.send(
                self._peer, table.UNION_DIGEST, self._messenger.receive(self._peer, table.UNION_DIGEST)
            )

    outcomes = outcomes_of(LISTS, join_of(LISTS), players={"b": played_by(Echo, LISTS, join_of(LISTS))})
    assert isinstance(outcomes["a"], InvalidInputsError) and outcomes["a"].party == "b"


@pytest.mark.parametrize("rows", [0, 10**6])
def test_a_party_without_data_takes_no_number_of_rows_that_cannot_be_or_that_owners_differ_in(rows):
    def lie(messenger: Any) -> None:
        for _ in TOPICS:
            messenger.send("idle", table.PASSED, b"")
        messenger.send("idle", table.UNION_ROWS, rows.to_bytes(8, "big"))

    outcomes = outcomes_of(LISTS, join_of(LISTS), idle=("idle",), players={"a": lie, "b": lie})
    assert isinstance(outcomes["idle"], ProgramMismatchError) and "different numbers" in str(outcomes["idle"])


@pytest.mark.parametrize(
    "rows", [[0, 1, 2], [0, 1, 2, 7], [0, 1, 2, -1], [0, 1, 2, 2], [0, 1, 2, 3, 4]], ids=lambda rows: str(rows)
)
def test_rows_that_a_helper_cannot_have_drawn_are_refused(rows):
    post = Post(("a", "b", "helper"))
    post.messenger("helper").send("b", table.ROWS_OF_PEOPLE, np.array(rows, "<i8").tobytes())
    join = join_of(LISTS, size=None)  # 7 rows, 4 of them for this owner
    outcomes = outcomes_of(LISTS, join, helper="helper", post=post)
    assert isinstance(outcomes["b"], ProgramMismatchError) and "'helper' sent no rows" in str(outcomes["b"])
    assert isinstance(outcomes["a"], Placement)


@pytest.mark.parametrize("n", [2, 4])
def test_a_helper_refuses_lists_of_another_length(n):
    post = Post(("a", "b", "helper"))
    post.messenger("a").send("helper", table.PSEUDONYMS, np.random.default_rng(n).bytes(n * PSEUDONYM_BYTES))
    outcomes = outcomes_of(LISTS, join_of(LISTS, size=None), helper="helper", post=post)
    assert "'a' sent no list of pseudonyms" in str(outcomes["helper"])


def test_progress_tells_how_many_entries_are_done_and_ends_before_the_last_step():
    told: list[tuple[str, int, int]] = []
    join = join_of(LISTS)

    def watched(messenger: Any) -> Placement:
        return TwoOwnersJoin(messenger, ("a", "b"), join, progress=lambda *step: told.append(step)).place(LISTS["a"])

    all_of(outcomes_of(LISTS, join, players={"a": watched}))
    assert {phase for phase, _, _ in told} == {"alignment"}
    done = [step for _, step, _ in told]
    (of,) = {of for _, _, of in told}
    assert done == sorted(done) and done[0] > 0 and done[-1] < of
