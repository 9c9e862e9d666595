"""Parties that do not compute: what they send, what they learn, and what nodes make of it. No SPU runs here.

Statistical checks: chi-square on the bytes of at least 4,096 words with fresh coins from the operating system, at
5 * 10^-8 for each of 136 places of a byte, so that a false alarm comes in one of 140,000 runs.
"""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from copublish.agreement.protocol.table import INPUT_PART, OPENED, READY
from copublish.engines.secrecy import assumptions_of, secrecy_of
from copublish.engines.spu.input_parties import GuestEngine, InputParties, split
from copublish.engines.spu.one_hot import parts_of_sum, parts_of_xor, share_of_sum, share_of_xor
from copublish.errors import BudgetExceededError, EngineError, PartyLostError, ProgramMismatchError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.party.local.messenger import PipeMessenger, pipes_between
from support import SeededCoins
from support.protocol import HELLO

PARTIES = ("a", "b", "guest", "other")
NODES = ("a", "b")
FALSE_ALARM = 1e-9
"""Of one place of a word. Eight are looked at in each of about a dozen lists: 10^-7 together."""
INPUTS = (0, -1, 12_345, 2**61)
WORDS = 4096


@pytest.fixture
def messengers():
    ends = pipes_between(PARTIES)
    found = {party: PipeMessenger(party, PARTIES, ends[party], timeout_seconds=300) for party in PARTIES}
    yield found
    for messenger in found.values():
        messenger.close()


def received(messengers, node: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(messengers[node].receive("guest", INPUT_PART), np.int64).reshape(shape)


def uniformity(words: np.ndarray) -> float:
    """The smallest p-value of a chi-square test on the values of a byte, over the eight places."""
    by_place = words.view(np.uint8).reshape(-1, 8).T
    return min(stats.chisquare(np.bincount(column, minlength=256)).pvalue for column in by_place)


# --- shares ---

int64s = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(int64s, min_size=1, max_size=5), st.integers(2, 3), st.integers(0, 2**32))
def test_parts_add_up_to_the_input_in_the_ring(values, n_parts, seed):
    parts = split(np.array(values, dtype=np.int64), n_parts, SeededCoins(seed))
    sums = [sum(int(part[i]) for part in parts) % 2**64 for i in range(len(values))]
    assert sums == [value % 2**64 for value in values]


@pytest.mark.parametrize("value", INPUTS)
def test_what_a_node_receives_is_uniform_whatever_the_input(messengers, value):
    GuestEngine(messengers["guest"], NODES).share(np.full(WORDS, value, dtype=np.int64))
    for node in NODES:
        assert uniformity(received(messengers, node, (WORDS,))) > FALSE_ALARM


def test_the_check_of_uniformity_can_fail():
    assert uniformity(np.arange(WORDS, dtype=np.int64)) < FALSE_ALARM
    biased = SeededCoins(1).words((WORDS,)) & np.int64(-2)  # one bit of 64 is not a coin
    assert uniformity(biased) < FALSE_ALARM


def test_for_fixed_coins_the_view_of_a_node_does_not_depend_on_the_input(messengers):
    """All nodes but the last see the coins themselves. The last one sees input minus coins: for every other input there
    are coins, as likely as these, for which it sees the same."""

    class Given:
        def __init__(self, words):
            self._words = words

        def words(self, shape):
            return self._words

    coins = SeededCoins(2).words((3,))
    one, other = np.array([5, 0, -7]), np.array([2**61, 1, 0])
    views = []
    for private, words in ((one, coins), (other, coins), (other, coins + (other - one))):
        GuestEngine(messengers["guest"], NODES, coins=Given(words)).share(private)
        views.append({node: received(messengers, node, (3,)).tolist() for node in NODES})
    assert views[0]["a"] == views[1]["a"]
    assert views[0]["b"] == views[2]["b"]


def test_the_nodes_parts_and_their_own_inputs_add_up_to_everyones_input(messengers):
    GuestEngine(messengers["guest"], NODES).share(np.array([[1, -2]]))
    GuestEngine(messengers["other"], NODES).share(np.array([[10, 2**62]]))
    own = {"a": np.array([[100, 0]]), "b": np.array([[1000, 0]])}
    totals = [InputParties(messengers[node], ("guest", "other")).add_parts(own[node]) for node in NODES]
    assert (totals[0] + totals[1]).tolist() == [[1111, 2**62 - 2]]


def test_parts_of_another_shape_are_refused(messengers):
    GuestEngine(messengers["guest"], NODES).share(np.zeros(3, dtype=np.int64))
    with pytest.raises(ProgramMismatchError, match="Party 'guest' sent"):
        InputParties(messengers["a"], ("guest",)).add_parts(np.zeros(4, dtype=np.int64))


# --- opening ---


def test_secrets_of_a_guest_have_a_shape_and_nothing_else(messengers):
    engine = GuestEngine(messengers["guest"], NODES)
    shared = engine.share(np.zeros((2, 3), dtype=np.int64))
    summed = engine.compute(lambda xp, values, times: values.sum(axis=1) * times, shared, times=2)
    assert (shared.shape, summed.shape, engine.coins((4,)).shape) == ((2, 3), (2,), (4,))
    assert [row.shape for row in engine.rows(shared)] == [(3,), (3,)]
    assert shared._handle is summed._handle is None


def test_a_guest_learns_what_all_nodes_opened_and_says_first_that_it_is_ready(messengers):
    for node in NODES:
        InputParties(messengers[node], ("guest",)).tell(np.array([3, -4]))
    assert GuestEngine(messengers["guest"], NODES)._open(Secret(None, (2,))).tolist() == [3, -4]
    for node in NODES:
        InputParties(messengers[node], ("guest",)).wait_until_ready((2,))


def test_nodes_that_say_different_things_are_not_believed(messengers):
    for node, value in zip(NODES, (3, 4), strict=True):
        InputParties(messengers[node], ("guest",)).tell(np.array([value]))
    with pytest.raises(EngineError, match="opened different values"):
        GuestEngine(messengers["guest"], NODES)._open(Secret(None, (1,)))


def test_what_a_node_opened_has_the_shape_that_was_asked_for(messengers):
    messengers["a"].send("guest", OPENED, b"1234567")
    with pytest.raises(ProgramMismatchError, match="Party 'a' sent"):
        GuestEngine(messengers["guest"], NODES)._open(Secret(None, (1,)))


def test_a_node_waits_for_guests_that_open_the_same(messengers):
    messengers["guest"].send("a", READY, b"[3]")
    with pytest.raises(ProgramMismatchError, match="'guest' is about to open something else"):
        InputParties(messengers["a"], ("guest",)).wait_until_ready((2,))
    messengers["guest"].close()
    with pytest.raises(PartyLostError, match="Party 'guest' stopped"):
        InputParties(messengers["a"], ("guest",)).wait_until_ready((2,))


def test_a_guest_whose_ledger_refuses_never_says_that_it_is_ready(messengers):
    """So no node opens anything."""
    ledger = Ledger(":memory:")
    ledger.set_limit("data", Limit(Fraction(1), "add-remove", delta=Fraction(1)))
    both = {"add-remove": 1, "replace": 2}
    engine = GuestEngine(messengers["guest"], NODES)
    with ledger.reserve(
        "data", "test", "hash", Cost(add_remove=Fraction(1, 2), replace=Fraction(1), delta=Fraction(1))
    ) as charge:
        gate = RevealGate(engine, engine.opener, charge, False)
        counts = SecretCounts(engine.share(np.zeros((4, 1), dtype=np.int64)), Packing(1))
        with pytest.raises(BudgetExceededError):
            gate.reveal_measurement(
                counts,
                Measure(
                    label="cells",
                    budget=Fraction(9),
                    calibrated_to="add-remove",
                    l1_sensitivity=both,
                    changed_entries=both,
                    entries=4,
                ),
            )
    messengers["guest"].close()
    messengers["a"].receive("guest", INPUT_PART)
    with pytest.raises(PartyLostError):
        messengers["a"].receive("guest", READY)


def test_public_values_go_to_all_parties_nodes_and_guests(messengers):
    engines = [GuestEngine(messengers[party], NODES) for party in PARTIES]
    with ThreadPoolExecutor(len(engines)) as pool:
        answers = pool.map(lambda engine: engine.exchange(HELLO, engine.party.upper()), engines)
        assert list(answers) == [("A", "B", "GUEST", "OTHER")] * 4


# --- three nodes ---


class Link:
    """What SPU's link does, between threads."""

    def __init__(self, rank: int, mail: dict[tuple[int, int], queue.Queue[bytes]]) -> None:
        self._rank, self._mail = rank, mail
        self.seen: list[np.ndarray] = []

    def send(self, node: int, content: bytes) -> None:
        self._mail[self._rank, node].put(content)

    def recv(self, node: int) -> bytes:
        content = self._mail[node, self._rank].get(timeout=300)
        self.seen.append(np.frombuffer(content, np.int64))
        return content


def between_three(function, inputs):
    """Run a function at three nodes; return their shares and what each one received."""
    mail = {(i, j): queue.Queue() for i in range(3) for j in range(3)}
    links = [Link(rank, mail) for rank in range(3)]
    with ThreadPoolExecutor(3) as pool:
        shares = list(pool.map(function, links, range(3), inputs))
    return shares, [np.concatenate(link.seen) for link in links]


def consistent_parts(shares):
    """The three parts, after a check that both holders of a part hold the same."""
    for node in range(3):
        assert np.array_equal(shares[node][..., 1], shares[(node + 1) % 3][..., 0])
    return [share[..., 0] for share in shares]


def test_shares_of_a_sum_and_of_an_xor_are_replicated_and_right():
    inputs = [SeededCoins(rank).words((2, 5)) for rank in range(3)]
    shares, _ = between_three(share_of_sum, inputs)
    assert np.array_equal(np.sum(consistent_parts(shares), axis=0), np.sum(inputs, axis=0))
    shares, _ = between_three(share_of_xor, inputs)
    assert np.array_equal(np.bitwise_xor.reduce(consistent_parts(shares)), np.bitwise_xor.reduce(inputs))


@pytest.mark.parametrize("share", [share_of_sum, share_of_xor])
@pytest.mark.parametrize("value", INPUTS[:3])
def test_what_one_of_three_nodes_receives_is_uniform_whatever_the_inputs(value, share):
    _, seen = between_three(share, [np.full(WORDS, value, dtype=np.int64)] * 3)
    assert all(uniformity(words) > FALSE_ALARM for words in seen)


@given(int64s)
def test_any_two_of_three_parts_are_coins_and_all_add_up(value):
    parts = parts_of_sum(np.array([value]))
    assert sum(int(part) for part in parts[:, 0]) % 2**64 == value % 2**64
    assert np.bitwise_xor.reduce(parts_of_xor(np.array([value])))[0] == value


def test_inputs_of_different_shapes_are_noticed():
    errors = []

    def attempt(link, rank, own):
        try:
            share_of_sum(link, rank, own)
        except ValueError as error:
            errors.append(str(error))

    between_three(attempt, [np.zeros(3 + (rank == 2), dtype=np.int64) for rank in range(3)])
    assert errors == ["the nodes put in values of different shapes"] * len(errors)
    assert errors


# --- words for the certificate ---


def test_two_parties_alone_are_told_of_each_other():
    assert "neither party sees the other's data" in secrecy_of("CHEETAH", NODES, ())
    assert assumptions_of("CHEETAH", NODES, ())[0].startswith(
        "Every party's engine is the released software and follows the protocol"
    )


def test_coalitions_that_break_secrecy_are_named():
    assert "unless 'a' and 'b' collude" in secrecy_of("CHEETAH", NODES, ("guest", "other"))
    assert "'guest' and 'other' split every input into one share" in secrecy_of("CHEETAH", NODES, ("guest", "other"))
    three = secrecy_of("ABY3", ("a", "b", "c"), ("guest",))
    assert "unless 'a' and 'b', 'a' and 'c', or 'b' and 'c' collude" in three
    assert "'guest' splits" in three
    assert "share" not in secrecy_of("ABY3", ("a", "b", "c"), ())
    said = assumptions_of("CHEETAH", NODES, ("guest", "other"))[1]
    assert "one of them and 'guest' and 'other' together" in said
