"""The measured tables, the model that fits them, and the records that are drawn from it. Released values only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import Field
from pydantic.dataclasses import dataclass

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.marginals.junction_tree import Columns, JunctionTree, cells_of
from copublish.mechanisms.marginals.measurements import AGAIN, CHOSEN
from copublish.mechanisms.marginals.model import (
    FACTOR_UNIT,
    TABLE_BITS,
    FittingProblem,
    MeasuredTable,
    from_units,
    in_units,
)
from copublish.mechanisms.marginals.records import MarginalsResult, draw_codes, spread_evenly
from copublish.mechanisms.published import Cells, Contents, Measured, Model, NoiseAt, Published
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.mechanisms.shared.post_processing import categories, numbers
from copublish.types import IntArray

LARGEST_WEIGHT = 2 ** (TABLE_BITS + 1)
"""Of a cell in a clique's table. All weights of a clique add up to about half of it."""

Weight = Annotated[int, Field(ge=0, le=LARGEST_WEIGHT)]


@dataclass(frozen=True, kw_only=True)
class MarginalsModel(Model):
    """A distribution that fits the measured tables: a product of one factor for each cell of each of them.

    Attributes:
        rounds: The columns of the table that each round chose; empty if none was worth its noise.
        estimated_records: The number of people, public or estimated.
        factor_unit: The probability of a record is proportional to e to this times the sum of its factors.
        factors: The factors of each measured table, last column fastest, in units.
        cliques: The sets of columns that the distribution keeps as a whole.
        clique_tables: The distribution of each of them, last column fastest, in whole numbers: records are drawn from
            these.
    """

    rounds: tuple[tuple[str, ...], ...]
    estimated_records: int
    factor_unit: float = FACTOR_UNIT
    factors: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[str, ...], ...]
    clique_tables: tuple[tuple[Weight, ...], ...]


def contents_of(result: MarginalsResult, noise_at: NoiseAt) -> Contents:
    """Every measured table in the order of measurement, and the model.

    Args:
        result: What the mechanism releases.
        noise_at: The noise that the certificate states of a disclosure.
    """
    names = list(result.columns)
    ends = np.cumsum([len(table.values) for table in result.tables])
    model = MarginalsModel(
        records=result.n_records,
        key=result.key.hex(),
        notes=tuple(_notes(result)),
        rounds=tuple(_named(choice.columns or (), names) for choice in result.choices),
        estimated_records=result.total,
        factors=_as_tuples(np.split(result.factors, ends[:-1])),
        cliques=tuple(_named(clique, names) for clique in result.tree.cliques),
        clique_tables=_as_tuples(result.cliques),
    )
    return Contents(measured=tuple(_measured(table, names, noise_at) for table in result.tables), model=model)


def _measured(table: MeasuredTable, names: Sequence[str], noise_at: NoiseAt) -> Measured:
    return Measured(
        place=table.place,
        axes=tuple(Cells(column=name) for name in _named(table.columns, names)),
        values=table.values,
        noise=noise_at(table.place),
        chosen=table.place.number if table.place.step == CHOSEN else None,
    )


def _named(columns: Columns, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[column] for column in columns)


def _as_tuples(arrays: Sequence[IntArray]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(array.ravel().tolist()) for array in arrays)


def _notes(result: MarginalsResult) -> Iterator[str]:
    n_rounds, n_chosen = len(result.choices), sum(choice.table is not None for choice in result.choices)
    if n_rounds:
        others = "" if n_chosen == n_rounds else " In the others none was worth its noise."
        yield f"Rounds that chose a table: {n_chosen} of {n_rounds}.{others}"
    if any(table.place.step == AGAIN for table in result.tables):
        yield "The first tables were measured a second time, with the budget that rounds left."


def fitted_model(published: Published, public_total: int | None) -> MarginalsModel:
    """The distribution that fits the measured tables. Which ones were measured is not chosen again.

    Args:
        published: The measurements, and the released model, whose factors the fit starts from.
        public_total: The number of people, if it is public.

    Raises:
        ReleaseError: If the model is one of another mechanism, or of other tables.
    """
    model, sizes = _model_of(published), _sizes(published)
    tables = tuple(
        MeasuredTable(columns, table.values, deviation_of(table.noise), table.place)
        for columns, table in zip(_tables_by_number(published), published.tables, strict=True)
    )
    total = _weighted_total(tables) if public_total is None else public_total
    problem = FittingProblem(sizes, tables, max(1, total))
    start = np.array([factor for factors in model.factors for factor in factors], dtype=np.int64)
    if start.shape != problem.wanted.shape:
        raise _other_tables()
    state = problem.fit(from_units(start))
    ends = np.cumsum([len(table.values) for table in tables])
    return replace(
        model,
        key="",
        estimated_records=problem.total,
        factors=_as_tuples(np.split(in_units(state.factors), ends[:-1])),
        clique_tables=_as_tuples([np.rint(belief * 2.0**TABLE_BITS).astype(np.int64) for belief in state.beliefs]),
    )


def _weighted_total(tables: Sequence[MeasuredTable]) -> int:
    """The number of people from all tables' sums, each weighted by how exact it is."""
    weights = np.array([1 / (table.deviation**2 * len(table.values)) for table in tables])
    sums = np.array([table.values.sum() for table in tables], dtype=np.float64)
    return round(float(weights @ sums / weights.sum()))


def sampled_records(published: Published, key: bytes) -> pa.Table:
    """Records drawn from the released model.

    Args:
        published: The columns, the measured tables, and the model.
        key: What chance comes from.

    Raises:
        ReleaseError: If the model is one of another mechanism, or of other tables.
    """
    model, sizes = _model_of(published), _sizes(published)
    tree = JunctionTree.of(sizes, _tables_by_number(published))
    names = list(published.columns.domains)
    cells = [cells_of(clique, sizes) for clique in tree.cliques]
    same_cliques = model.cliques == tuple(_named(clique, names) for clique in tree.cliques)
    if not same_cliques or [len(weights) for weights in model.clique_tables] != cells:
        raise _other_tables()
    cliques = tuple(
        np.array(weights, dtype=np.int64).reshape([sizes[column] for column in clique])
        for clique, weights in zip(tree.cliques, model.clique_tables, strict=True)
    )
    return records_table(published.columns.domains, draw_codes(tree, cliques, model.records, key), key)


def _model_of(published: Published) -> MarginalsModel:
    if not isinstance(published.model, MarginalsModel):
        raise ReleaseError("This release has no model of measured tables that records could be drawn from.")
    return published.model


def _other_tables() -> ReleaseError:
    return ReleaseError("The model of this release does not fit its measured tables.")


def _sizes(published: Published) -> tuple[int, ...]:
    return tuple(domain.size for domain in published.columns.domains.values())


def _tables_by_number(published: Published) -> list[Columns]:
    number = {name: place for place, name in enumerate(published.columns.domains)}
    return [tuple(number[name] for name in table.columns) for table in published.tables]


def records_table(columns: Mapping[str, Domain], codes: IntArray, key: bytes) -> pa.Table:
    """Records from the codes of their cells."""
    return pa.table(
        {
            name: _column(domain, codes[number], key + number.to_bytes(8, "big"))
            for number, (name, domain) in enumerate(columns.items())
        }
    )


def _column(domain: Domain, codes: IntArray, key: bytes) -> pa.Array:
    """A column of records: categories as text, numbers as numbers spread evenly over their cells, missing ones null."""
    if isinstance(domain, CategoricalDomain):
        return categories(domain, codes)
    edges = _edges(domain)
    cells = codes.clip(max=domain.number_codes - 1)
    counts = np.bincount(codes, minlength=domain.size)[codes]
    start, width = edges[:-1][cells], np.diff(edges)[cells]
    # The k-th of c records of a cell lies at start + width (2k + 1) / (2c), rounded down to a unit; without overflow.
    odd, parts = 2 * spread_evenly(codes, key) + 1, 2 * np.maximum(counts, 1)
    whole, rest = np.divmod(width, parts)
    units = start + odd * whole + odd * rest // parts
    return numbers(domain, units, codes >= domain.number_codes)


def _edges(domain: NumericalDomain) -> IntArray:
    """A grid's edges in units of the last decimal; the last cell includes the upper bound."""
    edges = [domain.lower, *domain.thresholds, domain.upper]
    units = [int(edge.scaleb(domain.decimals_of_numbers)) for edge in edges]
    return np.array([*units[:-1], units[-1] + 1], dtype=np.int64)
