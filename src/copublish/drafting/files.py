"""Reading drafts that `copublish init` wrote and people have edited."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from copublish.agreement.loading import read_content, refuse_unsafe
from copublish.drafting.draft import Draft
from copublish.drafting.text import toml_key, toml_value
from copublish.errors import AgreementError

SECTIONS = ("parties", "records", "class", "attributes", "privacy", "mechanism", "budget", "engine", "network")

HEADER = re.compile(r"\[(attributes\.(?P<name>.+)|class)\]\s*")


def load_draft(path: str | Path) -> Draft:
    """Read a draft; it may lack anything, but what is there has the shape of an agreement.

    Raises:
        AgreementError: If it cannot be read, or a section is none.
    """
    path = Path(path)
    content = read_content(path)
    refuse_unsafe(content, str(path))
    problems = [
        f"{section}: write a section, like [{section}]"
        for section in SECTIONS
        if section in content and not isinstance(content[section], Mapping)
    ]
    for section in ("parties", "attributes"):
        entries = content.get(section)
        if isinstance(entries, Mapping):
            problems += [
                f"{section}.{name}: write a section, like [{section}.{toml_key(name)}]"
                for name, entry in entries.items()
                if not isinstance(entry, Mapping)
            ]
    if content.get("format") != 2:
        problems.append("format: drafts are merged in format 2. Write format = 2 at the top")
    try:
        toml_value(content)
    except TypeError as exc:
        problems.append(str(exc))
    if problems:
        raise AgreementError(str(path), problems)
    return Draft(content, _words(path, content))


def _words(path: Path, content: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The comments right below the headers of columns. Nothing hangs on them, so they are found by their look."""
    names = {toml_key(name): name for name in content.get("attributes", {})}  # type: ignore[attr-defined]
    found: dict[str, list[str]] = {}
    column: str | None = None
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        if header := HEADER.fullmatch(line):
            named = content.get("class", {}).get("name")  # type: ignore[attr-defined]
            column = named if header["name"] is None else names.get(header["name"])
        elif column is not None and line.startswith("# "):
            found.setdefault(column, []).append(line[2:].strip())
        else:
            column = None
    return {name: tuple(words) for name, words in found.items()}
