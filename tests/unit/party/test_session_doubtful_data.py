"""Data that are hardly those that were agreed end a run before anything, unless their owner accepts them.

Nobody but the owner sees a number of it: no log, no other party, no error.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import copublish as cp
from copublish.cli import run_command
from copublish.errors import WHAT_TO_DO, DoubtfulDataError
from copublish.kernel.ledger.ledger import Ledger
from copublish.party import run as party_run
from copublish.party.detached.process import RESULT, STATUS
from copublish.party.request import RunRequest
from support.commands import run
from support.node import TwoParties, free_port, on_loopback

pytestmark = pytest.mark.slow  # processes

WRECKED_ROWS = 137
"""Of 300: a number that is nowhere else."""

RECORDS = 300


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> TwoParties:
    """Two parties of which one has decimal commas in some of its rows."""
    parties = on_loopback(tmp_path_factory.mktemp("parties") / "two", records=RECORDS)
    file = parties.home("bank") / "data.parquet"
    frame = pd.read_parquet(file)
    frame["balance"] = frame["balance"].astype(str)
    frame.loc[frame.index[:WRECKED_ROWS], "balance"] = "1234,5"
    frame.to_parquet(file, index=False)
    return parties


@pytest.fixture
def bank(parties: TwoParties, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of the party with wrecked data. Whatever happens, nobody is called and nothing is spent."""
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    monkeypatch.chdir(home)
    yield home
    ledger = Ledger(home / "ledger.db")
    assert ledger.entries() == []
    ledger.close()
    assert not (home / "release").exists()


def test_python_refuses_and_with_accept_asks_for_consent(bank: Path) -> None:
    asked: list[object] = []

    def consent(described: object) -> bool:
        asked.append(described)
        return False

    with pytest.raises(DoubtfulDataError, match="'balance' has values that are not finite numbers") as refused:
        cp.run("agreement.toml", data=bank / "data.parquet", consent=consent)
    assert not asked and "accept=True" in str(refused.value) and str(WRECKED_ROWS) not in str(refused.value)
    assert isinstance(refused.value, cp.FragmentError) and refused.value.exit_code == 4
    with pytest.raises(cp.CopublishError, match="Not agreed to"):
        cp.run("agreement.toml", data=bank / "data.parquet", consent=consent, accept=True)
    assert len(asked) == 1


def test_what_the_owner_is_shown_is_what_check_says_and_comes_before_the_question(bank: Path) -> None:
    shown: list[object] = []
    asked = RunRequest.of("agreement.toml", {"accept": True}, bank / "data.parquet").resolve()
    with party_run.opened(asked, party_run.Secrets(), look=shown.append) as ready:
        assert ready.fragment.n_records >= RECORDS  # nothing is left out, whatever is in the cells
    assert shown == [cp.check("agreement.toml", "bank", bank / "data.parquet").overview]


def words(said: str) -> str:
    return " ".join(said.split())


@pytest.mark.parametrize("yes", [[], ["--yes"]], ids=["asked", "yes"])
def test_the_command_ends_with_4_and_goes_on_with_accept(bank: Path, yes: list[str]) -> None:
    call = ["run", "agreement.toml", "--data", "data.parquet", "--wait", "1", *yes]
    done = run(*call, cwd=bank, code=4)
    assert "are hardly those that were agreed. Nothing was spent and nobody was called." in words(done.stderr)
    rows = f"{WRECKED_ROWS} rows"
    assert (rows in done.stderr) == (not yes), "what nobody is there to read lands in logs"
    # Nobody is at this terminal to be asked; with --yes nobody has to be, and the other party does not come.
    done = run(*call, "--accept", cwd=bank, code=8 if yes else 1)
    assert "hardly those" not in done.stderr and (rows in done.stderr) == (not yes)
    if not yes:
        assert "Accepted: Column 'balance' has" in done.stderr
        assert done.stderr.index(rows) < done.stderr.index("Nobody is there to be asked")


def test_no_file_of_the_party_but_its_data_has_a_number_of_it(bank: Path) -> None:
    run("run", "agreement.toml", "--data", "data.parquet", "--wait", "1", "--yes", "--accept", cwd=bank, code=8)
    logs = list((bank / "logs").iterdir())
    assert logs
    found = cp.check("agreement.toml", "bank", bank / "data.parquet").overview
    assert found is not None
    told = [f"{WRECKED_ROWS}", "balance", "%", "missing", "hardly"]
    for log in logs:
        text = re.sub(r'"(at|agreement|run)": ?"[^"]*"', "", log.read_text())
        assert not [word for word in told if word in text], text


def test_a_run_in_a_process_of_its_own_ends_the_same_and_keeps_no_number(bank: Path) -> None:
    begun = cp.runs.start("agreement.toml", data=bank / "data.parquet", wait_seconds=1)
    for seen in cp.runs.follow(begun):
        ended = seen
    assert ended.ended is not None and ended.ended.exit_code == 4
    assert "are hardly those that were agreed" in ended.ended.message
    for file in begun.folder.iterdir():
        assert file.name not in (STATUS, RESULT)
        assert f"{WRECKED_ROWS} rows" not in file.read_text(errors="replace")
    begun = cp.runs.start("agreement.toml", data=bank / "data.parquet", wait_seconds=1, accept=True)
    for seen in cp.runs.follow(begun):
        ended = seen
    assert ended.ended is not None and ended.ended.exit_code == 8, "the other party does not come"


def test_nobody_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket in the place of the other party hears nothing."""
    hosts = {name: f"127.0.0.1:{free_port()}" for name in ("bank", "loans")}
    parties = TwoParties(tmp_path / "two", hosts, records=RECORDS)
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    frame = pd.read_parquet(home / "data.parquet").head(0)
    with socket.create_server(("127.0.0.1", int(hosts["loans"].rpartition(":")[2]))) as other:
        other.settimeout(0.2)
        with pytest.raises(DoubtfulDataError, match="There are no rows"):
            cp.run(home / "agreement.toml", party="bank", data=frame, out=tmp_path / "release")
        with pytest.raises(TimeoutError):
            other.accept()
        # The same socket would hear a party that calls.
        with pytest.raises(cp.CopublishError):
            cp.run(
                home / "agreement.toml", party="bank", data=frame, out=tmp_path / "release", wait_seconds=1, accept=True
            )
        other.accept()[0].close()


def test_the_fragment_of_a_run_is_the_same_whether_anybody_looks(bank: Path) -> None:
    """What is computed after consent depends on nothing that was shown before it."""
    asked = RunRequest.of("agreement.toml", {"accept": True}, bank / "data.parquet").resolve()
    seen = []
    for look in (lambda overview: None, lambda overview: run_command._show_data(overview, yes=False, accepted=True)):
        with party_run.opened(asked, party_run.Secrets(), look=look) as ready:
            seen.append({name: codes.tolist() for name, codes in ready.fragment.private_codes.items()})
    assert seen[0] == seen[1]


def test_the_exit_code_says_what_to_do() -> None:
    assert "--accept" in WHAT_TO_DO[4]
