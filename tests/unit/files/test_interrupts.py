"""Children that begin deaf: a Ctrl-C while they load shows nothing, and whoever started them ends them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import copublish

pytestmark = pytest.mark.slow  # processes

SLOW = """
import sys, time
from pathlib import Path
if sys.modules["__main__"].__name__ == "__mp_main__":  # in the child: it loads until the signal was sent
    Path("loads").touch()
    while not Path("sent").exists():
        time.sleep(0.01)
def work(): pass
"""

PARENT = """
import multiprocessing, os, signal, sys, time
from contextlib import nullcontext
from pathlib import Path
from copublish.files.interrupts import deaf_children
if __name__ == "__main__":
    import slow
    with deaf_children() if sys.argv[1] == "deaf" else nullcontext():
        child = multiprocessing.get_context("spawn").Process(target=slow.work)
        child.start()
    while not Path("loads").exists() and child.is_alive():
        time.sleep(0.01)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.killpg(0, signal.SIGINT)  # as a terminal does
    Path("sent").touch()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(("how", "hears"), [("deaf", False), ("plain", True)])
def test_a_child_that_loads_does_not_hear_ctrl_c_unless_it_began_like_any_other(tmp_path, how, hears):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "parent.py").write_text(PARENT)
    done = subprocess.run(
        [sys.executable, "parent.py", how], cwd=tmp_path, capture_output=True, text=True, start_new_session=True
    )
    assert ("Traceback" in done.stderr) == hears
    assert (done.returncode == 0) != hears


def test_no_process_is_spawned_that_would_hear_it():
    source = Path(copublish.__file__).parent
    spawning = {path for path in source.rglob("*.py") if 'get_context("spawn")' in path.read_text()}
    assert spawning
    assert {path.name for path in spawning if "with deaf_children():" not in path.read_text()} == set()
