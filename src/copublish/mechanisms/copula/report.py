"""What the report on synthetic records says in numbers. Released values only."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.copula.plan import MARGINALS
from copublish.mechanisms.copula.publish import CopulaColumn, Pair
from copublish.mechanisms.copula.words import details_of

STRONGEST_PAIRS = 20


@dataclass(frozen=True)
class Cell:
    """One value or interval of a column."""

    label: str
    count: int
    noisy: int
    share: float


@dataclass(frozen=True)
class Column:
    """One column, its cells, and how far a noisy count is off at most in 95 of 100 cases."""

    name: str
    within: float | None
    cells: tuple[Cell, ...]


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, certificate = details_of(publication), publication.certificate
    n_records = publication.records.num_rows
    within = {marginal.place.column: marginal.noise.within_95_percent for marginal in certificate.at(MARGINALS)}
    return {
        "n_records": n_records,
        "total_is_public": certificate.public_facts.number_of_records is not None,
        "columns": [
            Column(name=name, within=within[name], cells=_cells(column, n_records))
            for name, column in details.columns.items()
        ],
        "correlation_within": median(_within(pair) for pair in details.pairs),
        "pairs": details.strongest_pairs[:STRONGEST_PAIRS],
        "n_pairs": len(details.pairs),
        "label": details.label_information.label,
        "told": details.label_information.told(),
    }


def _within(pair: Pair) -> float:
    """How far noise moves a correlation; all the way where it could be anything."""
    within = pair.correlation_within_95_percent
    return 1.0 if within is None else within


def _cells(column: CopulaColumn, n_records: int) -> tuple[Cell, ...]:
    rows = zip(column.cells, column.counts, column.noisy_counts, strict=True)
    return tuple(
        Cell(label=label, count=count, noisy=noisy, share=count / max(n_records, 1)) for label, count, noisy in rows
    )
