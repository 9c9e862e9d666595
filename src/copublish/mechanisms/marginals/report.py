"""What the report on synthetic records says in numbers and pictures. Released values only."""

from __future__ import annotations

from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.words import details_of


def facts(publication: Publication) -> dict[str, object]:
    """What the page says."""
    return {"details": details_of(publication)}
