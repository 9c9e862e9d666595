"""Ctrl-C is for the process that a person started, and not for its children, which the terminal also tells.

A child that hears it while it loads libraries shows a traceback before any code of ours runs. So children begin deaf,
and whoever started them ends them.
"""

from __future__ import annotations

import signal
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
