"""What the report on records drawn from moments says. Released values only."""

from __future__ import annotations

from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.hpdp.publish import CategoryDetails, NumberDetails
from copublish.mechanisms.hpdp.words import details_of


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    details = details_of(publication)
    columns = details.columns.items()
    return {
        "n_records": publication.records.num_rows,
        "details": details,
        "by_grid": details.counts_cells,
        "numbers": [(name, column) for name, column in columns if isinstance(column, NumberDetails)],
        "categories": [(name, column) for name, column in columns if isinstance(column, CategoryDetails)],
    }
