"""Whole runs on the secure engine that hide membership: what is published does not depend on who is not common."""

from __future__ import annotations

import os
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.cells import SPENT_ON_SIZE
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.tools.auditing.secure import RepeatedCoins
from support.not_common import frames_with_others, hidden_agreement

pytestmark = pytest.mark.slow  # two runs between processes


def test_two_runs_with_other_people_beside_the_same_common_ones_publish_the_same_bytes(tmp_path: Path) -> None:
    """Coins are the same in both. How many rows there are is not, and the noise on it is drawn anew."""
    agreement = hidden_agreement(
        **{
            "class": None,
            "attributes": {
                "x": {"kind": "categorical", "values": ["a", "b", "c"], "held_by": "bank"},
                "y": {"kind": "categorical", "values": ["a", "b"], "held_by": "loans"},
            },
            "mechanism": {"name": "marginals", "tables": [["x", "y"]]},
            "records.at_most": {"bank": 70, "loans": 90},
            "privacy.membership_epsilon": 5,
        }
    )
    keys = {party: os.urandom(32) for party in agreement.parties}
    folders = []
    for number, others in enumerate(({}, {"bank": 9, "loans": 33})):
        ledgers = {party: tmp_path / f"{party}{number}.db" for party in agreement.parties}
        for file in ledgers.values():
            with closing(Ledger(file)) as ledger:
                ledger.set_limit("people", Limit(Fraction(20), "add-remove"))
        release = simulate_in_processes(
            agreement,
            frames_with_others(agreement, others, common=50),
            ledger_files=ledgers,
            progress=no_progress,
            coins={party: RepeatedCoins(key) for party, key in keys.items()},
            timeout_seconds=300,
        )
        folders.append(release.files())
        for file in ledgers.values():
            with closing(Ledger(file)) as ledger:
                assert [entry.state for entry in ledger.entries()] == [SPENT_ON_SIZE, "complete"]
                assert ledger.spent("people") == sum(costs_of_run(agreement, plan_of(agreement).cost()), NOTHING)
    assert folders[0] == folders[1] and "certificate.json" in folders[0]
