"""Columns that their owners have perturbed already, told to all parties and put together as one table of records.

Vertical data: every owner tells the columns it publishes, and they stand side by side. Horizontal data: every owner
tells all columns of its own rows, and the rows follow each other in party order. A party without data takes part with
nothing. What is told here is known to all parties from then on, so only the reveal gate calls `join_columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.protocol.table import PERTURBED
from copublish.errors import EngineError
from copublish.kernel.secrets.engine import PublicExchange
from copublish.types import IntArray


@dataclass(frozen=True)
class OwnColumns:
    """What one party publishes of the table, and what the others may publish.

    Attributes:
        values: This party's perturbed columns, one whole number per record of its own.
        n_values: For every column of the table, in published order, how many values there are: 0 .. n - 1 are allowed.
        columns_of: For every party, in agreed order, the columns that it publishes.
        rows_are_shared: Whether all parties have the same records (vertical), or each its own (horizontal).
    """

    values: Mapping[str, IntArray]
    n_values: Mapping[str, int]
    columns_of: Mapping[str, tuple[str, ...]]
    rows_are_shared: bool


def join_columns(own: OwnColumns, party: str, exchange: PublicExchange) -> dict[str, IntArray]:
    """Tell all parties one's own perturbed columns, and return the whole table.

    Raises:
        EngineError: If a party sent something that is no such column.

    Leakage: the columns, to all parties; horizontal: each owner's number of records as well. Safe only after noise.
    """
    mine = [own.values[column].astype(_small(own.n_values[column])) for column in own.columns_of[party]]
    message = np.frombuffer(b"".join(column.tobytes() for column in mine), np.uint8)
    told = exchange(PERTURBED, message)
    parts: dict[str, list[IntArray]] = {column: [] for column in own.n_values}
    lengths = set()
    for (sender, columns), content in zip(own.columns_of.items(), told, strict=True):
        sizes = {column: own.n_values[column] for column in columns}
        for column, values in _columns(content, sizes, sender).items():
            if ((values < 0) | (values >= sizes[column])).any():
                raise EngineError(f"Party '{sender}' sent values of '{column}' out of range. Nothing is published.")
            parts[column].append(values)
            lengths.add(len(values))
    if own.rows_are_shared and len(lengths) > 1:
        raise EngineError("The parties sent different numbers of records. Nothing is published.")
    return {column: np.concatenate(found) for column, found in parts.items()}


def _columns(content: NDArray[np.uint8], sizes: Mapping[str, int], party: str) -> dict[str, IntArray]:
    """Columns of one length that a party sent, one after the other in the message."""
    row = sum(_small(size).itemsize for size in sizes.values())
    if content.size % row if row else content.size:
        raise EngineError(f"Party '{party}' sent something that is no table of columns. Nothing is published.")
    found, start = {}, 0
    for column, size in sizes.items():
        stop = start + content.size // row * _small(size).itemsize
        found[column] = content[start:stop].view(_small(size)).astype(np.int64)
        start = stop
    return found


def _small(n_values: int) -> np.dtype[Any]:
    """The smallest type that holds 0 .. n - 1, the same bytes on every machine."""
    return np.min_scalar_type(n_values - 1).newbyteorder("<")
