"""Short forms of benchmarks."""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import random
import zlib
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from copublish.kernel.noise import geometric as coins
from copublish.party.local import processes
from measuring import Tables, given_of, tables_of

COUNT_THEIR_CHILDREN = ("cost_model", "hpdp_release")
"""Benchmarks that count the processor time of the processes that they start, so that none may be forked elsewhere."""


@functools.cache
def short_form(name: str) -> Tables:
    """The tables of a benchmark's short form, which is run once in a test process.

    Coins of this process come from a seed, so that noise on tiny tables makes no counter 0 by chance.

    Raises:
        IncompleteRowError: If a row has a counter that is 0, or a cell in which nothing stands.
    """
    module = importlib.import_module(name)
    generator = random.Random(zlib.crc32(name.encode()))
    usual = multiprocessing.get_context
    started = usual("spawn") if name in COUNT_THEIR_CHILDREN else processes.PROCESSES

    def context(method: str | None = None) -> Any:
        return started if method == "spawn" else usual(method)

    with (
        patch.object(multiprocessing, "get_context", context),
        patch.object(coins, "os", SimpleNamespace(urandom=generator.randbytes)),
        patch.object(processes, "PROCESSES", started),
    ):
        return tables_of(module, given_of(module, ["--short"]))
