"""A release between two parties whose clocks are almost two days apart; each one's certificate is made by its own."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from copublish.kernel.ledger.ledger import Ledger
from copublish.party.keys.identity import load_identity
from support.clocks import at_another_hour
from support.node import NAMES, TwoParties, finish, on_loopback

HOURS = {"bank": -20, "loans": 20}
"""It is never the same day at both, and what the lender makes now begins to be valid in 16 hours for the bank."""

MASKED_SUMS = (
    ('partition = "vertical"', 'partition = "horizontal"'),
    ('identifier = "customer_id"', ""),
    ("[mechanism]\n", '[engine]\nname = "masked-sum"\n\n[mechanism]\n'),
    ('name = "specialization"\nspecializations = 3', 'name = "copula"'),
    ('score = "max"', ""),
)
"""The example as a release of whole rows by the engine that starts fastest."""


def start(name: str, home: Path, *words: str) -> subprocess.Popen[str]:
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(**at_another_hour(HOURS[name], home, *words), **settings)


def finish_all(started: dict[str, subprocess.Popen[str]]) -> dict[str, str]:
    ends = {name: finish(process) for name, process in started.items()}
    for code, _, errors in ends.values():
        assert code == 0, errors
    return {name: output for name, (_, output, _) in ends.items()}


def give_whole_rows(parties: TwoParties) -> None:
    bank, loans = (pd.read_parquet(parties.home(name) / "data.parquet") for name in NAMES)
    joined = bank.merge(loans.drop(columns="default"), on="customer_id").drop(columns="customer_id")
    for number, name in enumerate(NAMES):
        joined[number::2].to_parquet(parties.home(name) / "data.parquet", index=False)


def test_clocks_that_are_far_apart_are_no_reason_to_fail_and_both_publish_the_same_date(tmp_path):
    began = datetime.now(UTC).replace(microsecond=0)
    parties = on_loopback(tmp_path, records=400, changes=MASKED_SUMS)
    give_whole_rows(parties)
    folders = {name: parties.home(name) / "new-identity" for name in NAMES}
    words = ("identity", "new", "--identity", "new-identity", "--days", "1", "--name")
    finish_all({name: start(name, parties.home(name), *words, name) for name in NAMES})
    parties.identities |= {name: load_identity(folder) for name, folder in folders.items()}
    parties.write_agreement(re.sub("held_by = .*\n", "", parties.agreement_text()))
    bank_s_now = datetime.now(UTC) + timedelta(hours=HOURS["bank"])
    assert parties.identities["loans"].certificate.not_valid_before_utc > bank_s_now

    run = {name: parties.command(name, "--identity", "new-identity")[3:] for name in NAMES}
    finish_all({name: start(name, parties.home(name), *run[name]) for name in NAMES})
    ended = datetime.now(UTC)

    assert parties.files("bank") == parties.files("loans") != {}
    days = {}
    for name in NAMES:
        shift = timedelta(hours=HOURS[name])
        (entry,) = Ledger(parties.home(name) / "ledger.db").entries()
        log = [json.loads(line) for line in (parties.home(name) / "run.jsonl").read_text().splitlines()]
        moments = [datetime.fromisoformat(stamp) for stamp in (*(line["at"] for line in log), entry.reserved_at)]
        assert all(began + shift <= moment <= ended + shift for moment in moments), "each by its own clock"
        assert (entry.state, log[-1]["event"]) == ("complete", "complete")
        assert log[-1]["seconds"] <= (ended - began).total_seconds(), "how long it took has nothing to do with the date"
        days[name] = {moment.date().isoformat() for moment in moments}
    certificate = json.loads(parties.files("bank")["certificate.json"])
    assert certificate["deployment"]["basic"]["publication_date"] in days["bank"] - days["loans"]
