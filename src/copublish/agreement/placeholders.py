"""What stands in a draft where nobody has decided yet: a text that no agreement can be run with.

A guess that loads would be agreed on by whoever overlooks it. So what is not known is never filled with something that
merely looks right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

FILL_IN = "FILL IN"


def places_to_fill_in(content: object) -> Iterator[str]:
    """Yield the place of everything in nested mappings and lists that is still to be filled in."""
    left: list[tuple[str, object]] = [("", content)]
    while left:
        place, value = left.pop()
        if is_placeholder(value):
            yield place
        elif isinstance(value, Mapping):
            left += [(f"{place}.{key}".removeprefix("."), item) for key, item in reversed(list(value.items()))]


def is_placeholder(value: object) -> bool:
    """Whether a value, or one in a list, is still to be filled in."""
    values = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(one, str) and one == FILL_IN for one in values)
