"""Drafts side by side: what they say differently, and what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.text import toml_value

WHOLE = ("grid", "taxonomy")
"""Tables that mean something as a whole alone: two halves of two grids are none."""

Path = tuple[str, ...]
"""The keys that lead to a value. Not a text with points: names of columns can hold them."""


@dataclass(frozen=True)
class Conflict:
    """Something that drafts say differently.

    Attributes:
        path: The keys that lead to it.
        said: Who says what.
    """

    path: Path
    said: str

    @property
    def sentence(self) -> str:
        """The same in a line, with its place."""
        return f"{'.'.join(self.path)}: {self.said}"


@dataclass(frozen=True)
class MergeRow:
    """One key of a merge, side by side.

    Attributes:
        path: The keys that lead to it.
        said: What each draft says, as TOML writes it; nothing of one that does not say it.
        result: What they say together.
        conflict: Where they contradict each other.
    """

    path: Path
    said: Mapping[str, str | None]
    result: str | None
    conflict: Conflict | None

    @property
    def place(self) -> str:
        """The path as the file's messages write it."""
        return ".".join(self.path)

    @property
    def differs(self) -> bool:
        """Whether somebody says something else, or nothing."""
        return self.conflict is not None or len(set(self.said.values())) > 1


@dataclass(frozen=True)
class Merge:
    """Drafts put together as far as they go.

    Attributes:
        draft: What they say together; where they contradict each other, what the first one says.
        conflicts: Where they do.
        sides: What each of them says.
    """

    draft: Draft
    conflicts: tuple[Conflict, ...]
    sides: Mapping[str, Content]

    @property
    def rows(self) -> list[MergeRow]:
        """Every key, side by side; those that differ come first."""
        return _side_by_side(self.sides, self.draft.content, self.conflicts)


def _side_by_side(contents: Mapping[str, Content], merged: Content, conflicts: Sequence[Conflict]) -> list[MergeRow]:
    of_path = {conflict.path: conflict for conflict in conflicts}
    texts = {who: dict(_texts(content)) for who, content in contents.items()}
    result = dict(_texts(merged))
    paths = dict.fromkeys([*of_path, *result, *(path for said in texts.values() for path in said)])
    rows = [
        MergeRow(
            path,
            {who: said.get(path) or _whole(contents[who], path) for who, said in texts.items()},
            None if path in of_path else result.get(path),
            of_path.get(path),
        )
        for path in paths
    ]
    return sorted(rows, key=lambda row: (row.conflict is None, not row.differs))


def _texts(content: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every key with its value; grids and trees are values."""
    for key, value in content.items():
        if isinstance(value, Mapping) and key not in WHOLE and len(above) < 2:
            yield from _texts(value, (*above, key))
        else:
            yield (*above, key), toml_value(value)


def _whole(content: Any, path: Path) -> str | None:
    for key in path:
        content = content.get(key) if isinstance(content, Mapping) else None
    return None if content is None else toml_value(content)
