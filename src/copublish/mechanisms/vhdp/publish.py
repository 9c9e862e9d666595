"""The result of a run of vhdp, and the published table made from it. Released values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription, NumericalDomain
from copublish.kernel.accounting.formatting import state_noise
from copublish.kernel.accounting.perturbations import Perturb
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.base import Contents, Details
from copublish.mechanisms.shared.allocation import Allocation, Division, Gains, describe_division
from copublish.mechanisms.shared.information import LabelInformation, describe_information
from copublish.mechanisms.shared.post_processing import categories, numbers
from copublish.types import IntArray, TypedJson


@dataclasses.dataclass(frozen=True, kw_only=True)
class VhdpResult:
    """What the mechanism releases: all of it is public from here on.

    Attributes:
        columns: Public domain of every column, in agreed order.
        values: The published values: codes of categories, steps of numbers; in an order without meaning.
        disclosures: What each column's noise was.
        allocation: How the budget was divided.
        gains: What was opened to divide it.
    """

    columns: Mapping[str, Domain]
    values: Mapping[str, IntArray]
    disclosures: Mapping[str, Perturb]
    allocation: Allocation
    gains: Gains | None = None

    @property
    def cells(self) -> dict[str, IntArray]:
        """The published values as codes of their domains: numbers as the cells of the grid they lie in."""
        return {name: cells_of(domain, self.values[name]) for name, domain in self.columns.items()}


def cells_of(domain: Domain, values: IntArray) -> IntArray:
    """The codes of published values."""
    if not isinstance(domain, NumericalDomain):
        return values
    # A threshold between two steps belongs to the upper one.
    scaled = [(edge - domain.lower).scaleb(domain.decimals_of_numbers) for edge in domain.thresholds]
    edges = np.array([int(edge.to_integral_value("ROUND_CEILING")) for edge in scaled], dtype=np.int64)
    return np.where(values > domain.steps, domain.number_codes, np.searchsorted(edges, values, side="right"))


@dataclass(frozen=True, kw_only=True)
class VhdpColumn(TypedJson):
    """A column, its noise, and how its published values are spread.

    Attributes:
        domain: Its public domain.
        noise: Of every value.
        cells: How every cell is named, in agreed order.
        counts: How many published records each has.
    """

    domain: DomainDescription
    noise: Noise
    cells: tuple[str, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class VhdpDetails(Details):
    """How the records were perturbed, and what they still tell.

    Attributes:
        vhdp_format: Number of the format.
        columns: Every column in agreed order, the class last.
        allocation: How the budget was divided.
        label_information: What columns tell about the label; nothing if there is neither a label nor a class.
        missing_spellings: Texts that stand for a missing value.
        has_class: False where no column is the class.
    """

    vhdp_format: Literal[1] = 1
    columns: dict[str, VhdpColumn]
    allocation: Division
    label_information: LabelInformation | None = None
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the release with their domains."""
        described = {name: column.domain for name, column in self.columns.items()}
        return PublicColumns.of_release(
            described, self.missing_spellings, publishes_each_record=True, has_class=self.has_class is None
        )


def contents_of(result: VhdpResult) -> Contents:
    """The perturbed records, and how they were perturbed."""
    return Contents({"records": perturbed_table(result)}, vhdp_details(result))


def perturbed_table(result: VhdpResult) -> pa.Table:
    """The perturbed records: categories as text, numbers as numbers, missing ones as null."""
    return pa.table({name: _values(domain, result.values[name]) for name, domain in result.columns.items()})


def vhdp_details(result: VhdpResult) -> VhdpDetails:
    """How the records were perturbed, and what they still tell."""
    allocation, cells = result.allocation, result.cells
    budgets, label = allocation.budgets(result.gains), allocation.agreement.budget_label
    return VhdpDetails(
        columns={
            name: VhdpColumn(
                domain=describe_column(allocation.agreement, name),
                noise=state_noise(result.disclosures[name]),
                cells=tuple(domain.label((code, code + 1)) for code in range(domain.size)),
                counts=tuple(np.bincount(cells[name], minlength=domain.size).tolist()),
            )
            for name, domain in result.columns.items()
        },
        allocation=describe_division(allocation, result.gains),
        label_information=None if label is None else describe_information(result.columns, cells, label, budgets),
        missing_spellings=allocation.agreement.records.missing_spellings,
        has_class=False if allocation.agreement.class_ is None else None,
    )


def _values(domain: Domain, values: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        return categories(domain, values)
    lowest = int(domain.lower.scaleb(domain.decimals_of_numbers))
    return numbers(domain, values + lowest, values > domain.steps)
