"""Where a party keeps what outlives a run: identities, its ledger and the logs of its runs."""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "COPUBLISH_HOME"

PROGRAMS_VARIABLE = "COPUBLISH_PROGRAMS"


def home_folder() -> Path:
    """The folder that `COPUBLISH_HOME` names, else `.copublish` in the user's own folder."""
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else Path.home() / ".copublish"


def default_ledger() -> Path:
    """Where this user's ledger is unless a command says otherwise."""
    return home_folder() / "ledger.db"


def programs_folder() -> Path:
    """Where compiled programs of the secure engine are kept: the folder that `COPUBLISH_PROGRAMS` names, else at home.

    They can be thrown away at any time, and are made anew.
    """
    named = os.environ.get(PROGRAMS_VARIABLE)
    return Path(named).absolute() if named else home_folder().absolute() / "programs"


def make_private_folder(folder: Path) -> Path:
    """Make a folder, and those above it, that this user alone can enter."""
    for parent in reversed([folder, *folder.parents]):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    return folder
