"""What careless users do: nothing is lost, nothing private lands in a release, and the message says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.agreement.loading import load_agreement
from copublish.cli import app, run_command
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.release.render.privacy_words import epsilon_words, noise_words
from support.commands import run
from support.examples import write_specialization_demo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release of the demo's data, and all of them in one file."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("careless")
    write_specialization_demo(folder, 1500)
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    run("simulate", "agreement.toml", *data, "--out", "release", cwd=folder)
    loans = pd.read_csv(folder / "loans.csv").drop(columns="default")
    pd.read_parquet(folder / "bank.parquet").merge(loans, on="customer_id").to_csv(folder / "all.csv", index=False)
    return folder


def test_rows_that_are_not_private_are_never_written_into_a_release(folder: Path) -> None:
    before = sorted((folder / "release").rglob("*"))
    done = run("generalize", "release", "--data", "all.csv", "--out", "release/all.csv", cwd=folder, code=7)
    assert "Choose another --out" in done.stderr
    assert sorted((folder / "release").rglob("*")) == before


@pytest.mark.parametrize(
    "command",
    [
        ("generalize", "release", "--data", "all.csv", "--out", "all.csv"),
        ("evaluate", "release", "--test", "all.csv", "--out", "all.csv"),
    ],
    ids=lambda command: command[0],
)
def test_data_are_never_overwritten_by_what_is_made_from_them(folder: Path, command: tuple[str, ...]) -> None:
    before = (folder / "all.csv").read_bytes()
    assert "it would be lost" in run(*command, cwd=folder, code=1).stderr
    assert (folder / "all.csv").read_bytes() == before


@pytest.mark.parametrize("out", ["nowhere/all.csv", "all.csv/all.csv"])
def test_folder_that_is_not_there_is_no_bug(folder: Path, out: str) -> None:
    done = run("generalize", "release", "--data", "all.csv", "--out", out, cwd=folder, code=1)
    assert "There is no folder" in done.stderr


def test_ledger_where_nobody_can_write_is_no_bug(folder: Path) -> None:
    done = run("ledger", "limit", "a=1", "--ledger", folder / "all.csv" / "mine" / "ledger.db", cwd=folder, code=1)
    assert "all.csv" in done.stderr
    assert "bug" not in done.stderr


def test_ledger_with_a_misspelt_name_is_missed_and_not_made(folder: Path) -> None:
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    ledgers = ["--ledger", "bank=typo.db", "--ledger", "loans=typo.db"]
    done = run("simulate", "agreement.toml", *data, *ledgers, "--out", "third", cwd=folder, code=5)
    assert "There is no ledger 'typo.db'" in done.stderr
    assert not (folder / "typo.db").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("check", "--data", "bank.parquet"),
        ("run", "--data", "bank.parquet", "--out", "new"),
        ("node", "status"),
    ],
    ids=lambda command: command[0],
)
def test_party_that_is_not_in_the_agreement_is_told_which_are(folder: Path, command: tuple[str, ...]) -> None:
    names, options = command[:1] if command[0] != "node" else command, command[1:] if command[0] != "node" else ()
    done = run(*names, "agreement.toml", "--party", "bnak", *options, cwd=folder, code=2)
    assert "there is no party 'bnak' in the agreement" in done.stderr
    assert "bank, loans" in done.stderr


def test_agreement_that_is_no_text_is_refused_without_a_byte_of_it(folder: Path) -> None:
    done = run("check", "bank.parquet", cwd=folder, code=3)
    assert "is not UTF-8 text. An agreement is a TOML file" in done.stderr
    assert "0x" not in done.stderr


def test_results_in_a_pipe_come_without_empty_lines_of_progress(folder: Path) -> None:
    data = ["--data", "bank=bank.parquet", "--data", "loans=loans.csv"]
    done = run("simulate", "agreement.toml", *data, "--out", "second", cwd=folder)
    assert not done.stderr.startswith("\n")


def test_help_breaks_lines_where_the_terminal_does() -> None:
    lines = (
        CliRunner().invoke(app, ["plan", "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).output.splitlines()
    )
    begin = next(number for number, line in enumerate(lines) if "Nothing is charged" in line)
    words = [line.strip() for line in lines[begin : begin + 4]]
    assert min(map(len, words)) > 60, words


def test_fractions_have_a_decimal_beside_them_that_is_not_too_small() -> None:
    assert epsilon_words("52/35") == "52/35 (about 1.49)"  # 1.4857
    assert epsilon_words("1/3") == "1/3 (about 0.334)"
    assert epsilon_words("0.5") == "0.5"
    assert epsilon_words("not protected: and/or") == "not protected: and/or"


def test_large_noise_is_written_out() -> None:
    noise = Noise(law=Law.LAPLACE_ON_VALUES, scale_in_own_unit=735000.0, within_95_percent=2201860.0)
    assert noise_words(noise) == "scale 735,000, in its own unit; 95 of 100 within ±2,201,860"


def test_party_without_data_is_told_that_others_pay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agreement = load_agreement(folder / "agreement.toml")
    plan = plan_of(agreement)
    run_command._ask_consent(
        plan, throwaway_ledger(plan), party="helper", file=Path("agreement.toml"), yes=True, pays=False
    )
    said = " ".join(capsys.readouterr().err.split())
    assert "Spending epsilon 1 (add-remove) of the budgets of those who hold data, and none of yours." in said
