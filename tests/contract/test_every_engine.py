"""Laws of the engines' interfaces, on every engine: ideal, masked sums, and SPU with CHEETAH and with ABY3.

Parties are threads; SPU computes in a worker process of each compute node. What only the ideal engine can show, since
it keeps secrets in the clear, is in `test_engine.py`; what only one engine does is in the tests of that engine.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from copublish.engines.ideal import Room
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.errors import BudgetExceededError, EngineError, PartyLostError, ProgramMismatchError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure, Select
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.noise.geometric import SystemCoins
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.kernel.programs.noise import blinds_of, noisy_argmax
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import Computer, ProgramComputer
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from support import ConstantCoins, SeededCoins, no_noise
from support.messages import Post
from support.owners import Nodes
from support.protocol import exchange

Job = Callable[[Any], Any]
BOTH = {"add-remove": 1, "replace": 2}
ENOUGH = Cost(add_remove=Fraction(100), replace=Fraction(100), delta=Fraction(1, 2**20))
FIRST, SECOND = exchange("first step"), exchange("second step")
TOO_LITTLE = Cost(add_remove=Fraction(9, 10), replace=Fraction(5), delta=Fraction(1))


@dataclass(frozen=True)
class Setting:
    """One engine and its parties, with coins of which every noise value is 0.

    Attributes:
        owners: The parties that have data.
        parties: All parties, in agreed order.
        run: Runs a job at every party; returns what each returned, or the error that it ended with.
        shares: How owners share noise, where the engine lets them add it themselves.
    """

    owners: tuple[str, ...]
    parties: tuple[str, ...]
    run: Callable[[Job], dict[str, Any]]
    shares: NoiseShares | None = None


def ideal() -> Iterator[Setting]:
    parties = ("p0", "p1", "p2")

    def run(job: Job) -> dict[str, Any]:
        outcomes: dict[str, Any] = {}

        def at(engine: Any) -> None:
            try:
                outcomes[engine.party] = job(engine)
            except Exception as error:
                outcomes[engine.party] = error
                raise

        with suppress(Exception):
            Room(parties, no_noise(parties)).run(at)
        return outcomes

    yield Setting(parties, parties, run)


def masked() -> Iterator[Setting]:
    owners, parties = ("p0", "p1", "p2"), ("p0", "p1", "p2", "helper")

    def run(job: Job) -> dict[str, Any]:
        return Post(parties).run(lambda messenger: job(MaskedSumEngine(messenger, owners, "helper", ConstantCoins(1))))

    yield Setting(owners, parties, run, NoiseShares(owners, 1))


def spu(names: tuple[str, ...], protocol: str) -> Iterator[Setting]:
    nodes, parties = Nodes(names, protocol), (*names, "guest")
    coins = no_noise(names)

    def run(job: Job) -> dict[str, Any]:
        def at(engine: Any) -> Any:
            if engine.party in coins:
                engine.own_coins = coins[engine.party]
            return job(engine)

        return nodes.run(parties, at)

    yield Setting(parties, parties, run)
    nodes.close()


ENGINES: dict[str, Callable[[], Iterator[Setting]]] = {
    "ideal": ideal,
    "masked sums": masked,
    "SPU, CHEETAH": lambda: spu(("p0", "p1"), "CHEETAH"),
    "SPU, ABY3": lambda: spu(("p0", "p1", "p2"), "ABY3"),
}


@pytest.fixture(scope="module", params=ENGINES)
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    yield from ENGINES[request.param]()


computing = pytest.mark.parametrize("setting", [name for name in ENGINES if name != "masked sums"], indirect=True)
"""Engines that compute on secrets; masked sums are only added."""


def part_of(engine: Any, setting: Setting) -> np.ndarray:
    """What a party shares: 10 and the square of its number, or nothing where it owns no data."""
    if engine.party not in setting.owners:
        return np.zeros((2, 1), dtype=np.int64)
    return np.array([[10], [setting.owners.index(engine.party) ** 2]], dtype=np.int64)


def sums_of(setting: Setting) -> list[int]:
    n = len(setting.owners)
    return [10 * n, sum(number**2 for number in range(n))]


def counts_stated(setting: Setting, entries: int = 2) -> Measure:
    return Measure(
        label="counts",
        budget=Fraction(1),
        calibrated_to="add-remove",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=entries,
        shares=setting.shares,
    )


def gate_of(engine: Computer, reserved: Cost) -> RevealGate:
    ledger = Ledger(":memory:")
    ledger.set_limit("d", Limit(Fraction(1000), "replace", delta=Fraction(1)))
    return RevealGate(engine, engine.opener, ledger.reserve("d", "r", "h", reserved).__enter__(), False)


def everywhere(outcomes: dict[str, Any], expected: object) -> None:
    for party, outcome in outcomes.items():
        assert outcome == expected, (party, outcome)


# --- engines that add up ---


def test_every_party_knows_all_parties_in_one_order(setting: Setting) -> None:
    assert all(isinstance(engine, Computer) for engine in setting.run(lambda engine: engine).values())
    everywhere(setting.run(lambda engine: engine.parties), setting.parties)


def test_exchanged_values_reach_everyone_in_party_order_topic_by_topic(setting: Setting) -> None:
    def job(engine: Any) -> list[Any]:
        return [engine.exchange(message, {message.topic: engine.party}) for message in (FIRST, SECOND, FIRST)]

    expected = [tuple({message.topic: party} for party in setting.parties) for message in (FIRST, SECOND, FIRST)]
    everywhere(setting.run(job), expected)


@pytest.mark.parametrize("place", [0, -1])
def test_parties_that_exchange_on_different_topics_end_and_learn_nothing(setting: Setting, place: int) -> None:
    odd_one, learned = setting.parties[place], []

    def job(engine: Any) -> None:
        learned.append(engine.exchange(SECOND if engine.party == odd_one else FIRST, 1))

    outcomes = setting.run(job)
    assert any(isinstance(outcome, ProgramMismatchError) for outcome in outcomes.values())
    assert all(isinstance(outcome, EngineError) for outcome in outcomes.values())
    assert learned == []


def test_the_gate_opens_the_sum_of_what_owners_share_to_everyone(setting: Setting) -> None:
    def job(engine: Any) -> tuple[list[int], int]:
        gate = gate_of(engine, ENOUGH)
        counts = SecretCounts(engine.share(part_of(engine, setting)), Packing(1))
        return gate.reveal_measurement(counts, counts_stated(setting)).tolist(), len(gate.opened)

    everywhere(setting.run(job), (sums_of(setting), 1))


@pytest.mark.parametrize(
    ("reserved", "entries", "error"), [(TOO_LITTLE, 2, BudgetExceededError), (ENOUGH, 3, EngineError)]
)
def test_nothing_is_opened_that_is_not_paid_for_or_not_as_stated(
    setting: Setting, reserved: Cost, entries: int, error: type[Exception]
) -> None:
    opened: list[Any] = []

    def job(engine: Any) -> None:
        gate = gate_of(engine, reserved)
        counts = SecretCounts(engine.share(part_of(engine, setting)), Packing(1))
        opened.append(gate.reveal_measurement(counts, counts_stated(setting, entries)))

    outcomes = setting.run(job)
    assert opened == []
    assert any(type(outcome) is error for outcome in outcomes.values()), outcomes
    assert all(isinstance(outcome, error | PartyLostError) for outcome in outcomes.values()), outcomes


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("how", ["fails", "leaves"])
def test_a_party_that_fails_or_leaves_ends_those_who_wait_for_it(setting: Setting, place: int, how: str) -> None:
    gone = setting.parties[place]

    def job(engine: Any) -> None:
        engine.exchange(FIRST, "all are here")
        if engine.party == gone:
            if how == "fails":
                raise LookupError("its own mistake")
            return
        engine.exchange(SECOND, "is everybody still here?")

    outcomes = setting.run(job)
    own = outcomes.pop(gone)
    assert isinstance(own, LookupError) if how == "fails" else own is None
    assert all(isinstance(outcome, EngineError) for outcome in outcomes.values()), outcomes


# --- engines that compute on secrets ---


def weigh(xp: ModuleType, a: np.ndarray, b: np.ndarray, weights: np.ndarray, shift: int) -> np.ndarray:
    return a * weights + b - shift


@computing
def test_a_program_on_secrets_computes_what_numpy_computes(setting: Setting) -> None:
    assert all(setting.run(lambda engine: isinstance(engine, ProgramComputer)).values())
    weights = np.array([1, 2, -3])

    def job(engine: Any) -> list[int]:
        number = setting.parties.index(engine.party)
        a = engine.share(np.full(3, number, dtype=np.int64))
        b = engine.share(np.array([1, 0, -1], dtype=np.int64))
        return engine._open(engine.compute(weigh, a, b, weights=weights, shift=4)).tolist()

    n = len(setting.parties)
    a, b = np.full(3, n * (n - 1) // 2), n * np.array([1, 0, -1])
    everywhere(setting.run(job), weigh(np, a, b, weights, 4).tolist())


@computing
def test_rows_of_a_secret_are_secrets_with_its_values(setting: Setting) -> None:
    def job(engine: Any) -> list[list[int]]:
        table = engine.share(np.array([[1, 2], [3, 4]], dtype=np.int64))
        return [engine._open(row).tolist() for row in engine.rows(table)]

    n = len(setting.parties)
    everywhere(setting.run(job), [[n, 2 * n], [3 * n, 4 * n]])


@computing
def test_joint_coins_are_the_xor_of_all_coins(setting: Setting) -> None:
    """One node's coins are all 1 here, and those of the others all 0."""
    everywhere(setting.run(lambda engine: engine._open(engine.coins((2,))).tolist()), [-1, -1])


@computing
def test_the_gate_opens_the_index_of_the_largest_score_alone(setting: Setting) -> None:
    stated = Select(label="which", budget=Fraction(1), calibrated_to="add-remove", score_range=BOTH, candidates=5)
    n = len(setting.parties)

    def job(engine: Any) -> int:
        number = setting.parties.index(engine.party)
        scores = np.array([0, 1, 5 * (number == n - 1), 2, 1 + number], dtype=np.int64)
        return gate_of(engine, ENOUGH).reveal_selection(engine.share(scores), stated)

    totals = [0, n, 5, 2 * n, n + n * (n - 1) // 2]
    everywhere(setting.run(job), int(np.argmax(totals)))


# --- words that nodes put together ---


def nodes_of(setting: Setting) -> tuple[str, ...]:
    """The parties that compute: a guest has no part in coins and masks."""
    return tuple(party for party in setting.parties if party != "guest")


@contextmanager
def words_by_party(
    given: Callable[[str], SeededCoins],
) -> Iterator[tuple[threading.local, dict[str, list[np.ndarray]]]]:
    """Let the operating system's words be those of each party, who says in its thread that it is there; note them."""
    here, drawn = threading.local(), defaultdict(list)
    sources: dict[str, SeededCoins] = {}

    def words(self: SystemCoins, shape: tuple[int, ...]) -> np.ndarray:
        drawn[here.party].append(sources.setdefault(here.party, given(here.party)).words(shape))
        return drawn[here.party][-1]

    with patch.object(SystemCoins, "words", words):
        yield here, drawn


@computing
def test_joint_coins_hold_the_words_of_every_node_in_full(setting: Setting) -> None:
    def job(engine: Any) -> np.ndarray:
        engine.own_coins = SeededCoins(setting.parties.index(engine.party))
        return engine._open(engine.coins((40, 2)))

    own = [SeededCoins(setting.parties.index(node)).words((40, 2)) for node in nodes_of(setting)]
    for opened in setting.run(job).values():
        assert np.array_equal(opened, np.bitwise_xor.reduce(own))


@computing
def test_masks_are_the_sum_of_words_of_the_operating_system_of_every_node_in_full(setting: Setting) -> None:
    """Each node draws all of its own, of full width, even where coins are given; so any of them hides the others'."""
    with words_by_party(lambda party: SeededCoins(setting.parties.index(party))) as (here, drawn):

        def job(engine: Any) -> np.ndarray:
            here.party = engine.party
            return engine._open(engine.blinds((500,)))

        opened = setting.run(job)
    for node in nodes_of(setting):
        (words,) = drawn[node]
        assert words.shape == (500,)
        assert (words >> np.arange(64)[:, None] & 1).sum(
            axis=1
        ).min() > 150  # of 250 that are expected, at 9 deviations
    total = sum(drawn[node][0].astype(object) for node in nodes_of(setting))
    for found in opened.values():
        assert [int(word) for word in found] == [(int(word) + 2**63) % 2**64 - 2**63 for word in total]


@computing
def test_every_word_of_a_selection_but_the_winners_is_masked_by_every_node(setting: Setting) -> None:
    """What the gate opens, against the program in plain integers with the sum of all nodes' masks."""
    n, scores = len(setting.parties), np.array([4, 1, 7, 2, 0, 6])
    stated = Select(label="which", budget=Fraction(1), calibrated_to="add-remove", score_range=BOTH, candidates=6)
    with words_by_party(lambda party: SeededCoins(setting.parties.index(party))) as (here, drawn):

        def job(engine: Any) -> tuple[int, np.ndarray]:
            here.party, seen = engine.party, []
            gate = gate_of(engine, ENOUGH)
            real = gate.opener
            gate.opener = replace(real, open=lambda secret: seen.append(real.open(secret)) or seen[-1])
            drawn[engine.party].clear()  # a guest splits what it puts in
            return gate.reveal_selection(engine.share(scores), stated), seen[-1]

        opened = setting.run(job)
    masks = [[own for own in drawn[node] if own.shape == (blinds_of(6),)] for node in nodes_of(setting)]
    assert [len(own) for own in masks] == [1] * len(masks)
    plain = noisy_argmax(np, n * scores, 5 - np.arange(6), np.sum([own for (own,) in masks], axis=0))
    for index, words in opened.values():
        assert index == 2 and np.array_equal(words, plain)
    for number in range(len(masks)):  # without one node's, all words but the winner's would be others
        others = [own for place, (own,) in enumerate(masks) if place != number]
        without = noisy_argmax(np, n * scores, 5 - np.arange(6), np.sum(others, axis=0) if others else 0 * masks[0][0])
        assert (without != plain).sum() == 5
