"""The fields of a certificate, and of everything in it."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any, get_args

from copublish.kernel.certificate.certificate import CERTIFICATE_FORMAT, Certificate
from website.reference.attributes import said_of
from website.reference.tables import plain_type, table

HEAD = f"""# The certificate, field by field

`certificate.json` in a [release folder](release-folder.md), and `release.certificate` in
[Python](python.md#certificate). Made from the code that writes it; the format is {CERTIFICATE_FORMAT}. A field that
is not always there may be missing in the file, and is None in Python.
"""


def page_of_certificate() -> str:
    """The page."""
    parts = [HEAD]
    for model in _all_of(Certificate):
        told, hints = said_of(model), typing.get_type_hints(model)
        summary = (model.__doc__ or "").partition("\n")[0]
        rows = [
            (f"`{field.name}`", f"`{plain_type(hints[field.name])}`", told.get(field.name, ""))
            for field in dataclasses.fields(typing.cast(Any, model))
        ]
        parts += [f"## `{model.__name__}`", summary, table(["field", "type", "meaning"], rows)]
    return "\n\n".join(parts) + "\n"


def _all_of(model: type, seen: set[type] | None = None) -> Iterator[type]:
    """A dataclass and all those that its fields have, each once."""
    seen = set() if seen is None else seen
    if model in seen:
        return
    seen.add(model)
    yield model
    for hint in typing.get_type_hints(model).values():
        for inner in _classes_in(hint):
            yield from _all_of(inner, seen)


def _classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _classes_in(inner)
