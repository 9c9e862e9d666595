"""A party that is killed or never comes: the other one ends in time, with a clear error and no release."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pandas as pd
import psutil
import pytest

from copublish.agreement.protocol.table import CAN_PAY
from copublish.engines.spu.engine import SpuEngine
from copublish.errors import CopublishError, EngineError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.local.simulation import simulate
from support.examples import write_specialization_demo
from support.waiting import alive, wait_until

TIMEOUT_SECONDS = 5
PATIENCE_SECONDS = 60
"""For runs that are to get somewhere, on a busy machine too."""

LIMIT_SECONDS = 300
"""Nothing may take longer than this on a slow, busy machine; without a timeout it would be for ever."""


def test_a_party_that_never_comes_is_given_up_after_the_timeout(tmp_path):
    start = time.monotonic()
    addresses = (f"unix:{tmp_path}/a.sock", f"unix:{tmp_path}/nobody.sock")
    with (
        pytest.raises(EngineError, match="Nothing is published"),
        SpuEngine("a", ("a", "b"), addresses, timeout_seconds=TIMEOUT_SECONDS) as engine,
    ):
        engine.exchange(CAN_PAY, "can pay")
    assert time.monotonic() - start < LIMIT_SECONDS


def test_an_address_that_cannot_be_used_is_a_clear_error(tmp_path):
    addresses = (f"unix:{tmp_path}/no/such/folder/a.sock", f"unix:{tmp_path}/b.sock")
    with (
        pytest.raises(EngineError, match="secure engine"),
        SpuEngine("a", ("a", "b"), addresses, timeout_seconds=TIMEOUT_SECONDS) as engine,
    ):
        engine.exchange(CAN_PAY, "can pay")


def test_more_than_two_parties_are_refused():
    with pytest.raises(EngineError, match="CHEETAH runs between 2 compute nodes, got 3"):
        SpuEngine("a", ("a", "b", "c"), ("x", "y", "z"))


def start_release(folder: Path) -> subprocess.Popen[str]:
    write_specialization_demo(folder, 1500)
    small = (folder / "agreement.toml").read_text().replace("specializations = 8", "specializations = 3")
    (folder / "agreement.toml").write_text(small)
    for party in ("bank", "loans"):
        ledger = Ledger(folder / f"{party}.db")
        ledger.set_limit("customers-2026", Limit(Fraction(1), "add-remove"))
        ledger.close()
    command = [sys.executable, "-c", "from copublish.cli import main; main()", "simulate", "agreement.toml"]
    command += ["--data", "bank=bank.parquet", "--data", "loans=loans.csv", "--engine", "spu", "--out", "release"]
    command += ["--timeout", str(PATIENCE_SECONDS), "--ledger", "bank=bank.db", "--ledger", "loans=loans.db"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def parties_and_workers(release: subprocess.Popen[str]) -> tuple[list[psutil.Process], list[psutil.Process]]:
    """Return the parties' processes and, below them, the workers in which SPU runs."""
    parties, workers = [], []
    for child in psutil.Process(release.pid).children():
        if "spawn_main" in " ".join(child.cmdline()):
            parties.append(child)
            workers += [w for w in child.children() if "spu.worker" in " ".join(w.cmdline())]
    return parties, workers


def wait_for_disclosures(folder: Path, release: subprocess.Popen[str], how_many: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline and release.poll() is None:
        entries = Ledger(folder / "bank.db").entries()
        if entries and entries[0].disclosures >= how_many:
            return
        time.sleep(0.02)
    raise AssertionError(f"the release did not get there: {release.communicate()}")


def test_a_killed_engine_ends_the_release_cleanly_and_the_budget_stays_spent(tmp_path):
    release = start_release(tmp_path)
    wait_for_disclosures(tmp_path, release, 2)
    parties, workers = parties_and_workers(release)
    os.kill(workers[0].pid, signal.SIGKILL)
    start = time.monotonic()
    _, errors = release.communicate(timeout=LIMIT_SECONDS)
    assert time.monotonic() - start < LIMIT_SECONDS
    assert release.returncode == 6, errors
    assert "Nothing is published" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "release").exists()
    assert not list(tmp_path.glob(".release*"))
    wait_until(lambda: not alive([*parties, *workers]))
    (entry,) = Ledger(tmp_path / "bank.db").entries()
    assert entry.state in ("reserved", "ended early, spent")
    assert Ledger(tmp_path / "bank.db").spent("customers-2026").add_remove == 1


def test_a_release_on_the_secure_engine_charges_both_ledgers_and_shows_its_engine(tmp_path):
    release = start_release(tmp_path)
    output, errors = release.communicate(timeout=LIMIT_SECONDS)
    assert release.returncode == 0, errors
    assert "Released" in output
    certificate = json.loads((tmp_path / "release" / "certificate.json").read_text())
    assert certificate["engine"]["name"] == "spu"
    for party in ("bank", "loans"):
        (entry,) = Ledger(tmp_path / f"{party}.db").entries()
        assert (entry.state, entry.disclosures) == ("complete", len(certificate["disclosures"]))
    assert len(list((tmp_path / "release").iterdir())) == 10


def test_problems_of_both_parties_are_reported_together_and_show_no_value(tmp_path):
    files = write_specialization_demo(tmp_path, 200)
    for party, column in (("bank", "age"), ("loans", "months")):
        frame = pd.read_parquet(files[party]) if party == "bank" else pd.read_csv(files[party])
        frame = frame.rename(columns={column: "98765"})  # a column that is not there; values end no run
        frame.to_parquet(tmp_path / f"{party}-bad.parquet", index=False)
    bad = {party: tmp_path / f"{party}-bad.parquet" for party in files}
    with pytest.raises(CopublishError) as caught:
        simulate(tmp_path / "agreement.toml", bad, engine="spu", timeout_seconds=TIMEOUT_SECONDS)
    assert caught.value.exit_code == 4
    for words in ("party 'bank'", "'age'", "party 'loans'", "'months'"):
        assert words in str(caught.value)
    assert "98765" not in str(caught.value)
