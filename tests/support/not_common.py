"""Agreements of two owners that hide membership from each other, and tables that differ in who is not common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from support import fragment_frames, random_table, small_mapping

HIDDEN: dict[str, Any] = {
    "records.membership": "hidden",
    "records.at_most": {"bank": 150, "loans": 120},
    "privacy.membership_epsilon": 0.5,
}
"""What a small agreement changes so that neither of its two owners learns who is common."""


def hidden_agreement(**changes: Any) -> cp.Agreement:
    """The small agreement of two owners with hidden membership."""
    return cp.agreement_from_mapping(small_mapping(**{**HIDDEN, **changes}))


def frames_with_others(agreement: cp.Agreement, others: dict[str, int], *, common: int = 80) -> dict[str, pd.DataFrame]:
    """Tables of every owner with the same common people, and so many people whom nobody else lists.

    Rows come in an order of their own at each owner.
    """
    generator = np.random.default_rng(1)
    found = dict(fragment_frames(agreement, random_table(agreement, common, generator), generator))
    found = {owner: found[owner] for owner in agreement.owners}
    for owner, more in others.items():
        strangers = random_table(agreement, more, generator)
        strangers["id"] = [f"of {owner} {number}" for number in range(more)]
        rows = fragment_frames(agreement, strangers, generator)[owner]
        found[owner] = pd.concat([found[owner], rows], ignore_index=True).sample(frac=1, random_state=more)
    return found
