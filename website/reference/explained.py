"""What the page about agreements says of every key: its tables, by section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from website.places import DOCS

HEADING = re.compile(r'#+ (?:`\[([\w.]+)\]`|`name = "([\w-]+)"`|(Top level))')
ROW = re.compile(r"\| `([\w]+)` \| (.*) \|")


@dataclass(frozen=True)
class Explained:
    """A row of a table: the default, where the table has such a column, and the meaning."""

    default: str
    meaning: str


def explained_keys() -> Mapping[tuple[str, str], Explained]:
    """By section, or by the name of a mechanism, and key."""
    found: dict[tuple[str, str], Explained] = {}
    section = ""
    for line in (DOCS / "reference" / "agreement.md").read_text(encoding="utf-8").splitlines():
        if match := HEADING.match(line):
            section = next(filter(None, match.groups()))
        elif match := ROW.fullmatch(line):
            cells = match.group(2).split(" | ")
            explained = Explained(cells[0] if len(cells) > 1 else "", cells[-1])
            found.setdefault((section, match.group(1)), explained)
    return found
