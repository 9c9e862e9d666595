"""What runs at a host of `islands.py`: a party with coins from a seed, a relay, a proxy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import copublish as cp
from copublish.cli import main
from copublish.errors import CopublishError
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.keys.identity import load_identity
from copublish.party.log import EventLog, log_to
from copublish.party.network.proxy import proxy_from
from copublish.party.session import RunSettings, ready_party, run_party
from support import SeededCoins
from support.http_proxy import HttpProxy


def run_seeded(home: Path, party: str, seed: int, proxy: str | None, wait_seconds: int = 60) -> None:
    """Run one party of a release; what it ended with is in `end.json`."""
    os.environ["COPUBLISH_HOME"] = str(home)
    log = EventLog("copublish.run", log_to(home / "run.jsonl"))
    try:
        ready = ready_party(
            cp.load_agreement(home / "agreement.toml"),
            party,
            data if (data := home / "data.parquet").exists() else None,
            load_identity(home / "identities" / party),
            Ledger(home / "ledger.db"),
            RunSettings(home / "release", wait_seconds=wait_seconds, timeout_seconds=60, proxy=proxy_from(proxy)),
        )
        run_party(
            ready,
            progress=lambda phase, done, of: log("progress", phase=phase, done=done, of=of),
            waiting=lambda what: log("waiting", reason=what),
            log=log,
            coins=SeededCoins(seed),
        )
        end = "published"
    except CopublishError as exc:
        end = str(exc)
    (home / "end.json").write_text(json.dumps(end))


def serve_relay(address: str, log: Path) -> None:
    sys.argv = ["copublish", "relay", "--listen", address, "--log", str(log)]
    main()


def serve_proxy(address: str, port: int, *ports: int) -> None:
    HttpProxy((address, port), ports=ports).serve()
