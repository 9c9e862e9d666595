"""Processes of a test, forked from one that has loaded the program: loading it takes longer than most of them run."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

LOADED_ONCE = [
    *("copublish.cli", "copublish.tools.planning", "copublish.party.local.processes", "copublish.engines.spu.engine"),
    *("ibis.backends.duckdb", "pandas", "polars"),
]


class _Forked(ForkServerProcess):
    """A process with the environment of the one that starts it, not that of the one it is forked from."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._environment = dict(os.environ)
        multiprocessing.set_forkserver_preload(LOADED_ONCE)
        # Now, because a party's process is started deaf to Ctrl-C: all others would be as well.
        forkserver.ensure_running()

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class _Forking(ForkServerContext):
    Process = _Forked


def context() -> ForkServerContext:
    """Return the way to start a process; what it runs is a function that a new process can import."""
    return _Forking()
