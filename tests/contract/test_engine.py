"""What every engine does, for two, three and five parties; and that nothing hangs and nothing secret can be read.

Every run is bounded: a room that has not ended after HANG_SECONDS counts as hanging and is taken apart.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from copublish.engine import IdealEngine, Room, Secret
from copublish.engine.reveal import RevealGate
from copublish.errors import (
    BudgetExceededError,
    EngineError,
    PartyLostError,
    ProgramMismatchError,
    SecretCannotBeReadError,
)
from copublish.privacy.accounting import Cost
from copublish.privacy.disclosures import Measure, Select
from copublish.privacy.ledger import Charge, Ledger, Limit
from support import SeededCoins, seeded

HANG_SECONDS = 4.0
PARTIES = [2, 3, 5]
ENGINES = {"ideal": Room}
"""Every engine, by how the parties of one run are brought together."""

Job = Callable[[IdealEngine], Any]


@pytest.fixture(params=[(engine, n) for engine in ENGINES for n in PARTIES], ids=lambda p: f"{p[0]}-{p[1]}")
def room(request: pytest.FixtureRequest) -> Room:
    engine, parties = request.param
    names = tuple(f"p{number}" for number in range(parties))
    return ENGINES[engine](names, seeded(names, 1))


def run(room: Room, job: Job) -> dict[str, Any]:
    """Run a job at every party; fail, and set the threads free, if that does not end."""
    outcome: list[Any] = []

    def target() -> None:
        try:
            outcome.append(room.run(job))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if thread.is_alive():
        room._somebody_left = True
        for turn in room._turns.values():
            for _ in range(100):
                turn.release()
        thread.join(HANG_SECONDS)
        pytest.fail("the run hangs")
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def number_of(engine: IdealEngine) -> int:
    return engine.parties.index(engine.party)


def value(secret: Secret) -> list:
    """What a secret holds. The ideal engine keeps it in the clear; only tests look."""
    return np.asarray(secret._handle).tolist()


def double(xp: ModuleType, a: np.ndarray) -> np.ndarray:
    return a * 2


def weigh(xp: ModuleType, a: np.ndarray, b: np.ndarray, weights: np.ndarray, shift: int) -> np.ndarray:
    return a * weights + b - shift


# --- what is computed ---


def test_everyone_knows_who_takes_part_and_in_which_order(room: Room) -> None:
    assert run(room, lambda engine: (engine.party, engine.parties)) == {
        party: (party, room.parties) for party in room.parties
    }


def test_a_shared_value_is_the_sum_of_all_parts_and_shapes_are_public(room: Room) -> None:
    def job(engine: IdealEngine) -> Secret:
        return engine.share(np.array([[number_of(engine), 10], [-3, 2**40]], dtype=np.int64))

    n = len(room.parties)
    for secret in run(room, job).values():
        assert secret.shape == (2, 2)
        assert value(secret) == [[n * (n - 1) // 2, 10 * n], [-3 * n, n * 2**40]]


def test_a_program_runs_on_secrets_with_public_arguments_and_gives_a_secret(room: Room) -> None:
    def job(engine: IdealEngine) -> Secret:
        a = engine.share(np.full(3, number_of(engine), dtype=np.int64))
        b = engine.share(np.array([1, 0, -1], dtype=np.int64))
        return engine.compute(weigh, a, b, weights=np.array([1, 2, 3]), shift=4)

    n = len(room.parties)
    total = n * (n - 1) // 2
    for secret in run(room, job).values():
        assert isinstance(secret, Secret)
        assert value(secret) == [total + n - 4, 2 * total - 4, 3 * total - n - 4]


def test_joint_coins_are_the_xor_of_every_partys_own_and_never_repeat(room: Room) -> None:
    results = run(room, lambda engine: [engine.coins((2, 3)), engine.coins((2, 3))])
    own = [SeededCoins(1000 + number) for number in range(len(room.parties))]
    for drawn in range(2):
        expected = [[0] * 3 for _ in range(2)]
        for coins in own:
            words = coins.words((2, 3))
            expected = [[expected[i][j] ^ int(words[i, j]) for j in range(3)] for i in range(2)]
        assert all(value(secrets[drawn]) == expected for secrets in results.values())
    assert value(results["p0"][0]) != value(results["p0"][1])


def test_one_honest_party_makes_joint_coins_uniform() -> None:
    """Colluding parties that put in constants do not see more than a fixed flip of the honest party's coins."""
    names = ("p0", "p1", "p2")

    class Fixed:
        def words(self, shape: tuple[int, ...]) -> np.ndarray:
            return np.full(shape, 0x5555555555555555, dtype=np.int64)

    results = run(Room(names, {"p0": Fixed(), "p1": SeededCoins(4), "p2": Fixed()}), lambda e: e.coins((5,)))
    assert value(results["p0"]) == SeededCoins(4).words((5,)).tolist()


def test_exchanged_values_reach_everyone_in_party_order(room: Room) -> None:
    results = run(room, lambda engine: engine.exchange({"from": engine.party}))
    expected = tuple({"from": party} for party in room.parties)
    assert all(result == expected for result in results.values())


def test_records_are_counted_by_the_sum_of_partial_cell_numbers(room: Room) -> None:
    n = len(room.parties)
    parts = np.random.default_rng(3).integers(0, 4, size=(n, 50))
    cells = 3 * n + 2

    results = run(room, lambda engine: engine.joint_histogram(parts[number_of(engine)], cells))
    naive = [0] * cells
    for record in range(50):
        naive[sum(int(parts[party, record]) for party in range(n))] += 1
    assert all(value(secret) == naive for secret in results.values())
    assert results["p0"].shape == (cells,)


def test_no_records_give_a_histogram_of_zeros(room: Room) -> None:
    results = run(room, lambda engine: engine.joint_histogram(np.zeros(0, dtype=np.int64), 4))
    assert value(results["p0"]) == [0, 0, 0, 0]


def identifiers(party: int, n_parties: int) -> list[str]:
    """Everyone lists the even numbers below 20 and some of its own, in its own order."""
    own = [f"own-{party}-{number}" for number in range(party)]
    listed = [str(number) for number in range(0, 20, 2)] + own
    np.random.default_rng(party).shuffle(listed)
    return listed


def test_aligned_records_are_the_common_ones_in_one_order(room: Room) -> None:
    n = len(room.parties)

    def job(engine: IdealEngine) -> list[str]:
        mine = identifiers(number_of(engine), n)
        return [mine[position] for position in engine.align(mine)]

    results = run(room, job)
    assert sorted(results["p0"]) == sorted(str(number) for number in range(0, 20, 2))
    assert all(result == results["p0"] for result in results.values())


@pytest.mark.parametrize("lists", ["equal", "disjoint", "empty"])
def test_alignment_of_equal_disjoint_and_empty_lists(room: Room, lists: str) -> None:
    def job(engine: IdealEngine) -> list[int]:
        mine = {"equal": ["b", "a", "c"], "disjoint": [engine.party], "empty": []}[lists]
        return engine.align(mine).tolist()

    expected = {"equal": 3, "disjoint": 0, "empty": 0}[lists]
    positions = run(room, job)
    assert all(len(found) == expected for found in positions.values())
    assert all(found == positions["p0"] for found in positions.values())


def test_a_person_at_any_two_parties_is_noticed(room: Room) -> None:
    n = len(room.parties)
    for pair in [None, (0, 1), (0, n - 1), (n - 2, n - 1)]:

        def job(engine: IdealEngine, pair: tuple[int, int] | None = pair) -> bool:
            mine = [f"{engine.party}-{number}" for number in range(5)]
            return engine.have_common([*mine, "both"] if pair and number_of(engine) in pair else mine)

        fresh = type(room)(room.parties)
        assert set(run(fresh, job).values()) == {pair is not None}


# --- parties that differ ---

REQUESTS: dict[str, Callable[[IdealEngine, bool], Any]] = {
    "another shape": lambda e, odd: e.share(np.zeros(3 + odd, dtype=np.int64)),
    "another number of coins": lambda e, odd: e.coins((2, 1 + odd)),
    "another program": lambda e, odd: e.compute(
        double if odd else weigh, *[e.share(np.zeros(2, np.int64))] * (2 - odd)
    ),
    "another public number": lambda e, odd: e.compute(
        weigh, *[e.share(np.zeros(2, np.int64))] * 2, weights=np.ones(2), shift=int(odd)
    ),
    "another public array": lambda e, odd: e.compute(
        weigh, *[e.share(np.zeros(2, np.int64))] * 2, weights=np.array([1, 1 + odd]), shift=0
    ),
    "a missing public argument": lambda e, odd: e.compute(
        weigh, *[e.share(np.zeros(2, np.int64))] * 2, **({"shift": 0} if odd else {"shift": 0, "weights": np.ones(2)})
    ),
    "another number of cells": lambda e, odd: e.joint_histogram(np.zeros(3, np.int64), 4 + odd),
    "another number of records": lambda e, odd: e.joint_histogram(np.zeros(3 + odd, np.int64), 4),
    "another kind of call": lambda e, odd: e.exchange(1) if odd else e.coins((1,)),
    "alignment and check": lambda e, odd: e.align(["a"]) if odd else e.have_common(["a"]),
    "another opening": lambda e, odd: e._open(e.share(np.zeros(2, np.int64))) if odd else e.exchange(e.exchange(1)),
}


@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("who", ["first", "last"])
def test_parties_that_ask_for_different_things_are_told_and_stop(room: Room, request_: str, who: str) -> None:
    odd_one = room.parties[0 if who == "first" else -1]
    with pytest.raises(ProgramMismatchError):
        run(room, lambda engine: REQUESTS[request_](engine, engine.party == odd_one))


def test_parties_that_ask_for_the_same_do_not_differ(room: Room) -> None:
    def job(engine: IdealEngine) -> list[int]:
        two = [engine.share(np.ones(2, np.int64)), engine.share(np.ones(2, np.int64))]
        secret = engine.compute(weigh, *two, weights=np.array([1, 2]), shift=1)
        return engine._open(secret).tolist()

    n = len(room.parties)
    assert set(map(tuple, run(room, job).values())) == {(2 * n - 1, 3 * n - 1)}


class OwnError(Exception):
    pass


POSITIONS: dict[str, Callable[[tuple[str, ...]], str]] = {
    "first": lambda parties: parties[0],
    "middle": lambda parties: parties[len(parties) // 2],
    "last": lambda parties: parties[-1],
}


def fails(xp: ModuleType, a: np.ndarray) -> np.ndarray:
    raise OwnError("in the program")


def test_a_program_that_fails_ends_everyone_with_its_own_error(room: Room) -> None:
    with pytest.raises(OwnError, match="in the program"):
        run(room, lambda engine: engine.exchange(engine.compute(fails, engine.share(np.zeros(2, np.int64)))))


@pytest.mark.parametrize("who", POSITIONS)
@pytest.mark.parametrize("when", [0, 1, 3])
@pytest.mark.parametrize("error", [OwnError("mine"), KeyboardInterrupt()], ids=repr)
def test_a_party_that_fails_ends_the_others_and_its_own_error_is_raised(room: Room, who, when, error) -> None:
    failing = POSITIONS[who](room.parties)
    ended: dict[str, type] = {}

    def job(engine: IdealEngine) -> None:
        try:
            for meeting in range(5):
                if engine.party == failing and meeting == when:
                    raise error
                engine.exchange(meeting)
        except BaseException as caught:
            ended[engine.party] = type(caught)
            raise

    with pytest.raises(type(error)) as raised:
        run(room, job)
    assert raised.value is error
    others = {kind for party, kind in ended.items() if party != failing}
    assert others <= {PartyLostError}


@pytest.mark.parametrize("who", POSITIONS)
@pytest.mark.parametrize("when", [0, 3])
def test_a_party_that_ends_early_is_an_error_for_those_who_wait(room: Room, who: str, when: int) -> None:
    leaving = POSITIONS[who](room.parties)

    def job(engine: IdealEngine) -> None:
        for meeting in range(5):
            if engine.party == leaving and meeting == when:
                return
            engine.exchange(meeting)

    with pytest.raises(EngineError):
        run(room, job)


def test_all_but_one_ending_early_is_an_error_for_the_one(room: Room) -> None:
    for last in room.parties:

        def job(engine: IdealEngine, last: str = last) -> None:
            if engine.party == last:
                engine.exchange("anyone?")

        with pytest.raises(EngineError):
            run(type(room)(room.parties), job)


# --- secrets ---

READINGS: dict[str, Callable[[Secret], Any]] = {
    "bool": bool,
    "if": lambda secret: 1 if secret else 0,
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda secret: [0, 1, 2][secret],
    "range": range,
    "len": len,
    "iter": iter,
    "list": list,
    "unpack": lambda secret: [*secret],
    "in": lambda secret: 7 in secret,
    "max": max,
    "sum": sum,
    "first": lambda secret: secret[0],
    "slice": lambda secret: secret[:],
    "asarray": np.asarray,
    "array of it": lambda secret: np.array([secret], dtype=np.int64),
    "numpy sum": np.sum,
    "equal": lambda secret: secret == 7,
    "equal to itself": lambda secret: secret == secret,
    "different": lambda secret: secret != 7,
    "less": lambda secret: secret < 7,
    "plus": lambda secret: secret + 1,
    "array plus": lambda secret: np.ones(3) + secret,
    "floor": math.floor,
    "hash": hash,
    "key": lambda secret: {secret: 1},
    "pickle": pickle.dumps,
    "oldest pickle": lambda secret: pickle.dumps(secret, protocol=0),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "as number": operator.index,
    "padded": lambda secret: f"{secret:>10}",
    "as decimal": lambda secret: f"{secret:d}",
    "bytes": bytes,
    "vars": vars,
}


@pytest.fixture
def secret() -> Secret:
    return run(Room(("p0", "p1")), lambda engine: engine.share(np.array([7, 11, 13], dtype=np.int64)))["p0"]


@pytest.mark.parametrize("how", READINGS)
def test_a_secret_cannot_be_read(secret: Secret, how: str) -> None:
    with pytest.raises(TypeError):  # SecretCannotBeReadError is one
        READINGS[how](secret)


@pytest.mark.parametrize("how", ["bool", "int", "float", "len", "iter", "asarray", "equal", "pickle", "first"])
def test_the_error_says_what_to_do_instead(secret: Secret, how: str) -> None:
    with pytest.raises(SecretCannotBeReadError, match="reveal gate"):
        READINGS[how](secret)


def test_a_secret_shows_its_shape_and_nothing_of_its_values(secret: Secret) -> None:
    for shown in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!r}",
        repr([secret]),
        repr({1: secret}),
    ):
        assert "Secret(shape=(3,))" in shown
        assert not any(number in shown for number in ("7", "11", "13"))


# --- the gate ---


@pytest.fixture
def charges() -> Callable[[Cost], Charge]:
    def make(reserved: Cost) -> Charge:
        ledger = Ledger(":memory:")
        ledger.set_limit("d", Limit(Fraction(1000), "replace"))
        context = ledger.reserve("d", "r", "h", reserved)
        kept.append(context)
        return context.__enter__()

    kept: list[Any] = []
    return make


ENOUGH = Cost(Fraction(100), Fraction(100), Fraction(1, 2**20))
BOTH = {"add-remove": 1, "replace": 2}


def openings(room: Room, charges: Callable[[Cost], Charge], reserved: Cost, disclosure: Any, entries: int) -> list[str]:
    """Try to open a secret and return the engine calls that came after it was shared."""
    calls: list[str] = []

    def job(engine: IdealEngine) -> None:
        gate = RevealGate(engine, charges(reserved), False)
        secret = engine.share(np.arange(entries, dtype=np.int64))
        opening = engine._open
        engine._open = lambda s: calls.append("open") or opening(s)  # type: ignore[method-assign]
        reveal = gate.reveal_selection if isinstance(disclosure, Select) else gate.reveal_measurement
        reveal(secret, disclosure)

    try:
        run(room, job)
    except (EngineError, BudgetExceededError) as error:
        calls.append(type(error).__name__)
    return calls


@pytest.mark.parametrize(
    "disclosure",
    [
        Select("which", Fraction(1), "add-remove", BOTH, 4),
        Measure("counts", Fraction(1), "add-remove", BOTH, BOTH, 4),
    ],
    ids=["select", "measure"],
)
def test_the_gate_opens_what_is_paid_for_and_fits_and_nothing_else(room: Room, charges, disclosure) -> None:
    fresh = lambda: type(room)(room.parties)  # noqa: E731
    assert openings(fresh(), charges, ENOUGH, disclosure, 4) == ["open"] * len(room.parties)
    assert openings(fresh(), charges, ENOUGH, disclosure, 5) == ["EngineError"]
    assert openings(fresh(), charges, Cost(Fraction(9, 10), Fraction(5), Fraction(1)), disclosure, 4) == [
        "BudgetExceededError"
    ]


def test_noise_that_does_not_fit_the_engines_integers_is_not_opened(room: Room, charges) -> None:
    tiny = Fraction(1, 2**64)
    for disclosure in (
        Select("which", tiny, "add-remove", BOTH, 4),
        Measure("counts", tiny, "add-remove", BOTH, BOTH, 4),
    ):
        assert disclosure.noise.bits > 62
        assert openings(type(room)(room.parties), charges, ENOUGH, disclosure, 4) == ["EngineError"]
