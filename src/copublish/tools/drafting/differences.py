"""Differences between two drafts in words, and drafts side by side as they are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from copublish.agreement.domain import ROOT_LABEL
from copublish.agreement.loading import FILL_IN
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


LISTS = {"attributes": "column", "parties": "party"}
"""Sections with an entry for each of something, and what that is called."""

PLURALS = {"column": "columns", "party": "parties"}

WORDS = {
    "held_by": "held by",
    "expected": "expected number of records",
    "membership": "whether owners learn who is common",
    "at_most": "lengths of padded lists",
    "membership_epsilon": "epsilon for the number of common people",
    "public": "exact number of records is public",
    "identifier": "identifier",
    "missing_spellings": "spellings of missing values",
    "certificate": "fingerprint",
    "data": "holds data",
    "reach": "how it is reached",
    "approvals": "approvals needed",
    "grid": "where it may be split",
    "missing": "what a missing value becomes",
    "unlisted": "what any other value becomes",
    "neighbors": "what is protected",
}
"""Keys whose own name says less."""

ARROW = " \N{RIGHTWARDS ARROW} "


def differences(before: Draft, after: Draft) -> list[str]:
    """One sentence for everything that two drafts say differently, in the order of the second one.

    The order of sections and keys means nothing, and neither do comments; that of parties and columns does.
    """
    return list(_differences(before.content, after.content))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for section in dict.fromkeys([*after, *before]):
        old, new = before.get(section), after.get(section)
        if section in LISTS:
            yield from _entries(LISTS[section], _mapping(old), _mapping(new))
        elif isinstance(old, Mapping) or isinstance(new, Mapping):
            yield from _keys(section, _mapping(old), _mapping(new))
        elif not _same(old, new):
            yield f"{WORDS.get(section, section)}: {_shown(old)}{ARROW}{_shown(new)}"


def _entries(what: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*after, *before]):
        if name not in before:
            yield f"{what} {name}: added"
        elif name not in after:
            yield f"{what} {name}: taken out"
        else:
            yield from _keys(f"{what} {name}", _mapping(before[name]), _mapping(after[name]))
    kept = [[name for name in one if name in other] for one, other in ((before, after), (after, before))]
    if kept[0] != kept[1]:
        yield f"{PLURALS[what]}: in another order"


def _keys(place: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        if _same(old, new):
            continue
        if key == "bounds" and (pairs := _pairs(old, new)):
            for word, (one, other) in zip(("lower bound", "upper bound"), pairs, strict=True):
                if not _same(one, other):
                    yield f"{place}: {word} {_shown(one)}{ARROW}{_shown(other)}"
        elif key in ("values", "taxonomy") and _labels(old) and _labels(new):
            yield f"{place}: {_changed_labels(_labels(old), _labels(new))}"
        else:
            yield f"{place}: {WORDS.get(key, key.replace('_', ' '))} {_shown(old)}{ARROW}{_shown(new)}"


def _changed_labels(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What became of a list or tree of values; labels by what they stand below."""
    said = {
        "added": [label for label in after if label not in before],
        "taken out": [label for label in before if label not in after],
        "moved": [label for label in after if label in before and after[label] != before[label]],
    }
    parts = [f"{what} {', '.join(map(repr, labels))}" for what, labels in said.items() if labels]
    return f"values {'; '.join(parts)}" if parts else "values in another order"


def _labels(said: object) -> dict[str, str]:
    """Every label of a list or tree, with the path above it."""
    if isinstance(said, list | tuple) and FILL_IN not in said:
        return {str(value): "" for value in said}
    found: dict[str, str] = {}
    left = [("", _mapping(said).get(ROOT_LABEL, said))]
    while left:
        above, below = left.pop(0)
        for label, rest in _mapping(below).items():
            found[label] = above
            left.append((f"{above}/{label}", rest))
    return found


def _pairs(old: object, new: object) -> list[tuple[Any, Any]]:
    """Lower and upper bounds, before and after; nothing if one of them is not two numbers."""
    if not isinstance(old, list | tuple) or not isinstance(new, list | tuple) or {len(old), len(new)} != {2}:
        return []
    return list(zip(old, new, strict=True))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _same(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if value == FILL_IN:
        return "left open"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | Decimal):
        return f"{value:,}"
    return value if isinstance(value, str) else toml_value(value)
