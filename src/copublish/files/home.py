"""The folder of what outlives a run (identities, the ledger, logs), and the party's own file of settings in it.

The settings are the same for every run of one organization. This module reads the file; which keys it may have is
declared with the options of a run.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from copublish.errors import LedgerError, PartyFileError
from copublish.files.regular import MIB, read_regular

PARTY_FILE = "party.toml"


def party_file_content(folder: Path) -> dict[str, Any]:
    """Keys and values of the party's file in a folder; empty if there is none. Nothing in it is checked.

    Raises:
        PartyFileError: If it cannot be read, others can read or write it, or it is no TOML.
    """
    file = folder / PARTY_FILE
    try:
        mode = file.stat().st_mode
        text = read_regular(file, MIB).decode("utf-8-sig")
        content = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as exc:
        where = f": {exc}" if isinstance(exc, tomllib.TOMLDecodeError) else ""
        raise PartyFileError(file, [f"It is not valid TOML{where}."]) from None
    except OSError as exc:
        raise PartyFileError(file, [f"It cannot be read: {exc.strerror}."]) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PartyFileError(file, [f"Others can read or change it. Take that right away: chmod 600 {file}"])
    return content


def path_in(folder: Path, value: str) -> Path:
    """A path that the file in a folder names: relative to that folder."""
    return folder.absolute() / Path(value).expanduser()


HOME_VARIABLE = "COPUBLISH_HOME"

PROGRAMS_VARIABLE = "COPUBLISH_PROGRAMS"


def home_folder() -> Path:
    """The folder that `COPUBLISH_HOME` names, else `.copublish` in the user's own folder."""
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else Path.home() / ".copublish"


def identities_folder() -> Path:
    """The folder with a folder for every identity of this user."""
    return home_folder() / "identities"


def default_ledger() -> Path:
    """This user's ledger: the one that party.toml names beside an identity, else `ledger.db` at home.

    Raises:
        LedgerError: If identities of this user have different ledgers.
        PartyFileError: If a party.toml cannot be used.
    """
    ledgers = {ledger_beside(file.parent) for file in identities_folder().glob(f"*/{PARTY_FILE}")}
    if len(ledgers) > 1:
        listed = ", ".join(f"'{file}'" for file in sorted(ledgers))
        raise LedgerError(f"Your identities have different ledgers: {listed}. Name the one that you mean.")
    return ledgers.pop() if ledgers else home_folder() / "ledger.db"


def ledger_beside(keys: Path) -> Path:
    """The ledger of the party whose keys are in a folder: the one that its party.toml names, else `ledger.db` at home.

    Raises:
        PartyFileError: If its party.toml cannot be used.
    """
    named = party_file_content(keys).get("ledger")
    return path_in(keys, named) if isinstance(named, str) and named else home_folder() / "ledger.db"


def programs_folder() -> Path:
    """Where compiled programs of the secure engine are kept: the folder that `COPUBLISH_PROGRAMS` names, else at home.

    They can be thrown away at any time, and are made anew.
    """
    named = os.environ.get(PROGRAMS_VARIABLE)
    return Path(named).absolute() if named else home_folder().absolute() / "programs"


def publishing_folder() -> Path:
    """Where a note lies of every release that is being published."""
    return home_folder().absolute() / "publishing"


def make_private_folder(folder: Path) -> Path:
    """Make a folder, and those above it, that this user alone can enter."""
    for parent in reversed([folder, *folder.parents]):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    return folder
