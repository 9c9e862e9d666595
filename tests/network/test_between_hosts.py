"""A release between two hosts: network namespaces with a link of their own, fast, or slow as over a wide area."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

import copublish as cp
from support import SeededCoins, simulate_with
from support.hosts import TwoHosts, WideArea, linked_hosts
from support.node import NAMES, TwoParties, finish, source_path

TESTS = Path(__file__).parent.parent
SEEDS = {"bank": 5, "loans": 6}


def start_seeded(hosts: TwoHosts, parties: TwoParties, party: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source_path(), str(TESTS)])}
    command = [sys.executable, "-m", "support.node_party", str(parties.home(party)), party, str(SEEDS[party])]
    settings = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return hosts.start(NAMES.index(party), command, **settings)


def test_a_release_between_two_distant_hosts_is_the_same_as_on_one_machine(tmp_path):
    with linked_hosts(WideArea()) as hosts:
        addresses = dict(zip(NAMES, (f"{address}:7700" for address in hosts.addresses), strict=True))
        parties = TwoParties(tmp_path, addresses)
        started = {name: start_seeded(hosts, parties, name) for name in NAMES}
        ends = {name: finish(process) for name, process in started.items()}
    for name in NAMES:
        assert ends[name][0] == 0, ends[name][2]
        assert json.loads(ends[name][1])["sent"] > 2**20
    assert parties.files("bank") == parties.files("loans")
    agreement = cp.load_agreement(parties.home("bank") / "agreement.toml")
    frames = {name: pd.read_parquet(parties.home(name) / "data.parquet") for name in NAMES}
    coins = {name: SeededCoins(SEEDS[name]) for name in NAMES}
    ideal = simulate_with(agreement, frames, coins).data_files()
    published = parties.files("bank")
    assert {"measurements.json", "model.json", "records.parquet"} < ideal.keys()
    for name, content in ideal.items():
        assert published[name] == content, name


def test_a_party_s_host_shows_one_port_to_the_other_and_refuses_plaintext_there(tmp_path):
    with linked_hosts() as hosts:
        parties = TwoParties(tmp_path, dict(zip(NAMES, (f"{a}:7700" for a in hosts.addresses), strict=True)))
        bank = hosts.start(
            0,
            parties.command("bank", "--wait", "600"),
            cwd=parties.home("bank"),
            env={**os.environ, "COPUBLISH_HOME": str(parties.home("bank")), "PYTHONPATH": source_path()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        stranger = [sys.executable, str(TESTS / "support" / "stranger.py"), hosts.addresses[0], "7700"]
        found = json.loads(hosts.run(1, stranger, timeout=180).stdout)
        bank.terminate()
        code, _, _ = finish(bank)
    assert found == {"open": [7700], "taken": [False]}
    assert code == 143
    assert parties.charges("bank") == []
