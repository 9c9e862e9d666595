"""party.toml beside a party's keys: options of a run that are the same every time."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from textwrap import wrap
from typing import Any

from copublish.errors import PartyFileError
from copublish.files.home import PARTY_FILE, party_file_content
from copublish.party.options import Declared, options_of

WIDTH = 100

HEAD = """\
What is the same for every run of '{party}'. 'copublish run', 'doctor' and the other commands read it here, beside the
keys; an option on the command line overrides it. Take the '#' away from the lines that you want. Paths are relative to
this folder. You alone may read this file (chmod 600), and 'copublish doctor' checks it."""


def read_party_file(declaration: type, folder: Path) -> dict[str, Any]:
    """Values of options by name that the party.toml in a folder gives; empty if there is none.

    Args:
        declaration: The dataclass that declares the options.
        folder: The folder with the party's keys.

    Raises:
        PartyFileError: If the file cannot be used; it lists every mistake.
    """
    folder = folder.absolute()
    options = {name: option for name, option in options_of(declaration).items() if option.in_party_file}
    values, problems = {}, []
    for name, value in party_file_content(folder).items():
        if name not in options:
            problems.append(_unknown(name, list(options)))
            continue
        try:
            values[name] = options[name].absolute(options[name].read(value), folder)
        except ValueError as exc:
            problems.append(f"{name}: {exc}.")
    if problems:
        raise PartyFileError(folder / PARTY_FILE, problems)
    return values


def _unknown(name: str, keys: list[str]) -> str:
    close = get_close_matches(name, keys, n=1)
    hint = f"Did you mean '{close[0]}'?" if close else f"Its keys are: {', '.join(keys)}."
    return f"{name!r}: there is no such key. {hint}"


def draft_party_file(declaration: type, folder: Path, party: str) -> Path | None:
    """Write a party.toml in which every line is a comment; one that is there stays, and then nothing is returned."""
    lines = [*_comment(" ".join(HEAD.format(party=party).split()))]
    for declared in options_of(declaration).values():
        if declared.in_party_file:
            lines += ["", *_comment(declared.help), f"#{declared.name} = {_toml(declared)}"]
    file = folder / PARTY_FILE
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write("\n".join(lines) + "\n")
    return file


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, WIDTH)]


def _toml(declared: Declared) -> str:
    example = declared.option.example
    if isinstance(example, dict):
        places = ", ".join(f'{name} = "{place}"' for name, place in example.items())
        return f"{{ {places} }}"
    return str(example) if isinstance(example, int) else f'"{example}"'
