"""How the records of a joint count are cut: into agreed shards by position, and those into chunks for one product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from copublish.kernel.programs.packing import add

if TYPE_CHECKING:
    from copublish.kernel.secrets.computer import ProgramComputer
    from copublish.kernel.secrets.secret import Secret

Count = Callable[[Any, slice], "Secret"]
"""Counts some of the records, by their positions, on the engine that is given; always with a result of one shape."""

Done = Callable[[int, int], None]
"""Told how many records are counted and how many there are."""


def no_word(done: int, of: int) -> None:
    """Tell nobody."""


def shards_of(n_records: int, n_shards: int) -> list[slice]:
    """Cut records by position into shards that differ by one record at most; those without a record are left out.

    Privacy:
        Both numbers are public between the parties, so all of them know every shard's size, and that an empty one adds
        nothing: nothing is computed or sent for it.
    """
    ends = [shard * n_records // n_shards for shard in range(n_shards + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends) if stop > start]


def chunks_of(rows: slice, size: int) -> Iterator[slice]:
    """Cut some of the records into chunks of a size; the last one may be smaller."""
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def sum_in_turn(
    engine: ProgramComputer, count: Count, n_records: int, size: int, shape: tuple[int, ...], done: Done
) -> Secret:
    """The sum of what is counted of every chunk, one after the other on one engine."""
    parts = []
    for rows in chunks_of(slice(0, n_records), size):
        parts.append(count(engine, rows))
        done(rows.stop, n_records)
    return engine.compute(add, *parts) if parts else engine.share(np.zeros(shape, dtype=np.int64))
