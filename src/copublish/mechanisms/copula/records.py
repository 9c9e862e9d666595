"""Records drawn from a released copula. Released values only.

Drawing needs chance, but no secret one: the words come from SHAKE-256 under a key that is a hash of the released noisy
values. The records are then a function of what was opened and of nothing else, so they cost no privacy, whoever knows
the function; and all parties draw the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.errors import ReleaseError
from copublish.mechanisms.published import Model, Published
from copublish.mechanisms.shared.normal import normal_steps
from copublish.mechanisms.shared.number_cells import InCells, numbers_in_cells
from copublish.mechanisms.shared.post_processing import RECORDS_PER_BLOCK, categories
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
class CopulaModel(Model):
    """The counts and the copula that records are drawn from.

    Attributes:
        counts: How many records have each value of every column, in agreed order.
        loadings: For every column the normal variable behind it, as a sum of independent ones: a whole number of
            1/2^20 for each of them.
    """

    counts: dict[str, tuple[int, ...]]
    loadings: tuple[tuple[int, ...], ...]


def model_of(published: Published) -> CopulaModel:
    """The released model.

    Raises:
        ReleaseError: If it is not one of these columns.
    """
    model, domains = published.model, published.columns.domains
    if not isinstance(model, CopulaModel) or list(model.counts) != list(domains):
        raise ReleaseError("The model of this release is not a copula of its columns.")
    for name, own in model.counts.items():
        if len(own) != domains[name].size or min(own) < 0 or sum(own) != model.records:
            raise ReleaseError(f"The counts of '{name}' in the model are not those of {model.records:,} records.")
    if [len(row) for row in model.loadings] != [len(domains)] * len(domains):
        raise ReleaseError("The loadings in the model are not those of the columns.")
    return model


def sample(published: Published, key: bytes) -> pa.Table:
    """Records drawn from the model: categories as text, numbers as numbers, missing ones as null."""
    model = model_of(published)
    counts = {name: np.array(own, dtype=np.int64) for name, own in model.counts.items()}
    drawn = draw_columns(np.array(model.loadings, dtype=np.int64), list(counts.values()), key)
    # The records of a cell are spread evenly over it, in the order of the variable behind the column.
    return pa.table(
        {
            name: _values(published.columns.domains[name], InCells(cells=cells, places=places, counts=own[cells]))
            for (name, own), (cells, places) in zip(counts.items(), drawn, strict=True)
        }
    )


def _values(domain: Domain, found: InCells) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        return categories(domain, found.cells)
    return numbers_in_cells(domain, found, found.cells >= domain.number_codes)


Column = tuple[IntArray, IntArray]
"""The cell of each record, and its place among the records of that cell, by the normal variable behind the column."""


def draw_columns(loadings: IntArray, counts: Sequence[IntArray], key: bytes) -> Iterator[Column]:
    """Yield each column of the synthetic records; each has exactly the released counts.

    Records are ranked by the normal variable behind a column, and the lowest ones go into its first cell, as many as
    were counted there, and so on.
    """
    n = int(counts[0].sum())
    steps = _independent_steps(n, len(counts), key)
    for weights, cells in zip(loadings, counts, strict=True):
        behind = np.concatenate([block @ weights for block in _blocks(steps)] or [np.zeros(0, dtype=np.int64)])
        order = np.argsort(behind, kind="stable")
        cell, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cell[order] = np.repeat(np.arange(len(cells), dtype=np.int64), cells)
        first = np.cumsum(cells) - cells
        place[order] = np.arange(n, dtype=np.int64) - np.repeat(first, cells)
        yield cell, place


def _independent_steps(n: int, n_columns: int, key: bytes) -> NDArray[np.int16]:
    found = np.empty((n, n_columns), dtype=np.int16)
    for number, start in enumerate(range(0, n, RECORDS_PER_BLOCK)):
        block = found[start : start + RECORDS_PER_BLOCK]
        stream = hashlib.shake_256(key + number.to_bytes(8, "little")).digest(4 * block.size)
        block[:] = normal_steps(np.frombuffer(stream, "<u4")).reshape(block.shape)
    return found


def _blocks(steps: NDArray[np.int16]) -> Iterator[IntArray]:
    for start in range(0, len(steps), RECORDS_PER_BLOCK):
        yield steps[start : start + RECORDS_PER_BLOCK].astype(np.int64)
