"""A party that leaves between machines as soon as the other one has reserved: what it costs, and the way on."""

from __future__ import annotations

import json
import re

from test_clocks import MASKED_SUMS, give_whole_rows

from copublish.kernel.ledger.ledger import Ledger
from support.commands import run
from support.node import DATASET, NAMES, end_of, on_loopback

LEAVES = """
import os
from copublish.kernel import main_path
main_path._reserved_everywhere = lambda *given: os._exit(9)
"""
"""Software that somebody has changed: it leaves without a word when it has reserved."""


def test_a_party_that_leaves_after_the_reservation_costs_the_other_one_nothing_that_it_does_not_get_back(tmp_path):
    parties = on_loopback(tmp_path, records=400, changes=MASKED_SUMS)
    give_whole_rows(parties)
    parties.write_agreement(re.sub("held_by = .*\n", "", parties.agreement_text()))
    started = [parties.begin("bank"), parties.begin("loans", changed=LEAVES)]
    (code, _, errors), (left, _, _) = map(end_of, started)
    assert (code, left) == (6, 9), errors
    ledger = Ledger(parties.home("bank") / "ledger.db")
    (charge,) = ledger.entries()
    assert (charge.state, charge.disclosures) == ("ended early, spent", 0)
    assert charge.peers == {"loans": parties.identities["loans"].fingerprint}

    code, _, errors = parties.run("bank")
    assert code == 5 and "The last run with 'loans'" in errors and "--again" in errors
    assert len(ledger.entries()) == 1, "nobody was called and nothing was spent"
    words = ("ledger", "give-back", charge.number, "--ledger", "ledger.db", "--format", "json")
    assert json.loads(run(*words, cwd=parties.home("bank")).stdout)["early_ends"][0]["given_back"] == 1
    assert ledger.spent(DATASET).add_remove == 0

    ends = parties.run_both(bank=["--again"], loans=["--again"])
    assert [ends[name][0] for name in NAMES] == [0, 0], ends
    assert [entry.state for entry in ledger.entries()] == ["given back, nothing was opened", "complete"]
    assert len(ledger.receipts()) == 1
