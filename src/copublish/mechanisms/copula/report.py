"""What the report on synthetic records says in numbers. Released values only."""

from __future__ import annotations

from statistics import median
from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.copula.snippets import snippets
from copublish.mechanisms.copula.words import details_of
from copublish.mechanisms.reading.build import correlations
from copublish.mechanisms.shared.report_columns import columns_with_counts, told_apart

STRONGEST_PAIRS = 20


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, reading = details_of(publication), publication.reading
    pairs, summaries = correlations(reading, reading.columns), reading.summaries()
    errors = [pair.estimate.within for pair in pairs if pair.estimate.within is not None]
    n_told, n_cells = told_apart(summaries)
    return {
        "n_records": publication.records.num_rows,
        "total_is_public": publication.certificate.public_facts.number_of_records is not None,
        "columns": columns_with_counts(summaries, {name: column.counts for name, column in details.columns.items()}),
        "correlation_within": median(errors) if errors else None,
        "n_told_apart": n_told,
        "n_cells": n_cells,
        "pairs": [pair for pair in pairs if pair.estimate.tells][:STRONGEST_PAIRS],
        "n_untold": sum(1 for pair in pairs if not pair.estimate.tells),
        "n_pairs": len(pairs),
        "label": None if details.label_information is None else details.label_information.label,
        "told": [] if details.label_information is None else details.label_information.told(),
        "snippets": snippets(publication),
    }
