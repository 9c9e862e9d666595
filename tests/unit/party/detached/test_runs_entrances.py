"""One run through its four entrances: command line, Python, detached process and page resolve it alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.agreement import loading
from copublish.cli import app
from copublish.files.home import default_ledger
from copublish.kernel.ledger.ledger import Ledger, open_existing_ledger
from copublish.party import request as node_request
from copublish.party import run as node_party
from copublish.party.detached import process, worker
from copublish.party.detached import runs as running
from copublish.party.keys.identity import new_identity
from support.node import on_loopback
from support.studio import entered

SETTINGS = """
ledger = "own.db"
signer = "../signing"
listen = "127.0.0.1:7799"
wait_seconds = 120
timeout_seconds = 77
log = "runs.jsonl"
"""


class ResolvedError(Exception):
    """Ends a run once it is known what it resolved to."""


@pytest.fixture
def bank(tmp_path, monkeypatch):
    """A bank whose agreement names a signer, and whose party.toml says where everything is."""
    home = on_loopback(tmp_path / "parties", records=60).home("bank")
    keys = home / "identities" / "bank"
    signer = new_identity("bank", home / "identities" / "signing", days=30)
    agreement = home / "agreement.toml"
    text = agreement.read_text().replace("[parties.bank]\n", f'[parties.bank]\nsigner = "{signer.fingerprint}"\n')
    agreement.write_text(text)
    shutil.move(home / "ledger.db", keys / "own.db")
    (keys / "party.toml").write_text(SETTINGS)
    (keys / "party.toml").chmod(0o600)
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def seen(monkeypatch):
    """What every run came to that was about to be made ready, and which keys it opened."""
    found, ledgers = [], []

    def ready_party(agreement, party, source, identity, ledger, settings, *, signer=None, look=None):
        found.append((party, identity.folder, signer.folder, ledgers.pop(), source, settings))
        raise ResolvedError

    def open_ledger(file, dataset):
        ledgers.append(file)
        return open_existing_ledger(file, dataset)

    monkeypatch.setattr(node_party, "open_existing_ledger", open_ledger)

    monkeypatch.setattr(node_party, "ready_party", ready_party)
    return found


@pytest.fixture
def processes(monkeypatch):
    """Folders and requests of processes that would have been started."""
    begun = []

    def begin(folder, request, secrets):
        folder.mkdir(parents=True)
        process.write_json(folder / process.REQUEST, request)
        begun.append((folder, process.read_json(folder / process.REQUEST), secrets))
        return True

    monkeypatch.setattr(running, "begin", begin)
    return begun


def by_command_line(bank):
    done = CliRunner().invoke(
        app, ["run", "agreement.toml", "--data", "data.parquet", "--out", "release-bank", "--yes"]
    )
    if not isinstance(done.exception, ResolvedError):
        raise AssertionError(done.output) from done.exception


def by_python(bank):
    with pytest.raises(ResolvedError):
        cp.run("agreement.toml", data="data.parquet", out="release-bank")


def in_process(begun):
    folder, request, secrets = begun[-1]
    with pytest.raises(ResolvedError):
        worker._run(folder, request, secrets, worker.Status(folder))


def by_start(bank, begun):
    cp.runs.start("agreement.toml", data="data.parquet", out="release-bank")
    in_process(begun)


def form_of(bank, out):
    before = cp.runs.before_run("agreement.toml")
    shown = {"agreement_hash": before.agreement_hash, "ledger_state": before.ledger_state, "run_id": "0" * 32}
    return {"data": str(bank / "data.parquet"), "out": out, "wait": "2", **shown}


def by_page(bank, begun):
    number = len(begun)
    answer = entered(bank).submit("/run/start", form_of(bank, "release-bank"))
    assert len(begun) == number + 1, answer.text
    in_process(begun)


def test_a_run_comes_to_the_same_through_all_four_entrances(bank, seen, processes):
    keys = bank / "identities" / "bank"
    by_command_line(bank)
    by_python(bank)
    by_start(bank, processes)
    by_page(bank, processes)
    party, identity, signer, ledger, data, settings = seen[0]
    assert (party, identity, ledger, data) == ("bank", keys, keys / "own.db", bank / "data.parquet")
    assert signer.resolve() == bank / "identities" / "signing"
    assert (settings.out, settings.listen) == (bank / "release-bank", ("127.0.0.1", 7799))
    assert (settings.wait_seconds, settings.timeout_seconds) == (120, 77)
    assert settings.approvals == bank / "agreement.approvals"
    assert seen == [seen[0]] * 4


def test_what_is_given_overrides_the_partys_file_which_overrides_the_default(bank, seen):
    with pytest.raises(ResolvedError):
        cp.run("agreement.toml", data="data.parquet", wait_seconds=3600, listen=("127.0.0.1", 7711))
    settings = seen[0][-1]
    assert (settings.wait_seconds, settings.timeout_seconds, settings.listen) == (3600, 77, ("127.0.0.1", 7711))
    assert settings.out == bank / "release", "beside the agreement"
    (bank / "identities" / "bank" / "party.toml").unlink()
    with pytest.raises(ResolvedError):
        options = {"ledger": "identities/bank/own.db", "signer": "identities/signing"}
        cp.run("agreement.toml", data="data.parquet", **options)
    settings = seen[1][-1]
    assert (settings.wait_seconds, settings.timeout_seconds, settings.listen) == (3600, 600, None)


def test_python_finds_the_signer_of_an_agreement_by_itself(bank, seen):
    (bank / "identities" / "bank" / "party.toml").unlink()
    shutil.copytree(bank / "identities" / "signing", bank / "identities" / "bank-signer")
    with pytest.raises(ResolvedError):
        cp.run("agreement.toml", data="data.parquet", out="release", ledger="identities/bank/own.db")
    assert seen[0][2] == bank / "identities" / "bank-signer"


def test_the_agreement_is_parsed_once_in_every_process_of_a_start(bank, seen, processes, monkeypatch):
    parsed = []
    whole = loading.read_content

    def read_content(path):
        parsed.append(Path(path).name)
        return whole(path)

    monkeypatch.setattr(loading, "read_content", read_content)
    for begin in (by_command_line, by_python):
        begin(bank)
        assert parsed == ["agreement.toml"], begin
        parsed.clear()
    cp.runs.start("agreement.toml", data="data.parquet")
    assert parsed == ["agreement.toml"]
    in_process(processes)
    assert parsed == ["agreement.toml"] * 2, "the other process reads it itself"
    browser = entered(bank)
    form = {"form_token": browser.form_token, **form_of(bank, "by-page")}
    parsed.clear()
    answer = browser.post("/run/start", data=form, headers={"origin": "http://127.0.0.1:8765"})
    assert answer.status_code == 303, answer.text
    assert parsed == ["agreement.toml"], "one click"
    in_process(processes)


def test_what_goes_to_a_process_is_the_whole_request_and_no_secret(bank, processes):
    cp.runs.start("agreement.toml", data="data.parquet", passphrase="geheim", signer_passphrase="auch", pin="1234")
    folder, request, secrets = processes[0]
    assert set(secrets.values()) == {"geheim", "auch", "1234"}
    assert not {"geheim", "auch", "1234"} & set((folder / process.REQUEST).read_text().split('"'))
    asked = node_request.RunRequest.of("agreement.toml", {}, "data.parquet").resolve().request
    assert node_request.RunRequest.from_json(request["request"]) == asked
    assert node_request.RunRequest.from_json(request["request"]).resolve().request == asked, "nothing is left open"


def test_a_ledger_that_is_not_there_ends_every_entrance_before_anything_is_read(bank, seen):
    (bank / "identities" / "bank" / "own.db").unlink()
    done = CliRunner().invoke(app, ["run", "agreement.toml", "--data", "data.parquet", "--yes"])
    assert isinstance(done.exception, cp.LedgerError) and "own.db" in str(done.exception)
    with pytest.raises(cp.LedgerError, match=r"own\.db"):
        cp.run("agreement.toml", data="data.parquet")
    assert {one.what for one in cp.runs.before_run("agreement.toml").missing} == {"ledger"}
    assert seen == [] and not (bank / "ledger.db").exists()


def test_the_ledger_that_commands_show_is_the_one_that_runs_charge(bank):
    done = CliRunner().invoke(app, ["ledger", "limit", "others-2026=4"])
    assert done.exit_code == 0, done.output
    ledger = Ledger(bank / "identities" / "bank" / "own.db")
    assert ledger.limit("others-2026").epsilon == 4
    ledger.close()
    assert cp.ledger.price(cp.load_agreement("agreement.toml")).limit == "2"
    assert "others-2026" in entered(bank, ledger=default_ledger).get("/read").text
    (bank / "identities" / "signing" / "party.toml").write_text('ledger = "another.db"\n')
    (bank / "identities" / "signing" / "party.toml").chmod(0o600)
    with pytest.raises(cp.LedgerError, match="different ledgers"):
        cp.ledger.price(cp.load_agreement("agreement.toml"))


def test_describe_shows_the_budget_of_the_ledger_that_a_run_would_charge(bank):
    told = CliRunner().invoke(app, ["describe", "agreement.toml", "--party", "bank", "--format", "json"])
    assert told.exit_code == 0, told.output
    assert "epsilon 1" in json.loads(told.stdout)["budget"]["would_spend"]
    bare = CliRunner().invoke(app, ["describe", "agreement.toml", "--format", "json"])
    assert "budget" not in json.loads(bare.stdout)
    other = CliRunner().invoke(app, ["describe", "agreement.toml", "--party", "bank", "--ledger", "none.db"])
    assert isinstance(other.exception, cp.LedgerError) and "none.db" in str(other.exception)
