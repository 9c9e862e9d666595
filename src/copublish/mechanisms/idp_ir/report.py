"""What the report on microaggregated records says. Released values only."""

from __future__ import annotations

from typing import Any

from copublish.mechanisms.base import Publication
from copublish.mechanisms.idp_ir.words import details_of


def facts(publication: Publication) -> dict[str, Any]:
    """What the page says."""
    return {
        "details": details_of(publication),
        "n_records": publication.records.num_rows,
        "columns": publication.records.column_names,
    }
