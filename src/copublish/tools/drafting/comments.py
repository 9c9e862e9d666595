"""Comments of a draft's file, each with the place that it is about, so that a file that is written anew has them still.

Only comments are looked for, in text that was read as TOML before. So strings have an end, brackets are closed, and a
few patterns tell what is a comment and what is not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Path = tuple[str, ...]
"""The keys that lead to a place. Not a text with points: names of columns can hold them."""

Side = Literal["above", "beside", "below"]
"""Where a comment stands: lines above its place, on its line, or lines right below a header."""

TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'  # text of several lines, which may end with two quotes of its own
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n"
    r"|[^\"'\#\n]+",
    re.DOTALL,
)
ONE_LINE = re.compile("#[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
"""What a comment may be, as TOML has it."""


@dataclass(frozen=True)
class Comment:
    """A line of comment.

    Attributes:
        path: What it is about; nothing for the end of the file.
        text: As it was written, with its sign.
        side: Where it stands.
    """

    path: Path
    text: str
    side: Side


def comments_in(text: str) -> Iterator[Comment]:
    """All comments of a text that is TOML, in their order."""
    section: Path = ()
    waiting: list[str] = []  # for what follows them
    below: Path | None = None
    for code, found in _statements(text):
        if not code:
            if below is not None and found:
                yield from (Comment(below, comment, "below") for comment in found)
            else:
                below = None
                waiting += found
            continue
        below = None
        if code.startswith("["):
            section = place = below = _path(tomllib.loads(code))
        else:
            place = (*section, next(iter(tomllib.loads(code))))
        # Those inside a list of several lines stand above it: a list is written on one line.
        yield from (Comment(place, comment, "above") for comment in (*waiting, *found[:-1]))
        yield from (Comment(place, comment, "beside") for comment in found[-1:])
        waiting = []
    yield from (Comment((), comment, "above") for comment in waiting)


def _statements(text: str) -> Iterator[tuple[str, list[str]]]:
    """The code and the comments of each header, each key with its value, and each line without either."""
    code: list[str] = []
    comments: list[str] = []
    depth = 0
    for token in TOKEN.finditer(text.replace("\r\n", "\n")):
        word = token[0]
        if word.startswith("#"):
            comments.append(word.rstrip())
        elif word == "\n" and depth == 0:
            yield "".join(code).strip(), comments
            code, comments = [], []
        else:
            code.append(word)
            if word[0] not in "\"'":
                depth += sum(word.count(sign) for sign in "[{") - sum(word.count(sign) for sign in "]}")
    yield "".join(code).strip(), comments


def _path(header: Mapping[str, Any]) -> Path:
    found: list[str] = []
    while isinstance(header, Mapping) and header:
        key = next(iter(header))
        found.append(key)
        header = header[key]
    return tuple(found)


def by_place(comments: Iterable[Comment], places: Sequence[Path]) -> dict[Path, list[Comment]]:
    """Comments by the places of a text. Where one is gone they come to what it was a part of, else to the end: ()."""
    known, found = {(), *places}, dict[Path, list[Comment]]()
    for comment in comments:
        place = next(
            comment.path[:length] for length in range(len(comment.path), -1, -1) if comment.path[:length] in known
        )
        found.setdefault(place, []).append(comment)
    return found


def comments_to_field(comments: Iterable[Comment]) -> str:
    """Comments as a field of a form, which nobody sees, carries them."""
    return json.dumps([asdict(comment) for comment in comments])


def comments_from_field(text: str) -> tuple[Comment, ...]:
    """Comments that a field carried.

    Raises:
        ValueError: If they are none: what is no comment on one line would be read as something that is agreed.
    """
    try:
        found = tuple(
            Comment(tuple(map(str, one["path"])), str(one["text"]), one["side"]) for one in json.loads(text or "[]")
        )
    except (KeyError, TypeError, RecursionError) as exc:
        raise ValueError("no comments") from exc
    if not all(ONE_LINE.fullmatch(one.text) and one.side in ("above", "beside", "below") for one in found):
        raise ValueError("no comments")
    return found
