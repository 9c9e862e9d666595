"""Records counted in shards: the same release however many workers count them, and the same as without shards."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.engines.spu.engine import SpuEngine
from copublish.kernel.programs.packing import Packing
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.spu import Pair, publish

CASES = {
    "specialization of columns": ("vertical", {"mechanism.specializations": 2}, True),
    "copula of spread cells": ("arbitrary", {"mechanism": {"name": "copula"}}, False),
}
"""Partition, changes of the small agreement, and whether one worker is tried, too."""


@pytest.fixture(scope="module")
def pair():
    """Two parties with three shards and two workers each."""
    with Pair(shards=3, lanes=1) as both:
        yield both


def publish_with_one_worker(engine: SpuEngine, argument):
    lanes, engine.lanes = engine.lanes, ()
    try:
        return publish(engine, argument)
    finally:
        engine.lanes = lanes


def publish_and_ask_lanes(engine: SpuEngine, argument):
    before = engine.lanes[0].bytes_sent
    return publish(engine, argument), engine.lanes[0].bytes_sent - before


@pytest.mark.parametrize("case", CASES)
def test_a_release_has_the_same_bytes_for_any_number_of_workers_and_on_the_ideal_engine(case, pair):
    partition, changes, with_one_worker = CASES[case]
    agreement = cp.agreement_from_mapping(repartition(small_mapping(**changes, engine={"shards": 3}), partition))
    generator = np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 400, generator), generator)
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))

    def arguments():
        coins = seeded(agreement.party_names, 7)
        return [(agreement, frames[party], coins[party]) for party in agreement.party_names]

    two, sent_by_lanes = zip(*pair.do(publish_and_ask_lanes, *arguments()), strict=True)
    assert min(sent_by_lanes) > 0  # the second worker did take part
    one = pair.do(publish_with_one_worker, *arguments()) if with_one_worker else two
    assert one[0].files() == one[1].files() == two[0].files() == two[1].files()
    for name in ideal.data_files():
        assert two[0].files()[name] == ideal.files()[name], name


RECORDS, CELLS = 600, 32


def count_in_a_lane(engine: SpuEngine, cells):
    """One party's summand of counts that a lane counted, as it goes into the main session."""

    def count(session: SpuEngine, rows: slice):
        places = np.zeros(rows.stop - rows.start, dtype=np.int64) if engine.party == "p1" else None
        return session.joint_histogram(cells[rows], places, (CELLS, CELLS), Packing(1))

    class Quiet:
        def add(self, n_records: int) -> None:
            pass

    (lane,) = engine.lanes
    return lane._count_for_main(count, [slice(0, RECORDS)], RECORDS, (CELLS**2, 1), Quiet())


def looks_uniform(words) -> bool:
    """Whether the share of ones among the highest 32 bits is within six standard errors of one half.

    For uniform words it is not with a probability of 2e-9.
    """
    bits = np.unpackbits((words.astype(np.uint64) >> np.uint64(32)).astype(np.uint32).view(np.uint8))
    return abs(bits.mean() - 0.5) < 6 * 0.5 / np.sqrt(len(bits))


def test_what_leaves_a_lane_are_uniform_summands_of_the_counts(pair):
    generator = np.random.default_rng(5)
    own = [generator.integers(0, CELLS, RECORDS) for _ in range(2)]
    (first, wrong_first), (second, wrong_second) = pair.do(count_in_a_lane, *own)
    naive = np.zeros((CELLS, CELLS), dtype=np.int64)
    for a, b in zip(*own, strict=True):
        naive[a, b] += 1
    assert np.array_equal((first + second).reshape(CELLS, CELLS), naive)
    assert looks_uniform(first) and looks_uniform(second)
    assert not looks_uniform(naive.ravel())
    assert np.array_equal(wrong_first + wrong_second, [0, 0])


def count_two_cells_of_a_record(engine: SpuEngine, cells):
    """Put one record of the last shard into two cells, in the lane that counts it; say what the checks tell."""

    def count(session: SpuEngine, rows: slice):
        places = np.zeros(rows.stop - rows.start, dtype=np.int64) if engine.party == "p1" else None
        multiply = session._multiply

        def cheating(tile, *rest):
            if engine.party == "p0" and rows.start == 200:
                lines, records, values = tile.x.entries
                tile.x.__dict__["entries"] = (np.append(lines, 1), np.append(records, 0), np.append(values, 1))
            return multiply(tile, *rest)

        session._multiply = cheating
        try:
            return session.joint_histogram(np.zeros_like(cells[rows]), places, (2, 2), Packing(1))
        finally:
            session._multiply = multiply

    engine.sum_over_records(count, len(cells), size=len(cells), shape=(4, 1))
    return engine._open(engine.take_checks())


def test_inputs_are_checked_in_every_session(pair):
    cells = np.zeros(600, dtype=np.int64)
    first, second = pair.do(count_two_cells_of_a_record, cells, cells)
    assert np.array_equal(first, second)
    assert first[0] != 0 and first[1] == 0
