"""A party's own file: settings that are the same for every run of one organization, beside its keys.

This module reads the file; which keys it may have is declared with the options of a run.
"""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path
from typing import Any

from copublish.errors import PartyFileError
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
