"""What people type or write into a data dictionary, read and checked at once by the agreement's own rules.

Every function here raises a ValueError with one sentence that says what to write instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar, cast, get_args

from pydantic import TypeAdapter, ValidationError

from copublish.agreement.attributes import distinct
from copublish.agreement.loading import FILL_IN
from copublish.agreement.model import MAX_EXPECTED, Name, Privacy
from copublish.agreement.section import plain_number
from copublish.agreement.settings import Partition
from copublish.mechanisms.registry import mechanism_names

Bounds = tuple[Decimal, Decimal]

BETWEEN_BOUNDS = re.compile(r"\s*(?:\.\.|;|,|\bto\b)\s*")
"""What may stand between two bounds. Not a hyphen, which could be a sign."""

T = TypeVar("T")


def or_left_open(read: Callable[[str], T]) -> Callable[[str], T | str]:
    """A reader that also takes what stands for an open question."""
    return lambda text: FILL_IN if text.strip().upper() == FILL_IN else read(text)


def name_from(text: str) -> str:
    """A name that stands in commands and files."""
    try:
        return TypeAdapter(Name).validate_python(text.strip())
    except ValidationError:
        raise ValueError(f"use letters, digits, '.', '_' and '-' only, got '{text}'") from None


def parties_from(text: str) -> tuple[str, ...]:
    """Names of at least two parties, separated by commas."""
    names = tuple(name_from(name) for name in text.split(","))
    if len(names) < 2:
        raise ValueError("a release needs at least 2 parties. Separate their names by commas, like bank, loans")
    if len(set(names)) < len(names):
        raise ValueError("name each party once")
    return names


def partition_from(text: str) -> Partition:
    """How the table is divided."""
    word = text.strip().lower()
    if word not in get_args(Partition):
        raise ValueError("please answer horizontal, vertical or arbitrary")
    return cast(Partition, word)


def membership_from(text: str) -> str:
    """Whether owners of columns learn whom they have in common."""
    word = text.strip().lower()
    if word not in ("hidden", "shared"):
        raise ValueError("please answer hidden or shared")
    return word


def mechanism_from(text: str) -> str:
    """The name of a mechanism."""
    name = text.strip()
    if name not in mechanism_names():
        raise ValueError(f"please answer one of {', '.join(mechanism_names())}")
    return name


def column_from(known: Sequence[str]) -> Callable[[str], str]:
    """A reader of a column's name; where columns are known it has to be one of them, spelled as there."""

    def read(text: str) -> str:
        name = text.strip()
        if not name:
            raise ValueError("write the name of a column")
        if known and name not in known:
            alike = [column for column in known if column.lower() == name.lower()]
            hint = f"Did you mean '{alike[0]}'?" if alike else f"Columns: {', '.join(known)}"
            raise ValueError(f"there is no column '{name}'. {hint}")
        return name

    return read


def names_from(text: str) -> tuple[str, ...]:
    """Names of columns, separated by commas."""
    names = tuple(name.strip() for name in text.split(","))
    return distinct(names, at_least=1, what="a table")


def number_from(text: str) -> Decimal:
    """A decimal number, written with a point."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"write a number, like 1.5, got '{text.strip()}'") from None
    if not number.is_finite() or "_" in text:
        raise ValueError(f"write a number, like 1.5, got '{text.strip()}'")
    return plain_number(number)


def epsilon_from(text: str) -> Decimal:
    """An epsilon that an agreement may have."""
    number = number_from(text)
    try:
        Privacy(epsilon=number)
    except ValidationError as exc:
        raise ValueError(f"epsilon {_why(exc)}") from None
    return number


def expected_from(text: str) -> int:
    """A public estimate of the number of records."""
    digits = text.strip().replace("_", "")
    if not (digits.isascii() and digits.isdecimal() and 0 < int(digits[:20]) <= MAX_EXPECTED):
        raise ValueError(f"write a whole number of records, like 20000, got '{text.strip()}'")
    return int(digits)


def kind_from(text: str) -> str:
    """Whether codes or amounts: the kind of a column of whole numbers."""
    word = text.strip().lower()
    for kind in ("categorical", "numerical"):
        if word in KINDS[kind]:
            return kind
    raise ValueError("please answer category (1, 2, 3 are codes) or number (they are amounts)")


def values_from(text: str, at_least: int = 1) -> tuple[str, ...]:
    """A list of values: divided by |, else by ;, else by commas, or a JSON list for values that hold any of these."""
    values = _json_list(text)
    if values is None:
        divider = next((mark for mark in ("|", ";", ",") if mark in text), "|")
        values = [value.strip() for value in text.split(divider) if value.strip()]
    return distinct(tuple(values), at_least=at_least, what="the list")


def bounds_from(text: str) -> Bounds:
    """Two numbers that rise: [18, 99], 18..99, 18;99 or 18 to 99."""
    inner = text.strip()
    inner = inner[1:-1] if inner[:1] == "[" and inner[-1:] == "]" else inner
    parts = BETWEEN_BOUNDS.split(inner.strip())
    if len(parts) != 2:
        raise ValueError(f"write the lowest and the highest value, like 18..99 or [18, 99], got '{text.strip()}'")
    return rising(number_from(parts[0]), number_from(parts[1]))


def rising(lower: Decimal, upper: Decimal) -> Bounds:
    """Bounds, the lower one first."""
    if lower >= upper:
        raise ValueError(f"the lower bound must be below the upper one, got {lower:f} and {upper:f}")
    return lower, upper


KINDS = {
    "categorical": (
        *("categorical", "category", "categories", "cat", "code", "codes", "nominal", "ordinal", "factor", "enum"),
        *("text", "string", "str", "varchar", "bool", "boolean"),
    ),
    "numerical": (
        *("numerical", "number", "numeric", "num", "amount", "continuous", "count", "quantity"),
        *("float", "double", "decimal", "real"),
    ),
    "identifier": ("identifier", "id", "key"),
    "class": ("class", "target", "label", "outcome"),
}
"""Words for kinds of columns. Not among them: integer, which says nothing about whether numbers are codes."""

UNDECIDED = ("integer", "int", "whole", "bigint", "smallint")


def _json_list(text: str) -> list[str] | None:
    """The items of a JSON list, or nothing for what is none."""
    if not text.strip().startswith("["):
        return None
    try:
        found = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
    return [value_text(value) for value in found] if isinstance(found, list) else None


def value_text(value: Any) -> str:
    """A value as cells are read: whole numbers without a point, truth values in small letters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | Decimal):
        return str(value)
    raise ValueError("a value is text or a number")


def _why(exc: ValidationError) -> str:
    error = exc.errors()[0]
    return str(error.get("ctx", {}).get("error", error["msg"]))
