"""What the worker process does about itself before SPU is loaded: where it writes, what is counted, when it ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import tempfile
from pathlib import Path
from typing import TextIO


def silence_and_confine(scratch: str) -> None:
    """Keep SPU's chatter off the terminal and its temporary files in one folder."""
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.chdir(scratch)  # SPU writes a log file where it stands
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def open_counters() -> TextIO | None:
    """The kernel's counters of this process, opened while it may still be (Linux)."""
    with contextlib.suppress(OSError):
        return Path("/proc/self/io").open()
    return None


def bytes_written(counters: TextIO | None) -> int:
    """The bytes this process has written so far, nearly all of them to the other parties."""
    if counters is not None:
        counters.seek(0)
        for line in counters:
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0


def die_with_parent() -> None:
    """Ask the kernel to end this process when its party ends, so that no worker is left behind (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
