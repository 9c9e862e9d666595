"""Programs that are kept from one run to the next: found again, made anew if anything about them is another."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Barrier, Semaphore, get_ident
from typing import Any

import numpy as np
import pytest

from copublish.engines.spu import compiling
from copublish.engines.spu.compiling import Compiler
from copublish.engines.spu.requests import Call, ComputeSteps, Ranged, Shared
from copublish.kernel.programs.packing import Packing
from support.waiting import SECONDS, wait_until

SHAPES, NAMES = [(3,), (3,)], ["input0", "input1"]


@pytest.fixture(scope="module")
def spu_parts() -> tuple[Any, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import spu.utils.frontend as frontend
    from spu import libspu

    return frontend, libspu


class Counting:
    """SPU's compiler, and how often it was asked."""

    def __init__(self, frontend: Any) -> None:
        self.Kind, self._frontend, self.times = frontend.Kind, frontend, 0

    def compile(self, *arguments: Any, **options: Any) -> Any:
        self.times += 1
        return self._frontend.compile(*arguments, **options)


@pytest.fixture
def compiled(spu_parts, tmp_path, monkeypatch):
    """Compile in a process that is new to it; return the program's code and how often the compiler was asked."""
    frontend, library = spu_parts

    def compile_(request: ComputeSteps, folder: Path | None = tmp_path / "a" / "programs") -> tuple[bytes, int]:
        counting = Counting(frontend)
        monkeypatch.setattr(compiling, "load_frontend", lambda: counting)
        compiler = Compiler(library, 2, folder)
        codes = {compiler.executable(request, NAMES, SHAPES).code for _ in range(2)}
        return codes.pop(), counting.times

    return compile_


REQUEST = ComputeSteps((Ranged(np.zeros(3, np.int64), 5),))


def test_a_program_is_compiled_once_and_found_by_the_next_run(compiled, tmp_path):
    first, second = compiled(REQUEST), compiled(REQUEST)
    assert (first[1], second[1]) == (1, 0) and first[0] == second[0]
    (kept,) = (tmp_path / "a" / "programs").iterdir()
    assert (kept.stat().st_mode | kept.parent.stat().st_mode) & 0o077 == 0
    assert compiled(REQUEST, folder=None)[1] == 1


def test_workers_that_need_a_program_at_the_same_time_compile_it_once(spu_parts, tmp_path, monkeypatch):
    frontend, library = spu_parts
    counting = Counting(frontend)
    monkeypatch.setattr(compiling, "load_frontend", lambda: counting)
    workers = [Compiler(library, 2, tmp_path / "programs") for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        codes = set(threads.map(lambda worker: worker.executable(REQUEST, NAMES, SHAPES).code, workers))
    assert (len(codes), counting.times) == (1, 1)
    assert sum(worker.bytes_kept > 0 for worker in workers) == 1
    assert len(list((tmp_path / "programs").iterdir())) == 1


def test_nobody_waits_for_a_compiler_that_has_stopped(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "MOST_SECONDS_IN_TURN", 0.1)
    monkeypatch.setattr(compiling, "_key", lambda _: "a")
    (tmp_path / "a" / "programs").mkdir(parents=True, mode=0o700)
    with (tmp_path / "a" / "programs" / f"a{compiling.MAKING}").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        assert compiled(REQUEST)[1] == 1


@pytest.mark.parametrize("trouble", ["no locks", "cannot be removed", "a folder in its place", "left behind"])
def test_trouble_with_the_mark_of_who_compiles_costs_nothing(compiled, tmp_path, monkeypatch, trouble):
    """Nor does anybody wait: a file system without locks would take seconds for every program."""
    monkeypatch.setattr(compiling.time, "sleep", lambda _: pytest.fail("it waits"))
    monkeypatch.setattr(compiling, "_key", lambda _: "a")
    folder = tmp_path / "a" / "programs"
    folder.mkdir(parents=True, mode=0o700)
    left = folder / f"b{compiling.MAKING}"
    left.touch()
    if trouble == "no locks":
        monkeypatch.setattr(compiling.fcntl, "flock", lambda *_: raise_(OSError(errno.ENOLCK, "")))
    elif trouble == "cannot be removed":
        monkeypatch.setattr(Path, "unlink", lambda *_, **__: raise_(PermissionError()))
    elif trouble == "a folder in its place":
        (folder / f"a{compiling.MAKING}").mkdir()
    else:
        os.utime(left, (0, 0))
    assert [compiled(REQUEST)[1] for _ in range(2)] == [1, 0]
    assert left.exists() == (trouble != "left behind")


def raise_(error: Exception) -> Any:
    raise error


def test_what_nobody_can_keep_is_not_waited_for_twice(spu_parts, tmp_path, monkeypatch):
    """Whoever waited for a program that was too large compiles beside the others who did."""
    frontend, library = spu_parts
    at_once, most, waiting, beside, lock = Semaphore(0), [], set(), Barrier(3), fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        try:
            lock(descriptor, operation)
        except BlockingIOError:
            waiting.add(get_ident())
            raise

    class Slow(Counting):
        def compile(self, *arguments: Any, **options: Any) -> Any:
            at_once.release()
            if most:
                beside.wait(SECONDS)  # breaks unless the other three compile at once
            else:
                wait_until(lambda: len(waiting) == 3)
            most.append(at_once._value)
            at_once.acquire()
            return super().compile(*arguments, **options)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(compiling, "MOST_SECONDS_IN_TURN", 2 * SECONDS)
    monkeypatch.setattr(compiling, "LARGEST_KEPT", 100)
    monkeypatch.setattr(compiling, "load_frontend", lambda: Slow(frontend))
    workers = [Compiler(library, 2, tmp_path / "programs") for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda worker: worker.executable(REQUEST, NAMES, SHAPES), workers))
    assert most[0] == 1 and max(most) == 3


def test_another_program_or_version_is_another_file(compiled, monkeypatch):
    compiled(REQUEST)
    assert compiled(ComputeSteps((Ranged(np.zeros(3, np.int64), 6),)))[1] == 1
    assert compiled(ComputeSteps((Ranged(np.zeros(3, np.int64), 5),), keep_as=("kept",)))[1] == 1
    monkeypatch.setattr(compiling, "_versions", lambda: "another release of the compiler")
    assert compiled(REQUEST)[1] == 1


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "folder", "pipe", "of another key", "link"])
def test_a_damaged_program_is_made_anew(compiled, tmp_path, damage):
    code, _ = compiled(REQUEST)
    (kept,) = (tmp_path / "a" / "programs").iterdir()
    content = kept.read_bytes()
    kept.unlink()
    if damage == "folder":
        kept.mkdir()
    elif damage == "pipe":
        os.mkfifo(kept)
    elif damage == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        kept.symlink_to(tmp_path / "elsewhere")
    elif damage == "of another key":
        body = content.partition(b"\n")[2]
        kept.write_bytes(compiling._digest("0" * 64, body) + b"\n" + body)
    else:
        flipped = bytearray(content)
        flipped[-20] ^= 1
        kept.write_bytes({"flip": bytes(flipped), "cut": content[:-1], "empty": b""}[damage])
    assert compiled(REQUEST) == (code, 1)
    if damage != "folder":
        assert compiled(REQUEST) == (code, 0)


def test_a_kept_program_that_opens_more_than_it_should_is_not_taken(compiled, spu_parts, tmp_path):
    """Whoever can write to the folder can write a right digest too; what runs is vetted all the same."""
    folder = tmp_path / "a" / "programs"
    compiled(ComputeSteps((Ranged(np.zeros(3, np.int64), 5),), keep_as=("kept",)))
    (kept,) = folder.iterdir()
    code, _ = compiled(REQUEST)
    (opening,) = set(folder.iterdir()) - {kept}
    body = opening.read_bytes().partition(b"\n")[2]
    kept.write_bytes(compiling._digest(kept.name, body) + b"\n" + body)
    found, times = compiled(ComputeSteps((Ranged(np.zeros(3, np.int64), 5),), keep_as=("kept",)))
    assert times == 1 and b"reveal" in code and b"reveal" not in found


def test_a_folder_that_cannot_be_written_or_a_large_program_costs_nothing_but_time(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert [compiled(REQUEST, folder=tmp_path / "file")[1] for _ in range(2)] == [1, 1]
    monkeypatch.setattr(compiling, "LARGEST_KEPT", 100)
    assert [compiled(REQUEST)[1] for _ in range(2)] == [1, 1]


def test_what_was_not_used_for_longest_goes_first(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "MOST_KEPT", 2)
    requests = [ComputeSteps((Ranged(np.zeros(3, np.int64), bits),)) for bits in (4, 5, 6)]
    for number, request in enumerate(requests[:2]):
        compiled(request)
        for file in (tmp_path / "a" / "programs").iterdir():
            os.utime(file, (file.stat().st_mtime - 10, file.stat().st_mtime - 10 + number))
    assert compiled(requests[0])[1] == 0  # used again, so the other one is older now
    compiled(requests[2])
    assert [compiled(request)[1] for request in (requests[0], requests[2], requests[1])] == [0, 0, 1]


def test_programs_of_others_and_functions_in_functions_are_not_kept(compiled, tmp_path):
    inner = ComputeSteps((Shared(np.zeros(3, np.int64)), Call(lambda xp, x: x + 1, (0,), {})))
    assert [compiled(inner)[1] for _ in range(2)] == [2, 2]  # not even within a run: it may be another one
    ours = ComputeSteps((Shared(np.zeros(3, np.int64)), Call(plus, (0,), {"more": 1})))
    assert [compiled(ours)[1] for _ in range(2)] == [1, 1]
    assert not (tmp_path / "a" / "programs").exists()


def plus(xp: Any, x: Any, more: int) -> Any:
    return x + more


@dataclass(frozen=True)
class Pair:
    one: Any
    other: Any


PLAIN = [
    *(None, True, 1, "1", np.int64(1), Fraction(1, 2), (), (1,), (1, 2), ((1,), 2), ("1,2",), ("1", "2"), {}),
    *({"a": 1}, {"a": "1"}, {"b": 1}, Packing(2), Packing(3), Pair(1, 2), Pair(2, 1), Pair((1, 2), ())),
    *(np.arange(3), np.arange(3).reshape(3, 1), np.arange(3, dtype=np.int32), np.arange(4000), -np.arange(4000)),
]


def test_keys_are_the_same_in_every_process_and_differ_for_different_programs():
    texts = [compiling._plain(value) for value in PLAIN]
    assert len(set(texts)) == len(PLAIN)
    for unclear in (0.5, {1}, object(), Pair(0.5, 1), np.array([0.5])):
        with pytest.raises(TypeError):
            compiling._plain(unclear)
    code = (
        "import json; from copublish.engines.spu import compiling\n"
        "from copublish.kernel.programs.packing import Packing\n"
        "print(json.dumps([compiling._plain(('a', {'b': 1, 'a': Packing(3)})), compiling._versions()]))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert json.loads(elsewhere.stdout) == [
        compiling._plain(("a", {"a": Packing(3), "b": 1})),
        compiling._versions(),
    ]
