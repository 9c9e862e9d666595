"""Coefficients of the cost model from runs: non-negative least squares on relative errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from typing import Protocol

import numpy as np
from scipy.optimize import nnls

from copublish.tools.planning.costs import dot, sharded_part
from copublish.tools.planning.tuning import Work

NOT_HERE = ("counted", "published")
"""What these runs do little of or nothing: `where_they_lie.py` measures it."""


def fitted(
    works: Sequence[Work], measured: Sequence[float], quantities: Sequence[str] | None = None, *, ridge: float = 0.0
) -> Work:
    """The coefficients of least relative error, of all quantities that occur or of some.

    Args:
        works: The work of every run.
        measured: What it took.
        quantities: The only ones that count, if there are such.
        ridge: The price of the squares of coefficients, of quantities that are 1 in the run where they weigh most:
            quantities that mostly go together share what they cost, where one would take all of it by chance.
    """
    names = [field.name for field in fields(Work)]
    wanted = [name not in NOT_HERE and (quantities is None or name in quantities) for name in names]
    of = np.array([astuple(work) for work in works]) * wanted
    relative = of / np.array(measured)[:, None]
    scale = np.maximum(relative.max(axis=0), 1e-300)  # so that no quantity counts by its unit
    priced = np.vstack([relative / scale, np.sqrt(ridge) * np.eye(len(names))])
    coefficients, _ = nnls(priced, np.append(np.ones(len(measured)), np.zeros(len(names))))
    found = np.where(relative.max(axis=0) > 0, coefficients / scale, 0.0)
    return Work(**{name: float(value) for name, value in zip(names, found, strict=True)})


def ratios(cpu_seconds: Work, taken: Iterable[tuple[Work, float]]) -> tuple[float, float]:
    """Seconds for a processor second of what does not go with records, and of what does."""
    parts, seconds = [], []
    for work, took in taken:
        sharded = dot(cpu_seconds, sharded_part(work))
        parts.append([dot(cpu_seconds, work) - sharded, sharded])
        seconds.append(took)
    (fixed, record), _ = nnls(np.array(parts) / np.array(seconds)[:, None], np.ones(len(seconds)))
    return float(fixed), float(record)


class HasMemory(Protocol):
    """A run whose memory was measured."""

    @property
    def worker_mib(self) -> float: ...

    @property
    def party_mib(self) -> float: ...

    @property
    def million_cells(self) -> float: ...


def memory(runs: Sequence[HasMemory]) -> dict[str, float]:
    """The largest worker of any shape, and what a party has for few records and for a million cells more."""
    fewest, most = (choose(runs, key=lambda found: found.million_cells) for choose in (min, max))
    added, cells = most.party_mib - fewest.party_mib, most.million_cells - fewest.million_cells
    slope = max(0.0, added / cells) if cells else 0.0
    return {
        "worker_mib": max(found.worker_mib for found in runs),
        "party_mib": fewest.party_mib,
        "mib_per_million_cells": slope,
    }
