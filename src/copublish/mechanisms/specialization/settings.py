"""The keys of specialization in an agreement, and its rules."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field

from copublish.agreement.model import Agreement
from copublish.agreement.section import Number, Whole
from copublish.agreement.settings import MechanismSettings
from copublish.mechanisms.specialization.cut import max_candidates

MAX_CELLS = 2**22
"""Cells of a release: more would not fit into memory."""

MAX_GAIN_CANDIDATES = 2**14
"""Splits on offer in one round: the engine's 62-bit integers hold a gain's noise and this many numbers beside it."""


class SpecializationSettings(MechanismSettings):
    """How values are split top-down."""

    name: Literal["specialization", "distdiffgen", "arbdistdp"]
    specializations: Whole = Field(default=10, ge=0, le=100)
    score: Literal["max", "tv-gain", "balanced-gain", "auto"] = "max"
    selection_share: Number = Field(default=Decimal("0.4"), ge=Decimal("0.01"), le=Decimal("0.99"))
    max_cells: Whole | None = Field(default=None, ge=2, le=MAX_CELLS)

    counts_alone: ClassVar[bool] = True
    needs_class: ClassVar[bool] = True
    splits_step_by_step: ClassVar[bool] = True
    example: ClassVar[str] = """\
[mechanism]
name = "specialization"
specializations = 8              # how often a value is split, at most
score = "auto"                   # how splits are compared
"""

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        """Yield a sentence if gains of too many splits would have to be compared."""
        candidates = max_candidates(agreement.domains, self.specializations)
        if self.score != "max" and candidates > MAX_GAIN_CANDIDATES:
            yield (
                f"mechanism.score: '{self.score}' compares at most {MAX_GAIN_CANDIDATES:,} splits, and these "
                f'attributes have {candidates:,}. Take coarser grids or fewer attributes, or write score = "max"'
            )
