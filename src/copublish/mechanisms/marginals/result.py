"""What a run releases. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import Domain
from copublish.agreement.model import Agreement
from copublish.mechanisms.marginals.junction_tree import Columns, JunctionTree
from copublish.mechanisms.marginals.model import NoisyTable
from copublish.mechanisms.shared.drawing import key_of
from copublish.types import IntArray


@dataclass(frozen=True)
class Choice:
    """What a round chose.

    Attributes:
        columns: The table; nothing if none was worth its noise.
        table: Its number among all measured tables.
    """

    columns: Columns | None
    table: int | None


@dataclass(frozen=True, kw_only=True)
class MarginalsResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        agreement: What it was agreed on.
        sizes: Number of cells of every column.
        tables: Every measured table, unbiased, in the order of measurement.
        n_first: How many of them were measured for sure.
        choices: What every round chose.
        factors: Of the model, table by table, in units.
        tree: The cliques of the model.
        cliques: Their marginals in whole numbers.
        total: Number of records, public or estimated.
        n_records: How many records are drawn.
    """

    agreement: Agreement
    sizes: tuple[int, ...]
    tables: tuple[NoisyTable, ...]
    n_first: int
    choices: tuple[Choice, ...]
    factors: IntArray
    tree: JunctionTree
    cliques: tuple[IntArray, ...]
    total: int
    n_records: int

    @property
    def columns(self) -> Mapping[str, Domain]:
        """Public domain of every column in agreed order; the class is the last."""
        return self.agreement.columns

    @property
    def key(self) -> bytes:
        """What the records are drawn under: a hash of everything that was opened."""
        chosen = [-1 if choice.table is None else choice.table for choice in self.choices]
        return key_of([np.array(chosen, dtype=np.int64), *(table.values for table in self.tables)])
