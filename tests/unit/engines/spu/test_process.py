"""The worker's process: it loads no more than it needs, and does not outlive a party that has no use for it."""

from __future__ import annotations

import gc
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from copublish.engines.spu import parallel_sessions
from copublish.engines.spu.parallel_sessions import WORKER_MIB, Workers, refuse_too_little_memory
from copublish.engines.spu.process import LoadingWorker, WorkerProcess
from copublish.engines.spu.requests import Call, ComputeSteps, LoadMain, Shared
from copublish.errors import EngineError, OwnEngineError, SourceError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.programs.packing import add
from copublish.party import session as run
from copublish.party.session import RunSettings, ready_party
from copublish.tools.planning.costs import measured_coefficients

pytestmark = pytest.mark.slow  # engine processes

LOADS = """
import sys
from copublish.engines.spu.requests import LoadMain
from copublish.engines.spu.runtime import load_spu
from copublish.engines.spu.worker import load_main
load_spu()
import spu.api
print("spu.libspu" in sys.modules, any(name in sys.modules for name in ("jax", "pydantic")))
load_main(LoadMain(None, sys.argv[1]))
print(sys.modules["__main__"].own_program(3))
from copublish.engines.spu.compiling import load_frontend
load_frontend()
print("jax" in sys.modules)
"""


def test_jax_is_loaded_to_compile_and_the_partys_program_when_it_is_needed(tmp_path):
    main = tmp_path / "main.py"
    main.write_text("def own_program(x):\n    return 2 * x\n\nif __name__ == '__main__':\n    raise SystemExit(1)\n")
    done = subprocess.run([sys.executable, "-c", LOADS, main], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "6", "True"]


def test_a_worker_that_nobody_wants_any_more_ends():
    worker = LoadingWorker()
    number, folder = worker.process.pid, worker.scratch.path
    assert worker.connection.recv() == ("loaded", None)
    assert psutil.pid_exists(number) and folder.exists()
    del worker
    gc.collect()
    assert not psutil.pid_exists(number) and not folder.exists()


def test_a_run_that_ends_before_anybody_is_asked_leaves_no_worker(monkeypatch, tmp_path):
    started: list[Any] = []

    class Remembered(LoadingWorker):
        def __init__(self) -> None:
            super().__init__()
            started.append(self.process)

    def unreadable(*_: object) -> None:
        assert [process.poll() for process in started] == [None]  # it loads while data are read
        raise SourceError("gone")

    agreement = SimpleNamespace(engine=SimpleNamespace(name="spu"), compute_nodes=("a",), parties={})
    monkeypatch.setattr(run, "preflight", lambda *_, **__: None)
    monkeypatch.setattr(run, "refuse_unfit_hosts", lambda *_: None)
    monkeypatch.setattr(run, "_witness", lambda *_: None)
    monkeypatch.setattr(run, "loading_worker", lambda *_: Remembered())
    monkeypatch.setattr(run, "refuse_unfit_workers", lambda *_: None)
    monkeypatch.setattr(run, "look_at_rows_or_counts", unreadable)
    with pytest.raises(SourceError):
        ready_party(agreement, "a", None, None, Ledger(":memory:"), RunSettings(tmp_path))
    assert [process.poll() is None for process in started] == [False]


@pytest.mark.parametrize("from_here", [False, True])
def test_a_killed_worker_is_this_partys_own_unless_the_party_ended_it(from_here):
    """A system that runs out of memory kills like this."""
    worker = WorkerProcess(0, ("a", "b"), 60, "CHEETAH", others=["loans"], node_that_left=lambda: None)
    (worker.kill if from_here else worker.process.kill)()
    with pytest.raises(EngineError) as caught:
        worker.wait_until_connected()
    worker.end()
    blames_other = "party 'loans' stopped" in str(caught.value)
    own = isinstance(caught.value, OwnEngineError) and "memory" in str(caught.value)
    assert (blames_other, own) == (from_here, not from_here)


def test_too_little_memory_is_said_with_numbers_before_anybody_is_called(monkeypatch, tmp_path):
    """The rows are in memory by then; a guest and masked sums have no engine."""
    spu, sums = SimpleNamespace(name="spu", agreed_shards=4), SimpleNamespace(name="masked-sum", agreed_shards=1)
    agreement = SimpleNamespace(engine=spu, compute_nodes=("a", "b"), parties={})
    monkeypatch.setattr(parallel_sessions, "available_bytes", lambda: 1100 * 2**20)
    for party, engine in (("guest", spu), ("a", sums)):
        refuse_too_little_memory(SimpleNamespace(engine=engine, compute_nodes=("a", "b")), party, Workers())
    for workers, needed in ((Workers(), "1,200"), (Workers(3), "3,600"), (Workers(3, "ray"), "1,200")):
        with pytest.raises(EngineError, match=rf"takes up to {needed} MiB .* 1,100 MiB are left\. Nothing was spent"):
            refuse_too_little_memory(agreement, "a", workers)
    for name in ("preflight", "refuse_unfit_hosts", "_witness", "refuse_unfit_workers"):
        monkeypatch.setattr(run, name, lambda *_, **__: None)
    monkeypatch.setattr(run, "loading_worker", lambda *_: None)
    monkeypatch.setattr(run, "look_at_rows_or_counts", lambda *_: (None, None))
    with pytest.raises(EngineError, match="1,100 MiB are left"):
        ready_party(agreement, "a", None, None, Ledger(":memory:"), RunSettings(tmp_path))
    monkeypatch.setattr(parallel_sessions, "available_bytes", lambda: 1200 * 2**20)
    refuse_too_little_memory(agreement, "a", Workers())
    assert 0.8 * WORKER_MIB < measured_coefficients().worker_mib <= WORKER_MIB


def test_of_two_nodes_the_silent_one_is_known_and_of_three_it_is_not():
    worker = WorkerProcess.__new__(WorkerProcess)
    worker._timeout, worker._others = 5, ("loans",)
    assert worker._silent().party == "loans"
    worker._others = ("loans", "mill")
    assert worker._silent().party is None


def test_the_partys_program_is_loaded_once_and_only_for_functions_of_its_own():
    def of_main(xp: Any, x: Any) -> Any:
        return x

    of_main.__module__ = "__main__"
    sent: list[object] = []
    worker = WorkerProcess.__new__(WorkerProcess)
    worker._has_main, worker._connection = False, SimpleNamespace(send=sent.append)  # type: ignore[assignment]
    number = Shared(np.zeros(1, dtype=np.int64))
    worker._load_main_for(ComputeSteps((number, Call(add, (0,), {}))))
    assert not sent
    for _ in range(2):
        worker._load_main_for(ComputeSteps((number, Call(of_main, (0,), {}))))
    assert [type(request) for request in sent] == [LoadMain]
