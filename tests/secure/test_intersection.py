"""Private set intersection on the secure engine: a plain set intersection, in one order, with nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol.table import CAN_PAY
from copublish.engines.spu import intersection
from copublish.engines.spu.intersection import _varint
from support.profiles import examples
from support.spu import Pair

LIMIT_SECONDS = 300
"""Nothing here may take longer on a slow, busy machine."""

FEW = examples(12, shrinks=False)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair() as parties:
        yield parties


def align(engine, identifiers):
    return [identifiers[position] for position in engine.align(identifiers)]


def check(pair: Pair, one: list[str], other: list[str]) -> list[str]:
    found = pair.do(align, one, other)
    assert found[0] == found[1]  # one order
    assert len(found[0]) == len(set(found[0]))
    assert set(found[0]) == set(one) & set(other)
    return found[0]


letters = st.text(st.sampled_from('ab1 ,"\n\t\0é\u0301語\U0001f600\u202e'), max_size=4) | st.text(max_size=5)


@given(st.lists(letters, unique=True, max_size=20), st.lists(letters, unique=True, max_size=20), st.data())
@FEW
def test_the_result_is_that_of_a_plain_set_intersection(pair, one, other, data):
    shared = [text for text in data.draw(st.permutations(one)) if text not in other]
    check(pair, one, other + shared[: len(shared) // 2])


CASES = {
    "one party has nobody": ([], ["a", "b"]),
    "nobody at all": ([], []),
    "nobody in common": ([f"a{i}" for i in range(50)], [f"b{i}" for i in range(60)]),
    "everybody in common, in the same order": ([str(i) for i in range(3000)], [str(i) for i in range(3000)]),
    "everybody in common": ([str(i) for i in range(50)], [str(i) for i in reversed(range(50))]),
    "one person, the same": (["a"], ["a"]),
    "one person each": (["a"], ["b"]),
    "one among many": ([str(i) for i in range(2000)], ["1234"]),
    "names that look like CSV": (['a,"b"', "x\ny", "name", ""], ["", "name", 'a,"b"', "x"]),
    "other writing systems": (["Zoë", "北京", "😀", "e\u0301", "\u202eabc"], ["é", "😀", "北京", "zoë", "abc\u202e"]),
    "an empty name": (["", "a"], ["", "b"]),
}


@pytest.mark.parametrize("case", CASES)
def test_special_lists(pair, case):
    check(pair, *CASES[case])


def test_the_order_is_a_new_one_every_time(pair):
    """Two orders of 200 people are the same with probability 1 / 200!."""
    people = [str(number) for number in range(200)]
    orders = [check(pair, people, people[::-1]) for _ in range(2)]
    assert orders[0] != orders[1]
    assert people not in orders


def look_for_people_at_both(engine, identifiers):
    return engine.have_common(identifiers, padded_to=30)


def test_people_at_two_parties_are_never_looked_for_by_an_intersection():
    """It would tell each party which of its people they are."""
    with Pair(timeout_seconds=20) as parties:
        answers = parties.do(look_for_people_at_both, ["a", "both"], ["both"])
    assert all("There is no agreed way to compare people. Nothing was compared" in answer for answer in answers)


# --- What lies on disk meanwhile -------------------------------------------------------------------------------------


def files_below(folder: Path) -> list[Path]:
    """Return all files, while others come and go."""
    return [Path(place, name) for place, _, names in os.walk(folder) for name in names]


def traces_of(process: int) -> list[str]:
    """Return the traces of libpsi that may be of one process."""
    found = []
    for path in intersection.TRACE_FOLDER.glob(intersection.TRACE_FILES):
        with suppress(OSError):  # of another process, which has just removed it
            found += [path.name] if _varint(process) in path.read_bytes() else []
    return found


def watched_align(engine, identifiers):
    """Align, and meanwhile read every file in the scratch folder of this party's worker."""
    seen: dict[str, set[bytes]] = {}
    over = threading.Event()

    def watch() -> None:
        is_over = False
        while not is_over:  # one look at least, however late this thread begins
            is_over = over.is_set()
            for path in files_below(engine._worker.scratch.path):
                with suppress(OSError):
                    seen.setdefault(path.name, set()).add(path.read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    positions = engine.align(identifiers)
    over.set()
    watcher.join()
    left = [path.name for path in files_below(engine._worker.scratch.path)]
    # The number of our process can stand in another one's trace by chance, until that one removes it.
    wait_until(lambda: not traces_of(engine._worker.process.pid))
    everything = b"".join(content for contents in seen.values() for content in contents)
    return {
        "common": len(positions),
        "input seen": b"".join(sorted(seen.get("own.csv", {b""}), key=len)[-1:]),
        "raw": [text for text in (b"person", b"person".hex().encode()) if text in everything],
        "left": left,
        "traces": traces_of(engine._worker.process.pid),
    }


def test_files_hold_no_identifier_and_are_gone_afterwards(pair):
    people = [f"person{number}" for number in range(30_000)]
    answers = pair.do(watched_align, people, [*people[10_000:], "personB"])
    for found in answers:
        assert found["common"] == 20_000
        assert found["input seen"].startswith(b"name\n")  # the watcher did see the file that matters
        assert len(found["input seen"]) > 10_000
        assert found["raw"] == []
        assert found["left"] in ([], ["spu.log"])
        assert found["traces"] == []
    # SPU shows the other party a hash of the whole list, so a name that nobody can guess is in each.
    one, other = (set(found["input seen"].splitlines()) for found in answers)
    assert (len(one), len(other)) == (1 + 30_000 + 1, 1 + 20_001 + 1)
    assert (len(one - other), len(other - one)) == (10_000 + 1, 1 + 1)


def test_the_watcher_would_notice_an_identifier(pair):
    left, right = pair.do(leaky_align, ["person1"], ["person1"])
    assert left["raw"] == right["raw"] == [b"person"]


def leaky_align(engine, identifiers):
    leak = engine._worker.scratch.path / "leak.txt"
    leak.write_text(identifiers[0])
    try:
        return watched_align(engine, identifiers)
    finally:
        leak.unlink()


# --- Parties that end ------------------------------------------------------------------------------------------------


def scratch_and_worker(engine, _):
    engine.exchange(CAN_PAY, "can pay")
    return str(engine._worker.scratch.path), engine._worker.process.pid


def wait_until(condition) -> bool:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("victim", ["party", "worker"])
def test_a_process_killed_while_files_are_there_leaves_none(victim):
    people = [str(number) for number in range(200_000)]
    with Pair(timeout_seconds=20) as parties:
        (folder, worker), (other_folder, _) = parties.do(scratch_and_worker, None, None)
        parties.start(align, people, people)
        assert wait_until(lambda: any(path.name == "own.csv" for path in files_below(Path(folder))))
        os.kill(parties.processes[0].pid if victim == "party" else worker, signal.SIGKILL)
        answers = [parties.answer(number) for number in range(2)]
        assert answers[0] == "died" if victim == "party" else "Nothing is published" in answers[0]
        assert "Nothing is published" in answers[1]
        assert wait_until(lambda: not Path(folder).exists())
        assert wait_until(lambda: not Path(other_folder).exists())
        assert wait_until(lambda: not psutil.pid_exists(worker))


def test_an_identifier_listed_twice_ends_the_run_without_being_named():
    with Pair(timeout_seconds=20) as parties:
        answers = parties.do(align, ["secret", "other", "secret"], ["secret"])
        assert "EngineError: An identifier is listed twice" in answers[0]
        assert "Nothing is published" in answers[1]
        assert not any("'secret'" in answer for answer in answers)


def test_positions_are_whole_numbers_of_the_engine(pair):
    (one, other) = pair.do(positions_of, ["b", "a"], ["a", "c", "b"])
    assert sorted(one) == [0, 1]
    assert sorted(other) == [0, 2]


def positions_of(engine, identifiers):
    positions = engine.align(identifiers)
    assert positions.dtype == np.int64
    return positions.tolist()
