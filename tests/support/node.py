"""Two parties with identities, ledgers and an agreement that names both, run as `copublish run` in processes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import copublish
from copublish.agreement.loading import load_agreement
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.keys.identity import Identity, new_identity
from copublish.party.network.port import Port
from copublish.tools.drafting.demo import made_up_data
from support.commands import Begun
from support.examples import specialization_example

NAMES = ("bank", "loans")
DATASET = "customers-2026"
PORTS, FIRST_PORT = 20_000, 10_000
_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_place = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))  # the same in all workers
_numbers = itertools.count(random.Random(_run).randrange(PORTS) + _place * PORTS // _workers)


def free_port() -> int:
    """A port to listen at later, from below those that systems give to connections that go out meanwhile.

    Another one every time. Workers of one run begin equally far apart, so that they never try the same port; where the
    first one begins is random, for another run on this machine.
    """
    while True:
        port = FIRST_PORT + next(_numbers) % PORTS
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def is_whole(files: Mapping[str, bytes]) -> bool:
    """Whether a folder has the files that its certificate names, those that none names, and no others."""
    named = json.loads(files.get("certificate.json", b'{"files": {}}'))["files"]
    return files.keys() == {*named, "certificate.json", "README.md", "signatures.json"}


@dataclass
class TwoParties:
    """Both parties' folders below one: `bank/` and `loans/`, each with data, identity, ledger and agreement."""

    folder: Path
    hosts: Mapping[str, str]
    records: int = 1500
    changes: Sequence[tuple[str, str]] = ()
    identities: dict[str, Identity] = field(default_factory=dict)
    names: tuple[str, ...] = NAMES
    without_data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        frames = dict(zip(NAMES, made_up_data(self.records), strict=True))
        for name in NAMES:
            home = self.home(name)
            home.mkdir(parents=True)
            frames[name].to_parquet(home / "data.parquet", index=False)
            self.identities[name] = new_identity(name, home / "identities" / name, days=30)
            ledger = Ledger(home / "ledger.db")
            ledger.set_limit(DATASET, Limit(Fraction(2), "add-remove"))
            ledger.close()
        self.write_agreement(self.agreement_text())

    def home(self, party: str) -> Path:
        return self.folder / party

    def agreement_text(self, *changes: tuple[str, str]) -> str:
        # Fewer and simpler selections than the example's: less to compile, and as much to go wrong.
        text = (
            specialization_example()
            .replace("specializations = 8", "specializations = 3")
            .replace('score = "auto"', 'score = "max"')
        )
        for name in NAMES:
            lines = f'host = "{self.hosts[name]}"\ncertificate = "{self.identities[name].fingerprint}"\n'
            text = text.replace(f"[parties.{name}]\n", f"[parties.{name}]\n{lines}")
        for old, new in (*self.changes, *changes):
            assert old in text, old
            text = text.replace(old, new)
        return text

    def write_agreement(self, text: str, *, at: Sequence[str] = NAMES) -> None:
        for name in at:
            (self.home(name) / "agreement.toml").write_text(text)

    def command(self, party: str, *options: str) -> list[str]:
        return [
            *(sys.executable, "-c", "from copublish.cli import main; main()", "run", "agreement.toml"),
            *("--party", party, "--data", "data.parquet", "--out", "release", "--yes", "--format", "json"),
            *("--timeout", "120", "--wait", "120", "--log", "run.jsonl", *options),
        ]

    def start(self, party: str, *options: str, **popen: Any) -> subprocess.Popen[str]:
        home, changed = self.home(party), popen.pop("env", {})
        environment = {**os.environ, "COPUBLISH_HOME": str(home), "PYTHONPATH": source_path(), **changed}
        settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(self.command(party, *options), cwd=home, env=environment, **{**settings, **popen})

    def begin(self, party: str, *options: str, changed: str = "") -> Begun:
        """Start a party from a process that has loaded the program already, and let code change that before."""
        return Begun(self.command(party, *options)[3:], cwd=self.home(party), changed=changed)

    def run(self, party: str, *options: str) -> tuple[int, str, str]:
        """Run one party to the end; return its exit code, output and errors."""
        return end_of(self.begin(party, *options))

    def run_both(self, **options: Sequence[str]) -> dict[str, tuple[int, str, str]]:
        """Run both to the end; return each one's exit code, output and errors."""
        begun = {name: self.begin(name, *options.get(name, ())) for name in NAMES}
        return {name: end_of(command) for name, command in begun.items()}

    def port(self, party: str) -> Port:
        """Open a party's port as its run would."""
        return Port(load_agreement(self.home(party) / "agreement.toml"), party, self.identities[party])

    def files(self, party: str) -> dict[str, bytes]:
        folder = self.home(party) / "release"
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}

    def has_whole_release(self, party: str) -> bool:
        return is_whole(self.files(party))

    def charges(self, party: str) -> list[str]:
        ledger = Ledger(self.home(party) / "ledger.db")
        try:
            return [entry.state for entry in ledger.entries()]
        finally:
            ledger.close()


def end_of(command: Begun, seconds: float = 600) -> tuple[int, str, str]:
    done = command.finish(seconds)
    return done.returncode, done.stdout, done.stderr


def finish(process: subprocess.Popen[str], seconds: float = 600) -> tuple[int, str, str]:
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        raise AssertionError(f"a party did not end: {errors}") from None
    return process.returncode, output, errors


def source_path() -> str:
    return str(Path(copublish.__file__).parent.parent)


def on_loopback(folder: Path, **settings: Any) -> TwoParties:
    return TwoParties(folder, {name: f"127.0.0.1:{free_port()}" for name in NAMES}, **settings)
