"""The commands as a user types them: results on stdout, everything else on stderr, exit codes, --help that teaches."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from support.commands import run
from support.examples import write_specialization_demo

ROOT = Path(__file__).parents[2]
COMMANDS = (
    *("demo", "init", "merge", "check", "describe", "plan", "simulate", "run", "show", "generalize", "evaluate"),
    *("report", "ledger", "propose", "approve", "refuse", "verify", "studio", "runs"),
)
LEDGER_COMMANDS = (
    *("show", "verify", "limit", "limit-alignments", "unlock"),
    *("forget-receipts", "accept-edits", "give-back"),
)
SUBCOMMANDS = (
    *(("ledger", name) for name in LEDGER_COMMANDS),
    *(("identity", "new"), ("identity", "show"), ("node", "status")),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    write_specialization_demo(folder, 1500)
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    run("simulate", "agreement.toml", *data, "--out", "release", cwd=folder)
    return folder


@pytest.mark.parametrize("command", [*((name,) for name in COMMANDS), *SUBCOMMANDS], ids=" ".join)
def test_help_says_what_the_command_does_and_gives_an_example(command):
    text = CliRunner().invoke(app, [*command, "--help"]).output
    assert "Example: copublish" in re.sub(r"\s+", " ", text.replace("│", " "))


def test_no_command_shows_the_list_of_commands():
    command = [sys.executable, "-m", "copublish", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(command in text for command in COMMANDS)


def test_the_demo_runs_every_step_and_shows_the_release_beside_the_truth(tmp_path):
    done = run("demo", "here", "--records", 1500, "--engine", "ideal", cwd=tmp_path)
    assert "Everything that is opened" in done.stdout
    assert "What the release says of " in done.stdout and " truth " in done.stdout
    assert "copublish simulate" in done.stderr and "All of them are made up" in done.stderr
    assert cp.load_release(tmp_path / "here" / "release").certificate.mechanism == "marginals"
    run("demo", "here", cwd=tmp_path, code=1)
    again = run("demo", "here", "--records", 1500, "--engine", "ideal", "--force", cwd=tmp_path)
    # Whatever noise did, the last sentence counts what the table says.
    for said in (done.stdout, again.stdout):
        held = [
            line.split("│")[-2].strip() for line in said.splitlines() if re.match(r"│ (mean|median|share) of", line)
        ]
        assert len(held) == 14 and set(held) <= {"yes", "NO", "-"}
        assert said.count("not measured: no table has these columns") == held.count("-")
        told = held.count("yes"), 14 - held.count("-")
        assert f"{told[0]} of {told[1]} intervals hold the truth" in said
        assert "printed only because nobody is behind it" in " ".join(said.split())


def test_the_demo_fits_two_screens(tmp_path):
    done = run("demo", "demo", "--records", 1500, "--engine", "ideal", cwd=tmp_path)
    commands, rest = [], []
    for line in (done.stdout + done.stderr).splitlines():
        (commands if re.match(r"\w*\$ copublish", line) else rest).append(line)
    assert len(commands) + len(rest) <= 70  # of 80: a secure run has ten lines of its own
    assert max(map(len, rest)) <= 100


def test_make_demo_installs_the_engine_and_the_page_in_versions_that_are_written_down():
    # Under `make test` a nested make would print which folder it enters and leaves.
    command = ["make", "--no-print-directory", "-n", "-B", "demo", "PYTHON=python"]
    dry = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert re.search(r"pip install .*--constraint constraints.txt --editable '\.\[secure,studio\]'", dry.stdout)
    assert dry.stdout.splitlines()[-1].endswith("copublish demo demo --force")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    written = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    named = {re.split(r"[<>=\[]", library)[0] for extra in ("secure", "studio") for library in extras[extra]}
    assert {"spu", "starlette"} <= named <= written


def test_describe_prints_every_disclosure_and_its_exact_sum(demo):
    described = json.loads(run("describe", "agreement.toml", "--format", "json", cwd=demo).stdout)
    from fractions import Fraction

    assert sum(Fraction(d["epsilon"]["add-remove"]) for d in described["disclosures"]) == 1
    text = run("describe", "agreement.toml", cwd=demo).stdout
    assert re.search(r"scale [\d.]+\s+people", text)
    assert text.startswith("Before you agree") and "What each party sees" in text
    lines = [*described["before_consent"]["learned"], *described["before_consent"]["rests_on"]]
    assert len(lines) > 5 and all(line in " ".join(text.split()) for line in lines)
    assert described["score"] == {"asked": "auto", "used": "balanced-gain"}
    assert "balanced-gain, chosen by auto" in text


def test_check_accepts_good_data_and_keeps_stderr_empty(demo):
    done = run("check", "agreement.toml", "--party", "bank", "--data", "bank.parquet", cwd=demo)
    assert "fit it" in done.stdout
    assert done.stderr == ""


def test_check_reports_all_problems_at_once_and_no_value(demo, tmp_path):
    bank = pd.read_parquet(demo / "bank.parquet")
    bank.loc[bank.index[0], "age"] = 17_171
    bank.loc[bank.index[1], "default"] = "SECRET-LABEL"
    bank.loc[bank.index[2], "customer_id"] = bank["customer_id"].iloc[3]
    bank.to_csv(tmp_path / "bad.csv", index=False)
    told = ("'age'", "outside the agreed bounds", "'default'", "duplicate identifiers")
    arguments = ("check", demo / "agreement.toml", "--party", "bank", "--data", tmp_path / "bad.csv")
    done = run(*arguments, "--strict", code=4)
    for words in told:
        assert words in done.stderr
    assert not re.search("17171|SECRET|C0|1 row", done.stderr)
    assert done.stdout == ""
    done = run(*arguments)
    for words in (
        *told,
        *(f"1 row (0.1 %), {what}" for what in ("taken as the nearer bound", "kept as null rows", "left out")),
    ):
        assert words in done.stdout
    assert not re.search("17171|SECRET|C0|rows 1", done.stdout + done.stderr)
    done = run(*arguments, "--rows")
    assert re.search(r"nearer bound\.\n    rows 1\n", done.stdout) and re.search(
        r"nowhere\.\n    rows 2\n", done.stdout
    )
    found = json.loads(run(*arguments, "--rows", "--format", "json").stdout)
    assert found["ok"] and {rule["rule"] for rule in found["rules"]} == {"clamped", "null class", "doubled"}


def test_show_gives_the_whole_release_as_json(demo):
    shown = json.loads(run("show", "release", "--format", "json", cwd=demo).stdout)
    assert shown["certificate"]["epsilon"]["public"] == {"add-remove": "1", "replace": "2"}
    release = cp.load_release(demo / "release")
    entries = {own["table"]: own["entries"] for own in shown["measurements"]["measured"]}
    assert entries == {name: release.table(name).num_rows for name in release.tables} and len(entries) == 2
    assert shown["model"] == release.published.model.to_json()


def test_show_refuses_a_release_that_was_changed(demo, tmp_path):
    import shutil

    shutil.copytree(demo / "release", tmp_path / "release")
    (tmp_path / "release" / "measured" / "001-default.csv").write_text("changed")
    assert "001-default.csv" in run("show", tmp_path / "release", code=7).stderr
    (tmp_path / "release" / "model.json").unlink()
    assert "model.json is missing" in run("show", tmp_path / "release", code=7).stderr
    assert "certificate.json is missing" in run("show", tmp_path / "nowhere", code=7).stderr


def test_simulate_refuses_before_it_spends(demo, tmp_path):
    data = ["--data", f"bank={demo / 'bank.parquet'}", "--data", f"loans={demo / 'loans.csv'}"]
    agreement = demo / "agreement.toml"
    assert "--force" in run("simulate", agreement, *data, "--out", demo / "release", code=7).stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    run("simulate", agreement, *data, "--out", tmp_path / "mine", "--force", code=7)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"
    assert "exactly these parties" in run("simulate", agreement, *data[:2], "--out", tmp_path / "x", code=4).stderr
    run("simulate", agreement, "--data", "bank", "--out", tmp_path / "x", code=2)
    assert "no such file" in run("simulate", "none.toml", *data, "--out", tmp_path / "x", code=3).stderr
    assert not (tmp_path / "x").exists()


def test_a_ledger_is_charged_and_refuses_the_release_that_is_too_much(demo, tmp_path):
    ledgers = [tmp_path / "bank.db", tmp_path / "loans.db"]
    for ledger in ledgers:
        run("ledger", "limit", "customers-2026=1.5", "--ledger", ledger)
    call = ["simulate", demo / "agreement.toml", "--data", f"bank={demo / 'bank.parquet'}"]
    call += [
        "--data",
        f"loans={demo / 'loans.csv'}",
        "--ledger",
        f"bank={ledgers[0]}",
        "--ledger",
        f"loans={ledgers[1]}",
    ]
    run(*call, "--out", tmp_path / "first")
    refused = run(*call, "--out", tmp_path / "second", code=5)
    assert "but epsilon 0.5 and delta" in re.sub(r"\s+", " ", refused.stderr)
    assert "Nothing was measured" in re.sub(r"\s+", " ", refused.stderr)
    assert not (tmp_path / "second").exists()
    book = json.loads(run("ledger", ledgers[0], "--format", "json").stdout)
    assert book["datasets"]["customers-2026"]["left"] == "0.5"
    assert [charge["state"] for charge in book["charges"]] == ["complete"]
    assert book["charges"][0]["disclosures"] == 10  # the class counts, 8 selections and the leaf counts


def test_generalize_writes_the_released_labels(demo, tmp_path):
    table = pd.read_parquet(demo / "bank.parquet").merge(
        pd.read_csv(demo / "loans.csv").drop(columns="default"), on="customer_id"
    )
    table.to_csv(tmp_path / "new.csv", index=False)
    done = run("generalize", demo / "release", "--data", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert "not private" in done.stderr
    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    release = cp.load_release(demo / "release")
    assert release.generalization is not None and set(release.generalization.values) == set(written) - {"default"}
    for name, described in release.generalization.values.items():
        assert set(written[name]) <= {value.label for value in described}
    assert "customer_id" not in written
    table.loc[:2, "purpose"] = "SECRET"
    table.to_csv(tmp_path / "new.csv", index=False)
    call = ("generalize", demo / "release", "--data", tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    done = run(*call, "--format", "json")
    (rule,) = json.loads(done.stdout)["rules"]
    assert (rule["column"], rule["rule"], rule["rows"]) == ("purpose", "unlisted", 3)
    assert re.search(r": 3 rows \([\d.]+ %\), taken as ", done.stderr) and "SECRET" not in done.stderr
    assert "'purpose' has values that are not in the agreed list" in run(*call, "--strict", code=4).stderr


def test_init_writes_an_example_that_runs_and_replaces_nothing(tmp_path):
    run("init", tmp_path / "a.toml")
    run("describe", tmp_path / "a.toml")
    run("init", tmp_path / "a.toml", code=1)


def test_a_party_that_cannot_pay_costs_the_others_nothing(demo, tmp_path):
    bank, loans = tmp_path / "bank.db", tmp_path / "loans.db"
    run("ledger", "limit", "customers-2026=5", "--ledger", bank)
    run("ledger", "limit", "customers-2026=0.5", "--ledger", loans)
    call = ["simulate", demo / "agreement.toml", "--data", f"bank={demo / 'bank.parquet'}"]
    call += ["--data", f"loans={demo / 'loans.csv'}", "--ledger", f"bank={bank}", "--ledger", f"loans={loans}"]
    run(*call, "--out", tmp_path / "release", code=5)
    assert json.loads(run("ledger", bank, "--format", "json").stdout)["charges"] == []


def test_an_unexpected_error_shows_no_traceback_unless_asked(demo):
    code = (
        "import copublish.cli.describe_command as command; from copublish.cli import main\n"
        "command.describe_agreement = lambda path, party: 1 / 0\n"
        "main()"
    )
    command = [sys.executable, "-c", code, "describe", "agreement.toml"]
    quiet = subprocess.run(command, cwd=demo, capture_output=True, text=True)
    assert quiet.returncode == 1
    assert "This is a bug" in quiet.stderr
    assert "Traceback" not in quiet.stderr
    loud = subprocess.run(command, cwd=demo, capture_output=True, text=True, env={**os.environ, "COPUBLISH_DEBUG": "1"})
    assert "ZeroDivisionError" in loud.stderr


def test_python_api_takes_and_gives_pandas_polars_and_arrow(demo):
    import polars as pl
    import pyarrow as pa

    bank, loans = pd.read_parquet(demo / "bank.parquet"), pd.read_csv(demo / "loans.csv")
    for convert in (lambda frame: frame, pl.from_pandas, pa.Table.from_pandas):
        release = cp.simulate(demo / "agreement.toml", {"bank": convert(bank), "loans": convert(loans)})
        n = release.records.num_rows
        assert isinstance(release.table(release.tables[-1]), pa.Table)
        assert len(release.to_pandas()) == len(release.to_polars()) == n
        assert release.to_polars(release.tables[-1]).height == release.published.measured[-1].values.size
        assert release.published.model.records == n


def test_every_command_in_the_readme_exists():
    text = (ROOT / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text
    for command in re.findall(r"^\$ copublish (\w+)", text, flags=re.M):
        assert command in COMMANDS, command


def test_an_identity_is_printed_as_it_goes_into_an_agreement(tmp_path):
    made = run("identity", "new", "--name", "bank", "--host", "localhost:7700", home=tmp_path)
    party = tomllib.loads(made.stdout)["parties"]["bank"]
    shown = json.loads(run("identity", "show", "--name", "bank", "--format", "json", home=tmp_path).stdout)
    assert party == {"host": "localhost:7700", "certificate": shown["certificate"]}
    run("identity", "new", "--name", "bank", home=tmp_path, code=8)
    run("identity", "show", "--name", "nobody", home=tmp_path, code=8)
    run("identity", "new", "--name", "x", "--host", "no port", home=tmp_path, code=2)


def test_node_status_says_what_is_in_the_way(tmp_path):
    from support.node import on_loopback

    parties = on_loopback(tmp_path)
    home = parties.home("bank")
    options = ("node", "status", home / "agreement.toml", "--party", "bank", "--format", "json")
    alone = json.loads(run(*options, home=home, code=8).stdout)
    assert [(entry["what"], entry["ok"]) for entry in alone] == [
        ("identity", True),
        ("agreement", True),
        ("own port", True),
        ("name of loans", True),
        ("node of loans", False),
    ]
    assert "nobody listens" in alone[-1]["found"]
    with parties.port("loans"):
        run(*options, home=home)
    stranger = json.loads(run(*options[:-2], "--format", "json", home=tmp_path / "empty", code=8).stdout)
    assert (stranger[0]["what"], stranger[0]["ok"]) == ("identity", False)
    run("node", "status", home / "agreement.toml", "--party", "nobody", home=home, code=2)


def test_the_ledger_of_this_user_is_the_default_one(tmp_path):
    run("ledger", home=tmp_path / "home", code=2)
    run("ledger", "limit", "people=2", home=tmp_path / "home")
    shown = json.loads(run("ledger", "--format", "json", home=tmp_path / "home").stdout)
    assert shown["datasets"]["people"]["left"] == "2"
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0
