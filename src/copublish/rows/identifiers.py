"""A party's identifiers as an Arrow column, normalized as agreed before anything compares them.

`identifiers_of` is the one place where a row becomes the text by which its person is compared.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import cache, reduce
from typing import cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.identifiers import DateFormats, FirstCharacters, IdentifierRule
from copublish.agreement.model import Records
from copublish.kernel.records.identifiers import Identifiers
from copublish.rows.encoding import texts_of
from copublish.types import BoolArray, IntArray

SPACE = "".join(filter(str.isspace, map(chr, range(128))))
PUNCTUATION = "".join(c for c in map(chr, range(128)) if unicodedata.category(c).startswith("P"))
"""The ASCII characters that two rules ignore; what they ignore beyond ASCII is in `normalize`."""

BATCH = 2**16

UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ẞ": "SS"})

DAY_OF_ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]00:00(?::00(?:\.0+)?)?)?")
"""A date as sources write their own, alone or as a moment at midnight."""


def identifiers_of(records: Records, batch: pa.RecordBatch) -> pa.Array:
    """The text by which the person of each row is compared; empty for a row that is nobody's.

    With one column it is that column, normalized. Otherwise it is the number of the first key of which the row has all
    parts, and these parts, each after its length: so two rows have one text exactly if they have one key and its parts.
    A part is missing if its cell is empty or spelled as missing, or if no character or no date is left of it.

    Args:
        records: What the agreement says of identifiers.
        batch: Rows with all columns of identifiers, as `as_text` gives them.

    Privacy:
        Stability: 1 for one row. The text follows from that row and the agreement alone, whatever others' rows say: a
            row never falls back to its next key because nobody was found by the first.
    """
    if isinstance(records.identifier, str):
        return normalize_batch(texts_of(batch.column(records.identifier)), records.rules_of(records.identifier))
    parts = {
        column: _part(texts_of(batch.column(column)), records.rules_of(column), records.missing_spellings)
        for column in records.identifier_columns
    }
    found = pa.array([""] * batch.num_rows, pa.string())
    for number, key in reversed(list(enumerate(records.keys, 1))):
        has_all = reduce(pc.and_, [pc.not_equal(parts[column], "") for column in key])
        found = pc.if_else(has_all, _joined(number, [parts[column] for column in key]), found)
    return found


def _part(cells: pa.Array, rules: Collection[IdentifierRule], missing_spellings: Sequence[str]) -> pa.Array:
    cells = pc.fill_null(cells.cast(pa.string()), "")
    is_missing = pc.is_in(cells, value_set=pa.array(missing_spellings, pa.string()))
    return pc.if_else(is_missing, "", normalize_batch(cells, rules))


def _joined(number: int, parts: Sequence[pa.Array]) -> pa.Array:
    """Parts in one text from which they can be read again: each stands after its length."""
    pieces = [piece for part in parts for piece in ("|", pc.utf8_length(part).cast(pa.string()), ":", part)]
    return pc.binary_join_element_wise(str(number), *pieces, "")


def normalize(identifier: str, rules: Collection[IdentifierRule]) -> str:
    """Form in which an identifier is compared. This is the definition; batches take a faster way to the same.

    Always: Unicode normalization form C, no white space at either end. By rule, in this order:

    - `date`: the date as YYYY-MM-DD, read by the first format that fits or as one in that form; otherwise nothing;
    - `expand-umlauts`: `ae` for `ä`, and so on, and `ss` for `ß`;
    - `fold-accents`: compatibility decomposition (NFKD) without characters of a combining class;
    - `ignore-case`: full Unicode case folding of the decomposed text, as for canonical caseless matching;
    - `ignore-punctuation`: no character of a Unicode category P (so `-`, `.`, `/` and `_` go, `+` and `$` stay);
    - `digits-only`: nothing but the digits 0 to 9;
    - `ignore-spaces`: no white space anywhere;
    - `ignore-leading-zeros`: if nothing but the digits 0 to 9 is left, no zeros in front; a number of zeros is `0`;
    - `first`: so many characters from the beginning, without white space at their end.

    Without `date` and `first`, applying it twice changes nothing more. One mark cannot be served by any order of these
    steps: the Greek iota subscript (U+0345), which folds to a letter. After a space or sign that is ignored, an accent
    behind it goes to that letter; without the space, to the letter before it.
    """
    text = identifier
    for rule in rules:
        if isinstance(rule, DateFormats):
            text = as_iso(text, rule.date)
    if "expand-umlauts" in rules:
        text = unicodedata.normalize("NFC", text).translate(UMLAUTS)
    text = _without_accents(text) if "fold-accents" in rules else unicodedata.normalize("NFD", text)
    if "ignore-case" in rules:
        text = text.casefold()
    if "ignore-punctuation" in rules:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    if "digits-only" in rules:
        text = "".join(c for c in text if c in "0123456789")
    if "ignore-spaces" in rules:
        text = "".join(text.split())
    text = unicodedata.normalize("NFC", text).strip()
    if "ignore-leading-zeros" in rules and text.isascii() and text.isdigit():
        text = text.lstrip("0") or "0"
    for rule in rules:
        if isinstance(rule, FirstCharacters):
            text = text[: rule.first].strip()
    return text


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def as_iso(text: str, formats: Sequence[str]) -> str:
    """A date as YYYY-MM-DD, or nothing if it is none: read by the first format that fits, or as one in that form."""
    for pattern, order in map(_pattern, formats):
        if found := pattern.fullmatch(text.strip()):
            return _iso(**dict(zip(order, found.groups(), strict=True)))
    found = DAY_OF_ISO.fullmatch(text.strip())
    return _iso(*found.groups()) if found else ""


@cache
def _pattern(written: str) -> tuple[re.Pattern[str], list[str]]:
    """A format as a pattern, and what its groups are. Without signs between them, days and months have two digits."""
    short = "{2}" if re.search("(YYYY|MM|DD)(YYYY|MM|DD)", written) else "{1,2}"
    pieces = re.split("(YYYY|MM|DD)", written)
    digits = {"YYYY": "([0-9]{4})", "MM": f"([0-9]{short})", "DD": f"([0-9]{short})"}
    names = {"YYYY": "year", "MM": "month", "DD": "day"}
    pattern = "".join(digits.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(pattern), [names[piece] for piece in pieces if piece in names]


def _iso(year: str, month: str, day: str) -> str:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


def normalize_batch(identifiers: pa.Array, rules: Collection[IdentifierRule]) -> pa.Array:
    """Normalize a batch of text; a missing identifier becomes an empty one."""
    identifiers = pc.fill_null(identifiers.cast(pa.string()), "")
    for rule in rules:
        if isinstance(rule, DateFormats):  # people are many, days are few
            different = identifiers.dictionary_encode()
            days = [as_iso(text, rule.date) for text in different.dictionary.to_pylist()]
            identifiers = pa.array(days, pa.string()).take(different.indices)
    rules = [rule for rule in rules if not isinstance(rule, DateFormats)]
    is_ascii = pc.string_is_ascii(identifiers)
    normalized = _normalize_ascii(identifiers, rules)
    if not pc.all(is_ascii).as_py():
        others = pc.invert(is_ascii)
        slowly = [normalize(identifier, rules) for identifier in identifiers.filter(others).to_pylist()]
        normalized = pc.replace_with_mask(normalized, others, pa.array(slowly, pa.string()))
    return normalized


def _normalize_ascii(identifiers: pa.Array, rules: Collection[IdentifierRule]) -> pa.Array:
    if "ignore-case" in rules:
        identifiers = pc.ascii_lower(identifiers)
    if "ignore-punctuation" in rules:
        identifiers = pc.replace_substring_regex(identifiers, _any_of(PUNCTUATION), "")
    if "digits-only" in rules:
        identifiers = pc.replace_substring_regex(identifiers, "[^0-9]+", "")
    if "ignore-spaces" in rules:
        identifiers = pc.replace_substring_regex(identifiers, _any_of(SPACE), "")
    identifiers = pc.ascii_trim(identifiers, characters=SPACE)
    if "ignore-leading-zeros" in rules:
        identifiers = pc.replace_substring_regex(identifiers, r"^0+([0-9]+)$", r"\1")
    for rule in rules:
        if isinstance(rule, FirstCharacters):
            beginning = pc.utf8_slice_codeunits(identifiers, 0, rule.first)
            identifiers = pc.ascii_trim(beginning, characters=SPACE)
    return identifiers


def _any_of(characters: str) -> str:
    return "[" + "".join(f"\\x{ord(c):02x}" for c in characters) + "]+"


class IdentifierColumn(Identifiers):
    """Identifiers as one column of text: a list of strings would take four times the memory."""

    __hash__ = None  # type: ignore[assignment]  # compared like a list

    def __init__(self, batches: Sequence[pa.Array] | pa.ChunkedArray) -> None:
        self._column = batches if isinstance(batches, pa.ChunkedArray) else pa.chunked_array(batches, pa.string())

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self._column[place]
        return found.to_pylist() if isinstance(place, slice) else found.as_py()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        for batch in self._column.chunks:  # as Python strings batch by batch, never all at once
            yield from batch.to_pylist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def take(self, positions: IntArray) -> IdentifierColumn:
        """These identifiers in this order."""
        return IdentifierColumn(self._column.take(pa.array(positions)))

    def is_empty(self) -> BoolArray:
        """Which records have no identifier."""
        return cast(BoolArray, pc.equal(self._column, "").to_numpy().astype(np.bool_))

    def numbered(self) -> IntArray:
        """A number for every record, the same exactly where identifiers are."""
        encoded = self._column.combine_chunks().dictionary_encode()
        return cast(IntArray, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))

    def in_order(self) -> Iterator[list[str]]:
        """The identifiers in the order of their bytes in UTF-8, whatever the order of the records, in batches."""
        ordered = self._column.take(pc.sort_indices(self._column))
        for start in range(0, len(ordered), BATCH):  # as Python strings batch by batch, never all at once
            yield ordered[start : start + BATCH].to_pylist()

    def by_digest(self) -> IntArray:
        """The records in the order of digests of their identifiers: an order that follows from identifiers alone."""
        digests = np.array([hashlib.sha256(own.encode()).digest() for own in self], dtype="S32")
        return cast(IntArray, np.argsort(digests, kind="stable").astype(np.int64))

    def has_empty(self) -> bool:
        """Whether some record has no identifier."""
        return bool(pc.any(pc.equal(self._column, "")).as_py())

    def has_repeated(self) -> bool:
        """Whether two records have the same identifier."""
        return bool(pc.count_distinct(self._column).as_py() < len(self._column))
