"""Every key of an agreement, with what it takes and what it means if it is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from copublish.agreement.model import Agreement
from copublish.agreement.section import Section
from copublish.mechanisms.registry import mechanisms
from website.errors import UnexplainedKeyError
from website.reference.explained import explained_keys
from website.reference.tables import table

HEAD = """# Agreement keys

Every key of `agreement.toml`, made from the code that reads it. [The agreement](agreement.md) explains them;
`copublish init` writes a commented file.
"""

SPELLED = {"class_": "class"}
"""Python has no name `class`."""


def page_of_agreement_keys() -> str:
    """The page.

    Raises:
        UnexplainedKeyError: The page that explains the keys says nothing of one of them.
    """
    parts = [HEAD, "## Top level", _keys("Top level", _top_level(Agreement))]
    for name, model in _sections(Agreement):
        parts += [f"## `[{name}]`{_kind(model)}", _keys(name, model.model_fields)]
    for mechanism in mechanisms():
        if type(mechanism).__module__.startswith("copublish."):
            fields = {name: field for name, field in mechanism.settings.model_fields.items() if name != "name"}
            parts.append(f'## `[mechanism]` with `name = "{mechanism.name}"`')
            parts.append(_keys(mechanism.name, fields) if fields else "No keys but the name.")
    return "\n\n".join(parts) + "\n"


def _kind(model: type[Section]) -> str:
    """Which of several sections of one name this is."""
    kind = model.model_fields.get("kind")
    return "" if kind is None else f' of kind `"{get_args(kind.annotation)[0]}"`'


def _models_in(annotation: Any) -> Iterator[type[Section]]:
    """Sections that an annotation speaks of, however deep."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _top_level(model: type[Section]) -> dict[str, FieldInfo]:
    return {name: field for name, field in model.model_fields.items() if not list(_models_in(field.annotation))}


def _sections(model: type[Section]) -> Iterator[tuple[str, type[Section]]]:
    for name, field in model.model_fields.items():
        for inner in _models_in(field.annotation):
            if name != "mechanism":
                place = field.alias or SPELLED.get(name, name)
                yield f"{place}.NAME" if get_origin(field.annotation) not in (None, Union, UnionType) else place, inner


def _keys(section: str, fields: dict[str, FieldInfo]) -> str:
    explained = explained_keys()
    rows = []
    for name, field in fields.items():
        key = field.alias or SPELLED.get(name, name)
        place = (
            (section, key) if (section, key) in explained else ("mechanism", key)
        )  # the first mechanism has no heading
        told = explained.get(place)
        if told is None:
            raise UnexplainedKeyError(f"docs/reference/agreement.md has no row for '{key}' in a table of [{section}].")
        default = _default(field) or told.default
        meaning = told.meaning.replace("](#", "](agreement.md#")  # there it stands on the same page
        rows.append((f"`{key}`", takes_in_words(field.annotation) + _limits(field), default, meaning))
    return table(["key", "takes", "default", "meaning"], rows)


def takes_in_words(annotation: Any) -> str:
    """A type in the words of a TOML file."""
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{json.dumps(value)}`" for value in get_args(annotation))
    if get_origin(annotation) is Annotated:
        return takes_in_words(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return ", or ".join(takes_in_words(inner) for inner in get_args(annotation) if inner is not type(None))
    if get_origin(annotation) is tuple:
        inner = [each for each in get_args(annotation) if each is not Ellipsis]
        words = dict.fromkeys(
            PLURALS.get(said := takes_in_words(each), said).replace("a list", "lists") for each in inner
        )
        return "a list of " + " and ".join(words)
    if get_origin(annotation) in (dict, Mapping):
        return "a table with a key for each"
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return "a table"
    return WORDS.get(annotation, "a tree") if isinstance(annotation, type) else "text"


WORDS = {str: "text", bool: "`true` or `false`", int: "a whole number", Decimal: "a number", float: "a number"}

PLURALS = {"text": "texts", "a whole number": "whole numbers", "a number": "numbers"}


def _limits(field: FieldInfo) -> str:
    bounds = {type(limit).__name__: limit for limit in field.metadata}
    low = getattr(bounds.get("Ge"), "ge", None)
    above = getattr(bounds.get("Gt"), "gt", None)
    high = getattr(bounds.get("Le"), "le", None)
    said = [f"at least {low:,}"] if low is not None else [f"above {above:,}"] if above is not None else []
    said += [f"at most {high:,}"] if high is not None else []
    return f", {', '.join(said)}" if said else ""


def _default(field: FieldInfo) -> str:
    """The default as TOML writes it, "required", or nothing where the code says that there is no value."""
    if field.is_required():
        return "required"
    default = field.default
    if default in (None, PydanticUndefined, ""):
        return ""
    if isinstance(default, Decimal):
        return f"`{default}`"
    return f"`{json.dumps(default, default=str)}`"
