"""What the report on perturbed records says in numbers, from released values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.evaluation.words import label_information, noise_words
from copublish.release.folder import RecordsRelease


@dataclass(frozen=True)
class Column:
    """One column, its part of the budget and its noise in words."""

    name: str
    epsilon: str
    noise: str


def perturbed_facts(release: RecordsRelease) -> dict[str, Any]:
    """Return what only a report on perturbed records says."""
    details, relation = release.details, release.certificate["epsilon"]["calibrated_to"]
    n_columns = release.records.num_columns
    perturbed = release.certificate["disclosures"][-n_columns:]
    return {
        "n_records": release.records.num_rows,
        "columns": [
            Column(name, disclosure["epsilon"][relation], noise_words(described["noise"]))
            for (name, described), disclosure in zip(details["columns"].items(), perturbed, strict=True)
        ],
        "rule": details["allocation"]["rule"],
        "label": details["label_information"]["label"],
        "told": label_information(details),
    }
