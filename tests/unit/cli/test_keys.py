"""Keys with a passphrase: encrypted in their file, opened by what a person, a file, a command or a variable says."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from typer.testing import CliRunner

from copublish.cli import app
from copublish.cli.keys import PASSPHRASE_VARIABLE, PIN_VARIABLE, passphrase_from, pin_from
from copublish.errors import MeetingError, PassphraseError
from copublish.party.keys.identity import load_identity, new_identity
from support.waiting import SECONDS

SECRET = "correct horse"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return new_identity("bank", tmp_path / "bank", days=30, passphrase=SECRET).folder


def test_the_file_cannot_be_read_without_the_passphrase_and_the_key_is_the_same(folder: Path) -> None:
    content = (folder / "key.pem").read_bytes()
    assert b"ENCRYPTED" in content
    with pytest.raises(TypeError):
        serialization.load_pem_private_key(content, password=None)
    asked: list[str] = []
    identity = load_identity(folder, lambda what: asked.append(what) or SECRET)
    assert asked == [f"the key '{folder / 'key.pem'}'"]
    assert identity.key.public_key() == identity.certificate.public_key()
    assert SECRET not in repr(identity)


def test_a_wrong_passphrase_and_nobody_to_ask_are_clear(folder: Path) -> None:
    with pytest.raises(PassphraseError, match="The passphrase is not that of the key"):
        load_identity(folder, lambda what: "wrong")
    with pytest.raises(PassphraseError, match="nobody was asked"):
        load_identity(folder)
    assert issubclass(PassphraseError, MeetingError)  # one exit code for what keeps parties apart


def test_a_key_without_one_asks_nobody(tmp_path: Path) -> None:
    new_identity("bank", tmp_path / "plain", days=30)
    load_identity(tmp_path / "plain", lambda what: pytest.fail("asked"))


def test_it_comes_from_a_file_a_command_or_a_variable_in_this_order(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "secret"
    file.write_text("from the file\nanother line\n")
    file.chmod(0o600)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "from the variable")
    assert passphrase_from(file, "echo from the command")("x") == "from the file"
    assert passphrase_from(None, "echo from the command")("x") == "from the command"
    assert passphrase_from(None, None)("x") == "from the variable"
    monkeypatch.setenv(PIN_VARIABLE, "the PIN")
    assert pin_from(None, None)("x") == "the PIN"
    assert passphrase_from(None, None)("x") == "from the variable"


@pytest.mark.parametrize(
    "command",
    ["false", "no-such-program", "true", "", " ", "'", f"{sys.executable} -c \"import os; os.write(1, b'\\xff')\""],
)
def test_a_command_that_says_nothing_is_clear(command: str) -> None:
    with pytest.raises(PassphraseError, match="No passphrase could be had") as caught:
        passphrase_from(None, command)("x")
    if not command.strip("' "):
        assert "--passphrase-command names no program" in str(caught.value)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(PassphraseError, match="chmod 600"):
        passphrase_from(tmp_path / "secret", None)("x")


def test_without_a_terminal_the_command_says_what_to_do(folder: Path, monkeypatch) -> None:
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    done = CliRunner().invoke(app, ["identity", "show", "--name", "bank", "--identity", str(folder)])
    assert isinstance(done.exception, PassphraseError) and "--passphrase-file" in str(done.exception)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, SECRET)
    done = CliRunner().invoke(app, ["identity", "show", "--name", "bank", "--identity", str(folder)])
    assert done.exit_code == 0 and "sha256:" in done.stdout


def test_a_person_at_a_terminal_is_asked_twice_for_a_new_one(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    arguments = ["identity", "new", "--name", "bank", "--identity", str(tmp_path / "id"), "--passphrase"]
    environment = {name: value for name, value in os.environ.items() if name != PASSPHRASE_VARIABLE}
    process = subprocess.Popen(
        [sys.executable, "-c", "from copublish.cli import main; main()", *arguments],
        stdin=follower,
        stderr=follower,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    timer = threading.Timer(SECONDS, process.kill)  # no read lasts for ever
    timer.start()
    said = b""
    for question in (b"the new key", b"Again"):
        while question not in said:
            said += os.read(leader, 1000)
        while termios.tcgetattr(follower)[3] & termios.ECHO:  # what is typed before is thrown away
            time.sleep(0.01)
        os.write(leader, f"{SECRET}\n".encode())
    assert process.wait(SECONDS) == 0, said
    timer.cancel()
    for end in (leader, follower):
        os.close(end)
    load_identity(tmp_path / "id", lambda what: SECRET)
