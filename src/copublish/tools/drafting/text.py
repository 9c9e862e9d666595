"""Drafts as TOML for people: every key with what it means, and every open question marked.

Values of a category are indented text that everybody can edit: a line for each, below what it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any

from copublish.agreement.domain import ROOT_LABEL
from copublish.agreement.loading import FILL_IN, is_placeholder
from copublish.agreement.section import MAX_DIGITS
from copublish.mechanisms.registry import mechanism_named, mechanism_names
from copublish.tools.drafting.comments import Comment, Path, by_place, comments_in
from copublish.tools.drafting.demo import PREAMBLE
from copublish.tools.drafting.draft import Draft

INDENT = "  "

Section = dict[str, Any]


def tree_text(values: object) -> str:
    """A list or tree of values as indented text; nothing for what is neither.

    The root is left out, unless the text would be read as another tree without it.
    """
    if isinstance(values, list | tuple):
        return "\n".join(map(str, values))
    if not isinstance(values, Mapping):
        return ""
    if len(values) == 1:
        (root, below), *_ = values.items()
        is_plain = root == ROOT_LABEL and isinstance(below, Mapping)
        if is_plain and not (len(below) == 1 and next(iter(below.values()))):
            return "\n".join(_tree_lines(below, 0))
    return "\n".join(_tree_lines(values, 0))


def tree_from_text(text: str) -> list[str] | Section:
    """Values from indented text: a list if no line is indented, else a tree.

    A single line with all others below it is the root; without one the root is ANY.

    Raises:
        ValueError: With a sentence that names the line, if it does not say below what a value stands, or if a label
            stands twice at one place.
    """
    top: Section = {}
    open_levels: list[tuple[int, Section]] = [(-1, top)]
    is_tree = False
    for number, line in enumerate(text.expandtabs(len(INDENT)).splitlines(), 1):
        label = line.strip()
        if not label:
            continue
        depth = len(line) - len(line.lstrip())
        while depth <= open_levels[-1][0]:
            open_levels.pop()
        below = open_levels[-1][1]
        if depth and len(open_levels) == 1:
            raise ValueError(f"line {number} is indented, and there is nothing above it that it could belong to")
        if label in below:
            raise ValueError(f"line {number}: '{label}' stands twice at one place")
        is_tree = is_tree or depth > 0
        below[label] = {}
        open_levels.append((depth, below[label]))
    if not is_tree:
        return list(top)
    return top if len(top) == 1 else {ROOT_LABEL: top}


def _tree_lines(below: Mapping[str, Any], depth: int) -> Iterator[str]:
    for label, rest in below.items():
        yield f"{INDENT * depth}{label}"
        if isinstance(rest, Mapping):
            yield from _tree_lines(rest, depth + 1)


COMMENT_COLUMN = 33

MEANINGS = {
    "name": "the release",
    "dataset": "the ledgers count what is spent under this name; the same people, the same name",
    "partition": '"horizontal": other people; "vertical": other columns; "arbitrary": any cells',
    "records.identifier": "joins the records; never published",
    "records.expected": "a public estimate of the number of records, from a published figure",
    "records.membership": '"hidden": no owner learns which of its people another one has; "shared": all learn it',
    "records.at_most": "a public number of people that each owner's list is padded to; never counted in the data",
    "records.public": "is the exact number of records public?",
    "records.missing_spellings": "how files write a missing value, besides an empty cell",
    "class.name": "the column that users of the release want to predict",
    "class.values": "the class labels, from the code book, as files write them",
    "class.held_by": "the party that has the class; without this line all have it",
    "privacy.epsilon": "smaller protects more; 0.1 to 2 is usual",
    "privacy.delta": "by how much a probability may exceed what epsilon allows; at most 1 / (10 * expected)",
    "privacy.neighbors": "protects a person's presence; \"replace\" protects a person's values",
    "privacy.membership_epsilon": "what the other owner learns from a noisy number of common people, beside epsilon",
    "kind": '"categorical" (then values = [...]) or "numerical" (then bounds = [...])',
    "values": "from the code book, as files write them, or a taxonomy; any other value becomes 'other'",
    "bounds": "[lowest, highest], from its definition; a number outside becomes the nearer one",
    "grid": "where it may be split: cells at round numbers, or step, edges or count of equal cells; or leave it out",
    "decimals": "how many the numbers have: 0 if they are whole",
    "missing": "what a missing value becomes: a category, or a value of the column",
    "unlisted": "the dictionary calls the column complete; should a value not be listed, it becomes this one",
    "held_by": "who has this column",
}
"""What keys mean; of the sections of attributes by the key alone."""


@dataclass(frozen=True)
class _Line:
    """A line of a draft's file.

    Attributes:
        place: What it is about; nothing if it is about nothing that a comment could be about.
        code: What counts.
        comment: What is said beside it.
        is_open: Whether that says that something has to be filled in.
    """

    place: Path
    code: str
    comment: str = ""
    is_open: bool = False

    @property
    def text(self) -> str:
        """The line."""
        return f"{self.code:<{COMMENT_COLUMN - 1}} {self.comment}" if self.comment else self.code


def draft_text(draft: Draft) -> str:
    """The text of a draft."""
    return PREAMBLE + "\n".join(_with_comments(draft)).strip("\n") + "\n"


def is_generated(comment: Comment) -> bool:
    """Whether a comment is one of those that are written anew with every draft."""
    meaning = re.escape(_meaning(comment.path))
    is_hint = re.fullmatch(rf"# {FILL_IN}(:( {meaning})?)?( \(.*\))?", comment.text)
    return is_hint is not None or comment.text in _generated()


@cache
def _generated() -> frozenset[str]:
    needed = (f"# {_open_section(section)}" for section in NEEDED)
    meanings = (f"# {meaning}" for meaning in MEANINGS.values())
    examples = (comment for name in mechanism_names() for comment in _example_comments(name).values())
    return frozenset((*PREAMBLE.splitlines(), *meanings, *examples, *needed))


def _with_comments(draft: Draft) -> Iterator[str]:
    """The lines of a file, with what people have written at each."""
    lines = list(_lines(draft))
    comments = by_place(draft.comments, [line.place for line in lines])
    for line in lines:
        here = comments.get(line.place, []) if line.place else []
        beside = next((one for one in here if one.side == "beside" and not line.is_open), None)
        is_header = line.code.startswith("[")
        below = [one for one in here if one.side == "below" and is_header]
        if is_header or not line.place:
            yield ""
        yield from (one.text for one in here if one is not beside and one not in below)
        yield line.text if beside is None else replace(line, comment=beside.text).text
        yield from (f"# {words}" for words in _words_below(draft, line.place))
        yield from (one.text for one in below)
    last = comments.get((), [])
    yield from ("", *(one.text for one in last)) if last else ()


def _words_below(draft: Draft, place: Path) -> Sequence[str]:
    """Sentences about the column that a header is of."""
    if place == ("class",):
        return draft.words.get(str(draft.content["class"].get("name")), ())
    return draft.words.get(place[1], ()) if place[:1] == ("attributes",) and len(place) == 2 else ()


def _lines(draft: Draft) -> Iterator[_Line]:
    explained: set[str] = set()  # every key of attributes is explained where it first stands
    for key, value in draft.content.items():
        if not isinstance(value, Mapping):
            yield _line(draft, (key,), value, explained)
    for section, table in draft.content.items():
        if section in NEEDED:
            for name, entry in table.items():
                yield _Line((section, name), f"[{section}.{toml_key(name)}]")
                yield from _entries(draft, (section, name), entry, explained)
            if not table:
                yield _Line((), f"# {_open_section(section)}")
        elif isinstance(table, Mapping):
            yield _Line((section,), f"[{section}]")
            yield from _entries(draft, (section,), table, explained)


NEEDED = {"parties": "parties, at least two", "attributes": "columns"}


def _open_section(section: str) -> str:
    return f"{FILL_IN}: a section [{section}.NAME] for each of the {NEEDED[section]}"


@cache
def _example_comments(mechanism: str) -> Mapping[Path, str]:
    return {one.path: one.text for one in comments_in(mechanism_named(mechanism).settings.example)}


def _entries(draft: Draft, place: Path, table: Mapping[str, Any], explained: set[str]) -> Iterator[_Line]:
    for key, value in table.items():
        yield _line(draft, (*place, key), value, explained)


def _meaning(place: Path) -> str:
    return MEANINGS.get(place[-1] if place[:1] == ("attributes",) else ".".join(place), "") if place else ""


def _line(draft: Draft, place: Path, value: Any, explained: set[str]) -> _Line:
    code, meaning = f"{toml_key(place[-1])} = {toml_value(value)}", _meaning(place)
    known = place[-1] if place[:1] == ("attributes",) else ".".join(place)
    is_new = known not in explained
    explained.add(known)
    if is_placeholder(value):
        hint = draft.hints.get(".".join(place), "")
        comment = f"# {FILL_IN}" + (f": {meaning}" if meaning else "") + (f" ({hint})" if hint else "")
        return _Line(place, code, comment, is_open=True)
    if meaning and is_new:
        return _Line(place, code, f"# {meaning}")
    name = draft.content.get("mechanism", {}).get("name")
    return _Line(place, code, _example_comments(name).get(place, "") if name in mechanism_names() else "")


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
