"""The published table of synthetic records, from what the copula mechanism opened. Released values only.

Drawing needs chance, but no secret one: the words come from SHAKE-256 under a key that is a hash of the released noisy
values. The records are then a function of what was opened and of nothing else, so they cost no privacy, whoever knows
the function; and all parties draw the same ones. `replicate` draws others, from what was opened with fresh noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription
from copublish.mechanisms.base import Contents, Details, Publication
from copublish.mechanisms.copula.model import SCORE_LIMIT, CopulaResult, fit_copula
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.allocation import Division, describe_division
from copublish.mechanisms.shared.information import LabelInformation, describe_information
from copublish.mechanisms.shared.normal import normal_steps, pairs_of
from copublish.mechanisms.shared.number_cells import InCells, counts_of_records, numbers_in_cells
from copublish.mechanisms.shared.post_processing import RECORDS_PER_BLOCK, categories, domains_as_published
from copublish.types import Codes, IntArray, TypedJson

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


def replicate(publication: Publication, details: CopulaDetails, draws: Draws) -> pa.Table:
    """The records that everything opened, with fresh noise, would give; scores are those that were summed with."""
    certificate = publication.certificate
    laws = {marginal.place.column: marginal.noise for marginal in certificate.at(MARGINALS)}
    (products,) = certificate.at(PRODUCTS)
    noisy = {
        name: draws.counts(laws[name], np.array(column.noisy_counts, dtype=np.int64))
        for name, column in details.columns.items()
    }
    total = certificate.public_facts.number_of_records
    if total is None:
        weights = {name: 1 / (deviation_of(laws[name]) ** 2 * len(own)) for name, own in noisy.items()}
        weighted = sum(weights[name] * int(own.sum()) for name, own in noisy.items())
        total = max(0, round(weighted / sum(weights.values())))
    domains = domains_as_published(details.public_columns.domains, publication.records)
    counts = [
        counts_of_records(domains[name], own, total, noise=deviation_of(laws[name])) for name, own in noisy.items()
    ]
    scores = [np.array(column.scores, dtype=np.int64) for column in details.columns.values()]
    points = SCORE_LIMIT**2
    fresh = np.rint(draws.noise(products.noise, len(details.pairs), points_per_person=points) * points)
    sums = np.array([pair.noisy_sum_of_products for pair in details.pairs], dtype=np.int64) + fresh.astype(np.int64)
    model = fit_copula(counts, scores, sums)
    drawn = draw_columns(model.loadings, counts, draws.next_key())
    return pa.table(
        {
            name: values_of(domains[name], InCells(cells=cells, places=places, counts=own[cells]))
            for name, own, (cells, places) in zip(details.columns, counts, drawn, strict=True)
        }
    )


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
