"""No process of a run that holds data leaves a core: parties of `run` and of `simulate`, and the workers of SPU.

Whether a process is dumpable shows in whom its files in /proc belong to: to its own group, or to root's. So the runs
here are root's, in a group of their own.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from test_lost_parties import LIMIT_SECONDS, parties_and_workers, start_release, wait_for_disclosures

from support.node import free_port, on_loopback, source_path
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0, reason="needs root, to run in another group"
)

GROUP = 65534


def allow_cores() -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


@pytest.fixture
def elsewhere(monkeypatch):
    """Start processes in another group, and allowed to leave cores."""
    usual = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **options: usual(*args, **options, group=GROUP, preexec_fn=allow_cores)
    )


def limit_of(process: psutil.Process) -> list[str]:
    lines = Path(f"/proc/{process.pid}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith("Max core file size")).split()[4:6]


def group_of(process: psutil.Process) -> int:
    return Path(f"/proc/{process.pid}/environ").stat().st_gid


def cores_in(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("core*") if path.is_file()]


def test_parties_of_a_simulation_and_their_workers_leave_no_core_and_cannot_be_looked_into(tmp_path, elsewhere):
    release = start_release(tmp_path)
    wait_for_disclosures(tmp_path, release, 1)
    parties, workers = parties_and_workers(release)
    assert (len(parties), len(workers)) == (2, 2)
    assert group_of(psutil.Process(release.pid)) == GROUP, "it holds no data, and shows that the check can fail"
    folders = [Path(process.cwd()) for process in workers]
    for process in (*parties, *workers):
        assert (limit_of(process), group_of(process)) == (["0", "0"], 0), process.cmdline()
    os.kill(workers[0].pid, signal.SIGABRT)
    os.kill(parties[1].pid, signal.SIGABRT)
    release.communicate(timeout=LIMIT_SECONDS)
    assert cores_in(tmp_path, *folders) == []


def test_a_party_of_a_run_leaves_no_core_and_cannot_be_looked_into(tmp_path, elsewhere):
    parties = on_loopback(tmp_path)
    bank = parties.start("bank", "--listen", f"127.0.0.1:{free_port()}")
    log = parties.home("bank") / "run.jsonl"
    wait_until(lambda: bank.poll() is not None or (log.exists() and "listening" in log.read_text()), LIMIT_SECONDS)
    process = psutil.Process(bank.pid)
    assert (limit_of(process), group_of(process)) == (["0", "0"], 0)
    bank.send_signal(signal.SIGABRT)
    bank.communicate(timeout=LIMIT_SECONDS)
    assert bank.returncode == -signal.SIGABRT
    assert cores_in(tmp_path) == []


RUN = """
import sys
from fractions import Fraction
import copublish as cp

try:
    cp.run("agreement.toml", party="bank", data="data.parquet", out="release", ledger="ledger.db",
           identity="identities/bank", wait_seconds=1, listen=("127.0.0.1", int(sys.argv[1])))
except cp.MeetingError:
    print(next(line for line in open("/proc/self/limits") if line.startswith("Max core")).split()[4:6])
"""


def test_a_run_from_python_leaves_no_core(tmp_path):
    parties = on_loopback(tmp_path)
    environment = {**os.environ, "COPUBLISH_HOME": str(parties.home("bank")), "PYTHONPATH": source_path()}
    command = [sys.executable, "-c", RUN, str(free_port())]
    done = subprocess.run(
        command, cwd=parties.home("bank"), env=environment, capture_output=True, text=True, preexec_fn=allow_cores
    )
    assert done.stdout == "['0', '0']\n", done.stderr
