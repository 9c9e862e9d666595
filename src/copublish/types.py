"""Arrays that the package passes around, and objects that are written as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]

Codes = NDArray[np.unsignedinteger[Any]]
"""One small integer for each record: the code of its value in a public domain."""

Program = Callable[..., IntArray]
"""A function `program(xp, *arrays, **public)` on integer arrays; `xp` is the engine's array module. Written with the
few vetted integer operations that are exact on every engine."""


class TypedJson:
    """Base of frozen dataclasses (pydantic's) that are written as JSON and read back field by field.

    A field with the default None is left out of the JSON where it is None. Keys that no field has are refused.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}  # where pydantic looks for it

    def to_json(self) -> dict[str, Any]:
        """The fields as plain JSON values, in their order."""
        found = {}
        for name, field in type(self).__pydantic_fields__.items():  # type: ignore[attr-defined]
            value = getattr(self, name)
            if value is not None or field.is_required():
                found[field.alias or name] = _plain(value)
        return found

    @classmethod
    def from_json(cls, content: object) -> Self:
        """The same object again.

        Raises:
            ValueError: If the content is something else, naming the first place.
        """
        from pydantic import TypeAdapter, ValidationError  # the engine's worker has arrays alone and does without

        try:
            return TypeAdapter(cls).validate_python(content)
        except ValidationError as exc:
            first = exc.errors()[0]
            place = ".".join(str(step) for step in first["loc"])
            raise ValueError(f"{place or 'it'}: {first['msg'].lower()}") from None


def _plain(value: object) -> Any:
    if isinstance(value, TypedJson):
        return value.to_json()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value
