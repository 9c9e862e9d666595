"""What changed between two drafts, in words: for whoever approved of the first one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from copublish.agreement.placeholders import FILL_IN
from copublish.agreement.taxonomy import ROOT_LABEL
from copublish.tools.drafting.draft import Draft
from copublish.tools.drafting.text import toml_value

LISTS = {"attributes": "column", "parties": "party"}
"""Sections with an entry for each of something, and what that is called."""

PLURALS = {"column": "columns", "party": "parties"}

WORDS = {
    "held_by": "held by",
    "expected": "expected number of records",
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
