"""Auditing a function from a table to outputs of which no law is stated: an algorithm of a paper, or anybody's program.

Frequencies of outputs are learned in the first half of the runs and tested on the second, as other statistics are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.kernel.noise.coins import Coins
from copublish.tools.auditing.game import fair_coins
from copublish.tools.auditing.statistics import Claim, Tested, judged, learned_columns

View = Callable[[NDArray[np.bool_]], NDArray[Any]]
"""What somebody sees of runs on the tables that coins name: (runs,) to (runs, numbers)."""


def audit_outputs(view: View, claim: Claim, runs: int, *, alpha: float = 0.05, coins: Coins | None = None) -> Tested:
    """Play so many runs with fresh coins and guess them from outputs alone."""
    tables = fair_coins(runs, coins)
    seen = np.asarray(view(tables))
    evidence = learned_columns(tables, seen.reshape(runs, -1))
    return judged(tables, np.zeros(runs), claim, {"learned from outputs": evidence}, alpha=alpha)
