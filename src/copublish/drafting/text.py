"""Drafts as TOML for people: every key with what it means, and every open question marked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from copublish.agreement.numbers import MAX_DIGITS
from copublish.agreement.placeholders import FILL_IN, is_placeholder
from copublish.drafting.draft import Content, Draft
from copublish.drafting.example import PREAMBLE
from copublish.mechanisms.registry import FIRST_CHOICE, mechanism_named

COMMENT_COLUMN = 33

MEANINGS = {
    "name": "the release",
    "dataset": "the ledgers count what is spent under this name; the same people, the same name",
    "partition": '"horizontal": other people; "vertical": other columns; "arbitrary": any cells',
    "records.identifier": "joins the records; never published",
    "records.expected": "a public estimate of the number of records, from a published figure",
    "records.public": "is the exact number of records public?",
    "records.missing_spellings": "how files write a missing value, besides an empty cell",
    "class.name": "the column that users of the release want to predict",
    "class.values": "the class labels, from the code book, as files write them",
    "class.held_by": "the party that has the class; without this line all have it",
    "privacy.epsilon": "smaller protects more; 0.1 to 2 is usual",
    "privacy.neighbors": "protects a person's presence; \"replace\" protects a person's values",
    "kind": '"categorical" (then values = [...]) or "numerical" (then bounds = [...] and grid = { ... })',
    "values": "from the code book, as files write them, or a taxonomy; any other value becomes 'other'",
    "bounds": "[lowest, highest], from its definition; a number outside becomes the nearer one",
    "grid": "where it may be split: step, edges or count",
    "missing": "what a missing value becomes: a category, or a value of the column",
    "held_by": "who has this column",
}
"""What keys mean; of the sections of attributes by the key alone."""


def draft_text(draft: Draft) -> str:
    """The text of a draft."""
    return PREAMBLE + "\n".join(_lines(draft)).strip("\n") + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    explained: set[str] = set()  # every key of attributes is explained where it first stands
    for key, value in draft.content.items():
        if not isinstance(value, Mapping):
            yield _line(draft, key, key, value, explained)
    for section, table in draft.content.items():
        if section in ("parties", "attributes"):
            for name, entry in table.items():
                yield f"\n[{section}.{toml_key(name)}]"
                yield from (f"# {words}" for words in draft.words.get(name, ()) if section == "attributes")
                yield from _entries(draft, f"{section}.{name}", entry, explained)
            if not table:
                yield f"\n# {FILL_IN}: a section [{section}.NAME] for each of the {NEEDED[section]}"
        elif section == "mechanism" and table == _example_mechanism():
            yield "\n" + mechanism_named(FIRST_CHOICE).example.rstrip("\n")
        elif isinstance(table, Mapping):
            yield f"\n[{section}]"
            about_class = str(table.get("name")) if section == "class" else ""
            yield from (f"# {words}" for words in draft.words.get(about_class, ()))
            yield from _entries(draft, section, table, explained)


NEEDED = {"parties": "parties, at least two", "attributes": "columns"}


def _example_mechanism() -> Content:
    found: Content = tomllib.loads(mechanism_named(FIRST_CHOICE).example, parse_float=Decimal)["mechanism"]
    return found


def _entries(draft: Draft, place: str, table: Mapping[str, Any], explained: set[str]) -> Iterator[str]:
    for key, value in table.items():
        yield _line(draft, f"{place}.{key}", key, value, explained)


def _line(draft: Draft, place: str, key: str, value: Any, explained: set[str]) -> str:
    text = f"{toml_key(key)} = {toml_value(value)}"
    known = key if place.startswith("attributes.") else place
    comment = MEANINGS.get(known, "")
    if is_placeholder(value):
        hint = draft.hints.get(place, "")
        comment = f"{FILL_IN}: {comment}" + (f" ({hint})" if hint else "")
    elif known in explained:
        comment = ""
    explained.add(known)
    return f"{text:<{COMMENT_COLUMN - 1}} # {comment}" if comment else text


def toml_value(value: Any) -> str:
    """A value as TOML writes it, on one line.

    Raises:
        TypeError: If TOML, or an agreement, has no such values.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        is_plain = value.is_finite() and abs(value.adjusted()) <= MAX_DIGITS
        return format(value, "f") if is_plain else str(value).lower().replace("infinity", "inf")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"an agreement has no {type(value).__name__}")


ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str) -> str:
    """Text in quotes."""
    return '"' + "".join(ESCAPED.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    is_bare = name != "" and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if is_bare else quoted(name)
