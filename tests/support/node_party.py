"""One party of a run with coins from a seed: `python -m support.node_party FOLDER PARTY SEED`, for `TwoParties`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import copublish as cp
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.keys.identity import load_identity
from copublish.party.log import EventLog, log_to
from copublish.party.session import RunSettings, ready_party, run_party
from support import SeededCoins


def main(folder: str, party: str, seed: str) -> None:
    home = Path(folder)
    log = EventLog("copublish.run", log_to(home / "run.jsonl"))
    start = time.perf_counter()
    ready = ready_party(
        cp.load_agreement(home / "agreement.toml"),
        party,
        home / "data.parquet",
        load_identity(home / "identities" / party),
        Ledger(home / "ledger.db"),
        RunSettings(home / "release", wait_seconds=60, timeout_seconds=60),
    )
    result = run_party(
        ready,
        progress=lambda phase, done, of: log("progress", phase=phase, done=done, of=of),
        waiting=lambda what: log("waiting", reason=what),
        log=log,
        coins=SeededCoins(int(seed)),
    )
    print(json.dumps({"seconds": time.perf_counter() - start, "sent": result.bytes_sent}))


if __name__ == "__main__":
    main(*sys.argv[1:])
