"""Commands that live in another hour: Debian's libfaketime shifts the clock of one process, for C and Python alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.node import source_path
from support.packages import install

# The library sees to it that a process measures how long something takes by the machine's own clock, but not where it
# sleeps until a moment of that clock. So Python, which sleeps like that, is told to sleep by another call.
PROGRAM = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds)
from copublish.cli import main
main()
"""


def at_another_hour(hours: int, home: Path, *words: str) -> dict[str, Any]:
    """Return what `subprocess.Popen` needs for a command of copublish at a party whose clock is so many hours ahead."""
    shifted = {"LD_PRELOAD": str(_library()), "FAKETIME": f"{hours:+}h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    environment = {**os.environ, "COPUBLISH_HOME": str(home), "PYTHONPATH": source_path(), **shifted}
    return {"args": [sys.executable, "-c", PROGRAM, *words], "cwd": home, "env": environment}


def _library() -> Path:
    """The library; installed first where it is missing and we may."""
    if not (found := _libraries()) and install("faketime"):
        found = _libraries()
    if not found:
        pytest.skip("Clocks of their own for processes need libfaketime (Debian's package 'faketime').")
    return found[0]


def _libraries() -> Sequence[Path]:
    return sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
