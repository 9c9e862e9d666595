"""Processes of a test, forked from one that has loaded the program: loading it takes longer than most of them run."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

LOADED_ONCE = ["copublish.cli", "copublish.tools.planning", "ibis.backends.duckdb", "pandas", "polars"]


def context() -> ForkServerContext:
    """Return the way to start a process; what it runs is a function that a new process can import."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(LOADED_ONCE)
    return forking
