"""What a run of idp-ir releases. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.types import IntArray


@dataclass(frozen=True)
class IdpIrResult:
    """What the mechanism releases.

    Attributes:
        plan: How it was made.
        values: For every column each record's published value: steps above the lower bound, or a place of a category.
    """

    plan: IdpIrPlan
    values: Mapping[str, IntArray]
