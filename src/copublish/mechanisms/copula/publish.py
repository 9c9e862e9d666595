"""From what the copula mechanism opened to the published table of synthetic records. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription
from copublish.mechanisms.base import Contents, Details
from copublish.mechanisms.copula.model import CopulaResult
from copublish.mechanisms.copula.records import draw_columns
from copublish.mechanisms.shared.allocation import Division, describe_division
from copublish.mechanisms.shared.arrow import categories
from copublish.mechanisms.shared.information import LabelInformation, describe_information
from copublish.mechanisms.shared.normal import pairs_of
from copublish.mechanisms.shared.number_cells import InCells, numbers_in_cells
from copublish.types import Codes, TypedJson

CORRELATION_DIGITS, WITHIN_DIGITS = 6, 3


@dataclass(frozen=True, kw_only=True)
class CopulaColumn(TypedJson):
    """A column and what was counted of it.

    Attributes:
        domain: Its public domain.
        cells: How every cell is named, in agreed order.
        counts: How many synthetic records each has.
        noisy_counts: The unbiased measurement.
        scores: The normal score of each.
    """

    domain: DomainDescription
    cells: tuple[str, ...]
    counts: tuple[int, ...]
    noisy_counts: tuple[int, ...]
    scores: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PairDependence(TypedJson):
    """Two columns and how they depend.

    Attributes:
        columns: Their names.
        noisy_sum_of_products: The unbiased measurement.
        correlation: Of the normal variables behind them.
        correlation_within_95_percent: How far noise moves it at most in 95 of 100 cases; none where it could be
            anything.
    """

    columns: tuple[str, str]
    noisy_sum_of_products: int
    correlation: float
    correlation_within_95_percent: float | None


@dataclass(frozen=True, kw_only=True)
class CopulaDetails(Details):
    """Everything that the records were drawn from, and what they tell.

    Attributes:
        copula_format: Number of the format.
        columns: Every column in agreed order, the class last.
        pairs: Every two of them.
        allocation: How the columns' budget was divided.
        label_information: What columns tell about the label; nothing if there is neither a label nor a class.
        missing_spellings: Texts that stand for a missing value.
        has_class: False where no column is the class.
        empties_ends: Ends of a number's grid stayed empty where noise could have made what is there.
    """

    copula_format: Literal[1] = 1
    columns: dict[str, CopulaColumn]
    pairs: tuple[PairDependence, ...]
    allocation: Division
    label_information: LabelInformation | None = None
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None
    empties_ends: Literal[True] = True

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the release with their domains."""
        described = {name: column.domain for name, column in self.columns.items()}
        return PublicColumns.of_release(described, self.missing_spellings, has_class=self.has_class is None)

    @property
    def strongest_pairs(self) -> list[PairDependence]:
        """Every two columns, those that depend most first."""
        return sorted(self.pairs, key=lambda pair: -abs(pair.correlation))


def contents_of(result: CopulaResult) -> Contents:
    """The synthetic records, and what they were drawn from."""
    records, cells = synthetic_records(result)
    return Contents({"records": records}, copula_details(result, cells))


def synthetic_records(result: CopulaResult) -> tuple[pa.Table, dict[str, Codes]]:
    """The synthetic records: categories as text, numbers as numbers, missing ones as null; and their cells."""
    counts = list(result.counts.values())
    drawn = draw_columns(result.model.loadings, counts, result.key)
    table, found = {}, {}
    for (name, domain), own, (cells, places) in zip(result.columns.items(), counts, drawn, strict=True):
        # The records of a cell are spread evenly over it, in the order of the variable behind the column.
        table[name] = values_of(domain, InCells(cells=cells, places=places, counts=own[cells]))
        found[name] = cells.astype(np.min_scalar_type(domain.size))
    return pa.table(table), found


def copula_details(result: CopulaResult, cells: Mapping[str, Codes]) -> CopulaDetails:
    """Everything that the records were drawn from, and what they tell."""
    names, allocation = list(result.columns), result.allocation
    pairs = zip(pairs_of(len(names)), result.noisy_products.tolist(), strict=True)
    budgets, label = allocation.budgets(result.gains), allocation.agreement.budget_label
    return CopulaDetails(
        columns={
            name: CopulaColumn(
                domain=describe_column(allocation.agreement, name),
                cells=tuple(domain.label((code, code + 1)) for code in range(domain.size)),
                counts=tuple(result.counts[name].tolist()),
                noisy_counts=tuple(result.noisy_counts[name].tolist()),
                scores=tuple(result.scores[name].tolist()),
            )
            for name, domain in result.columns.items()
        },
        pairs=tuple(
            PairDependence(
                columns=(names[i], names[j]),
                noisy_sum_of_products=noisy,
                correlation=round(float(result.model.correlations[i, j]), CORRELATION_DIGITS),
                correlation_within_95_percent=_within(result, i, j),
            )
            for (i, j), noisy in pairs
        ),
        allocation=describe_division(allocation, result.gains),
        label_information=None if label is None else describe_information(result.columns, cells, label, budgets),
        missing_spellings=allocation.agreement.records.missing_spellings,
        has_class=False if allocation.agreement.class_ is None else None,
    )


def _within(result: CopulaResult, i: int, j: int) -> float | None:
    """How far noise moves a correlation at most in 95 of 100 cases; nothing where it could be anything."""
    slope = result.model.slopes[i] * result.model.slopes[j] * int(next(iter(result.counts.values())).sum())
    within = result.products_within / slope if slope > 0 else 1.0
    return round(within, WITHIN_DIGITS) if within < 1 else None


def values_of(domain: Domain, found: InCells) -> pa.Array:
    """A column of records: categories as text, numbers as numbers spread over their cells, missing ones null."""
    if isinstance(domain, CategoricalDomain):
        return categories(domain, found.cells)
    return numbers_in_cells(domain, found, found.cells >= domain.number_codes)
