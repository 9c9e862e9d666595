"""A party's identifiers as an Arrow column, normalized as agreed before anything compares them."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.kernel.records.identifiers import Identifiers
from copublish.types import BoolArray, IntArray

SPACE = "".join(filter(str.isspace, map(chr, range(128))))
PUNCTUATION = "".join(c for c in map(chr, range(128)) if unicodedata.category(c).startswith("P"))
"""The ASCII characters that two rules ignore; what they ignore beyond ASCII is in `normalize`."""

BATCH = 2**16


def normalize(identifier: str, rules: Collection[str]) -> str:
    """Form in which an identifier is compared. This is the definition; batches take a faster way to the same.

    Always: Unicode normalization form C, no white space at either end. By rule, in this order:

    - `ignore-case`: full Unicode case folding of the decomposed text, as for canonical caseless matching;
    - `ignore-punctuation`: no character of a Unicode category P (so `-`, `.`, `/` and `_` go, `+` and `$` stay);
    - `ignore-spaces`: no white space anywhere;
    - `ignore-leading-zeros`: if nothing but the digits 0 to 9 is left, no zeros in front; a number of zeros is `0`.

    Applying it twice changes nothing more. One mark cannot be served by any order of these steps: the Greek iota
    subscript (U+0345), which folds to a letter. After a space or sign that is ignored, an accent behind it goes to
    that letter; without the space, to the letter before it.
    """
    text = unicodedata.normalize("NFD", identifier)
    if "ignore-case" in rules:
        text = text.casefold()
    if "ignore-punctuation" in rules:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    if "ignore-spaces" in rules:
        text = "".join(text.split())
    text = unicodedata.normalize("NFC", text).strip()
    if "ignore-leading-zeros" in rules and text.isascii() and text.isdigit():
        text = text.lstrip("0") or "0"
    return text


def normalize_batch(identifiers: pa.Array, rules: Collection[str]) -> pa.Array:
    """Normalize a batch of text; a missing identifier becomes an empty one."""
    identifiers = pc.fill_null(identifiers.cast(pa.string()), "")
    is_ascii = pc.string_is_ascii(identifiers)
    normalized = _normalize_ascii(identifiers, rules)
    if not pc.all(is_ascii).as_py():
        others = pc.invert(is_ascii)
        slowly = [normalize(identifier, rules) for identifier in identifiers.filter(others).to_pylist()]
        normalized = pc.replace_with_mask(normalized, others, pa.array(slowly, pa.string()))
    return normalized


def _normalize_ascii(identifiers: pa.Array, rules: Collection[str]) -> pa.Array:
    if "ignore-case" in rules:
        identifiers = pc.ascii_lower(identifiers)
    if "ignore-punctuation" in rules:
        identifiers = pc.replace_substring_regex(identifiers, _any_of(PUNCTUATION), "")
    if "ignore-spaces" in rules:
        identifiers = pc.replace_substring_regex(identifiers, _any_of(SPACE), "")
    identifiers = pc.ascii_trim(identifiers, characters=SPACE)
    if "ignore-leading-zeros" in rules:
        identifiers = pc.replace_substring_regex(identifiers, r"^0+([0-9]+)$", r"\1")
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
