"""What `copublish run` says beside its question, and without one."""

from __future__ import annotations

import shlex
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
import typer

import copublish as cp
from copublish.cli import run_command
from copublish.errors import CopublishError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.ledger.limits import Limit
from copublish.mechanisms.registry import plan_of
from copublish.tools.drafting.demo import write_demo
from support.consent import certificate_of_a_run, unsaid


@pytest.fixture
def agreement(tmp_path: Path) -> cp.Agreement:
    write_demo(tmp_path, 100)
    return cp.load_agreement(tmp_path / "agreement.toml")


def said_by_asking(agreement: cp.Agreement, folder: Path, capsys: pytest.CaptureFixture[str], *, yes: bool) -> str:
    with closing(Ledger(folder / "consent.db")) as book:
        book.set_limit(agreement.dataset, Limit(Fraction(3), "add-remove"))
        run_command._ask_consent(plan_of(agreement), book, party="bank", file=folder / "my agreement.toml", yes=yes)
    return capsys.readouterr().err


def test_with_yes_the_first_lines_are_said_all_the_same(agreement, tmp_path: Path, capsys) -> None:
    said = said_by_asking(agreement, tmp_path, capsys, yes=True)
    lines = cp.describe(agreement, party="bank").before_consent.lines
    assert said.splitlines()[1:-2] == ["Before you agree:", *(f"  - {line}" for line in lines)]
    where = shlex.quote(str(tmp_path / "my agreement.toml"))
    assert said.splitlines()[-2] == f"All of it: copublish describe {where}"
    assert said.splitlines()[-1].startswith("Spending epsilon 1")
    assert "will not learn which of its people are in your data" in said and "factor of at most 2.72" in said


def test_the_question_comes_after_all_that_the_certificate_will_say(
    agreement, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(run_command.sys, "stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(type(run_command.errors_console), "is_terminal", True)
    monkeypatch.setattr(typer, "confirm", lambda question, err: False)
    with pytest.raises(CopublishError, match="Not confirmed"):
        said_by_asking(agreement, tmp_path, capsys, yes=False)
    said = capsys.readouterr().err
    assert unsaid(certificate_of_a_run(agreement), said) == []
    assert said.count("Before you agree") == 1
    assert said.index("What it rests on") < said.index("Before you agree") < said.index("All of it: copublish describe")
