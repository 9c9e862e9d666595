"""How commands end that cannot go on: as JSON where it was asked for, with what was charged, and what was meant."""

from __future__ import annotations

import json
import re
import signal
import sys
from contextlib import nullcontext
from copy import copy
from fractions import Fraction
from pathlib import Path

import pytest
import typer

import copublish.cli as command_line
from copublish.cli import check_command, main
from copublish.cli.failures import (
    OTHER_WORDS,
    WHAT_TO_DO,
    asks_for_json,
    suggested_commands,
    tell_error,
    telling_what_ledgers_have,
    words_when_stopped,
)
from copublish.errors import CopublishError, PartyLostError, ReleaseError, StoppedError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.ledger import Ledger, Limit

DOCS = Path(__file__).parents[3] / "docs"


def commands_with_format() -> list[tuple[tuple[str, ...], object]]:
    """Every command and subcommand that has `--format`, as the command line knows them."""
    found = []
    waiting = [((), typer.main.get_command(command_line.app))]
    while waiting:
        words, command = waiting.pop()
        waiting += [((*words, name), one) for name, one in getattr(command, "commands", {}).items()]
        if any("--format" in parameter.opts for parameter in command.params):
            found.append((words, command))
    return found


COMMANDS = commands_with_format()


@pytest.fixture
def typed(monkeypatch, capsys, tmp_path):
    """Run the command line in this process, and return its exit code, its stdout and its stderr."""
    monkeypatch.setattr(command_line, "add_plug_ins", lambda app: [])
    monkeypatch.setattr("copublish.cli.failures._ledgers_are_open", False)  # whatever this process did before
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["copublish", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def test_there_are_commands_to_try():
    assert {words[0] for words, _ in COMMANDS} >= {"check", "describe", "merge", "run", "show", "ledger", "verify"}


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
def test_with_format_json_every_failure_is_json_also_of_what_was_typed(typed, words, command):
    code, out, err = typed(*words, "--format", "json", "--no-such-option")
    failure = json.loads(out)["error"]
    assert (code, failure["code"]) == (2, 2)
    assert "no-such-option" in failure["message"] and "--help" in failure["what_to_do"] and err
    required = [parameter for parameter in command.params if parameter.required]
    filled = [word for one in required for word in ([one.opts[0]] if one.opts[0][:1] == "-" else []) + ["a=nothing"]]
    filled = ["nothing"] if words == ("runs",) else filled  # without the id of a run it lists all
    code, out, err = typed(*words, "--format=json", *filled)
    assert code > 0
    if words == ("verify",):  # what does not hold is its result
        assert json.loads(out)["ok"] is False
        return
    failure = json.loads(out)["error"]
    assert failure["code"] == code
    assert failure["message"] and failure["what_to_do"] and err


def test_without_it_stdout_stays_empty(typed):
    assert typed("check", "nothing.toml")[:2] == (3, "")
    assert typed("check")[:2] == (2, "")
    assert asks_for_json(["check", "--format", "json"]) and not asks_for_json(["--format", "text", "json"])


def test_nothing_typed_shows_what_could_be(typed):
    code, out, err = typed()
    assert (code, err) == (2, "") and "merge" in out


def test_the_problems_of_an_agreement_come_one_by_one(typed, tmp_path):
    (tmp_path / "a.toml").write_text('format = 1\nname = "FILL IN"\n')
    _, out, _ = typed("describe", "a.toml", "--format", "json")
    assert "name: still to be filled in" in json.loads(out)["error"]["problems"]


def test_a_bug_is_json_too_and_shows_nothing(typed, monkeypatch):
    def fail(path):
        raise ValueError("Mrs. Private")

    monkeypatch.setattr(check_command, "load_agreement", fail)
    code, out, err = typed("check", "a.toml", "--format", "json")
    assert code == json.loads(out)["error"]["code"] == 1
    assert "ValueError" in out and "Private" not in out + err


def test_every_exit_code_says_what_to_do_and_is_in_the_reference():
    page = (DOCS / "reference" / "exit-codes.md").read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.M)} - {0}
    assert codes == set(WHAT_TO_DO) - {130}


def test_ctrl_c_says_that_nothing_was_charged(typed, monkeypatch):
    def stop(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(check_command, "load_agreement", stop)
    code, out, err = typed("check", "a.toml", "--format", "json")
    assert (code, json.loads(out)["error"]["code"]) == (130, 130)
    assert err == "Stopped. Nothing was charged.\n"
    assert "copublish ledger" in words_when_stopped("a-plug-in", ["check"])


def test_sigterm_to_a_run_says_from_its_first_moment_that_nothing_was_charged(typed, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    def died(*_: object) -> None:
        raise AssertionError("it ended without a word")

    before = signal.signal(signal.SIGTERM, died)
    monkeypatch.setattr("copublish.cli.run_command.resolved", stop)
    try:
        code, out, err = typed("run", "a.toml", "--format", "json")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (code, json.loads(out)["error"]["code"]) == (143, 143)
    assert err == "Stopped. Nothing was charged.\n"


def test_the_exit_code_of_a_run_that_was_stopped_is_not_taken_for_a_signal(typed, monkeypatch):
    monkeypatch.setattr(command_line, "_run", lambda *_: 143)  # as 'runs ID' ends
    assert typed("runs", "0") == (143, "", "")


def test_ctrl_c_at_a_question_is_no_other_than_elsewhere(typed, monkeypatch):
    def stop(prompt=""):
        raise KeyboardInterrupt

    monkeypatch.setattr("typer._click.termui.visible_prompt_func", stop)
    code, out, err = typed("init", "--ask")
    assert (code, out) == (130, "") and err.endswith("Stopped. Nothing was charged.\n")


def test_a_command_that_charges_says_what_the_ledger_has(tmp_path, monkeypatch):
    monkeypatch.setattr("copublish.cli.failures._ledgers_are_open", False)
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_limit("people", Limit(Fraction(3), "add-remove"))

    def entries():
        return {"Your ledger": ledger.entries()}

    nothing = r"Stopped\. Nothing was charged\."
    with pytest.raises(StoppedError, match=nothing), telling_what_ledgers_have(entries):
        raise KeyboardInterrupt
    cost = Cost(add_remove=Fraction(1, 2), replace=Fraction(1))
    with (
        pytest.raises(StoppedError) as stopped,
        telling_what_ledgers_have(entries),
        ledger.reserve("people", "flu", "hash", cost) as charge,
    ):
        charge.disclose("counts", cost)
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130
    assert str(stopped.value) == (
        "Stopped. Your ledger has a charge of epsilon 0.5 for 'flu' on the data set 'people' (ended early, spent, "
        "1 disclosure written). It stays charged."
    )
    assert "stays charged" in words_when_stopped("run", ["run"])  # between the charge and the end of the command


ENDS = {
    "another party stops": (PartyLostError("Party 'loans' stopped."), 6),
    "its folder cannot be written": (ReleaseError("The release cannot be written."), 7),
    "SIGTERM": (SystemExit(143), 143),
}


@pytest.mark.parametrize("end", ENDS)
def test_however_a_run_ends_it_says_what_the_ledger_has(tmp_path, monkeypatch, capsys, end):
    monkeypatch.setattr("copublish.cli.failures._ledgers_are_open", False)
    error, code = ENDS[end]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_limit("people", Limit(Fraction(3), "add-remove"))
    cost = Cost(add_remove=Fraction(1, 2), replace=Fraction(1))

    def told(*, as_charged: bool) -> str:
        charge = ledger.reserve("people", "flu", "hash", cost) if as_charged else nullcontext()
        entries = ledger.entries
        with (
            pytest.raises(CopublishError) as caught,
            telling_what_ledgers_have(lambda: {"Your ledger": entries()}),
            charge,
        ):
            raise copy(error)
        assert caught.value.exit_code == code
        tell_error(caught.value, as_json=True)
        said = capsys.readouterr()
        assert json.loads(said.out)["error"]["message"] in said.err.replace("Error: ", "")
        return said.err

    assert told(as_charged=False).endswith("Nothing was charged.\n")
    assert told(as_charged=True).endswith(
        "Your ledger has a charge of epsilon 0.5 for 'flu' on the data set 'people' (ended early, spent, 0 disclosures "
        "written). It stays charged. Nothing was opened of it: 'copublish ledger give-back 1' gives it back.\n"
    )


def test_a_party_that_pays_from_no_ledger_is_told_so(monkeypatch):
    monkeypatch.setattr("copublish.cli.failures._ledgers_are_open", False)
    with pytest.raises(PartyLostError) as caught, telling_what_ledgers_have(dict):
        raise PartyLostError("Party 'loans' stopped.")
    assert caught.value.__notes__ == ["No ledger of yours was charged."]


def test_other_words_are_suggested_by_their_meaning_and_nothing_is_run(typed):
    code, out, err = typed("validate", "a.toml", "--format", "json")
    assert code == 2 and "Did you mean 'copublish check'?" in json.loads(out)["error"]["message"]
    assert "evaluate" not in out + err
    known = [words[0] for words, _ in COMMANDS] + ["init", "demo", "node", "identity"]
    meant = {word: suggested_commands(word, known) for word in ("preview", "explain", "start", "publish", "budget")}
    assert meant == {
        **{"preview": ["describe"], "explain": ["describe"], "start": ["run"], "publish": ["run"]},
        "budget": ["ledger"],
    }
    assert suggested_commands("evalute", known) == ["evaluate"]
    assert "evaluate" not in suggested_commands("validated", known) + suggested_commands("validation", known)
    assert suggested_commands("xyzzy", known) == []


def test_no_other_word_is_a_command_and_every_suggestion_is_one():
    commands = typer.main.get_command(command_line.app).commands
    words = [word for others in OTHER_WORDS.values() for word in others]
    assert set(OTHER_WORDS) <= set(commands) and not set(words) & set(commands)
    assert len(words) == len(set(words))
