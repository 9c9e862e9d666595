"""Shapes of messages: which values one may hold, as a check and in words for the protocol's page.

A check accepts anything, however it is nested, and answers with yes or no. It never raises and never fails on a value
that JSON can hold, such as NaN, a huge number or half of a surrogate pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

MAX_RECORDS = 2**40
"""Records of a release, at most. Counts are bounded by it, scores and sums by that many times the points of a person;
larger ones would not fit into the engine's integers beside the noise."""

LONGEST_KEY = 1000
"""Characters of a key in a mapping: names of parties and of packages."""


@dataclass(frozen=True)
class Shape:
    """A set of values.

    Attributes:
        words: The set in words, as part of a sentence.
        holds: Check whether a value is in it.
    """

    words: str
    holds: Callable[[object], bool]


def _is_text(value: object, at_most: int) -> bool:
    """Accept text that can be written as UTF-8: half of a surrogate pair can come out of JSON, and cannot be."""
    if not isinstance(value, str) or len(value) > at_most:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def text(at_most: int) -> Shape:
    """Text of a bounded length."""
    return Shape(f"text of up to {at_most:,} characters", lambda value: _is_text(value, at_most))


def spelled_as(pattern: str, words: str) -> Shape:
    """Text that a regular expression matches as a whole."""
    compiled = re.compile(pattern)
    return Shape(words, lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None)


def hexadecimal(digits: int) -> Shape:
    """Exactly so many hexadecimal digits."""
    return spelled_as(f"[0-9a-f]{{{digits}}}", f"{digits} hexadecimal digits")


def whole(lowest: int, highest: int) -> Shape:
    """A whole number within bounds; neither a Boolean nor a float."""
    return Shape(
        f"a whole number from {lowest:,} to {highest:,}",
        lambda value: type(value) is int and lowest <= value <= highest,
    )


def choice(*values: str) -> Shape:
    """One of some texts."""
    return Shape(
        " or ".join(f"`{value}`" for value in values), lambda value: isinstance(value, str) and value in values
    )


def number(lowest: float, highest: float) -> Shape:
    """A number within bounds; neither a Boolean nor NaN."""
    return Shape(
        f"a number from {lowest:,g} to {highest:,g}",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest,
    )


YES = Shape("`true`", lambda value: value is True)
NOTHING = Shape("nothing", lambda value: value is None)


def any_of(*shapes: Shape) -> Shape:
    """A value of any of some shapes."""
    return Shape(", or ".join(shape.words for shape in shapes), lambda value: any(s.holds(value) for s in shapes))


def nothing_or(shape: Shape) -> Shape:
    """A value of a shape, or `null`."""
    return any_of(shape, NOTHING)


def list_of(shape: Shape, at_most: int, at_least: int = 0) -> Shape:
    """A list of values of one shape."""
    number = f"{at_most}" if at_least == at_most else f"{at_least} to {at_most}"
    return Shape(
        f"a list of {number} entries, each {shape.words}",
        lambda value: isinstance(value, list) and at_least <= len(value) <= at_most and all(map(shape.holds, value)),
    )


def mapping(shape: Shape, at_most: int) -> Shape:
    """An object with any keys and values of one shape."""
    return Shape(
        f"an object of up to {at_most:,} entries, each {shape.words}",
        lambda value: (
            isinstance(value, dict)
            and len(value) <= at_most
            and all(_is_text(key, LONGEST_KEY) and shape.holds(item) for key, item in value.items())
        ),
    )


def fields(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these keys and no others."""
    may_be = optional or {}
    known = {**required, **may_be}
    words = [f"`{key}`: {shape.words}" for key, shape in required.items()]
    words += [f"`{key}` (optional): {shape.words}" for key, shape in may_be.items()]
    return Shape(
        f"an object with {'; '.join(words)}",
        lambda value: (
            isinstance(value, dict)
            and required.keys() <= value.keys() <= known.keys()
            and all(known[key].holds(item) for key, item in value.items())
        ),
    )


BYTE_ARRAY = Shape(
    "an array of bytes", lambda value: isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 1
)


def blob(of: str, *, unit: int = 1) -> Shape:
    """Bytes of a length that is a multiple of a unit."""
    return Shape(of, lambda value: isinstance(value, bytes) and len(value) % unit == 0)


def one_of(*contents: bytes, of: str) -> Shape:
    """One of some contents in bytes."""
    return Shape(of, lambda value: isinstance(value, bytes) and value in contents)


def bytes_like(pattern: bytes, of: str) -> Shape:
    """Bytes that a regular expression matches as a whole."""
    compiled = re.compile(pattern, re.DOTALL)
    return Shape(of, lambda value: isinstance(value, bytes) and compiled.fullmatch(value) is not None)


def streamed(of: str) -> Shape:
    """Bytes that nobody here reads."""
    return Shape(of, lambda value: isinstance(value, bytes))
