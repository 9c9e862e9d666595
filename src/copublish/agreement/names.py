"""Names as people tell them apart: of persons who approve, of parties, and of columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_ALSO_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Characters that show as nothing, beside format characters: those that Unicode calls ignorable by default (joiners of
graphemes, fillers, selectors of variants), and the empty cell of Braille."""

_LATIN = str.maketrans(
    "авекмнорстухіјѕһԁԛԝү" + "αβεζηικμνορτυχϲϳ",
    "abekmhopctyxijshdqwy" + "abezhikmnoptyxcj",
)
"""Cyrillic and Greek letters, folded, of which the small or the capital one looks like a Latin letter."""


def as_seen(name: str) -> str:
    """A name as it looks: no capitals, spaces, letters that only look Latin, and nothing that nobody sees."""
    seen = unicodedata.normalize("NFKC", "".join(character for character in name if not _is_invisible(character)))
    folded = unicodedata.normalize("NFKC", seen.casefold()).translate(_LATIN)
    return " ".join(folded.split())


def look_alikes(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield every name that looks like an earlier one, after that one."""
    first: dict[str, str] = {}
    for name in names:
        if (earlier := first.setdefault(as_seen(name), name)) != name:
            yield earlier, name


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or _ALSO_INVISIBLE.fullmatch(character) is not None
