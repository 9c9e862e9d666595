"""Core dumps: files with everything that a process held in memory, identifiers included. A party leaves none."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Have this process leave no core when it crashes, and let no other one of its user look into its memory (Linux).

    A limit of 0 keeps a core from being written as a file, here and in whatever this process starts. Where the system
    hands cores to a program instead, the limit is not asked for; being not dumpable is. That also keeps debuggers of
    the same user out, and gives what is in `/proc/PID` to root: a process that reads something there of itself opens it
    before. It ends with `exec`, so every process of a run says it for itself.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
