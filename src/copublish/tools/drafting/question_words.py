"""Reading a question in plain words: which columns it needs together, and at which numbers it cuts them.

    question   = [words] item { words item }
    item       = COLUMN [ value ] { cut }
    cut        = under N | below N | less than N | < N | at least N | N or more | N+ | >= N          (an edge at N)
               | over N | above N | more than N | > N | at most N | up to N | N or less | <= N       (an edge behind N)
               | between N and N | from N to N | N to N | N-N | exactly N                            (both)
    value      = [=] one of the column's values

COLUMN is the name of a column, in any case and with spaces for `_`; in quotes where it would be read as something else.
Words are those of `FILLERS`: they say how the table is read, and nothing about which one is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Literal

from copublish.errors import visible
from copublish.tools.drafting.answers import number_from

MOST_COLUMNS = 4
"""Of a table."""

MOST_SIGNS = 500
"""Of a question; a longer line is no question."""

MOST_LISTED = 40
"""Of columns that a message names."""

Side = Literal["at", "behind"]
"""Whether an edge stands at a number, which is then the first above it, or behind it, so that it is the last below."""


@dataclass(frozen=True)
class CutPoint:
    """A number at which a question divides a column.

    Attributes:
        column: The column.
        number: The number.
        side: On which side of the edge the number itself is.
    """

    column: str
    number: Decimal
    side: Side


@dataclass(frozen=True)
class AskedQuestion:
    """A question as it was read.

    Attributes:
        line: What was written.
        columns: What it needs together, in the order in which they were named.
        cuts: Where they have to be divided, the two of a range together.
    """

    line: str
    columns: tuple[str, ...]
    cuts: tuple[tuple[CutPoint, ...], ...]


@dataclass(frozen=True)
class KnownColumn:
    """A column that can be asked about.

    Attributes:
        values: Its categories, if it has any that are known.
        kind: `categorical` or `numerical`; anything else if it is open.
    """

    values: Sequence[str] = field(default=())
    kind: str = ""


PLAIN_WORDS = """
a about across against aged all among an and any are as association at average be been being best between by can
compare compared comparison connected connection correlate correlated correlation count counts cross crossed depend
depending depends did difference differ differs distribution do does each every find for found frequency from get
give given go had has have having high higher highest how i if in into is it its large larger least list look low
lower lowest many may mean means median more most much must number numbers of often on one or our over part
percentage percentages per please proportion proportions quantile quantiles quartile quartiles range rate rates
ratio relate related relation relationship share shares should show small smaller so split spread standard
deviation sum table tables tabulate tell than that the their them there these they this those to together total
totals two typical under us value values variance versus vs was way we were what when where whether which who whose
why with within would x case cases client clients customer customers patient patients people person persons record
records row rows cent cents chf cm day days dollar dollars eur euro euros gbp hour hours kg km mm month months old
percent pound pounds usd week weeks year years
"""

FILLERS = frozenset(PLAIN_WORDS.split())
"""Words that a question may have beside columns and cuts."""

NUMBER = r"-?(?![1-9]\d{0,2}(?:\.\d{3})+(?!\d))\d+(?:\.\d+)?(?![\d.,]*\d)"
"""A number with a point. Not 10.000, which is ten thousand to some people and ten to others."""

UNIT = r"(?:\s*[€$£%])?"
MONEY = r"(?:[€$£]\s*)?"


def _named(name: str) -> str:
    return rf"{MONEY}(?P<{name}>{NUMBER}){UNIT}"


AT_BEFORE = (
    r"<(?!=)|>=|≥|=>|under|below|before|at least|from|since|minimum|not under|not below|(?:no|not) (?:less|fewer) than"
    r"|(?:less|fewer|younger|lower|smaller|shorter|cheaper) than"
)
BEHIND_BEFORE = (
    r">(?!=)|<=|≤|=<|over|above|after|exceeding|beyond|at most|up to|until|maximum|not over|not above"
    r"|(?:no|not) more than|(?:more|greater|older|higher|larger|bigger|longer) than"
)
MORE_AFTER = r"\s*\+|\s*(?:years?\s+|years?\s+old\s+)?(?:or|and)\s+(?:more|over|older|above|higher|larger|up|upwards)\b"
LESS_AFTER = r"\s*(?:years?\s+|years?\s+old\s+)?(?:or|and)\s+(?:less|fewer|under|younger|below|lower|smaller)\b"

RANGE = re.compile(
    rf"between\s+{_named('first')}\s+and\s+{_named('last')}"
    rf"|(?:from\s+)?{_named('low')}\s*(?:to|-|\.\.\.?|until)\s*{_named('high')}",
    re.I,
)
AFTER = re.compile(rf"{_named('one')}(?:(?P<more>{MORE_AFTER})|(?P<less>{LESS_AFTER}))", re.I)
BEFORE = re.compile(rf"(?:(?P<at>{AT_BEFORE})|(?P<behind>{BEHIND_BEFORE}))\s*{_named('one')}", re.I)
EXACTLY = re.compile(rf"(?:exactly|equal to|equals|==?)\s*{_named('one')}", re.I)
WITH_COMMA = re.compile(r"-?\d+(?:[.,']\d+)+")

EQUAL = re.compile(r"(?:==?|(?:is|are)\s)\s*", re.I)
QUOTED = re.compile(r"""(["'`])(?P<name>[^"'`]+)\1""")
WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?|_+|\d+")
SPACED = re.compile(r"[^\s,;?!()\"]+")
BETWEEN_WORDS = re.compile(r"[\s,;:/&+*?!.()\[\]-]+")
TYPED = str.maketrans(
    {**dict.fromkeys("\u2212\u2013\u2014\u2022\u00b7", "-"), **dict.fromkeys("\u201c\u201d\u201e\u201f", '"')}
    | {"\u2019": "'", "\u00d7": " "}
)
"""Signs that word processors put in place of those on the keyboard."""

LIST_MARK = re.compile(r"\s*(?:[-*]|\d+[.)])\s+")
MEASURE = re.compile(
    r"(?:(?:what is|what are|show|give|find)\s+)?(?:the\s+)?"
    r"(?P<word>(?:mean|average|median|share|proportion|percentage|number|count|sum|total|rate|correlation|relation"
    r"|distribution)s?)\s+of\s+",
    re.I,
)


def read_question(line: str, known: Mapping[str, KnownColumn]) -> AskedQuestion:
    """Read a line.

    Args:
        line: The question.
        known: The columns that there are.

    Raises:
        ValueError: If it cannot be read, with the line and what to write instead. No text raises anything else.
    """
    return _Reading(line, known).question()


class _Reading:
    def __init__(self, line: str, known: Mapping[str, KnownColumn]) -> None:
        self.line, self.known = " ".join(line.split()), known
        self.text = self.line.translate(TYPED)  # of the same length
        self.names = sorted(known, key=len, reverse=True)
        self.columns: list[str] = []
        self.cuts: list[tuple[CutPoint, ...]] = []
        self.place = 0

    def question(self) -> AskedQuestion:
        if len(self.line) > MOST_SIGNS:
            self.line = f"{self.line[:40]}..."
            raise self.refusal(f"a question has at most {MOST_SIGNS} signs. Write one in a line")
        if mark := LIST_MARK.match(self.line):
            self.place = mark.end()
        self._skip_measure()
        while self.place < len(self.text):
            self._step()
        columns = tuple(dict.fromkeys(self.columns))
        if not columns:
            raise self.refusal("it names no column")
        if len(columns) > MOST_COLUMNS:
            raise self.refusal(
                f"it names {len(columns)} columns, and a table has at most {MOST_COLUMNS}. Ask it as several questions",
                hint=False,
            )
        return AskedQuestion(self.line, columns, tuple(self.cuts))

    def _skip_measure(self) -> None:
        """A column may be called 'number' or 'share'; with 'of' at the beginning that is asked of another one."""
        found = MEASURE.match(self.text, self.place)
        if found is None:
            return
        named = self._column_at(found.start("word"))
        if named is None or named[1] <= len(found["word"]):
            self.place = found.end()

    def _step(self) -> None:
        if gap := BETWEEN_WORDS.match(self.text, self.place):
            # A sign before a number is a part of it.
            end = gap.end() - (gap[0][-1] in "-" and gap.end() < len(self.text) and self.text[gap.end()].isdigit())
            if end > self.place:
                self.place = end
                return
        column, length = self._column_at(self.place) or ("", 0)
        found = self._cut_pattern()
        if length == 0 or (found is not None and found.end() - self.place > length):
            if self._cut() or self._quoted() or self._value():
                return
            self._word()
            return
        self._name(column, self.place + length)

    def _name(self, column: str, end: int) -> None:
        self.columns.append(column)
        self.place = end

    def _column_at(self, place: int) -> tuple[str, int] | None:
        """The longest column that the text at a place names, and the length of that name."""
        if place and _is_in_word(self.text, place):
            return None
        length, found = 0, list[str]()
        for name in self.names:
            if len(name) < length:
                break
            text = self.text[place : place + len(name)]
            if _plain(text) == _plain(name) and not _is_in_word(self.text, place + len(name)):
                length = len(name)
                found.append(name)
        if not found:
            return None
        return self._the_one(self.text[place : place + length], found), length

    def _the_one(self, text: str, alike: Sequence[str]) -> str:
        """The column that a text names, of those that are spelled alike but for case."""
        if text in alike:
            return text
        if len(alike) > 1:
            raise self.refusal(f"'{text}' may be {' or '.join(map(repr, alike))}. Spell it as there", hint=False)
        return alike[0]

    def _quoted(self) -> bool:
        found = QUOTED.match(self.text, self.place)
        if found is None:
            return False
        name = (found["name"] or found["other"]).strip()
        alike = [other for other in self.known if _plain(other) == _plain(name)]
        if not alike:
            if self.columns and name in self.known[self.columns[-1]].values:
                self.place = found.end()
                return True
            raise self.refusal(f"there is no column '{name}'", near=name)
        self._name(self._the_one(name, alike), found.end())
        return True

    def _cut_pattern(self) -> re.Match[str] | None:
        """The cut that stands here."""
        tried = (pattern.match(self.text, self.place) for pattern in (RANGE, AFTER, BEFORE))
        return next((found for found in tried if found), None)

    def _cut(self) -> bool:
        found = self._cut_pattern() or self._exactly()
        if found is None:
            return False
        if not self.columns:
            raise self.refusal(f"say of which column '{found[0].strip()}' is: the column first, like 'age under 30'")
        column, said = self.columns[-1], found.groupdict()
        if self.known[column].kind == "categorical":
            raise self.refusal(f"'{column}' has categories, and '{found[0].strip()}' is said of numbers", hint=False)
        try:
            texts = [said[key] for key in ("first", "last", "low", "high", "one") if said.get(key)]
            numbers = [number_from(text) for text in texts]
        except ValueError as exc:
            raise self.refusal(str(exc), hint=False) from None
        if numbers[-1] < numbers[0]:
            raise self.refusal(f"in '{found[0].strip()}' the first number has to be the smaller one", hint=False)
        sides: tuple[Side, ...] = ("at", "behind")  # of a range, or of one number alone
        if found.re in (AFTER, BEFORE):
            sides = ("at",) if said.get("at") or said.get("more") else ("behind",)
        ends = {"at": numbers[0], "behind": numbers[-1]}
        self.cuts.append(tuple(CutPoint(column, ends[side], side) for side in sides))
        self.place = found.end()
        return True

    def _exactly(self) -> re.Match[str] | None:
        is_number = self.columns and self.known[self.columns[-1]].kind == "numerical"
        return EXACTLY.match(self.text, self.place) if is_number else None  # of codes, '= 3' is a value

    def _value(self) -> bool:
        """A value of the column that was named last: the table has all of them."""
        if not self.columns:
            return False
        equal = EQUAL.match(self.text, self.place)
        place = equal.end() if equal else self.place
        values = self.known[self.columns[-1]].values
        for value in sorted(values, key=len, reverse=True):
            end = place + len(value)
            if _plain(self.text[place:end]) == _plain(value) and not _is_in_word(self.text, end) and value:
                self.place = end
                return True
        if equal is None or not equal[0].startswith("="):
            return False
        rest = WORD.match(self.text, place)
        if values or rest is None:
            listed = f" Its values: {', '.join(values[:20])}" if values else ""
            raise self.refusal(f"'{self.columns[-1]}' has no value '{self.text[place:][:40]}'.{listed}", hint=False)
        self.place = rest.end()
        return True

    def _word(self) -> None:
        comma = WITH_COMMA.match(self.text, self.place)
        if comma:
            raise self.refusal(f"it is not clear what '{comma[0]}' is. Write numbers like 10000 or 3.5", hint=False)
        found = WORD.match(self.text, self.place)
        word = found[0] if found else self.text[self.place]
        if found is None or word.casefold() not in FILLERS:
            if re.match(rf"(?:{AT_BEFORE}|{BEHIND_BEFORE})\s*{MONEY}-?\d", self.text[self.place :], re.I):
                raise self.refusal("it is not clear what its number is. Write numbers like 10000 or 3.5", hint=False)
            whole = SPACED.match(self.text, self.place)
            text = (whole[0] if whole else word).rstrip(".:")[:60] or word
            raise self.refusal(f"'{text}' is neither a column nor a word that questions have", near=text)
        self.place = found.end()

    def refusal(self, why: str, *, near: str = "", hint: bool = True) -> ValueError:
        """An error that repeats the line."""
        sentences = [f"'{visible(self.line)}': {visible(why)}."]
        if near:
            alike = {_plain(name): name for name in self.names}
            close = get_close_matches(_plain(near), list(alike), n=1, cutoff=0.6)
            sentences += [f"Did you mean '{visible(alike[close[0]])}'?"] if close else []
        if hint:
            sentences.append(f"Columns: {', '.join(map(visible, self.known)) or 'none yet'}.")
        return ValueError(" ".join(sentences))


def _plain(text: str) -> str:
    """Text as it is compared: any case, and a space for what divides words."""
    return re.sub(r"[_\s-]", " ", text.translate(TYPED)).casefold()


def _is_in_word(line: str, place: int) -> bool:
    """Whether a place is inside a word, where no name begins or ends."""
    inside = line[max(place - 1, 0) : place + 1]
    return len(inside) == 2 and all(c.isalnum() or c == "_" for c in inside)


def _listed(names: Iterable[str]) -> str:
    shown = [visible(name) for name in names]
    more = len(shown) - MOST_LISTED
    return ", ".join(shown[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "") if shown else "none yet"
