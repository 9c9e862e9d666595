"""What the report on perturbed records says in numbers. Released values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.shared.privacy_words import epsilon_decimal, noise_words
from copublish.mechanisms.vhdp.plan import PERTURBED
from copublish.mechanisms.vhdp.snippets import snippets
from copublish.mechanisms.vhdp.words import details_of


@dataclass(frozen=True)
class Column:
    """One column, its part of the budget and its noise in words."""

    name: str
    epsilon: str
    noise: str


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, certificate = details_of(publication), publication.certificate
    relation = certificate.epsilon.calibrated_to
    epsilons = {disclosure.place.column: disclosure.epsilon[relation] for disclosure in certificate.at(PERTURBED)}
    return {
        "n_records": publication.records.num_rows,
        "columns": [
            Column(name=name, epsilon=epsilon_decimal(epsilons[name]), noise=noise_words(column.noise))
            for name, column in details.columns.items()
        ],
        "summaries": publication.reading.summaries(),
        "snippets": snippets(publication),
        "rule": details.allocation.in_words,
        "label": None if details.label_information is None else details.label_information.label,
        "told": [] if details.label_information is None else details.label_information.told(),
    }
