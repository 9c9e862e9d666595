"""`copublish.run`: two processes that call it from Python, with a data frame and with a DuckDB relation.

One of them has another key for signatures. Neither says which party it is or where its keys are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import copublish as cp
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.keys.identity import new_identity
from support.node import DATASET, TwoParties, free_port

SCRIPT = """
import json, sys
import duckdb, pandas as pd
import copublish as cp

how = sys.argv[1]
data = pd.read_parquet("data.parquet") if how == "frame" else duckdb.read_parquet("data.parquet")
phases, asked = [], []
release = cp.run(
    "agreement.toml", data=data, wait_seconds=60, timeout_seconds=60,
    progress=lambda phase, done, of: phases.append(phase),
    consent=lambda described: asked.append(described.epsilon.agreed) or True,
)
print(json.dumps({"phases": sorted(set(phases)), "asked": asked, "digest": release.digest(), "repr": repr(release)}))
"""


def test_both_end_with_the_same_release_and_were_asked_and_told(tmp_path):
    parties = TwoParties(tmp_path, {name: f"127.0.0.1:{free_port()}" for name in ("bank", "loans")}, records=600)
    signer = new_identity("bank", parties.home("bank") / "identities" / "bank-signer", days=30)
    signs = ("[parties.bank]\n", f'[parties.bank]\nsigner = "{signer.fingerprint}"\n')
    parties.write_agreement(parties.agreement_text(signs))
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", SCRIPT, how],
            cwd=parties.home(name),
            env={**os.environ, "COPUBLISH_HOME": str(parties.home(name))},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, how in (("bank", "frame"), ("loans", "relation"))
    }
    said = {}
    for name, process in running.items():
        output, errors = process.communicate(timeout=180)
        assert process.returncode == 0, errors
        said[name] = json.loads(output)
    assert said["bank"]["digest"] == said["loans"]["digest"]
    assert said["bank"]["asked"] == ["1"] and "leaf noise" in said["bank"]["phases"]
    assert said["bank"]["repr"].startswith("Release('credit-default', specialization, ")
    first, second = (cp.load_release(parties.home(name) / "release") for name in ("bank", "loans"))
    assert first.files() == second.files() and first.certificate.engine.name == "spu"
    known = {"bank": signer.fingerprint, "loans": parties.identities["loans"].fingerprint}
    verified = cp.verify_release(parties.home("loans") / "release", known)
    assert verified.is_well, "the bank's other key has signed"
    ledger = Ledger(parties.home("bank") / "ledger.db")
    assert [entry.state for entry in ledger.entries()] == ["complete"]


def test_who_does_not_consent_spends_nothing_and_calls_nobody(tmp_path, monkeypatch):
    parties = TwoParties(tmp_path, {name: f"127.0.0.1:{free_port()}" for name in ("bank", "loans")}, records=300)
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    arguments = {"party": "bank", "data": home / "data.parquet", "out": tmp_path / "release"}
    with pytest.raises(cp.CopublishError, match=r"Not agreed to\. Nothing was spent"):
        cp.run(home / "agreement.toml", **arguments, consent=lambda described: False)
    with pytest.raises(cp.CopublishError, match="there is no party 'bnak'"):
        cp.run(home / "agreement.toml", **{**arguments, "party": "bnak"})
    with pytest.raises(cp.LedgerError, match="There is no ledger"):
        cp.run(home / "agreement.toml", **arguments, ledger=tmp_path / "nowhere.db")
    assert Ledger(home / "ledger.db").entries() == [] and not (tmp_path / "release").exists()
    assert Ledger(home / "ledger.db").limit(DATASET) is not None
