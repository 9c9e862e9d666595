"""Runs in processes of their own: one start, files that tell the truth, a stop that costs what it says."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.cli.runs_command import in_words
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.detached import process, worker
from copublish.party.detached import runs as running
from copublish.party.keys.identity import new_identity
from copublish.party.request import RunRequest
from copublish.studio.context import Situation
from copublish.studio.sections.run import predicted_seconds
from support.node import DATASET, on_loopback
from support.studio import desk_in

pytestmark = pytest.mark.slow  # processes

WAIT_SECONDS = 300
RUN = cp.runs.Run(
    id="0" * 32,
    folder=Path(),
    state="computing",
    party="bank",
    release="r",
    dataset="d",
    agreement_file=Path(),
    agreement_hash="",
    out=Path(),
    data=None,
    ledger=Path(),
    others=("loans",),
    started_at="",
)


REQUESTED = ("release", "dataset", "agreement_hash", "data_words", "started_at")
OPTIONS = {"party": "", "out": "", "ledger": "", "wait_seconds": 1, "end_after_seconds": 7}


def requested(agreement, **options):
    """What a run keeps of what it was asked for."""
    request = RunRequest.of(agreement, {"party": "bank", "wait_seconds": 1, **options})
    return {
        "request": request.to_json(),
        "agreement_hash": cp.load_agreement(agreement).hash,
        "ledger_state": None,
    }


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    return on_loopback(tmp_path_factory.mktemp("parties") / "two", records=60)


@pytest.fixture
def bank(parties, monkeypatch):
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    return home


def asked(home, **more):
    before = cp.runs.before_run(home / "agreement.toml", party="bank")
    shown = {"run_id": before.run_id, "agreement_hash": before.agreement_hash, "ledger_state": before.ledger_state}
    return {"party": "bank", "data": home / "data.parquet", "out": home / "release", **shown, **more}


def started(home, **more):
    return cp.runs.start(home / "agreement.toml", **asked(home, **more))


def until(run, state):
    for seen in cp.runs.follow(run, every_seconds=0.05):
        if seen.state == state:
            return seen
    raise AssertionError(f"it ended as {seen.state}: {seen.ended}")


def kill(run):
    os.kill(int((run.folder / "lock").read_text()), signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while process.is_alive(run.folder) and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_run_waits_is_found_again_and_stops_without_a_charge(bank):
    run = started(bank)
    waiting = until(run, "waiting")
    assert "'loans'" in waiting.waiting_for and waiting.waiting_until > waiting.waiting_since
    assert [one.id for one in cp.runs.list_runs()] == [run.id]
    with pytest.raises(cp.CopublishError, match="running already"):
        started(bank)
    status = json.loads((run.folder / "status.json").read_text())
    assert status["waiting"]["what"] == waiting.waiting_for
    assert cp.runs.stop(run)
    (seen,) = cp.runs.list_runs()
    assert (seen.state, seen.ended.exit_code, seen.is_alive) == ("stopped", 143, False)
    assert seen.charge() is None
    assert not (run.folder / "status.json").exists()
    assert cp.runs.stop(run), "stopping twice is no error"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (run.folder, *run.folder.iterdir())}
    assert modes.pop(run.id) == 0o700 and set(modes.values()) == {0o600}
    said = "".join(str(event) for event in seen.events if event["event"] not in ("start", "listening"))
    assert not re.search(r"\b60\b", said), "how many records there are"


def test_the_same_start_twice_is_one_run_and_a_killed_one_is_found_lost(bank):
    asks = asked(bank)
    first = cp.runs.start(bank / "agreement.toml", **asks)
    assert cp.runs.start(bank / "agreement.toml", **asks).id == first.id
    until(first, "waiting")
    kill(first)
    lost = next(cp.runs.follow(first))
    assert (lost.state, lost.ended, lost.is_alive) == ("lost", None, False)
    assert cp.runs.before_run(bank / "agreement.toml", party="bank").run_id != first.id, "another click is another run"


def test_what_a_killed_run_left_of_its_status_goes_when_the_next_one_is_asked_for(bank):
    folders = [bank / "runs" / (digit * 32) for digit in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
        asked_for = {"agreement": "", "data": None, "table": None, "options": OPTIONS}
        request = {"kind": "run", "request": asked_for, **dict.fromkeys(REQUESTED, ""), "others": []}
        (folder / "request.json").write_text(json.dumps(request))
        (folder / "lock").write_text("")
        for name in ("status.json", ".status.json-0a1b2c3d"):
            (folder / name).write_text('{"phases": [{"phase": "alignment", "began": 0, "done": 1, "of": 60}]}')
    try:
        with (folders[1] / "lock").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # this one lives
            with pytest.raises(cp.CopublishError, match="The agreement was changed"):
                started(bank, agreement_hash="0" * 64)
            left = [sorted(path.name for path in folder.iterdir()) for folder in folders]
        assert left[0] == ["lock", "request.json"]
        assert left[1] == [".status.json-0a1b2c3d", "lock", "request.json", "status.json"], "its status is its own"
    finally:
        for folder in folders:
            shutil.rmtree(folder)


def test_nothing_starts_if_agreement_or_ledger_changed_after_they_were_shown(bank):
    asks = asked(bank)
    with pytest.raises(cp.CopublishError, match="The agreement was changed"):
        cp.runs.start(bank / "agreement.toml", **{**asks, "agreement_hash": "0" * 64})
    ledger = Ledger(bank / "ledger.db")
    ledger.set_limit(DATASET, Limit(Fraction(3), "add-remove"))
    ledger.close()
    number = len(cp.runs.list_runs())
    with pytest.raises(cp.CopublishError, match="The ledger was changed"):
        cp.runs.start(bank / "agreement.toml", **asks)
    assert len(cp.runs.list_runs()) == number


def test_a_process_runs_the_agreement_that_was_shown_or_none(bank, tmp_path, monkeypatch):
    """Its file is read once: another agreement in it ends the process, and one that comes later changes nothing."""
    file = Path(shutil.copy(bank / "agreement.toml", tmp_path))
    asks, hashes = requested(file), []
    text = file.read_text()

    def run_resolved(run, *_, **__):
        file.write_text(text.replace("epsilon = 1.0", "epsilon = 2.0"))
        hashes.append(run.agreement.hash)

    monkeypatch.setattr("copublish.party.run.run_resolved", run_resolved)
    worker._run(tmp_path, asks, {}, worker.Status(tmp_path))
    with pytest.raises(cp.CopublishError, match="The agreement was changed after it was shown"):
        worker._run(tmp_path, asks, {}, worker.Status(tmp_path))
    assert hashes == [asks["agreement_hash"]]


def test_of_many_that_start_at_once_one_does(tmp_path, monkeypatch):
    spawned = []
    monkeypatch.setattr(process, "_spawn", lambda folder, lock, secrets: spawned.append(folder))
    results = []

    def click():
        results.append(process.begin(tmp_path / "runs" / "a", {"kind": "run"}))

    clicks = [threading.Thread(target=click) for _ in range(16)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert sorted(results) == [False] * 15 + [True] and len(spawned) == 1
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["a"]


def test_one_that_is_stopped_while_it_is_loaded_counts_as_stopped(tmp_path, monkeypatch):
    """SIGTERM before Python has come to our handler ends a process at once: so does it end `sleep`."""

    def sleep(folder, lock, secrets):
        process.write_number(lock, subprocess.Popen(["sleep", "60"], pass_fds=(lock,)).pid)

    monkeypatch.setattr(process, "_spawn", sleep)
    folder = tmp_path / "runs" / "a"
    assert process.begin(folder, {"kind": "run"}) and process.is_alive(folder)
    assert process.read_end(folder) is None
    assert process.stop(folder) and not process.is_alive(folder)
    assert (process.read_end(folder).state, process.read_end(folder).exit_code) == ("stopped", 143)


def test_one_that_is_told_to_stop_does_so_at_its_next_step_though_a_library_lost_the_word(tmp_path, monkeypatch):
    """DuckDB raises an error of its own in the place of what a signal raised, and an audit goes on behind errors."""
    status = worker.Status(tmp_path)

    def audit(progress, **_):
        progress("whole runs", 0, 2)
        with contextlib.suppress(SystemExit):
            status.stop()
        return cp.Audit("a", "", {}, "", "", (), (), (), (), (), 0.0)

    monkeypatch.setattr(cp, "audit", audit)
    with pytest.raises(SystemExit):
        worker._job(tmp_path, {"kind": "audit", "arguments": {}}, {}, status)
    with pytest.raises(SystemExit):
        status.progress("whole runs", 1, 2)
    assert not (tmp_path / "result.json").exists()


def test_a_process_number_that_somebody_else_has_now_is_not_trusted(tmp_path):
    """The number in the lock is this test's own; nobody holds the lock, so nobody is signalled."""
    (tmp_path / "lock").write_text(str(os.getpid()))
    assert not process.is_alive(tmp_path)
    assert process.stop(tmp_path)


@pytest.mark.parametrize("id_", ["../../etc", "a/b", "", "ABCDEF0123456789", "0" * 65])
def test_an_id_is_no_path(bank, id_):
    with pytest.raises(cp.CopublishError):
        cp.runs.start(bank / "agreement.toml", **asked(bank, run_id=id_))
    with pytest.raises(cp.CopublishError):
        cp.runs.job(id_)


def test_what_is_missing_is_said_with_what_to_do(tmp_path, parties, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    before = cp.runs.before_run(parties.home("bank") / "agreement.toml", party="bank")
    assert {one.what for one in before.missing} == {"identity", "ledger"}
    assert all("copublish" in one.sentence for one in before.missing)
    assert before.price is None and not before.needs_passphrase


def signed_by(signs, home, parties, *, needed):
    """A home with keys that nobody opens: the bank's own has a passphrase, and so has one that signs in its place."""
    folders = home / "identities"
    own = signer = new_identity("bank", folders / "bank", days=30, passphrase="own words")
    lines = f"approvals = {needed}\n"
    if signs != "own key":
        signer = new_identity("bank", folders / "bank-signer", days=30, passphrase="other words")
        lines += f'signer = "{signer.fingerprint}"\n'
    if signs == "token":
        signer.key_file.unlink()
        signer.key_file.with_name("token.json").write_text('{"module": "/none.so", "token": "bank", "key": "bank"}')
    text = (parties.home("bank") / "agreement.toml").read_text()
    text = text.replace(parties.identities["bank"].fingerprint, own.fingerprint)
    (home / "agreement.toml").write_text(text.replace("[parties.bank]\n", f"[parties.bank]\n{lines}"))
    return home / "agreement.toml", signer


@pytest.mark.parametrize("needed", [0, 1])
@pytest.mark.parametrize(
    "signs, asked_for",
    [("own key", (True, False, False)), ("other key", (True, True, False)), ("token", (True, False, True))],
)
def test_what_is_missing_is_listed_though_no_key_can_be_opened(
    tmp_path, parties, monkeypatch, signs, asked_for, needed
):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    file, signer = signed_by(signs, tmp_path, parties, needed=needed)

    def lacks():
        missing = cp.runs.before_run(file, party="bank").missing
        return " ".join(one.sentence for one in missing if one.what in ("identity", "approvals"))

    before = cp.runs.before_run(file, party="bank")
    assert (before.needs_passphrase, before.needs_signer_passphrase, before.needs_pin) == asked_for
    assert lacks().startswith("The agreement asks for approvals by 1 different people" if needed else "")
    assert bool(lacks()) == bool(needed)
    _, refusal = cp.approvals.refuse(file, party="bank", name="Ada", role="lead", reason="too much", signer=signer)
    assert "was refused by Ada (lead)" in lacks()
    refusal.unlink()
    cp.approvals.approve(file, party="bank", name="Ada", role="lead", signer=signer)
    assert lacks() == ""


def test_every_key_is_opened_by_its_own_passphrase(tmp_path, parties, monkeypatch):
    """Without a ledger a run ends behind its keys, and with a wrong passphrase before that."""
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    file, signer = signed_by("other key", tmp_path, parties, needed=0)
    asks = requested(file, signer=signer.folder, ledger=tmp_path / "none.db", out=tmp_path / "release")
    right = {"passphrase": "own words", "signer_passphrase": "other words"}
    for secrets, error in ((right, cp.LedgerError), ({"passphrase": "own words"}, cp.identities.PassphraseError)):
        with pytest.raises(error):
            worker._run(tmp_path, asks, secrets, worker.Status(tmp_path))


@pytest.mark.parametrize(
    "address", ["postgresql://reader:geheim@db.example/lending", "sc://spark.example:15002/;token=geheim"]
)
def test_a_password_in_an_address_is_not_written_down(bank, address):
    with pytest.raises(cp.SourceError, match="pgpass"):
        cp.runs.start(bank / "agreement.toml", **asked(bank, data=cp.DatabaseTable(address, "loans")))


@pytest.mark.parametrize("address", ["postgresql://reader@db.example/lending", "sc://spark.example:15002"])
def test_an_address_goes_to_the_process_as_it_is(bank, address):
    def written(database):
        request = RunRequest.of(bank / "agreement.toml", {}, cp.DatabaseTable(database, "loans"))
        return request.resolve().request.to_json()["data"]

    assert written(address) == address
    assert written("some.duckdb") == str(Path("some.duckdb").absolute())


def test_a_passphrase_is_written_nowhere_and_a_wrong_one_costs_nothing(bank):
    folder = bank / "identities" / "bank"
    kept = shutil.copytree(folder, bank / "kept")
    shutil.rmtree(folder)
    new_identity("bank", folder, days=30, passphrase="right passphrase")
    try:
        before = cp.runs.before_run(bank / "agreement.toml", party="bank")
        assert before.needs_passphrase and before.missing == ()
        run = started(bank, passphrase="wrong passphrase")
        command = f"/proc/{(run.folder / 'lock').read_text()}"
        for place in ("cmdline", "environ"):
            with suppress(OSError):  # it has ended already
                assert b"wrong passphrase" not in Path(command, place).read_bytes()
        *_, seen = cp.runs.follow(run, every_seconds=0.05)
        assert (seen.state, seen.ended.exit_code) == ("failed", 8) and "passphrase" in seen.ended.message
        assert seen.charge() is None and "doctor" in seen.ended.what_to_do
        assert all(b"wrong passphrase" not in path.read_bytes() for path in run.folder.iterdir())
    finally:
        shutil.rmtree(folder)
        kept.rename(folder)


def test_the_commands_start_list_and_stop(bank):
    def typed(*words):
        return CliRunner().invoke(app, [*map(str, words)])

    options = ("--party", "bank", "--data", bank / "data.parquet", "--out", bank / "other", "--yes", "--detach")
    done = typed("run", bank / "agreement.toml", *options, "--format", "json")
    assert done.exit_code == 0, done.exception
    id_ = json.loads(done.stdout)["run"]
    assert id_[:8] in typed("runs").stdout
    until(id_, "waiting")
    told = typed("runs", id_[:8], "--stop")
    assert told.exit_code == 0 and "The ledger was charged nothing." in told.stdout
    facts = json.loads(typed("runs", id_, "--format", "json").stdout)
    assert (facts["state"], facts["exit_code"], facts["charged"]) == ("stopped", 143, None)


def test_a_run_is_found_by_the_id_that_all_parties_drew_too(tmp_path, monkeypatch):
    """That id is in logs, signatures and receipts; before the parties have met there is only that of the folder."""
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    for number, drawn in enumerate(("ab" * 32, None)):
        folder = tmp_path / "runs" / (str(number) * 32)
        folder.mkdir(parents=True)
        options = {name: value for name, value in OPTIONS.items() if name != "ledger"}
        request = {"kind": "run", "request": {"agreement": "a.toml", "options": options}, "others": ["loans"]}
        process.write_json(folder / process.REQUEST, {**request, **dict.fromkeys(REQUESTED, "")})
        if drawn is not None:
            event = {"at": "2026-01-01T00:00:00+00:00", "event": "met", "peers": "loans", "run": drawn}
            (folder / process.EVENTS).write_text(json.dumps(event) + "\n")
    found = running.run_of("ab" * 32)
    assert (found.id, found.met_as) == ("0" * 32, "ab" * 32)
    assert running.run_of("abab").id == running.run_of("00").id == found.id
    assert running.run_of("1" * 32).met_as is None
    assert (found.ends_by, running.run_of("1" * 32).ends_by) == ("2026-01-01T00:00:07+00:00", None)
    assert in_words(replace(found, state="computing")) == (
        "All parties are here. It ends at 2026-01-01T00:00:07+00:00 at the latest."
    )
    told = CliRunner().invoke(app, ["runs", "abab", "--format", "json"])
    assert json.loads(told.stdout)["met_as"] == "ab" * 32
    with pytest.raises(cp.CopublishError, match="no run 'None'"):
        running.run_of("None")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("ended", "code"), [(None, 1), (6, 6)])
def test_who_asks_for_a_run_learns_by_the_exit_code_how_it_ended(tmp_path, monkeypatch, form, ended, code):
    """One that was killed left no end, and that is no success."""
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    folder = tmp_path / "runs" / ("0" * 32)
    folder.mkdir(parents=True)
    options = {name: value for name, value in OPTIONS.items() if name != "ledger"}
    request = {"kind": "run", "request": {"agreement": "a.toml", "options": options}, "others": ["loans"]}
    process.write_json(folder / process.REQUEST, {**request, **dict.fromkeys(REQUESTED, "")})
    if ended is not None:
        process.write_end(folder, process.Ended(state="failed", at=process.now(), exit_code=ended))
    assert CliRunner().invoke(app, ["runs", "0" * 32, "--format", form]).exit_code == code


def test_a_run_that_takes_longer_than_predicted_is_late():
    """Told 20,000 s, met 5,000 and 30,000 s ago."""
    for ago, left in ((5_000, 15_000), (30_000, -10_000)):
        met = datetime.fromtimestamp(time.time() - ago, UTC).isoformat()
        run = replace(RUN, met_at=met, predicted_seconds=20_000.0)
        assert run.seconds_left == pytest.approx(left, abs=WAIT_SECONDS), "however busy the machine is"
    assert replace(RUN, met_at=met).seconds_left is None
    assert replace(RUN, predicted_seconds=20.0).seconds_left is None


def test_a_job_is_known_by_its_inputs_and_keeps_what_it_found(bank):
    arguments = {"agreement": bank / "agreement.toml", "epsilons": ["1"], "runs": 1, "classifiers": ["decision-tree"]}
    job = cp.runs.start_job("plan", **arguments)
    assert cp.runs.start_job("plan", **arguments).id == job.id
    deadline = time.monotonic() + WAIT_SECONDS
    while cp.runs.job(job.id).is_alive and time.monotonic() < deadline:
        time.sleep(0.1)
    found = cp.runs.job(job.id)
    assert (found.state, found.result["release"]) == ("complete", "credit-default"), found.ended
    assert cp.runs.start_job("plan", **arguments).state == "complete"
    agreement = cp.load_agreement(bank / "agreement.toml")
    assert [one.inputs["agreement"] for one in cp.runs.list_jobs()] == [agreement.hash]
    assert predicted_seconds(Situation(desk_in(bank))) == found.result["secure_run"]["seconds"] > 0
    with pytest.raises(cp.CopublishError, match="no job 'simulate'"):
        cp.runs.start_job("simulate", agreement="x")
