"""Short forms of benchmarks."""

from __future__ import annotations

import functools
import importlib

from measuring import Tables, given_of, tables_of


@functools.cache
def short_form(name: str) -> Tables:
    """The tables of a benchmark's short form, which is run once in a test process.

    Raises:
        IncompleteRowError: If a row has a counter that is 0, or a cell in which nothing stands.
    """
    module = importlib.import_module(name)
    return tables_of(module, given_of(module, ["--short"]))
