"""Every published flaw that is seen in outputs or messages is accused by the audit's own statistics, sound ones not.

Runs: those of each flaw, at which at least 19 of 20 audits accused at a level of 10^-4. Coins are fresh; by that each
test fails in one of twenty times at most at that level, so the level here is 0.01: it is missed far less often.
"""

from __future__ import annotations

import numpy as np
import pytest

from copublish.tools.auditing.coalitions import audit_outputs
from copublish.tools.auditing.statistics import Claim
from copublish_reproduction.audited_flaws import FLAWS
from copublish_reproduction.selection import log_weights, segment_law

LEVEL = 0.01


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.number)
def test_a_published_flaw_is_accused(flaw):
    tested = flaw.audit(flaw.runs, np.random.default_rng(1))
    assert tested.p_value < LEVEL and tested.found > flaw.epsilon


def test_noise_and_winners_as_the_proofs_have_them_are_not_accused():
    """Laplace noise of the promised scale, and winners by running sums.

    Each p-value is below 10^-3 with that probability at most. Less than 0.3 was found in none of 150 such audits.
    """
    generator = np.random.default_rng(2)
    laws = [segment_law(log_weights(np.array(scores), 0.5)) for scores in ((20, 20), (20, 21))]

    def winners(coins):
        return np.where(coins, *(generator.choice(2, size=len(coins), p=law) for law in reversed(laws)))

    sound = {
        "counts": audit_outputs(lambda coins: coins + generator.laplace(0, 2, len(coins)), Claim(0.5), 64_000),
        "winners": audit_outputs(winners, Claim(0.5), 16_000),
    }
    assert all(tested.p_value > 1e-3 for tested in sound.values()), sound
    assert sound["counts"].found > 0.3
