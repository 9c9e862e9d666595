"""Where a drafted number may be split, until people agree on something better."""

from __future__ import annotations

from typing import Any

from copublish.drafting.answers import Bounds


def default_grid(bounds: Bounds | None, *, is_whole: bool) -> dict[str, Any]:
    """The section `grid` of a number that is drafted. The one place that chooses it.

    Args:
        bounds: Its public bounds, if they are known.
        is_whole: Whether it is known to be a whole number.
    """
    return {"count": 10}
