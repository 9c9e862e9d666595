"""Options about keys that several commands have: where they are, and where a passphrase or PIN comes from."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import errors_console
from copublish.errors import PassphraseError
from copublish.files.regular import MIB, read_regular
from copublish.party.keys.identity import Passphrase
from copublish.party.keys.signing_key import load_signer
from copublish.party.request import ResolvedRun
from copublish.release.evidence.signing import Signer

PASSPHRASE_VARIABLE = "COPUBLISH_PASSPHRASE"  # noqa: S105  # the name of a variable
PIN_VARIABLE = "COPUBLISH_PIN"
AGENT_SECONDS = 60.0

PassphraseFileOption = Annotated[
    Path | None, typer.Option(help="File with the passphrase of your key in its first line.")
]
PassphraseCommandOption = Annotated[
    str | None,
    typer.Option(
        help="Command that prints the passphrase, like an agent or a password manager. Without either option "
        f"the variable {PASSPHRASE_VARIABLE} is used, or you are asked."
    ),
]
PinFileOption = Annotated[Path | None, typer.Option(help="File with the PIN of your token in its first line.")]
PinCommandOption = Annotated[
    str | None,
    typer.Option(
        help=f"Command that prints the PIN. Without either option the variable {PIN_VARIABLE} is used, or you are "
        "asked."
    ),
]


@dataclass(frozen=True)
class _Kind:
    """A kind of secret. Each has its own options and its own variable: no key's passphrase is tried on a token."""

    name: str
    option: str
    variable: str


_PASSPHRASE = _Kind("passphrase", "--passphrase", PASSPHRASE_VARIABLE)
_PIN = _Kind("PIN", "--pin", PIN_VARIABLE)


class Remembered:
    """A passphrase or PIN that was asked for, kept for a process that needs it as well; never shown or written."""

    def __init__(self, ask: Passphrase) -> None:
        self._ask = ask
        self.said: str | None = None

    def __call__(self, what: str) -> str:
        """Ask, and keep the answer."""
        self.said = self._ask(what)
        return self.said


def passphrase_from(file: Path | None, command: str | None) -> Passphrase:
    """Where the passphrase of a key comes from; nothing is read or asked before it is needed."""
    return lambda what: _from_elsewhere(_PASSPHRASE, file, command) or _asked(_PASSPHRASE, what)


def pin_from(file: Path | None, command: str | None) -> Passphrase:
    """Where the PIN of a token comes from; nothing is read or asked before it is needed."""
    return lambda what: _from_elsewhere(_PIN, file, command) or _asked(_PIN, what)


def new_passphrase(file: Path | None, command: str | None) -> str:
    """A passphrase for a new key; a person types it twice.

    Raises:
        PassphraseError: If it is empty, or nobody is there to be asked.
    """
    if said := _from_elsewhere(_PASSPHRASE, file, command):
        return said
    first = _asked(_PASSPHRASE, "the new key")
    if typer.prompt("Again", hide_input=True, err=True) != first:
        raise PassphraseError("The two passphrases differ. No key was made.")
    return first


def _from_elsewhere(kind: _Kind, file: Path | None, command: str | None) -> str | None:
    if file is not None:
        return _first_line(kind, f"from '{file}'", lambda: _read_private(kind, file))
    if command is not None:
        words = _words_of(command)
        if not words:
            raise PassphraseError(f"No {kind.name} could be had: {kind.option}-command names no program.")
        return _first_line(kind, f"by {kind.option}-command", lambda: _output_of(words))
    return os.environ.get(kind.variable) or None


def _read_private(kind: _Kind, file: Path) -> bytes:
    if file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and stat.S_ISREG(file.stat().st_mode):
        raise PassphraseError(f"Others can read the {kind.name} in '{file}'. Take that right away: chmod 600 {file}")
    return read_regular(file, MIB)


def _words_of(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark that is not closed
        return []


def _output_of(words: list[str]) -> bytes:
    # What a person typed as their own command; without a shell, and what it says on stderr is for them to see.
    done = subprocess.run(words, stdout=subprocess.PIPE, timeout=AGENT_SECONDS, check=True)  # noqa: S603
    return done.stdout


def _first_line(kind: _Kind, where: str, read: Callable[[], bytes]) -> str:
    try:
        text = read().decode()
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else type(exc).__name__
        raise PassphraseError(f"No {kind.name} could be had {where}: {why}.") from None
    line = text.splitlines()[0] if text else ""
    if not line:
        raise PassphraseError(f"No {kind.name} could be had {where}: its first line is empty.")
    return line


def _asked(kind: _Kind, what: str) -> str:
    if not (sys.stdin.isatty() and errors_console.is_terminal):
        raise PassphraseError(
            f"There is a {kind.name} to {what}, and nobody is there to be asked. Give {kind.option}-file, "
            f"{kind.option}-command or the variable {kind.variable}."
        )
    question = f"{kind.name[0].upper()}{kind.name[1:]} of {what}"
    said = str(typer.prompt(question, hide_input=True, err=True))
    if not said:
        raise PassphraseError(f"An empty {kind.name} protects nothing.")
    return said


def signer_for(run: ResolvedRun, *, passphrase: Passphrase, pin: Passphrase) -> Signer:
    """The signer of a party: its identity, or the one that the agreement names for signatures."""
    return load_signer(run.signing_folder, passphrase=passphrase, pin=pin)
