"""Ctrl-C and core dumps: children do not hear Ctrl-C, and no process leaves a file with what it held in memory.

A child that hears it while it loads libraries shows a traceback before any code of ours runs. So children begin deaf,
and whoever started them ends them.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def deaf_children() -> Iterator[None]:
    """Let processes that are started inside not hear Ctrl-C, from their first instruction on.

    The mask of signals is inherited, and belongs to a thread: this works in any. A Ctrl-C that comes meanwhile waits.
    """
    # Else the first child would start multiprocessing's own helper, which unblocks the signal for those after it.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_quietly_when_interrupted() -> None:
    """Let this process, a child that began deaf, hear Ctrl-C again and end of it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


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
