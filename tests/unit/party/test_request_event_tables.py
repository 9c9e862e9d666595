"""Where a party's event tables are: on the command line, in party.toml, in Python and in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.party.detached import runs as running
from copublish.party.keys.identity import identity_folder
from copublish.party.request import RunRequest
from copublish.rows.database import DatabaseTable
from copublish.rows.sources import PartyData, events_of, plain
from support.node import on_loopback
from support.studio import entered

VISITS = """
[attributes.visits]
kind = "numerical"
bounds = [0, 10]
held_by = "bank"
derived = { from = "visits", as = "count" }
"""


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bank whose agreement derives the number of visits, and its visits: two of each person."""
    home = on_loopback(tmp_path / "parties", records=60).home("bank")
    agreement = home / "agreement.toml"
    agreement.write_text(agreement.read_text() + VISITS)
    identifier = cp.load_agreement(agreement).records.identifier
    people = pd.read_parquet(home / "data.parquet")[identifier]
    pd.DataFrame({identifier: [*people, *people]}).to_csv(home / "visits.csv", index=False)
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    monkeypatch.chdir(home)
    return home


def in_party_file(text: str) -> None:
    file = identity_folder("bank") / "party.toml"
    file.write_text(text)
    file.chmod(0o600)


def request(data: Any = "data.parquet", **given: Any) -> RunRequest:
    return RunRequest.of(
        "agreement.toml", given, None if data is None else Path(data) if isinstance(data, str) else data
    )


def places(**given: Any) -> dict[str, Any]:
    return dict(events_of(request(**given).resolve().source))


def test_the_command_line_says_where_an_event_table_is(bank: Path) -> None:
    check = ["check", "agreement.toml", "--data", "data.parquet", "--format", "json"]
    done = CliRunner().invoke(app, [*check, "--events", "visits=visits.csv"])
    assert done.exit_code == 0, done.output
    assert "visits" in json.loads(done.stdout)["columns"]
    missing = CliRunner().invoke(app, check)
    assert isinstance(missing.exception, cp.FragmentError) and "it is not known where yours is" in str(
        missing.exception
    )
    wrong = CliRunner().invoke(app, [*check, "--events", "visits.csv"])
    assert wrong.exit_code == 2 and "write NAME=PLACE" in " ".join(wrong.output.split())


def test_simulate_takes_an_event_table_of_each_party(bank: Path) -> None:
    loans = bank.parent / "loans" / "data.parquet"
    of_both = ["--data", "bank=data.parquet", "--data", f"loans={loans}", "--out", "simulated"]
    done = CliRunner().invoke(app, ["simulate", "agreement.toml", *of_both, "--events", "bank:visits=visits.csv"])
    assert done.exit_code == 0, done.output
    for wrong in ("visits=visits.csv", "nobody:visits=visits.csv", "bank:=visits.csv"):
        assert CliRunner().invoke(app, ["simulate", "agreement.toml", *of_both, "--events", wrong]).exit_code == 2


def test_party_toml_says_it_for_every_run_and_what_is_given_counts_first(bank: Path) -> None:
    in_party_file('events = { visits = "tables/visits.parquet", payments = "payments.csv" }')
    assert places() == {"visits": identity_folder("bank") / "tables" / "visits.parquet"}, "payments are not agreed"
    assert places(events={"visits": "visits.csv"}) == {"visits": bank / "visits.csv"}
    given = PartyData("data.parquet", {"visits": Path("other.csv")})
    assert places(data=given) == {"visits": bank / "other.csv"}


def test_python_takes_a_table_beside_the_data(bank: Path) -> None:
    data = pd.read_parquet("data.parquet")
    checked = cp.check("agreement.toml", "bank", cp.runs.PartyData(data, {"visits": pd.read_csv("visits.csv")}))
    assert checked.ok and "visits" in checked.columns
    in_party_file(f'events = {{ visits = "{bank / "visits.csv"}" }}')
    assert cp.check("agreement.toml", "bank", cp.runs.data_of_run("agreement.toml", "data.parquet")).ok


@pytest.mark.parametrize(
    ("data", "place", "table"),
    [
        (DatabaseTable("clinic.duckdb", "patients"), "visits", DatabaseTable("clinic.duckdb", "visits")),
        (DatabaseTable("clinic.duckdb", "patients"), "visits.csv", Path("visits.csv")),
        (DatabaseTable("clinic.xlsx", "Patients"), "Visits", DatabaseTable("clinic.xlsx", "Visits")),
        (DatabaseTable("clinic.duckdb", "patients"), "visits.xlsx", Path("visits.xlsx")),
        ("data.parquet", "visits.jsonl", Path("visits.jsonl")),
    ],
)
def test_a_name_that_is_no_file_is_a_table_beside_that_of_the_data(
    bank: Path, data: Any, place: str, table: Any
) -> None:
    def absolute(source: Any) -> Any:
        if isinstance(source, DatabaseTable):
            return DatabaseTable(bank / source.database, source.table)
        return bank / source

    resolved = request(data, events={"visits": place}).resolve()
    assert plain(resolved.source) == absolute(data)
    assert dict(events_of(resolved.source)) == {"visits": absolute(table)}
    # A process of its own gets the same.
    again = RunRequest.from_json(json.loads(json.dumps(resolved.request.to_json()))).resolve()
    assert again.source == resolved.source


def test_a_run_in_a_process_of_its_own_gets_the_places_and_no_rows(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr(
        running, "begin", lambda folder, asked, secrets: begun.append(asked) or folder.mkdir(parents=True)
    )
    monkeypatch.setattr(running, "run_of", lambda id_: None)
    cp.runs.start("agreement.toml", data="data.parquet", events={"visits": "visits.csv"})
    assert begun[0]["request"]["options"]["events"] == {"visits": str(bank / "visits.csv")}
    frame = PartyData(Path("data.parquet"), {"visits": pd.read_csv("visits.csv")})
    with pytest.raises(cp.SourceError, match="reads the event table 'visits' itself"):
        request(frame).resolve().request.to_json()


def test_the_page_looks_at_data_with_the_event_tables_of_party_toml(bank: Path) -> None:
    form = {"data": str(bank / "data.parquet")}
    assert "it is not known where yours is" in entered(bank).submit("/run/preflight", form).text
    in_party_file(f'events = {{ visits = "{bank / "visits.csv"}" }}')
    page = entered(bank).submit("/run/preflight", form).text
    assert "do not fit" not in page and "values clamped" in page
