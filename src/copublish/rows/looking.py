"""A look at a party's own columns before an agreement is drafted: types, and which seem to identify people.

The look stays with the owner of the data. What it leads to is that a column is not drafted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from copublish.rows.agreed_columns import ColumnType, column_types
from copublish.rows.encoding import BLANKS
from copublish.rows.identifying_names import identifying_name
from copublish.rows.sources import Source, open_source

ROWS_LOOKED_AT = 10_000

FEWEST_VALUES = 20
"""Fewer values say nothing about whether almost all of a column's are different."""

ALMOST_ALL, MOST = 0.9, 0.5

RUNNING_NUMBERS = 200
"""Fewest different whole numbers in a row that are taken for a row's number: amounts and ages repeat themselves."""

LIFETIMES = 30
"""Years between the earliest and the latest twentieth of dates that are rather of births than of events."""

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "IBANs": re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?", re.I),
    "phone numbers": re.compile(
        r"(?:\+|00)[1-9][\d ()/.-]{6,18}\d|0\d{1,4}[ /-][\d /-]{4,12}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}"
    ),
    "postcodes": re.compile(
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4} [A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{5}-\d{4}|\d{2}-\d{3}|0\d{4}", re.I
    ),
}
"""What most values of a column look like if it has what the key says."""

FIVE_DIGITS = re.compile(r"\d{5}")

DATE = re.compile(r"(?:\d{1,2}[./-]){2}((?:1[89]|20)\d\d)|((?:1[89]|20)\d\d)(?:[./-]\d{1,2}){2}(?:[T ].*)?")

DECIMAL_COMMA = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.I)

WHOLE_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class ColumnsSeen:
    """What a draft may know of one party's columns.

    Attributes:
        types: The columns, with their types. Numbers with a decimal comma are numbers.
        identifying: Why columns seem to identify people, for their owner.
        decimal_commas: Columns whose numbers have a decimal comma.
    """

    types: Mapping[str, ColumnType]
    identifying: Mapping[str, str] = field(default_factory=dict, repr=False)
    decimal_commas: Sequence[str] = ()


def look_at_columns(source: Source) -> ColumnsSeen:
    """The columns of a source, and which of them seem to identify people.

    Raises:
        SourceError: If the source cannot be read.

    Privacy:
        Reads the first rows, on the owner's machine. No value is returned. That a column is not drafted tells those who
        know that it is there that it seemed to identify people.
    """
    types = dict(column_types(source))
    identifying, commas = {}, []
    samples = _samples(source, types)
    for column, kind in types.items():
        values = samples.get(column, [])
        if kind == "text" and _share(DECIMAL_COMMA, values) > ALMOST_ALL:
            commas.append(column)
            types[column] = kind = "number"
        if kind in ("truth value", "truth word"):  # has_phone is no phone number
            continue
        if why := identifying_name(column) or _identifying_values(values, kind):
            identifying[column] = why
    return ColumnsSeen(types, identifying, commas)


def _samples(source: Source, types: Mapping[str, ColumnType]) -> dict[str, list[str]]:
    """The first values of columns, as texts; without those that are missing."""
    with open_source(source) as opened:
        schema = opened.table.schema()
        kept = [name for name, kind in types.items() if kind != "number" and _is_plain(schema[name])]
        if not kept:
            return {}
        texts = [opened.table[name].cast("string").name(f"c{place}") for place, name in enumerate(kept)]
        rows: Any = opened.table.select(texts).limit(ROWS_LOOKED_AT).to_pyarrow()
    found = {}
    for place, name in enumerate(kept):
        stripped = (text.strip(BLANKS) for text in rows.column(f"c{place}").to_pylist() if text is not None)
        found[name] = [text for text in stripped if text]
    return found


def _is_plain(kind: Any) -> bool:
    """Whether every source can write the values of a type as texts: lists and the like are left alone."""
    return any((kind.is_string(), kind.is_integer(), kind.is_date(), kind.is_timestamp(), kind.is_uuid()))


def _share(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    return sum(pattern.fullmatch(value) is not None for value in values) / max(len(values), 1)


def _identifying_values(values: Sequence[str], kind: ColumnType) -> str | None:
    """Why values seem to identify people; nothing if they do not."""
    if kind == "number":
        return None
    different = set(values)
    for what, pattern in PATTERNS.items():
        if what != "postcodes" and _share(pattern, values) > MOST:
            return f"its values look like {what}"
    if len(different) >= FEWEST_VALUES and _are_postcodes(values):
        return "its values look like postcodes"
    if len(values) < FEWEST_VALUES:
        return None
    if _share(DATE, values) > MOST:
        return "its dates are many years apart, as dates of birth are" if _over_lifetimes(values) else None
    if kind == "whole number":
        return "it numbers the rows" if _are_running(values) else None
    if _share(NUMBER, values) > MOST:  # with codes among them, which make them text
        return None
    if kind == "text" and len(different) > ALMOST_ALL * len(values):
        return "almost every row has a text of its own"
    return None


def _are_postcodes(values: Sequence[str]) -> bool:
    if _share(FIVE_DIGITS, values) > ALMOST_ALL:  # of amounts none begins with 0
        return any(value.startswith("0") for value in values)
    return _share(PATTERNS["postcodes"], values) > MOST


def _over_lifetimes(values: Sequence[str]) -> bool:
    years = sorted(int(found[1] or found[2]) for value in values if (found := DATE.fullmatch(value)))
    return years[-1 - len(years) // 20] - years[len(years) // 20] >= LIFETIMES


def _are_running(values: Sequence[str]) -> bool:
    """Whether whole numbers are all different and lie close together."""
    if len(values) < RUNNING_NUMBERS or not all(map(WHOLE_NUMBER.fullmatch, values)):
        return False
    numbers = {int(value) for value in values}
    return len(numbers) == len(values) and max(numbers) - min(numbers) < 2 * len(values)
