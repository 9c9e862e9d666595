"""A process that forbids core dumps leaves no core, and other processes of its user cannot look into it (Linux)."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="says how it is on Linux")

SECONDS = 300
NOBODY = 65534

CRASH = """
import os, sys
from copublish.files.interrupts import forbid_core_dumps
if sys.argv[1] == "forbid":
    forbid_core_dumps()
os.abort()
"""


def allow_cores() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def crash(folder: Path, how: str) -> list[str]:
    """Let a process crash where cores are allowed, and return what it left."""
    folder.mkdir()
    command = [sys.executable, "-c", CRASH, how]
    done = subprocess.run(command, cwd=folder, preexec_fn=allow_cores, capture_output=True, timeout=SECONDS)
    assert done.returncode == -signal.SIGABRT, done.stderr
    return [path.name for path in folder.iterdir()]


def test_a_crash_leaves_no_core_and_would_leave_one_otherwise(tmp_path):
    assert crash(tmp_path / "forbidden", "forbid") == []
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if hard != 0 and not pattern.startswith(("|", "/", "@")):
        assert crash(tmp_path / "allowed", "allow") != []


LOOK = """
import ctypes, os, resource, subprocess, sys
from copublish.engines.spu.runtime import bytes_written, open_counters
from copublish.files.interrupts import forbid_core_dumps
from copublish.files.scratch import Scratch

def looks(pid):
    "Whether another process of the same user can read this one's memory map and environment."
    child = os.fork()
    if child == 0:
        try:
            open(f"/proc/{pid}/environ", "rb").read()
            open(f"/proc/{pid}/mem", "rb").close()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

if os.geteuid() == 0:
    os.setresgid(*3 * [int(sys.argv[1])])
    os.setresuid(*3 * [int(sys.argv[1])])
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # changing the user has taken it
me = os.getpid()
print("before", os.stat(f"/proc/{me}/environ").st_uid == os.geteuid(), looks(me))
counters = open_counters()
forbid_core_dumps()
print("after", os.stat(f"/proc/{me}/environ").st_uid == 0, looks(me))
print("limit", *resource.getrlimit(resource.RLIMIT_CORE))
print("counts", bytes_written(counters) > 0, open_counters() is None)
sys.stdout.flush()
print("starts", subprocess.run(["true"]).returncode)
"""


def test_another_process_of_the_same_user_cannot_look_into_it_and_it_still_counts_what_it_writes():
    command = [sys.executable, "-c", LOOK, str(NOBODY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    told = done.stdout.split("\n")
    assert told[0] == "before True True", (told, done.stderr)
    assert told[1] == "after True False"
    assert told[2] == "limit 0 0"
    assert told[3] == "counts True True"
    assert told[4] == "starts 0"
