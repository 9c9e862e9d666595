"""Where a drafted number may be split, until people agree on something better."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from copublish.agreement.columns import USUAL_CELLS
from copublish.agreement.domain import format_number
from copublish.agreement.round_grid import FEWEST_STEPS, STEPS_OF_FRACTIONS, round_split_points
from copublish.tools.drafting.answers import Bounds


def default_grid(bounds: Bounds | None, *, is_whole: bool) -> dict[str, Any]:
    """The section `grid` of a number that is drafted. The one place that chooses it.

    Cells at round numbers, which bounds decide, whoever fills them in. Between bounds that lie close together it makes
    a difference whether numbers are whole, which bounds do not tell.

    Args:
        bounds: Its public bounds, if they are known.
        is_whole: Whether it is known to be a whole number.
    """
    if bounds is not None and is_whole and bounds[1] - bounds[0] < FEWEST_STEPS:
        return {"step": 1}
    if bounds is not None and not is_whole and bounds[0] < bounds[1] and bounds[1] - bounds[0] < USUAL_CELLS:
        decimals = max(0, -(((bounds[1] - bounds[0]) / STEPS_OF_FRACTIONS).adjusted()))
        points = round_split_points(*bounds, cells=USUAL_CELLS, decimals=decimals)
        return {"edges": [Decimal(format_number(point)) for point in points]}
    return {"round": USUAL_CELLS}
