"""A party that leaves between machines as soon as the other one has reserved: what it costs, and the way on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

from test_clocks import MASKED_SUMS, give_whole_rows

from copublish.kernel.ledger.ledger import Ledger
from support.node import DATASET, NAMES, TwoParties, finish, on_loopback, source_path

LEAVES = """
import os
from copublish.kernel import main_path
main_path._reserved_everywhere = lambda *given: os._exit(9)
from copublish.cli import main
main()
"""
"""Software that somebody has changed: it leaves without a word when it has reserved."""


def start(parties: TwoParties, name: str, *options: str, program: str | None = None) -> subprocess.Popen[str]:
    command = parties.command(name, *options)
    if program is not None:
        command = [sys.executable, "-c", program, *command[3:]]
    home = parties.home(name)
    environment = {**os.environ, "COPUBLISH_HOME": str(home), "PYTHONPATH": source_path()}
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=home, env=environment, **settings)


def ledger_command(parties: TwoParties, *words: str) -> tuple[int, str]:
    home = parties.home("bank")
    program = "from copublish.cli import main; main()"
    command = [sys.executable, "-c", program, "ledger", *words, "--ledger", "ledger.db", "--format", "json"]
    done = subprocess.run(command, cwd=home, env={**os.environ, "PYTHONPATH": source_path()}, capture_output=True)
    return done.returncode, done.stdout.decode()


def test_a_party_that_leaves_after_the_reservation_costs_the_other_one_nothing_that_it_does_not_get_back(tmp_path):
    parties = on_loopback(tmp_path, records=400, changes=MASKED_SUMS)
    give_whole_rows(parties)
    parties.write_agreement(re.sub("held_by = .*\n", "", parties.agreement_text()))
    started = [start(parties, "bank"), start(parties, "loans", program=LEAVES)]
    (code, _, errors), (left, _, _) = map(finish, started)
    assert (code, left) == (6, 9), errors
    ledger = Ledger(parties.home("bank") / "ledger.db")
    (charge,) = ledger.entries()
    assert (charge.state, charge.disclosures) == ("ended early, spent", 0)
    assert charge.peers == {"loans": parties.identities["loans"].fingerprint}

    code, _, errors = finish(start(parties, "bank"))
    assert code == 5 and "The last run with 'loans'" in errors and "--again" in errors
    assert len(ledger.entries()) == 1, "nobody was called and nothing was spent"
    code, output = ledger_command(parties, "give-back", str(charge.number))
    assert code == 0 and json.loads(output)["early_ends"][0]["given_back"] == 1
    assert ledger.spent(DATASET).add_remove == 0

    ends = [finish(process) for process in [start(parties, name, "--again") for name in NAMES]]
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert [entry.state for entry in ledger.entries()] == ["given back, nothing was opened", "complete"]
    assert len(ledger.receipts()) == 1
