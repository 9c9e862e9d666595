"""What the report on records drawn from moments says. Released values only."""

from __future__ import annotations

from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.hpdp.publish import NumberDetails
from copublish.mechanisms.hpdp.snippets import snippets
from copublish.mechanisms.hpdp.words import details_of, told_correlations

STRONGEST_PAIRS = 20


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details, reading = details_of(publication), publication.reading
    summaries, pairs = reading.summaries(), told_correlations(publication)
    categories = [summary for summary in summaries if not summary.is_number]
    errors = [cell.share.within for summary in categories for cell in summary.cells]
    told = [error for error in errors if error is not None]
    deviations = {
        name: column.deviation for name, column in details.columns.items() if isinstance(column, NumberDetails)
    }
    return {
        "n_records": publication.records.num_rows,
        "details": details,
        "has_class": details.has_class is None,
        "numbers": [(summary, deviations[summary.name]) for summary in summaries if summary.is_number],
        "categories": categories,
        "share_within": max(told) if told and len(told) == len(errors) else None,
        "pairs": [pair for pair in pairs if pair.estimate.tells][:STRONGEST_PAIRS],
        "n_untold": sum(1 for pair in pairs if not pair.estimate.tells),
        "n_pairs": len(pairs),
        "snippets": snippets(publication),
    }
