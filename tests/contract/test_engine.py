"""The ideal engine for two, three and five parties: its results, that nothing hangs and nothing secret can be read.

`test_every_engine.py` runs the same laws on all engines.

Every run is bounded: a room that has not ended after HANG_SECONDS counts as hanging and is taken apart.
"""

from __future__ import annotations

import copy
import itertools
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

from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import (
    BudgetExceededError,
    EngineError,
    PartyLostError,
    ProgramMismatchError,
    SecretCannotBeReadError,
)
from copublish.kernel.accounting.concentrated import Concentrated, ConcentratedMeasure
from copublish.kernel.accounting.cost import Cost, cost_of
from copublish.kernel.accounting.disclosures import Disclosure, Measure, Select
from copublish.kernel.ledger.ledger import Ledger, Limit, Reservation
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import NO_CELL, Columns, Marks
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.mechanisms.shared.run_pairs import taken_apart
from support import SeededCoins, seeded
from support.protocol import HELLO, exchange

HANG_SECONDS = 300.0
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


def test_the_rows_of_a_secret_are_secrets_of_their_own(room: Room) -> None:
    def job(engine: IdealEngine) -> list[Secret]:
        table = engine.share(np.array([[1, 2], [3, number_of(engine)], [5, 6]], dtype=np.int64))
        rows = engine.rows(engine.compute(double, table))
        return [*rows, engine.compute(double, rows[1])]

    n = len(room.parties)
    total = n * (n - 1) // 2
    for rows in run(room, job).values():
        assert [row.shape for row in rows] == [(2,)] * 4
        assert [value(row) for row in rows] == [
            [2 * n, 4 * n],
            [6 * n, 2 * total],
            [10 * n, 12 * n],
            [12 * n, 4 * total],
        ]


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
    results = run(room, lambda engine: engine.exchange(HELLO, {"from": engine.party}))
    expected = tuple({"from": party} for party in room.parties)
    assert all(result == expected for result in results.values())


TOPICS = ("x", "y", "x")


def test_values_exchanged_under_a_topic_reach_everyone_who_names_it(room: Room) -> None:
    def job(engine: IdealEngine) -> list[tuple[str, ...]]:
        return [engine.exchange(exchange(topic), f"{engine.party} on {topic}") for topic in TOPICS]

    expected = [tuple(f"{party} on {topic}" for party in room.parties) for topic in TOPICS]
    assert all(result == expected for result in run(room, job).values())


@pytest.mark.parametrize("topics", [("x", "y"), ("x", ""), ("x", "X"), ("holders of a", "holders of b")])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("who", [0, -1])
def test_parties_that_exchange_on_different_topics_are_told_and_learn_nothing(room, topics, swapped, who) -> None:
    """The same value under another name is another question, and a later one cannot be taken for an earlier one."""
    learned: list[Any] = []
    odd_one = room.parties[who]

    def job(engine: IdealEngine) -> None:
        order = topics[::-1] if engine.party == odd_one else topics
        for topic in order if swapped else order[:1]:
            learned.append(engine.exchange(exchange(topic), 1))

    with pytest.raises(ProgramMismatchError):
        run(room, job)
    assert learned == []


ROWS = [Packing(1), Packing(4), Packing(4, 2), Packing(4, 3), Packing(5, 3), Packing(6, 3), Packing(2, 2)]


def sizes_for(parties: int) -> tuple[int, ...]:
    """Numbers of cells of which no two neighbors are equal, a party without cells of its own among them."""
    return (2, 3, 1, 4, 2)[:parties]


def joint(engine: IdealEngine, n_records: int, sizes: tuple[int, ...], packing: Packing) -> Secret:
    """Count records that are all in the first cell; the last party tells their places."""
    zeros = np.zeros(n_records, dtype=np.int64)
    return engine.joint_histogram(zeros, zeros if engine.party == engine.parties[-1] else None, sizes, packing)


@pytest.mark.parametrize("packing", ROWS, ids=str)
@pytest.mark.parametrize("n_records", [1, 50, 400])
def test_records_are_counted_by_the_cells_that_the_parties_hold(room: Room, packing: Packing, n_records: int) -> None:
    sizes = sizes_for(len(room.parties))
    generator = np.random.default_rng(3)
    cells = [generator.integers(0, size, n_records) for size in sizes]
    places = generator.integers(0, packing.row, n_records)

    def job(engine: IdealEngine) -> Secret:
        is_last = engine.party == engine.parties[-1]
        return engine.joint_histogram(cells[number_of(engine)], places if is_last else None, sizes, packing)

    results = run(room, job)
    naive: dict[tuple[int, ...], int] = {}
    for record in range(n_records):
        key = (*(int(own[record]) for own in cells), int(places[record]))
        naive[key] = naive.get(key, 0) + 1
    rows = list(itertools.product(*map(range, sizes)))  # the last party's cells fastest
    counts = [[naive.get((*row, place), 0) for place in range(packing.row)] for row in rows]
    bits = 63 // packing.lanes
    packed = [
        [
            sum(count << (bits * lane) for lane, count in enumerate(row[first : first + packing.lanes]))
            for first in range(0, packing.row, packing.lanes)
        ]
        for row in counts
    ]
    for secret in results.values():
        assert secret.shape == (math.prod(sizes), packing.elements)
        assert value(secret) == packed
        assert packing.unpack(np.array(value(secret))).tolist() == counts
    assert sum(map(sum, counts)) == n_records


def test_what_another_than_the_last_party_says_of_places_does_not_count(room: Room) -> None:
    sizes, packing = sizes_for(len(room.parties)), Packing(3)

    def job(engine: IdealEngine) -> Secret:
        place = 2 if engine.party == engine.parties[-1] else 1
        return engine.joint_histogram(np.zeros(5, np.int64), np.full(5, place, np.int64), sizes, packing)

    assert value(run(room, job)["p0"]) == [[0, 0, 5]] + [[0, 0, 0]] * (math.prod(sizes) - 1)


@pytest.mark.parametrize("packing", ROWS, ids=str)
def test_joint_matches_count_the_cells_that_all_parties_fit(room: Room, packing: Packing) -> None:
    """Each record's row and place are known in parts: every party rules out some cells, together all but one."""
    generator, n_rows, n_records = np.random.default_rng(4), 5, 40
    truth = [generator.integers(0, size, n_records) for size in (n_rows, packing.row)]
    fits = []
    for size, right in zip((n_rows, packing.row), truth, strict=True):
        keeper = generator.integers(0, len(room.parties), (size, n_records))  # who rules out which cell
        is_right = right == np.arange(size)[:, None]
        fits.append([is_right | (keeper != number) for number in range(len(room.parties))])
    everybody = tuple(range(len(room.parties)))

    def job(engine: IdealEngine) -> Secret:
        down, across = (Marks(own[number_of(engine)], everybody) for own in fits)
        return engine.joint_matches(down, across, packing)

    results = run(room, job)
    counts = np.zeros((n_rows, packing.row), dtype=np.int64)
    for row, place in zip(*truth, strict=True):
        counts[row, place] += 1
    for secret in results.values():
        assert packing.unpack(np.array(value(secret))).tolist() == counts.tolist()


def test_marks_of_a_party_that_holds_nothing_of_a_table_do_not_count(room: Room) -> None:
    marks = [np.ones((2, 6), dtype=np.bool_) for _ in room.parties]
    marks[0][1] = False
    marks[1][:] = False

    def job(engine: IdealEngine) -> Secret:
        own = marks[number_of(engine)]
        return engine.joint_matches(Marks(own, (0,)), Marks(own, (0,)), Packing(2))

    assert value(run(room, job)["p0"]) == [[6, 0], [0, 0]]


SIZES = (3, 2, 4)
SCORES = ((-5, 0, 7), (1, -1), (9, 2, 2, -64))


def naive_pairs(one: list[list[int]], other: list[list[int]], scores: tuple[Any, Any] | None) -> list[list[int]]:
    """Count records by pairs of cells, or add products of their scores, in a loop over records."""
    lines = [(c, k) for c, size in enumerate(SIZES) for k in range(size)]
    if scores is None:
        return [
            [sum(a[i] == x and b[j] == y for a, b in zip(one, other, strict=True)) for j, y in lines] for i, x in lines
        ]

    def score(column: int, cell: int) -> int:
        return 0 if cell == NO_CELL else SCORES[column][cell]

    columns = range(len(SIZES))
    return [
        [sum(score(i, a[i]) * score(j, b[j]) for a, b in zip(one, other, strict=True)) for j in columns]
        for i in columns
    ]


def some_cells(generator: np.random.Generator, n_records: int) -> np.ndarray:
    """Each record's cell in each column, some of them in none: shape (records, columns)."""
    cells = np.stack([generator.integers(0, size, n_records) for size in SIZES], axis=1)
    return np.where(generator.random(cells.shape) < 0.1, NO_CELL, cells)


@pytest.mark.parametrize("scores", [None, SCORES], ids=["counts", "scores"])
def test_pairs_of_two_parties_columns_equal_a_naive_loop(room: Room, scores: Any) -> None:
    generator, columns = np.random.default_rng(5), Columns(SIZES, scores)
    for owners in itertools.combinations(range(len(room.parties)), 2):
        cells = {owner: some_cells(generator, 30) for owner in owners}

        def job(engine: IdealEngine, owners: Any = owners, cells: Any = cells) -> Secret:
            own = cells.get(number_of(engine))
            return engine.joint_pairs(owners, [] if own is None else list(own.T), (columns, columns), 30)

        expected = naive_pairs(cells[owners[0]].tolist(), cells[owners[1]].tolist(), scores)
        fresh = type(room)(room.parties)
        assert all(value(secret) == expected for secret in run(fresh, job).values())


@pytest.mark.parametrize("lanes", [2, 3, 12])
def test_cells_that_share_lines_come_apart_to_counts_of_records(room: Room, lanes: int) -> None:
    """Of one party; the other has a line for the records in which it is present."""
    generator = np.random.default_rng(7)
    for owner in range(2):
        cells, present = some_cells(generator, 30), np.where(generator.random(30) < 0.8, 0, NO_CELL)

        def job(engine: IdealEngine, owner: int = owner, cells: Any = cells, present: Any = present) -> Secret:
            sides = [Columns(SIZES, lanes=lanes), Columns((1,))]
            own = {owner: list(cells.T), 1 - owner: [present]}.get(number_of(engine), [])
            packed = engine.joint_pairs((0, 1), own, (sides[owner], sides[1 - owner]), 30)
            assert packed.shape == (sides[owner].lines, sides[1 - owner].lines)
            return engine.compute(taken_apart, packed, sizes=SIZES, lanes=lanes)

        lines = [(column, cell) for column, size in enumerate(SIZES) for cell in range(size)]
        both = list(zip(cells.tolist(), present.tolist(), strict=True))
        expected = [[sum(own[column] == cell and there == 0 for own, there in both)] for column, cell in lines]
        fresh = type(room)(room.parties)
        assert all(value(secret) == expected for secret in run(fresh, job).values())


@pytest.mark.parametrize("scores", [None, SCORES], ids=["counts", "scores"])
def test_pairs_of_spread_cells_equal_a_naive_loop(room: Room, scores: Any) -> None:
    """Every party marks at random; of the cells that all marked the first one is the record's."""
    generator, n = np.random.default_rng(6), 25
    marks = [generator.random((sum(SIZES), n)) < 0.8 for _ in room.parties]
    cells = []
    for group in np.split(np.logical_and.reduce(marks), np.cumsum(SIZES)[:-1]):
        cells.append([next((cell for cell, fits in enumerate(own) if fits), NO_CELL) for own in group.T.tolist()])
    everybody, columns = tuple(range(len(room.parties))), Columns(SIZES, scores)
    found = run(room, lambda engine: engine.joint_match_pairs(Marks(marks[number_of(engine)], everybody), columns))
    records = np.array(cells).T.tolist()
    expected = np.array(naive_pairs(records, records, scores))
    different = np.repeat(range(3), SIZES if scores is None else 1)
    is_pair = different[:, None] != different  # what one column has with itself is to be left alone
    for secret in found.values():
        assert np.array_equal(np.array(value(secret))[is_pair], expected[is_pair])


@pytest.mark.parametrize("bits", [2, 8, 40])
def test_sums_within_a_range_cut_what_is_beyond_it(room: Room, bits: int) -> None:
    own = [-(2**62), -(2 ** (bits - 1)) - 1, -1, 0, 1, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**62]
    found = run(room, lambda engine: engine.share_within(np.array(own, dtype=np.int64), bits))
    within = [max(-(2 ** (bits - 1)), min(number, 2 ** (bits - 1) - 1)) for number in own]
    for secret in found.values():
        assert value(secret) == [len(room.parties) * number for number in within]


@pytest.mark.parametrize("packing", ROWS, ids=str)
def test_no_records_give_a_histogram_of_zeros(room: Room, packing: Packing) -> None:
    sizes = sizes_for(len(room.parties))
    results = run(room, lambda engine: joint(engine, 0, sizes, packing))
    for secret in results.values():
        assert value(secret) == [[0] * packing.elements] * math.prod(sizes)


def test_all_parties_count_the_same_number_of_records_at_a_time(room: Room) -> None:
    sizes = sizes_for(len(room.parties))
    for packing in ROWS:
        fresh = type(room)(room.parties)
        (rows,) = set(run(fresh, lambda engine, p=packing: engine.rows_per_product(math.prod(sizes), p)).values())
        assert isinstance(rows, int)
        assert rows >= 1


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
    "another number of cells": lambda e, odd: joint(e, 3, (*sizes_for(len(e.parties))[:-1], 4 + odd), Packing(4)),
    "cells at another party": lambda e, odd: joint(
        e, 3, (6, 2, *[1] * (len(e.parties) - 2))[:: -1 if odd else 1], Packing(4)
    ),
    "another number of records": lambda e, odd: joint(e, 3 + odd, sizes_for(len(e.parties)), Packing(4)),
    "another length of rows": lambda e, odd: joint(e, 3, sizes_for(len(e.parties)), Packing(4 + odd)),
    "another number of lanes": lambda e, odd: joint(e, 3, sizes_for(len(e.parties)), Packing(4, 2 + odd)),
    "rows of another shape": lambda e, odd: e.rows(e.share(np.zeros((2, 2), np.int64))) if odd else e.coins((2, 2)),
    "another topic": lambda e, odd: e.exchange(exchange("date?" if odd else "rows?"), 1),
    "another kind of call": lambda e, odd: e.exchange(HELLO, 1) if odd else e.coins((1,)),
    "alignment and check": lambda e, odd: e.align(["a"]) if odd else e.have_common(["a"]),
    "another opening": lambda e, odd: e._open(e.share(np.zeros(2, np.int64))) if odd else e.exchange(HELLO, 1),
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
        run(room, lambda engine: engine.exchange(HELLO, engine.compute(fails, engine.share(np.zeros(2, np.int64)))))


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
                engine.exchange(HELLO, meeting)
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
            engine.exchange(HELLO, meeting)

    with pytest.raises(EngineError):
        run(room, job)


def test_all_but_one_ending_early_is_an_error_for_the_one(room: Room) -> None:
    for last in room.parties:

        def job(engine: IdealEngine, last: str = last) -> None:
            if engine.party == last:
                engine.exchange(HELLO, "anyone?")

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
def charges() -> Callable[[Cost], Reservation]:
    def make(reserved: Cost) -> Reservation:
        ledger = Ledger(":memory:")
        ledger.set_limit("d", Limit(Fraction(1000), "replace", delta=Fraction(1)))
        context = ledger.reserve("d", "r", "h", reserved)
        kept.append(context)
        return context.__enter__()

    kept: list[Any] = []
    return make


ENOUGH = Cost(add_remove=Fraction(100), replace=Fraction(100), delta=Fraction(1, 2**20))
BOTH = {"add-remove": 1, "replace": 2}


ONE_BY_ONE = Packing(1)


def never_wins(disclosure: Select) -> int:
    """A score that the largest noise does not lift to 0, if it fits at all."""
    return max(-(2**disclosure.noise.bits) - 1, -(2**62))


def counts_of(engine: IdealEngine, counts: np.ndarray, packing: Packing, cell_at: np.ndarray | None) -> SecretCounts:
    """Put counts in agreed order into rows; the first party has them all."""
    places = counts if cell_at is None else counts[cell_at]
    own = packing.pack(np, places.reshape(-1, packing.row))
    return SecretCounts(engine.share(own if engine.party == "p0" else np.zeros_like(own)), packing, cell_at)


def openings(
    room: Room,
    charges: Callable[[Cost], Reservation],
    reserved: Cost,
    disclosure: Disclosure,
    entries: int,
    packing: Packing = ONE_BY_ONE,
) -> list[str]:
    """Try to open a secret and return the engine calls that came after it was shared.

    Places of a selection after the last candidate get a score that never wins.
    """
    calls: list[str] = []

    def job(engine: IdealEngine) -> None:
        values = np.arange(entries, dtype=np.int64)
        opening = engine._open
        if isinstance(disclosure, Select):
            values[disclosure.candidates :] = never_wins(disclosure)
            secret = engine.share(values)
        else:
            counts = counts_of(engine, values, packing, None)
        engine._open = lambda s: calls.append("open") or opening(s)  # type: ignore[method-assign]
        gate = RevealGate(engine, engine.opener, charges(reserved), False)  # it keeps the way to open that it gets
        if isinstance(disclosure, Select):
            assert 0 <= gate.reveal_selection(secret, disclosure) < disclosure.candidates
        else:
            assert gate.reveal_measurement(counts, disclosure).shape == (entries,)

    try:
        run(room, job)
    except (EngineError, BudgetExceededError) as error:
        calls.append(type(error).__name__)
    return calls


CHOICE = Select(label="which", budget=Fraction(1), calibrated_to="add-remove", score_range=BOTH, candidates=4)
COUNTS = Measure(
    label="counts", budget=Fraction(1), calibrated_to="add-remove", l1_sensitivity=BOTH, changed_entries=BOTH, entries=4
)
TOO_LITTLE = Cost(add_remove=Fraction(9, 10), replace=Fraction(5), delta=Fraction(1))


def test_the_gate_opens_a_selection_that_is_paid_for_and_has_a_place_for_every_candidate(room: Room, charges) -> None:
    fresh = lambda: type(room)(room.parties)  # noqa: E731
    for places in (4, 5, 64, 65):  # more places than candidates are padding
        assert openings(fresh(), charges, ENOUGH, CHOICE, places) == ["open"] * len(room.parties)
        assert openings(fresh(), charges, TOO_LITTLE, CHOICE, places) == ["BudgetExceededError"]
    for places in (1, 3):
        assert openings(fresh(), charges, ENOUGH, CHOICE, places) == ["EngineError"]


def selections(room: Room, charges, *, ahead: int, rates: tuple[Fraction, ...]) -> list[int]:
    """Open a selection among equal scores for each rate, noise of some drawn ahead; return the winners."""

    def job(engine: IdealEngine) -> list[int]:
        gate = RevealGate(engine, engine.opener, charges(ENOUGH), False)
        disclosures = [
            Select(label="which", budget=rate, calibrated_to="add-remove", score_range=BOTH, candidates=90)
            for rate in rates
        ]
        if ahead:
            gate.draw_selection_noise(disclosures[0], 90, times=ahead)
        scores = engine.share(np.zeros(90, dtype=np.int64))
        return [gate.reveal_selection(scores, disclosure) for disclosure in disclosures]

    return run(room, job)["p0"]


def test_noise_drawn_ahead_gives_the_selections_that_noise_drawn_in_time_gives(room: Room, charges) -> None:
    fresh = lambda: type(room)(room.parties, seeded(room.parties, 5))  # noqa: E731
    same = (Fraction(1, 20),) * 6
    expected = selections(fresh(), charges, ahead=0, rates=same)
    assert len(set(expected)) > 1  # each selection has noise of its own
    for ahead in (1, 4, 6):
        assert selections(fresh(), charges, ahead=ahead, rates=same) == expected


def test_noise_drawn_ahead_is_used_at_its_own_rate_alone(room: Room, charges) -> None:
    """At a rate of 10 noise is 0 but for one in 20,000 draws, so the first of equal scores wins."""
    rates = (Fraction(1, 20), Fraction(10), Fraction(10), Fraction(1, 20))
    winners = selections(room, charges, ahead=4, rates=rates)
    assert winners[1:3] == [0, 0]
    assert winners[0] != winners[3]


def test_gaussian_noise_drawn_ahead_is_handed_out_once_and_in_order(room: Room, charges) -> None:
    """Zeros are measured, so that what is opened is the noise itself; it is compared with what was drawn."""
    whole = Concentrated(
        budget=Fraction(1),
        agreed_delta=Fraction(1, 10**8),
        calibrated_to="add-remove",
        selections_share=Fraction(0),
        samplers_distance=Fraction(1, 2**50),
    )
    made = ConcentratedMeasure(
        label="zeros",
        budget=Fraction(1),
        agreed_delta=Fraction(1, 10**8),
        calibrated_to="add-remove",
        squared_l2_sensitivity=BOTH,
        entries=8,
        rho_budget=whole.agreed_rho / 4,
        whole=whole,
    )
    reserved = cost_of([made], number_of_records_is_public=False)

    def job(engine: IdealEngine) -> tuple[list[int], list[int], int]:
        gate, drawn, draw = RevealGate(engine, engine.opener, charges(reserved), False), [], RevealGate._draw_gaussian

        def noted(noise: Any, entries: int) -> Any:
            drawn.append(draw(gate, noise, entries))
            return drawn[-1]

        gate._draw_gaussian = noted  # type: ignore[method-assign]
        zeros = engine.share(np.zeros((8, 1), dtype=np.int64))
        opened = [gate.reveal_gaussian_measurement(zeros, made, ahead=24) for _ in range(3)]
        (values,), places = drawn[0]
        return np.concatenate(opened).tolist(), engine._open(values)[places[:24]].tolist(), len(drawn)

    for opened, expected, draws in run(room, job).values():
        assert opened == expected and draws == 1
        assert len(set(opened)) > 8  # noise that were handed out again would repeat


@pytest.mark.parametrize(
    ("packing", "others"),
    [
        (Packing(1), (3, 5, 8)),
        (Packing(2), (2, 6, 8)),
        (Packing(2, 2), (2, 6, 8)),
        (Packing(4), (8,)),
        (Packing(4, 2), (8,)),
        (Packing(4, 3), (8,)),
    ],
    ids=str,
)
def test_the_gate_opens_counts_that_are_paid_for_and_as_many_as_stated(room: Room, charges, packing, others) -> None:
    fresh = lambda: type(room)(room.parties)  # noqa: E731
    assert openings(fresh(), charges, ENOUGH, COUNTS, 4, packing) == ["open"] * len(room.parties)
    assert openings(fresh(), charges, TOO_LITTLE, COUNTS, 4, packing) == ["BudgetExceededError"]
    for entries in others:
        assert openings(fresh(), charges, ENOUGH, COUNTS, entries, packing) == ["EngineError"]


@pytest.mark.parametrize("packing", [Packing(5, 3), Packing(6, 3), Packing(3, 2), Packing(12, 3)], ids=str)
def test_counts_that_share_elements_are_counted_one_by_one(room: Room, charges, packing: Packing) -> None:
    """Twelve counts in four elements are twelve disclosures."""
    assert openings(room, charges, ENOUGH, COUNTS, packing.row, packing) == ["EngineError"]


@pytest.mark.parametrize("packing", [Packing(1), Packing(4), Packing(4, 2), Packing(4, 3), Packing(6, 3)], ids=str)
@pytest.mark.parametrize("is_moved", [False, True])
def test_the_same_coins_open_the_same_counts_however_they_lie(room: Room, charges, packing, is_moved) -> None:
    counts = np.random.default_rng(6).integers(0, 1000, 24)
    disclosure = Measure(
        label="counts",
        budget=Fraction(1, 2),
        calibrated_to="add-remove",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=len(counts),
    )
    order = np.random.default_rng(7).permutation(len(counts)) if is_moved else None

    def job(engine: IdealEngine, packing: Packing, cell_at: np.ndarray | None) -> tuple[list[int], list[int]]:
        gate = RevealGate(engine, engine.opener, charges(ENOUGH), False)
        noisy = gate.reveal_measurement(counts_of(engine, counts, packing, cell_at), disclosure)
        ((made, opened),) = gate.opened
        assert made is disclosure
        return noisy.tolist(), opened.tolist()

    fresh = lambda: type(room)(room.parties, seeded(room.parties, 8))  # noqa: E731
    plain = run(fresh(), lambda engine: job(engine, Packing(1), None))["p0"]
    assert plain[0] == plain[1] != counts.tolist()
    assert all(result == plain for result in run(fresh(), lambda engine: job(engine, packing, order)).values())


def test_noise_that_does_not_fit_the_engines_integers_is_not_opened(room: Room, charges) -> None:
    tiny = Fraction(1, 2**64)
    for disclosure in (
        Select(label="which", budget=tiny, calibrated_to="add-remove", score_range=BOTH, candidates=4),
        Measure(
            label="counts",
            budget=tiny,
            calibrated_to="add-remove",
            l1_sensitivity=BOTH,
            changed_entries=BOTH,
            entries=4,
        ),
    ):
        assert disclosure.noise.bits > 62
        assert openings(type(room)(room.parties), charges, ENOUGH, disclosure, 4) == ["EngineError"]


def test_a_table_is_opened_only_if_all_its_counts_with_their_noise_add_up_within_the_integers(
    room: Room, charges
) -> None:
    """Noise is below 2^58 in size; of four entries with it the sum stays below 2^61, of eight it may not."""

    def openings_of(entries: int) -> list[str]:
        table = Measure(
            label="counts",
            budget=Fraction(1, 2**52),
            calibrated_to="add-remove",
            l1_sensitivity=BOTH,
            changed_entries=BOTH,
            entries=entries,
        )
        assert table.noise.bits == 58
        return openings(type(room)(room.parties), charges, ENOUGH, table, entries)

    assert openings_of(4) == ["open"] * len(room.parties)
    assert openings_of(8) == ["EngineError"]


def test_places_without_a_candidate_count_when_a_selection_has_to_fit(room: Room, charges) -> None:
    just_fits = Select(
        label="which", budget=Fraction(1, 2**53), calibrated_to="add-remove", score_range=BOTH, candidates=4
    )
    assert just_fits.noise.bits == 59  # beside it one bit for the sum, and two for the index
    fresh = lambda: type(room)(room.parties)  # noqa: E731
    assert openings(fresh(), charges, ENOUGH, just_fits, 4) == ["open"] * len(room.parties)
    assert openings(fresh(), charges, ENOUGH, just_fits, 5) == ["EngineError"]
