"""Breaking a run on purpose and looking at what is left: used by `make faults` and, in short, by the tests."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

from copublish.agreement.loading import load_agreement
from copublish.errors import CopublishError
from copublish.files.home import HOME_VARIABLE
from copublish.kernel.ledger.cells import SPENT_ON_SIZE
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.publishing_notes import settle_notes
from copublish.release.folder import load_release
from support.hosts import TwoHosts
from support.many_parties import ManyParties, Together, many_on_loopback
from support.node import DATASET, NAMES, TwoParties, free_port, on_loopback, source_path
from support.processes import Program
from support.waiting import alive, wait_until

TIMEOUT_SECONDS = 30
WAIT_SECONDS = 20
PATIENCE_SECONDS = 300
"""No party may need longer to end after a fault: its timeout, the ledger's 30 s for a lock, and a slow machine."""

PHASES = ("listening", "met", "alignment", "specialization", "leaf counts", "leaf noise", "writing")
"""In the order of a run: waiting for the other party, loading, and then as the log names them."""

HIDDEN = (
    ("[records]", '[records]\nmembership = "hidden"\nat_most = { bank = 1600, loans = 1600 }'),
    ("[privacy]", "[privacy]\nmembership_epsilon = 0.5"),
)
"""What the agreement says beside so that neither party learns who is common."""

OF_SIZE = Fraction(1, 2)
"""What the number of common people costs then."""


@dataclass
class Outcome:
    """What a fault led to, and every promise that was broken by it."""

    fault: str
    moment: str
    seconds: float = 0.0
    ends: dict[str, str] = field(default_factory=dict)
    releases: dict[str, bool] = field(default_factory=dict)
    charges: dict[str, list[str]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


class NoFaultError(AssertionError):
    """The run ended with an error before the fault came: on a machine this busy a timeout passes by itself."""


class Stage:
    """Parties under way, each with a folder of its own for temporary files.

    Args:
        parties: Their folders and commands.
        hosts: Where they run, if not on loopback.
        at_second_host: Those that run at the second host; the others run at the first one.
        timeout_seconds: What the commands are told.
        of_size: What the number of common people costs; 0 where membership is shared.
    """

    def __init__(
        self,
        parties: TwoParties | ManyParties,
        hosts: TwoHosts | None = None,
        at_second_host: Sequence[str] = NAMES[1:],
        timeout_seconds: int = TIMEOUT_SECONDS,
        of_size: Fraction = Fraction(0),
    ) -> None:
        self.of_size = of_size
        self.parties, self.names, self.timeout_seconds = parties, parties.names, timeout_seconds
        self.hosts, self.processes = hosts, dict[str, subprocess.Popen[str] | Program]()
        self.at_second_host = at_second_host
        self.errors: dict[str, str] = {}
        self.settling_seconds = 20.0
        self.family: set[psutil.Process] = set()
        self.frozen: str | None = None
        self.paused: list[psutil.Process] = []

    def start(self) -> None:
        for name in self.names:
            home = self.parties.home(name)
            (home / "tmp").mkdir()
            settings: dict[str, Any] = {
                "cwd": home,
                "env": {
                    **os.environ,
                    "COPUBLISH_HOME": str(home),
                    "PYTHONPATH": source_path(),
                    "TMPDIR": str(home / "tmp"),
                },
            }
            errors = home / "errors.txt"
            command = self.parties.command(name, "--timeout", str(self.timeout_seconds), "--wait", str(WAIT_SECONDS))
            if self.hosts is None:
                self.processes[name] = Program(command, errors=errors, **settings)
            else:
                settings |= {"stdout": subprocess.DEVNULL, "stderr": errors.open("w"), "text": True}
                self.processes[name] = self.hosts.start(int(name in self.at_second_host), command, **settings)

    def wait_for(self, party: str, phase: str) -> None:
        """Wait until a party's log says that it is in a phase, or its run is over."""
        deadline = time.monotonic() + 5 * PATIENCE_SECONDS
        while time.monotonic() < deadline and self.processes[party].poll() is None and not self.is_in(party, phase):
            time.sleep(0.01)

    def is_in(self, party: str, phase: str) -> bool:
        """Whether a party's log says that it is in a phase, or was."""
        with suppress(OSError, ValueError):
            for line in (self.parties.home(party) / "run.jsonl").read_text().splitlines():
                entry = json.loads(line)
                if phase in (entry["event"], entry.get("phase")):
                    return True
        return False

    def remember_family(self) -> None:
        """Note every process of all parties: the children of a killed one are hard to find afterwards.

        Raises:
            NoFaultError: If the run has failed by itself.
        """
        if any(process.poll() for process in self.processes.values()):
            self.look(Outcome("none", "before"))
            raise NoFaultError(f"the run ended before the fault: {self.errors}")
        for process in self.processes.values():
            self.family |= set(_family(process.pid))

    def party(self, name: str) -> psutil.Process:
        return psutil.Process(self.processes[name].pid)

    def worker(self, name: str, session: int = 0) -> psutil.Process:
        """The process below a party in which SPU runs, for its main session or a further one."""
        found = [c for c in self.party(name).children() if "spu.worker" in " ".join(c.cmdline())]
        return sorted(found, key=lambda process: process.create_time())[session]

    def pause(self, name: str) -> None:
        """Stop a party and its engine, like a machine that is paused."""
        self.paused = _family(self.processes[name].pid)
        for process in self.paused:
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def go_on(self) -> None:
        """Let what was paused go on."""
        for process in self.paused:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def look(self, outcome: Outcome) -> Outcome:
        """Wait for all to end and check every promise."""
        start = time.monotonic()
        self.family |= {member for process in self.processes.values() for member in _family(process.pid)}
        for name, process in self.processes.items():
            if name != self.frozen:
                self._wait_for_end(name, process, PATIENCE_SECONDS - (time.monotonic() - start), outcome)
        outcome.seconds = time.monotonic() - start
        if self.frozen is not None:  # nobody waits for it any more
            process = self.processes[self.frozen]
            is_frozen = process.poll() is None
            process.kill()
            self.go_on()  # what is stopped does not notice that its party is gone
            self._wait_for_end(self.frozen, process, PATIENCE_SECONDS, outcome)
            outcome.ends[self.frozen] = "frozen" if is_frozen else outcome.ends[self.frozen]
        with suppress(AssertionError):  # the janitors of killed processes take a second, on a busy machine more
            wait_until(lambda: not alive(self.family) and not any(map(self._left, self.names)), self.settling_seconds)
        if alive(self.family):
            outcome.broken.append("a process is left")
        for name in self.names:
            self._check(name, outcome)
        published = [sorted(self.parties.files(name).items()) for name in self.names if outcome.releases[name]]
        if any(files != published[0] for files in published):
            outcome.broken.append("the releases differ")
        return outcome

    def check_that_all_name(self, who: str, outcome: Outcome) -> Outcome:
        """Check that every other party that ended with an error says whom it lost."""
        for name in self.names:
            if name != who and self.processes[name].returncode != 0 and f"'{who}'" not in self.errors[name]:
                outcome.broken.append(f"{name} does not name {who}: {self.errors[name][-300:]}")
        return outcome

    def _wait_for_end(
        self, name: str, process: subprocess.Popen[str] | Program, seconds: float, outcome: Outcome
    ) -> None:
        try:
            process.wait(timeout=max(1.0, seconds))
        except subprocess.TimeoutExpired:
            outcome.broken.append(f"{name} hangs")
            process.kill()
            process.wait()
        self.errors[name] = (self.parties.home(name) / "errors.txt").read_text()
        outcome.ends[name] = _end(process.returncode)

    def _left(self, name: str) -> list[str]:
        """What a party's run has not removed."""
        home = self.parties.home(name)
        return [path.name for path in (*home.glob(".release*"), *(home / "tmp").iterdir())]

    def _check(self, name: str, outcome: Outcome) -> None:
        home, code = self.parties.home(name), self.processes[name].returncode
        outcome.releases[name] = (home / "release").exists()
        if outcome.releases[name]:
            try:
                load_release(home / "release")
            except CopublishError as exc:
                outcome.broken.append(f"{name} has half a release: {exc}")
            if not self.parties.has_whole_release(name):
                outcome.broken.append(f"{name} has half a release")
        elif code == 0:
            outcome.broken.append(f"{name} ended well without a release")
        if left := self._left(name):
            outcome.broken.append(f"{name} left {left}")
        if "Traceback" in self.errors[name] or "bug" in self.errors[name]:
            outcome.broken.append(f"{name} crashed: {self.errors[name][-300:]}")
        if code not in (0, -signal.SIGKILL) and "Error" not in self.errors[name]:
            outcome.broken.append(f"{name} ended without a message: {self.errors[name][-300:]}")
        with mock.patch.dict(os.environ, {HOME_VARIABLE: str(home)}):
            settle_notes(lambda said: None)  # as the next command does
        ledger = Ledger(home / "ledger.db")
        entries, spent = ledger.entries(), ledger.spent(DATASET).add_remove
        ledger.close()
        outcome.charges[name] = [f"{entry.state}, {entry.disclosures} charged" for entry in entries]
        of_size = [entry for entry in entries if entry.state == SPENT_ON_SIZE]
        entries = [entry for entry in entries if entry.state != SPENT_ON_SIZE]
        if len(entries) > 1 or len(of_size) > 1 or spent != len(entries) + len(of_size) * self.of_size:
            outcome.broken.append(f"{name} was charged twice or in part")
        if self.of_size and len(of_size) < len(entries):
            outcome.broken.append(f"{name} was not charged for the number of common people")
        if any(entry.disclosures != 1 for entry in of_size):
            outcome.broken.append(f"{name} has no disclosure for the number of common people")
        if code == 6:
            said = "It stays charged." if entries else "was charged."
            if of_size:
                said = "Both stay charged." if entries else "Nothing else was charged: the release had not begun."
            if len(entries) == 1 and not entries[0].disclosures:
                of, what = ("the release", "its charge") if of_size else ("it", "it")
                back = f"'copublish ledger give-back {entries[0].number}' gives {what} back."
                said = f"{said} Nothing was opened of {of}: {back}"
            if not self.errors[name].rstrip().endswith(said):
                outcome.broken.append(f"{name} does not say what was charged: {self.errors[name][-300:]}")
        others = [
            [
                entry
                for entry in Ledger(self.parties.home(other) / "ledger.db").entries()
                if entry.state != SPENT_ON_SIZE
            ]
            for other in self.names
        ]
        # Who holds nobody's data has nobody's budget to spend.
        due = 0 if name in self.parties.without_data else 1 + self.of_size
        if (
            others != [[]] * len(others)
            and name not in self.parties.without_data
            and len(of_size) != bool(self.of_size)
        ):
            outcome.broken.append(f"{name} lost the charge for the number of common people, which a peer knows")
        if any(entry.disclosures for found in others for entry in found) and spent != due:
            outcome.broken.append(f"{name} lost a charge")
        if outcome.releases[name] and any(entry.state != "complete" for entry in entries):
            outcome.broken.append(f"{name} published, and its ledger does not say so")
        if outcome.releases[name] and spent != due:
            outcome.broken.append(f"{name} published without a charge")


def killed(
    folder: Path, who: str, phase: str, delay: float, *, worker: bool = False, is_hidden: bool = False
) -> Outcome:
    """Kill a party, or the engine's worker below it, with SIGKILL some time after a phase began."""
    changes, of_size = (HIDDEN, OF_SIZE) if is_hidden else ((), Fraction(0))
    stage = Stage(on_loopback(folder, changes=changes), of_size=of_size)
    stage.start()
    stage.wait_for(who, phase)
    time.sleep(delay)
    stage.remember_family()
    what = f"engine of {who} killed" if worker else f"{who} killed"
    outcome = Outcome(f"{what}, membership hidden" if is_hidden else what, f"{phase}, {delay:.2f} s in")
    with suppress(psutil.NoSuchProcess, IndexError):
        victim = stage.worker(who) if worker else stage.party(who)
        victim.kill()
    return stage.look(outcome)


def killed_while_compared(folder: Path, who: str) -> Outcome:
    """Kill a party with SIGKILL once the other one's ledger is charged for the number of common people."""
    stage = Stage(on_loopback(folder, changes=HIDDEN), of_size=OF_SIZE)
    stage.start()
    (survivor,) = set(stage.names) - {who}
    file = stage.parties.home(survivor) / "ledger.db"

    def is_charged() -> bool:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=60)) as database:
            return bool(database.execute("SELECT count(*) FROM charges").fetchone()[0])

    with suppress(AssertionError):
        wait_until(lambda: stage.processes[survivor].poll() is not None or is_charged(), PATIENCE_SECONDS)
    stage.remember_family()
    stage.party(who).kill()
    return stage.look(Outcome(f"{who} killed, membership hidden", "people are compared"))


def shard_worker_killed(folder: Path, who: str) -> Outcome:
    """Kill the worker of a further session with SIGKILL while it counts a shard, which takes as long as that takes."""
    for attempt in itertools.count():
        parties = on_loopback(folder / str(attempt), changes=[("[records]", "[engine]\nshards = 4\n\n[records]")])
        # The other party's worker waits for this one from now on, and on a busy machine for long.
        stage, usual = Stage(parties, timeout_seconds=4 * TIMEOUT_SECONDS), parties.command
        parties.command = partial(_with_two_workers, usual)  # type: ignore[method-assign]
        stage.start()
        stage.wait_for(who, "alignment")
        stage.remember_family()
        worker = _suspended(stage, who)
        if worker is None or stage.is_in(who, "leaf counts"):
            if worker is not None:
                worker.resume()
            outcome = stage.look(Outcome("none", "the run was faster than whoever suspends its worker"))
            if outcome.broken:
                return outcome
            continue
        # The worker has not begun its first shard, and never gets beyond that.
        stage.wait_for(who, "leaf counts")
        time.sleep(1)
        stage.remember_family()
        with suppress(psutil.NoSuchProcess):  # its party may have ended without it
            worker.kill()
        outcome = stage.look(Outcome(f"worker of a shard of {who} killed", "leaf counts, 1.00 s in"))
        if not outcome.broken and all(outcome.releases.values()) and _one_party_counts(stage):
            continue
        break
    if any(outcome.releases.values()):
        outcome.broken.append("something was published without a shard")
    if any(
        "1 charged" in charge or "0 charged" in charge for charges in outcome.charges.values() for charge in charges
    ):
        outcome.broken.append("the fault came before anything was opened")
    return outcome


def _one_party_counts(stage: Stage) -> bool:
    """Whether chance has split columns of one party alone: it counts the leaves by itself, and there are no shards."""
    home = stage.parties.home(stage.names[0])
    agreement, records = load_agreement(home / "agreement.toml"), load_release(home / "release").records
    split = [name for name in agreement.attributes if len(records.column(name).unique()) > 1]
    return len({agreement.holders(name) for name in split}) <= 1


def _with_two_workers(usual: Callable[..., list[str]], party: str, *options: str) -> list[str]:
    return usual(party, *options, "--workers", "2")


def _suspended(stage: Stage, who: str) -> psutil.Process | None:
    """The worker of a party's further session, stopped; none if it has ended."""
    with suppress(psutil.NoSuchProcess, IndexError):
        worker = stage.worker(who, session=1)
        worker.suspend()
        wait_until(lambda: worker.status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE))
        return worker
    return None


def cut(folder: Path, phase: str, seconds: float | None, timeout_seconds: int = TIMEOUT_SECONDS) -> Outcome:
    """Cut the link between two hosts in a phase, for some seconds or for good."""
    with TwoHosts() as hosts:
        addresses = dict(zip(NAMES, (f"{address}:7700" for address in hosts.addresses), strict=True))
        stage = Stage(TwoParties(folder, addresses), hosts, timeout_seconds=timeout_seconds)
        stage.start()
        stage.wait_for("bank", phase)
        stage.remember_family()
        hosts.cut()
        came_late = any(stage.is_in(name, "writing") for name in NAMES)
        if seconds is not None:
            time.sleep(seconds)
            hosts.restore()
            stage.wait_for("bank", "complete")
        how_long = "for good" if seconds is None else f"for {seconds:g} s"
        outcome = stage.look(Outcome(f"link cut {how_long}", phase))
    if seconds is not None and not all(outcome.releases.values()):
        outcome.broken.append("a short cut ended the run")
    if seconds is None and not came_late and any(outcome.releases.values()):
        outcome.broken.append("something was published over a link that was cut")
    return outcome


def disk_full(folder: Path, who: str) -> Outcome:
    """Give a party a disk for its release that is too small for one."""
    stage = Stage(on_loopback(folder))
    with _small_disk(stage.parties.home(who) / "disk"):
        usual = stage.parties.command
        stage.parties.command = (  # type: ignore[method-assign]
            lambda party, *options: usual(party, *options, *(("--out", "disk/release") if party == who else ()))
        )
        stage.start()
        stage.wait_for(who, "writing")
        outcome = stage.look(Outcome(f"disk of {who} full", "writing"))
        if any((stage.parties.home(who) / "disk").iterdir()):
            outcome.broken.append(f"{who} left something on the disk")
    if any(outcome.releases.values()):
        outcome.broken.append("one party published although the other could not")
    return outcome


def ledger_locked(folder: Path, who: str, phase: str) -> Outcome:
    """Have another program hold a party's ledger from a phase on."""
    stage = Stage(on_loopback(folder))
    stage.start()
    stage.wait_for(who, phase)
    database = sqlite3.connect(stage.parties.home(who) / "ledger.db", timeout=60, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    outcome = Outcome(f"ledger of {who} locked", phase)
    for process in stage.processes.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE_SECONDS)
    database.execute("ROLLBACK")
    database.close()
    return stage.look(outcome)


def relay_ends(folder: Path, phase: str, delay: float, *, frozen: bool = False) -> Outcome:
    """Kill the relay over which two parties meet, or stop it for good, some time after a phase began."""
    address = f"127.0.0.1:{free_port()}"
    program = [sys.executable, "-c", "from copublish.cli import main; main()", "relay", "--listen", address]
    relay = subprocess.Popen(
        program,
        env={**os.environ, "PYTHONPATH": source_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if relay.stdout is not None:
            relay.stdout.readline()  # it listens
        changes = [(f'host = "{name}:1"', 'reach = "dial-out"') for name in NAMES]
        changes += [("[records]", f'[network]\nrelay = "{address}"\n\n[records]')]
        stage = Stage(TwoParties(folder, {name: f"{name}:1" for name in NAMES}, changes=changes))
        stage.start()
        stage.wait_for("bank", phase)
        time.sleep(delay)
        stage.remember_family()
        relay.send_signal(signal.SIGSTOP if frozen else signal.SIGKILL)
        came_late = any(stage.is_in(name, "writing") for name in NAMES)
        outcome = stage.look(Outcome(f"relay {'frozen' if frozen else 'killed'}", f"{phase}, {delay:.2f} s in"))
    finally:
        relay.kill()
        relay.communicate()
    if not came_late and any(outcome.releases.values()):
        outcome.broken.append("something was published without the relay")
    for name, other in zip(NAMES, reversed(NAMES), strict=True):
        if stage.processes[name].returncode != 0 and f"'{other}'" not in stage.errors[name]:
            outcome.broken.append(f"{name} does not name its link: {stage.errors[name][-300:]}")
    if not any(address in said for said in stage.errors.values()) and not came_late:
        outcome.broken.append("nobody names the relay")
    return outcome


def killed_of_many(
    folder: Path, together: Together, who: str, phase: str, delay: float, *, worker: bool = False
) -> Outcome:
    """Kill one of many parties, or the engine's worker below it, with SIGKILL some time after a phase began."""
    stage = Stage(many_on_loopback(folder, together))
    stage.start()
    stage.wait_for(who, phase)
    time.sleep(delay)
    stage.remember_family()
    what = f"engine of {who} killed" if worker else f"{who} killed"
    with suppress(psutil.NoSuchProcess, IndexError):
        (stage.worker(who) if worker else stage.party(who)).kill()
    return stage.check_that_all_name(who, stage.look(Outcome(what, f"{phase}, {delay:.2f} s in")))


def frozen(
    folder: Path, who: str, phase: str, delay: float, *, goes_on: bool = True, timeout_seconds: int = TIMEOUT_SECONDS
) -> Outcome:
    """Stop a party and its engine with SIGSTOP, like a paused machine, some time after a phase began.

    Either it never goes on, or it does when the other party has ended.
    """
    stage = Stage(on_loopback(folder), timeout_seconds=timeout_seconds)
    stage.start()
    stage.wait_for(who, phase)
    time.sleep(delay)
    stage.remember_family()
    (other,) = (name for name in stage.names if name != who)
    outcome = Outcome(f"machine of {who} paused{'' if goes_on else ' for good'}", f"{phase}, {delay:.2f} s in")
    stage.pause(who)
    start, came_late = time.monotonic(), stage.is_in(who, "complete")
    with suppress(subprocess.TimeoutExpired):
        stage.processes[other].wait(timeout=PATIENCE_SECONDS)
    seconds = time.monotonic() - start
    if goes_on:
        stage.go_on()
    else:
        stage.frozen = who
    stage.check_that_all_name(who, stage.look(outcome))
    outcome.seconds = seconds
    if stage.frozen is None and not came_late and f"'{who}', which is this party" not in stage.errors[who]:
        outcome.broken.append(f"{who} blames somebody else: {stage.errors[who][-300:]}")
    return outcome


def frozen_of_many(folder: Path, together: Together, who: str, phase: str, delay: float) -> Outcome:
    """Stop one of many parties and its engine with SIGSTOP some time after a phase began; it never goes on."""
    stage = Stage(many_on_loopback(folder, together))
    stage.start()
    stage.wait_for(who, phase)
    time.sleep(delay)
    stage.remember_family()
    stage.frozen = who
    stage.pause(who)
    return stage.check_that_all_name(who, stage.look(Outcome(f"{who} frozen", f"{phase}, {delay:.2f} s in")))


def cut_off_of_many(
    folder: Path, together: Together, who: str, phase: str, delay: float, seconds: float | None
) -> Outcome:
    """Cut the link between one of many parties and all others, for some seconds or for good."""
    with TwoHosts() as hosts:
        addresses = {
            name: f"{hosts.addresses[name == who]}:{7700 + number}" for number, name in enumerate(together.names)
        }
        stage = Stage(ManyParties(folder, together, addresses), hosts, at_second_host=(who,))
        stage.start()
        stage.wait_for(who, phase)
        time.sleep(delay)
        stage.remember_family()
        hosts.cut()
        came_late = any(stage.is_in(name, "writing") for name in stage.names)
        if seconds is not None:
            time.sleep(seconds)
            hosts.restore()
            stage.wait_for(who, "complete")
        how_long = "for good" if seconds is None else f"for {seconds:g} s"
        outcome = stage.look(Outcome(f"{who} cut off {how_long}", f"{phase}, {delay:.2f} s in"))
    if seconds is not None and not all(outcome.releases.values()):
        outcome.broken.append("a short cut ended the run")
    if seconds is None and not came_late and any(outcome.releases.values()):
        outcome.broken.append("something was published over a link that was cut")
    return stage.check_that_all_name(who, outcome) if seconds is None else outcome


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *(c for c in process.children(recursive=True) if c.name() != "sh")]
    return []


def _end(code: int) -> str:
    return "killed" if code == -signal.SIGKILL else "published" if code == 0 else f"exit code {code}"


Fault = Callable[[Path], Outcome]

ATTEMPTS = 5


def run_all(faults: list[Fault], folder: Path, tell: Callable[[Outcome], None]) -> list[Outcome]:
    found = []
    for number, fault in enumerate(faults):
        for attempt in range(ATTEMPTS):
            try:
                found.append(fault(folder / f"{number}-{attempt}"))
                break
            except NoFaultError:
                if attempt == ATTEMPTS - 1:
                    raise
        tell(found[-1])
    return found
