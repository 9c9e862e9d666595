"""How records are cut into shards, and who counts which."""

from __future__ import annotations

import threading

import pytest

from copublish.engines.spu.parallel_sessions import Tally, all_at_once, turns_of
from copublish.kernel.secrets.shards import chunks_of, shards_of


def naive_shards(n_records: int, n_shards: int) -> list[list[int]]:
    """Deal positions out one after the other, to whichever shard its share of the table has come to."""
    shards: list[list[int]] = [[] for _ in range(n_shards)]
    for position in range(n_records):
        number = next(s for s in range(n_shards) if position < (s + 1) * n_records // n_shards)
        shards[number].append(position)
    return [shard for shard in shards if shard]


@pytest.mark.parametrize(("n_records", "n_shards"), [(0, 4), (1, 4), (3, 4), (10, 4), (12, 4), (7, 1), (64, 64)])
def test_shards_are_runs_of_positions_of_nearly_equal_size(n_records, n_shards):
    found = [list(range(n_records))[rows] for rows in shards_of(n_records, n_shards)]
    assert found == naive_shards(n_records, n_shards)
    sizes = [len(shard) for shard in found]
    assert sum(sizes) == n_records and len(sizes) == min(n_records, n_shards)
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_chunks_of_a_shard_are_its_positions_in_order():
    assert list(chunks_of(slice(3, 12), 4)) == [slice(3, 7), slice(7, 11), slice(11, 12)]


@pytest.mark.parametrize("n_sessions", [1, 2, 3, 5])
def test_every_shard_is_counted_once_and_sessions_take_turns(n_sessions):
    shards = shards_of(100, 4)
    turns = turns_of(shards, n_sessions)
    assert len(turns) == n_sessions
    for number, rows in enumerate(shards):
        assert [rows in turn for turn in turns] == [number % n_sessions == session for session in range(n_sessions)]


class Whole:
    """Sessions of which the first waits for something that only its end brings."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def abort(self) -> None:
        self.ended.set()

    def wait_in_vain(self) -> None:
        assert self.ended.wait(30)
        raise ConnectionError("ended")

    def fail(self) -> None:
        raise ValueError("the cause")


def test_what_one_session_lost_ends_the_others_and_is_what_is_raised():
    whole = Whole()
    with pytest.raises(ValueError, match="the cause"):
        all_at_once(whole.wait_in_vain, [whole.wait_in_vain, whole.fail], whole)
    whole = Whole()
    with pytest.raises(ValueError, match="the cause"):
        all_at_once(whole.fail, [whole.wait_in_vain], whole)


def test_progress_is_told_in_the_callers_thread_for_all_sessions():
    told: list[tuple[int, int, int]] = []
    tally = Tally(10, lambda done, of: told.append((threading.get_ident(), done, of)))
    all_at_once(lambda: tally.add(6), [lambda: tally.add(4)], Whole())
    tally.tell()
    assert {thread for thread, _, _ in told} == {threading.get_ident()}
    assert told[-1][1:] == (10, 10)
