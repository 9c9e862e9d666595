"""The tutorial from two headers to a green check, run as it is written, with rows below the headers."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "from-headers-to-check.md"

ROWS = {
    "bank.csv": ["C1,44,cook,120.50,no", "C2,,clerk,-3,yes", "C3,18,manager,99,no"],
    "loans.csv": ["C2,1,12,true,yes", "C1,3,72,false,no"],
}
"""What the tutorial does not show: one customer of the bank has an empty cell."""


def commands(text: str) -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line.partition("copublish")[2]) for line in lines]


def promised(text: str) -> list[str]:
    return [
        " ".join(line.strip(" -").split())
        for block in re.findall(r"```text\n(.*?)```", text, re.S)
        for line in block.splitlines()
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in re.findall(r"`([\w.]+)`\n\n```csv\n(.*?)```", PAGE.read_text(), re.S):
        (tmp_path / name).write_text(content + "".join(f"{row}\n" for row in ROWS.get(name, [])))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_three_commands_lead_from_headers_and_a_dictionary_to_a_green_check(folder):
    said = ""
    found = commands(PAGE.read_text())
    assert [words[0] for words in found] == ["init", "init", "merge", "check", "check", "init"]
    for words in found:
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        said += " ".join(done.output.split()) + " "
    assert said.count("Every value is as agreed.") == 2
    assert "FILL IN" not in (folder / "agreement.toml").read_text()
    assert (folder / "agreement.toml").read_text() == (folder / "together.toml").read_text()
    drafted = (folder / "bank.toml").read_text() + (folder / "loans.toml").read_text()
    assert not re.search(r"120\.5|C1|C2", drafted)
    # What the page shows is what is said, and the conflict is what a contradiction gives.
    text = (folder / "bank.toml").read_text()
    (folder / "loans.toml").write_text(
        text.replace("bounds = [18, 99]", "bounds = [0, 120]").replace("[parties.bank]", "[parties.loans]")
    )
    refused = CliRunner().invoke(app, ["merge", "bank.toml", "loans.toml", "--out", "never.toml"])
    assert not (folder / "never.toml").exists()
    said += " ".join(str(refused.exception).split())
    for line in promised(PAGE.read_text()):
        assert line in said, line


def test_headers_alone_are_enough_to_draft_from(folder):
    for name in ROWS:
        header = (folder / name).read_text().splitlines()[0]
        (folder / name).write_text(header + "\n")
    done = CliRunner().invoke(app, commands(PAGE.read_text())[-1])
    assert done.exit_code == 0 and "Nothing is left to fill in" in done.output
    kinds = {
        name: said["kind"] for name, said in tomllib.loads(Path("together.toml").read_text())["attributes"].items()
    }
    assert kinds["purpose"] == "categorical" and kinds["months"] == "numerical"
