"""Waiting until something is so, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

SECONDS = 300
"""Bound of a wait for something that happens by itself: reached only if it never does, however busy the machine is."""


def wait_until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait for a condition, and fail if it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; one that has ended and that nobody has asked about yet does not."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
