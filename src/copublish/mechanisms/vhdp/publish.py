"""The result of a run of vhdp, and everything that is published of it. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.kernel.accounting.disclosures import Place
from copublish.mechanisms.published import Cells, Contents, Measured, Model, NoiseAt, PerturbedRows
from copublish.mechanisms.shared.allocation import TABLES, Allocation, Gains, describe_division
from copublish.mechanisms.shared.post_processing import categories, numbers
from copublish.mechanisms.vhdp.plan import PERTURBED
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
class VhdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        values: The published values: codes of categories, steps of numbers; in an order without meaning.
        allocation: How the budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    values: Mapping[str, IntArray]
    allocation: Allocation
    gains: Gains | None = None


def contents_of(result: VhdpResult, noise_at: NoiseAt) -> Contents:
    """The perturbed records with the law of every column, and the tables that divided the budget."""
    records = perturbed_table(result)
    return Contents(
        measured=_tables_by_label(result, noise_at),
        model=Model(records=records.num_rows, division=describe_division(result.allocation, result.gains)),
        rows=PerturbedRows(
            records=records,
            noise={column: noise_at(Place(PERTURBED, column=column)) for column in result.columns},
        ),
    )


def perturbed_table(result: VhdpResult) -> pa.Table:
    """The perturbed records: categories as text, numbers as numbers, missing ones as null."""
    return pa.table({name: _values(domain, result.values[name]) for name, domain in result.columns.items()})


def _tables_by_label(result: VhdpResult, noise_at: NoiseAt) -> tuple[Measured, ...]:
    """The table of every column by the label, where gains divide the budget. Later noise depends on their noise."""
    if result.gains is None:
        return ()
    label, found = Cells(column=result.allocation.label), []
    for column, noisy_counts in result.gains.noisy_tables.items():
        place = Place(TABLES, column=column)
        axes = (Cells(column=column), label)
        values = noisy_counts.ravel()
        found.append(Measured(place=place, axes=axes, values=values, noise=noise_at(place), steered=True))
    return tuple(found)


def _values(domain: Domain, values: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        return categories(domain, values)
    lowest = int(domain.lower.scaleb(domain.decimals_of_numbers))
    return numbers(domain, values + lowest, values > domain.steps)
