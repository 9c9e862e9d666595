"""party.toml beside a party's keys: drafted, read, checked by doctor, and never half-believed."""

from __future__ import annotations

import json
import re
import stat
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import PartyFileError
from copublish.party.keys.identity import identity_folder, new_identity
from copublish.party.options import options_of
from copublish.party.party_file import read_party_file
from copublish.party.request import RunRequest, party_of
from support.node import on_loopback


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = on_loopback(tmp_path / "parties", records=60).home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    monkeypatch.chdir(home)
    return home


def write(text: str, *, mode: int = 0o600) -> Path:
    file = identity_folder("bank") / "party.toml"
    file.write_text(text)
    file.chmod(mode)
    return file


def run_of(**given):
    return RunRequest.of("agreement.toml", given).resolve()


def test_a_new_identity_has_a_draft_that_says_nothing_and_names_every_key(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    done = CliRunner().invoke(app, ["identity", "new", "--name", "clinic"])
    assert done.exit_code == 0 and "party.toml" in done.output
    file = identity_folder("clinic") / "party.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_party_file(RunRequest, file.parent) == {}
    told = "\n".join(line.removeprefix("#") for line in file.read_text().splitlines() if not line.startswith("# "))
    keys = tomllib.loads(told)
    assert set(keys) == {name for name, option in options_of(RunRequest).items() if option.in_party_file}
    assert {"ledger", "listen", "proxy", "timeout_seconds", "workers", "log", "signer", "identity"} <= set(keys)
    assert not {"party", "out", "overwrite", "insecure", "approvals"} & set(keys)
    file.write_text("ledger = 'kept.db'")
    cp.identities.make_identity("other")
    assert (identity_folder("other") / "party.toml").exists() and file.read_text() == "ledger = 'kept.db'"


def test_every_key_of_the_draft_can_be_taken_as_it_stands(home):
    CliRunner().invoke(app, ["identity", "new", "--name", "x", "--identity", "x"])
    text = (home / "x" / "party.toml").read_text()
    write("\n".join(line if line.startswith("# ") else line.removeprefix("#") for line in text.splitlines()))
    values = read_party_file(RunRequest, identity_folder("bank"))
    assert values["proxy_credentials"] == identity_folder("bank") / "proxy.txt", "relative to its folder"
    assert (values["log"], values["listen"]) == (Path("syslog"), ("0.0.0.0", 7700))


def test_the_party_is_the_one_whose_identity_is_here(home):
    assert run_of().party == "bank"
    assert run_of(party="loans").request.keys.identity == identity_folder("loans")
    with pytest.raises(cp.CopublishError, match=r"no party 'nobody' in the agreement\. Its parties: bank, loans"):
        run_of(party="nobody")
    new_identity("loans", identity_folder("loans"), days=30)
    with pytest.raises(
        cp.CopublishError, match=r"2 of its parties have an identity here.*Your identities: bank, loans"
    ):
        run_of()
    agreement = cp.load_agreement("agreement.toml")
    moved = identity_folder("bank").rename(home / "elsewhere")
    assert party_of(agreement, identity=moved) == "bank", "the name in the certificate"
    assert run_of().party == "loans"
    identity_folder("loans").rename(identity_folder("lender"))
    with pytest.raises(cp.CopublishError, match=r"none of its parties has an identity here.*Your identities: lender"):
        run_of()


def test_what_is_not_for_this_agreement_is_left_out(home):
    write('signer = "nowhere"\nledger = "own.db"\n')
    run = run_of()
    assert (run.signer, run.ledger) == (None, identity_folder("bank") / "own.db"), "the agreement names no signer"
    text = Path("agreement.toml").read_text()
    helper = '[parties.helper]\ndata = false\nhost = "127.0.0.1:9"\ncertificate = "sha256:' + "0" * 64 + '"\n'
    Path("agreement.toml").write_text(text.replace("[parties.bank]", f"{helper}\n[parties.bank]"))
    identity_folder("helper").mkdir()
    (identity_folder("helper") / "party.toml").write_text("ledger = 'own.db'\nwait_seconds = 5\n")
    (identity_folder("helper") / "party.toml").chmod(0o600)
    helped = run_of(party="helper")
    assert (helped.ledger, helped.wait_seconds) == (None, 5), "the owners of the data pay"
    assert run_of(party="helper", ledger="mine.db").ledger == home / "mine.db", "unless it is named for this run"


BAD = {
    "unknown key": ("timout_seconds = 5", "'timout_seconds': there is no such key. Did you mean 'timeout_seconds'?"),
    "key of one run": ('out = "release"', "'out': there is no such key. Its keys are: ledger, log,"),
    "wrong type": ('wait_seconds = "long"', "wait_seconds: write a whole number, not a text."),
    "too small": ("timeout_seconds = 1", "timeout_seconds: write a whole number from 5 on, got 1."),
    "no address": ("listen = 7700", "listen: write ADDRESS:PORT, like 0.0.0.0:7700."),
    "a table": ("[ledger]\nfile = 1", "ledger: write a path, in quotes, not a table."),
    "no TOML": ("ledger = own.db", "It is not valid TOML"),
    "no text": ("ledger = '\udcff'", "It is not valid TOML"),
}


@pytest.mark.parametrize("text, said", BAD.values(), ids=BAD)
def test_a_wrong_file_is_found_by_doctor_and_begins_nothing(home, text, said):
    file = identity_folder("bank") / "party.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    file.chmod(0o600)
    check_that_doctor_finds_it_and_nothing_begins(home, said)


def check_that_doctor_finds_it_and_nothing_begins(home: Path, said: str) -> None:
    found = CliRunner().invoke(app, ["doctor", "agreement.toml", "--format", "json"])
    (finding,) = json.loads(found.stdout)["findings"]
    assert found.exit_code == 8 and not json.loads(found.stdout)["could_begin"]
    assert (finding["what"], finding["ok"]) == ("party.toml", False) and said in finding["found"]
    for command in (["run"], ["run", "--detach"], ["check"]):
        done = CliRunner().invoke(app, [command[0], "agreement.toml", "--data", "data.parquet", *command[1:]])
        assert isinstance(done.exception, PartyFileError) and said in str(done.exception)
    with pytest.raises(PartyFileError):
        cp.runs.start("agreement.toml", data="data.parquet")
    assert cp.runs.list_runs() == [] and not (home / "release").exists()


def test_all_mistakes_are_listed_at_once(home):
    write('wait_seconds = "long"\nsinger = "x"\nworkers = 0\n')
    with pytest.raises(PartyFileError) as told:
        run_of()
    assert [problem.partition(":")[0] for problem in told.value.problems] == ["wait_seconds", "'singer'", "workers"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_or_change_is_refused(home, mode):
    file = write("wait_seconds = 5", mode=mode)
    said = f"Others can read or change it. Take that right away: chmod 600 {file}"
    check_that_doctor_finds_it_and_nothing_begins(home, said)
    with pytest.raises(PartyFileError, match=re.escape(said)):
        run_of()
    file.chmod(0o600)
    assert run_of().wait_seconds == 5


@pytest.mark.slow  # doctor stays for others that look at the same time
def test_doctor_finds_a_ledger_that_is_not_there(home):
    write('ledger = "nowhere.db"\n')
    found = CliRunner().invoke(app, ["doctor", "agreement.toml", "--wait", "1", "--format", "json"])
    findings = {finding["what"]: finding for finding in json.loads(found.stdout)["findings"]}
    assert found.exit_code == 8 and findings["party.toml"]["ok"] is True
    assert findings["ledger"]["ok"] is False and "nowhere.db" in findings["ledger"]["found"]
    for words in (["--yes"], ["--detach", "--yes"]):
        done = CliRunner().invoke(app, ["run", "agreement.toml", "--data", "data.parquet", *words])
        assert isinstance(done.exception, cp.LedgerError) and "nowhere.db" in str(done.exception)
    assert cp.runs.list_runs() == [] and not (home / "release").exists()
    assert not (identity_folder("bank") / "nowhere.db").exists()
    write('ledger = "../../ledger.db"\n')
    found = CliRunner().invoke(app, ["doctor", "agreement.toml", "--wait", "1", "--format", "json"])
    findings = {finding["what"]: finding for finding in json.loads(found.stdout)["findings"]}
    assert findings["ledger"]["ok"] is True
