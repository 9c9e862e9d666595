"""What the report on synthetic records says in numbers, from released values alone."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from copublish.evaluation.words import label_information
from copublish.release.folder import RecordsRelease

STRONGEST_PAIRS = 20

WITHIN = "correlation_within_95_percent"


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
    within: int
    cells: tuple[Cell, ...]


def synthetic_facts(release: RecordsRelease) -> dict[str, Any]:
    """Return what only a report on synthetic records says."""
    n_records, n_columns = release.records.num_rows, release.records.num_columns
    marginals = release.certificate["disclosures"][-n_columns - 1 : -1]
    columns = [
        Column(name, marginal["noise"]["within_95_percent"], _cells(described, n_records))
        for (name, described), marginal in zip(release.details["columns"].items(), marginals, strict=True)
    ]
    pairs = sorted(release.details["pairs"], key=lambda pair: -abs(pair["correlation"]))
    return {
        "n_records": n_records,
        "total_is_public": isinstance(release.certificate["public_facts"]["number_of_records"], int),
        "columns": columns,
        "correlation_within": median(1.0 if pair[WITHIN] is None else pair[WITHIN] for pair in pairs),
        "pairs": pairs[:STRONGEST_PAIRS],
        "n_pairs": len(pairs),
        "label": release.details["label_information"]["label"],
        "told": label_information(release.details),
    }


def moment_facts(release: RecordsRelease) -> dict[str, Any]:
    """Return what only a report on records drawn from moments says."""
    columns = release.details["columns"].items()
    return {
        "n_records": release.records.num_rows,
        "details": release.details,
        "numbers": [(name, column) for name, column in columns if column["kind"] == "number"],
        "categories": [(name, column) for name, column in columns if column["kind"] == "category"],
    }


def _cells(described: dict[str, Any], n_records: int) -> tuple[Cell, ...]:
    rows = zip(described["cells"], described["counts"], described["noisy_counts"], strict=True)
    return tuple(Cell(label, count, noisy, count / max(n_records, 1)) for label, count, noisy in rows)
