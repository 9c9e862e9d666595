"""A peer whose engine is the released one and who puts in other numbers than its data are.

What depends on chance: 300 cells of 15 chosen people whom the attacker marks in 24 rows each are guessed at epsilon 1,
right with probability at most 0.732 each; the bound of 0.84 is crossed with fewer than one of 10,000 seeds. Without
the repair 24 rows tell a cell with a signal of 24 against a deviation of 9.4, right in 99 of 100; of 60 guesses 6 or
more are wrong with fewer than one of 10,000 seeds. Coins are seeded, so both pass always or never.
"""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.engines.ideal import IdealEngine, Room
from copublish.engines.spu import engine as spu_engine
from copublish.engines.spu import marking, products
from copublish.engines.spu import node as spu_node
from copublish.engines.spu.products import Lines, tiles
from copublish.engines.spu.requests import Call
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import NO_CELL, Columns, Marks
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from copublish.mechanisms.shared.run_pairs import taken_apart
from support import SeededCoins, fragment_frames, random_table, repartition, seeded, small_mapping
from support.spu import PARTIES, Pair, publish

RECORDS, TARGETS, CELLS, COPIES = 300, 15, 3, 24
CELLS_IN_LANES, LANES = 6, 3
THIRD = pow(3, -1, 2**64)
"""One third in the ring of 64 bits."""

ROWS: dict[str, tuple[int, ...]] = {
    "16384 for 1": (2**14,),
    "-1 for 1": (-1,),
    "2^30 for 1": (2**30,),
    "half of the ring": (2**62, -(2**62) + 1),
    "a sum of one": (1 + 2**14, -(2**14)),
    "thirds, whose sum and squares are one": (2 * THIRD, 2 * THIRD, -THIRD),
    "two cells": (1, 1),
}
"""What a cheat puts in for one person, from the first cell on."""

ONCE = {"add-remove": 1, "replace": 2}


@pytest.fixture(scope="module")
def pair():
    with Pair(300) as both:
        yield both


def as_ring(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def poisoned(row: tuple[int, ...], people: int):
    """Tiles whose own entries for the first people are this row instead of theirs."""

    def changed(*arguments: Any) -> Any:
        for tile in tiles(*arguments):
            for matrix in (tile.x, tile.y):
                if matrix.entries is not None:
                    by_record = matrix.owner == 1  # the second factor is (records, lines)
                    records = np.repeat(np.arange(people), len(row))
                    lines = np.tile(np.arange(len(row)), people)
                    old_records = matrix.entries[0 if by_record else 1]
                    kept = [part[old_records >= people] for part in matrix.entries]
                    values = np.array([as_ring(number) for number in row] * people)
                    places = (records, lines) if by_record else (lines, records)
                    added = (*places, values)
                    entries = tuple(np.concatenate([a, b]) for a, b in zip(kept, added, strict=True))
                    object.__setattr__(matrix, "entries", entries)
            yield tile

    return changed


def gate_of(engine: Any, entries: int, epsilon: int = 1) -> tuple[RevealGate, Ledger, Measure]:
    ledger = Ledger(":memory:")
    ledger.set_limit("data", Limit(Fraction(10**6), "add-remove", delta=Fraction(1)))
    cost = Cost(add_remove=Fraction(10**5), replace=Fraction(10**6), delta=Fraction(1))
    charge = ledger.reserve("data", "test", "hash", cost).__enter__()
    disclosure = Measure(
        label="counts",
        budget=Fraction(epsilon),
        calibrated_to="add-remove",
        l1_sensitivity=ONCE,
        changed_entries=ONCE,
        entries=entries,
    )
    return RevealGate(engine, engine.opener, charge, False), ledger, disclosure


def measure_joined(engine: Any, argument: tuple[tuple[int, ...] | None, str]) -> tuple[str, int]:
    """Count by both parties' cells and open it: how it ended, and how many disclosures were charged."""
    row, kind = argument
    cells = np.arange(RECORDS, dtype=np.int64) % CELLS
    gate, ledger, disclosure = gate_of(engine, CELLS**2)
    with pytest.MonkeyPatch.context() as patch:
        if row is not None:
            patch.setattr(spu_engine, "tiles", poisoned(row, TARGETS))
        if kind == "scores":
            columns = Columns((CELLS,), ((-64, 0, 64),))
            secret = engine.joint_pairs((0, 1), [cells], (columns, columns), RECORDS)
            gate, ledger, disclosure = gate_of(engine, 1)
            counts = SecretCounts(secret, Packing(1))
        elif kind.startswith("presence"):
            columns = [Columns((CELLS_IN_LANES,), lanes=LANES), Columns((1,))]
            owner = PARTIES.index(kind.removeprefix("presence for "))
            own = cells if engine.party == PARTIES[owner] else np.zeros_like(cells)
            sides = (columns[owner], columns[1 - owner])
            packed = engine.joint_pairs((0, 1), [own], sides, RECORDS)
            secret = engine.compute(taken_apart, packed, sizes=(CELLS_IN_LANES,), lanes=LANES)
            gate, ledger, disclosure = gate_of(engine, CELLS_IN_LANES)
            counts = SecretCounts(secret, Packing(1))
        else:
            packing = Packing(CELLS, lanes=3 if kind == "packed" else 1)
            places = cells if engine.party == PARTIES[1] else None
            own = cells if engine.party == PARTIES[0] else np.zeros_like(cells)
            counts = SecretCounts(engine.joint_histogram(own, places, (CELLS, 1), packing), packing)
    try:
        gate.reveal_measurement(counts, disclosure)
        ended = "opened"
    except cp.CopublishError as exc:
        ended = f"{type(exc).__name__}: {exc}"
    (entry,) = ledger.entries()
    return ended, entry.disclosures


def cases() -> list[Any]:
    """Every row at every party, in tables and in sums of scores; packed ones have one element for all cells.

    Where one party's cells share lines and the other has a line for its presence, the first has two lines.
    """
    found = [(row, cheat, kind) for row in ROWS for cheat in range(2) for kind in ("counts", "scores")]
    return (
        found
        + [(row, 1, "packed") for row, numbers in ROWS.items() if len(numbers) == 1]
        + [("two lanes", 1, "packed")]
        + [
            (row, cheat, f"presence for {owner}")
            for row, numbers in [*ROWS.items(), ("two lanes", (0,))]
            for cheat, party in enumerate(PARTIES)
            for owner in PARTIES
            if len(numbers) <= (2 if party == owner else 1)
        ]
    )


@pytest.mark.parametrize(("row", "cheat", "kind"), cases())
def test_a_person_who_is_not_in_one_cell_ends_the_run_before_anything_is_opened(pair, row, cheat, kind):
    numbers = ROWS.get(row, (1 + (1 << Packing(CELLS, lanes=3).lane_bits),))
    answers = pair.do(measure_joined, *((numbers if number == cheat else None, kind) for number in range(2)))
    assert not isinstance(answers[0], str), answers
    for ended, disclosed in answers:
        assert ended.startswith(f"InvalidInputsError: '{PARTIES[cheat]}' put in something else"), ended
        assert disclosed == 0


@pytest.mark.parametrize("kind", ["counts", "packed", "scores", *(f"presence for {owner}" for owner in PARTIES)])
def test_honest_inputs_and_people_in_no_cell_are_opened(pair, kind):
    for row in (None, (0,)):
        assert pair.do(measure_joined, (row, kind), (row, kind)) == [("opened", 1)] * 2


def unchecked(xp: ModuleType, x: Any, y: Any) -> Any:
    return xp.matmul(x, y)


def read_unchecked(engine: Any, honest_cells: np.ndarray) -> float:
    """Read chosen people from a noisy table of unchecked products: the share of cells that are right."""
    gate, _, disclosure = gate_of(engine, TARGETS * CELLS)
    mine = np.zeros(RECORDS, np.int64)
    lines = [
        Lines.of([mine] if engine.party == PARTIES[0] else None, Columns((TARGETS,))),
        Lines.of([honest_cells] if engine.party == PARTIES[1] else None, Columns((CELLS,))),
    ]
    (tile,) = tiles(engine._rank, *lines, RECORDS)
    if tile.x.entries is not None:
        people = np.arange(TARGETS)
        object.__setattr__(tile.x, "entries", (people, people, np.full(TARGETS, 2**14)))
    (counts,) = engine._keep_parts((tile.x, tile.y, Call(unchecked, (0, 1), {})), [(TARGETS, CELLS)])
    noisy = gate.reveal_measurement(SecretCounts(counts, Packing(CELLS)), disclosure).reshape(TARGETS, CELLS)
    return float((noisy.argmax(axis=1) == honest_cells[:TARGETS]).mean())


def test_without_the_check_chosen_people_can_be_read(pair):
    honest_cells = np.random.default_rng(3).integers(0, CELLS, RECORDS)
    assert pair.do(read_unchecked, honest_cells, honest_cells)[0] == 1.0


def table_in_tiles(engine: Any, doubled: bool) -> tuple[list[int], bool]:
    """A table whose columns lie in two tiles; the second party may put a person into one cell of each."""
    size, cells = 12, np.arange(RECORDS, dtype=np.int64) % 8
    people = np.arange(RECORDS, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "MAX_PRODUCT_CELLS", 8)
        rows = Lines.of([np.zeros_like(cells)] if engine.party == PARTIES[0] else None, Columns((2,)))
        lines = Lines.of([cells] if engine.party == PARTIES[1] else None, Columns((size,)))
        if doubled and engine.party == PARTIES[1]:
            line, record, value = (np.append(*both) for both in ((cells, size - 1), (people, 0), (people * 0 + 1, 1)))
            lines = Lines(lines.sizes, None, line, record, value)
        table = engine._checked_table(rows, lines, RECORDS)
    wrong = engine._open(engine.take_checks())
    expected = np.zeros((2, size), dtype=np.int64)
    expected[0] = np.bincount(cells, minlength=size)
    return [int(number != 0) for number in wrong], bool((engine._open(table) == expected).all())


def test_a_person_in_one_cell_of_each_of_two_tiles_is_found(pair):
    assert pair.do(table_in_tiles, False, False) == [([0, 0], True)] * 2
    assert [wrong for wrong, _ in pair.do(table_in_tiles, True, True)] == [[0, 1]] * 2


def count_marks(engine: Any, marks: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """A table in several tiles beside and below each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "MAX_PRODUCT_CELLS", 2)
        counted = engine.joint_matches(*(Marks(own, (0, 1)) for own in marks), Packing(CELLS))
    return engine._open(counted)


def test_a_person_whom_a_party_marks_in_several_cells_or_none_counts_once_or_not_at_all(pair):
    generator = np.random.default_rng(5)
    down, across = (generator.random((CELLS, RECORDS)) < 0.4 for _ in range(2))
    honest = np.arange(CELLS)[:, None] == generator.integers(0, CELLS, RECORDS)
    everywhere = np.ones_like(honest)
    expected = np.zeros((CELLS, CELLS), dtype=np.int64)
    for record in range(RECORDS):
        rows, places = np.flatnonzero(down[:, record]), np.flatnonzero((across & honest)[:, record])
        if len(rows) and len(places):
            expected[rows[0], places[0]] += 1
    for found in pair.do(count_marks, (down, across), (everywhere, honest)):
        assert np.array_equal(found, expected)


def any_cells(xp: ModuleType, *marks: Any, sizes: tuple[int, ...]) -> Any:
    """As `one_cell_each` without the repair."""
    words, lanes = marks[0] & marks[1], np.arange(64, dtype=np.int64)
    return -((words[:, :, None] >> lanes) & 1).reshape(words.shape[0], -1)


def read_marked(engine: Any, argument: tuple[np.ndarray, int, bool]) -> tuple[float, float]:
    """Mark each of the chosen in many rows of its own; the share of their cells that the first and all rows tell."""
    honest_cells, runs, is_repaired = argument
    honest = np.arange(2)[:, None] == honest_cells
    down = np.zeros((COPIES * TARGETS, RECORDS), dtype=np.bool_)
    down[np.arange(COPIES * TARGETS), np.repeat(np.arange(TARGETS), COPIES)] = True
    is_cheat, right = engine.party == PARTIES[0], []
    with pytest.MonkeyPatch.context() as patch:
        if not is_repaired:
            patch.setattr(marking, "one_cell_each", any_cells)
        secret = engine.joint_matches(
            Marks(down if is_cheat else np.ones_like(down), (0, 1)),
            Marks(np.ones_like(honest) if is_cheat else honest, (0, 1)),
            Packing(2),
        )
        patch.setattr(engine, "own_coins", SeededCoins(PARTIES.index(engine.party)))
        for _ in range(runs):  # the counts are the same in each; what a run draws anew is the noise
            gate, _, disclosure = gate_of(engine, 2 * COPIES * TARGETS)
            noisy = gate.reveal_measurement(SecretCounts(secret, Packing(2)), disclosure).reshape(TARGETS, COPIES, 2)
            for told in (noisy[:, 0], noisy.sum(axis=1)):
                right.append((told.argmax(axis=1) == honest_cells[:TARGETS]).mean())
    return float(np.mean(right[::2])), float(np.mean(right[1::2]))


def test_whom_a_peer_marks_in_many_rows_it_reads_no_better_than_epsilon_allows(pair):
    honest_cells = np.random.default_rng(6).integers(0, 2, RECORDS)
    for by_first, by_all in pair.do(read_marked, *[(honest_cells, 20, True)] * 2):
        assert max(by_first, by_all) < 0.84
    _, by_all = pair.do(read_marked, *[(honest_cells, 4, False)] * 2)[0]
    assert by_all > 0.9  # without the repair every row counts, and epsilon as often


def sum_of_bits(engine: Any, word: int) -> int:
    with pytest.MonkeyPatch.context() as patch:
        if word:
            patch.setattr(spu_node, "as_bits", lambda local, bits: np.full(local.shape, as_ring(word)))
        return int(engine._open(engine.share_within(np.array([5], dtype=np.int64), 8))[0])


@pytest.mark.parametrize("word", [2**63 - 1, 2**63, 2**62 + 3, 256, 2**64 - 1])
def test_a_count_at_the_edge_of_the_ring_is_a_count_within_its_range(pair, word):
    """What is compared afterwards stays in the middle of the ring, so comparing it is right."""
    assert pair.do(sum_of_bits, word, 0) == [5 + word % 256 - 128] * 2


def publish_with(engine: Any, argument: tuple[Any, tuple[int, ...] | None]) -> str:
    release, row = argument
    with pytest.MonkeyPatch.context() as patch:
        if row is not None:
            patch.setattr(spu_engine, "tiles", poisoned(row, 1))
        try:
            publish(engine, release)
        except cp.CopublishError as exc:
            return f"{type(exc).__name__}: {exc}"
    return "published"


@pytest.mark.parametrize("mechanism", ["specialization", "copula"])
def test_a_whole_run_ends_with_the_same_words_at_both_parties(pair, mechanism):
    mapping = small_mapping() if mechanism == "specialization" else small_mapping(mechanism={"name": "copula"})
    agreement = cp.agreement_from_mapping(repartition(mapping, "vertical"))
    generator = np.random.default_rng(8)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    coins = seeded(agreement.party_names, 7)
    releases = [(agreement, frames[party], coins[party]) for party in PARTIES]
    ended = pair.do(publish_with, (releases[0], (2**14,)), (releases[1], None))
    assert ended[0] == ended[1]
    assert ended[0].startswith("InvalidInputsError: 'p0' put in something else than the agreement allows")
    assert "Nothing that depends on it was opened" in ended[0]


def pairs_of_both(
    engine: Any, argument: tuple[np.ndarray, np.ndarray, Any]
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    cells, marks, columns = argument
    found = engine._open(engine.joint_pairs((0, 1), list(cells), (columns, columns), cells.shape[1]))
    checks = engine._open(engine.take_checks()).tolist()
    return found, engine._open(engine.joint_match_pairs(Marks(marks, (0, 1)), columns)), checks


@pytest.mark.parametrize("scores", [None, ((-5, 0, 7), (1, -1))], ids=["counts", "scores"])
def test_pairs_are_those_of_the_ideal_engine(pair, scores):
    generator, columns = np.random.default_rng(9), Columns((3, 2), scores)
    cells = [np.stack([generator.integers(-1, size, RECORDS) for size in columns.sizes]) for _ in range(2)]
    marks = [generator.random((5, RECORDS)) < 0.8 for _ in range(2)]
    room = Room(PARTIES)

    def job(engine: IdealEngine) -> tuple[np.ndarray, np.ndarray]:
        own = room.parties.index(engine.party)
        pairs = engine.joint_pairs((0, 1), list(cells[own]), (columns, columns), RECORDS)
        return pairs._handle, engine.joint_match_pairs(Marks(marks[own], (0, 1)), columns)._handle

    expected = room.run(job)[PARTIES[0]]
    alone = np.repeat([0, 1], columns.sizes if scores is None else 1)
    is_pair = alone[:, None] != alone
    for found, spread, checks in pair.do(pairs_of_both, *((cells[n], marks[n], columns) for n in range(2))):
        assert np.array_equal(found, expected[0])
        assert np.array_equal(spread[is_pair], expected[1][is_pair])
        assert checks == [0, 0]


def test_no_cell_is_no_line():
    """The marker of people who count nowhere must not be taken for the last line."""
    lines = Lines.of([np.array([0, NO_CELL, 2])], Columns((3,)))
    assert (lines.line.tolist(), lines.record.tolist()) == ([0, 2], [0, 2])
