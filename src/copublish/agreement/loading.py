"""Reading agreement files, telling people what is wrong with them, and placeholders of what is not decided yet.

A placeholder stands in a draft where nobody has decided: a text that no agreement can be run with. A guess that loads
would be agreed on by whoever overlooks it, so what is not known is never filled with something that merely looks right.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from copublish.agreement.attributes import CategoricalAttribute, ClassAttribute, Grid, NumericalAttribute
from copublish.agreement.budget import ColumnBudget
from copublish.agreement.computation import Computation
from copublish.agreement.derived import Derived, Where
from copublish.agreement.model import Agreement, Privacy, Records
from copublish.agreement.parties import AgreedNetwork, Party
from copublish.agreement.settings import MechanismSettings, known_settings, names_of_mechanisms
from copublish.errors import AgreementError, plain_text, unsafe_texts
from copublish.files.regular import MIB, read_inside, read_regular

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
    """True if a value, or one in a list, is still to be filled in."""
    values = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(one, str) and one == FILL_IN for one in values)


LARGEST_FILE = 16 * MIB
"""Of an agreement, and of a file with taxonomies."""

DEEPEST = 64
"""Sections in sections. Every part of a dotted key is one, and reading a key takes the square of its parts."""

_STRINGS_AND_COMMENTS = re.compile(
    r""""{3}(?:[^"\\]|\\.|"(?!""))*+"{3,5}"""
    r"""|'{3}(?:[^']|'(?!''))*+'{3,5}"""
    r'''|"(?:[^"\\\n]|\\.)*+"'''
    r"""|'[^'\n]*+'"""
    r"|(#[^\n]*+)",
    re.DOTALL,
)
_LONG_KEY = re.compile(r"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){" + str(DEEPEST) + "}")
"""More parts with dots between them than any key has, once every string is a word."""

TOO_DEEP = "has a number or a nesting that is too large to read"

MOST_UNSAFE = 10
"""How many texts with control characters are named at once."""


def load_agreement(path: str | Path) -> Agreement:
    """Read and check an agreement; taxonomy files are looked up beside it.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    path = Path(path)
    return agreement_from_mapping(read_content(path), folder=path.parent, source=str(path))


def read_content(path: Path) -> dict[str, Any]:
    """The nested mappings of a file, an agreement or a draft of one; nothing in them is checked.

    Raises:
        AgreementError: If the file cannot be read, or is no TOML.
    """
    try:
        text = read_regular(path, LARGEST_FILE).decode("utf-8-sig")
    except FileNotFoundError as exc:
        hint = f"no such file. 'copublish init {path.name}' writes one to start from"
        raise AgreementError(str(path), [hint]) from exc
    except UnicodeDecodeError:  # its message would show a byte, and the file may be the wrong one: somebody's data
        hint = "is not UTF-8 text. An agreement is a TOML file: is it the right one, and saved as UTF-8?"
        raise AgreementError(str(path), [hint]) from None
    except OSError as exc:
        raise AgreementError(str(path), [f"cannot be read: {exc.strerror}"]) from exc
    return content_from_text(text, str(path))


def content_from_text(text: str, source: str) -> dict[str, Any]:
    """The nested mappings of a text, an agreement or a draft of one; nothing in them is checked.

    Raises:
        AgreementError: If it is no TOML.
    """
    text = _newlines(text)
    if _LONG_KEY.search(_STRINGS_AND_COMMENTS.sub(lambda found: "" if found[1] else "s", text)):
        raise AgreementError(source, [TOO_DEEP])
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as exc:
        hint = (
            "Text needs quotes, decimals a point (1.5), each section stands once, and true and false are written in "
            "small letters"
        )
        raise AgreementError(source, [f"not valid TOML: {_plain(str(exc))}. {hint}"]) from exc
    except (ValueError, ArithmeticError, RecursionError) as exc:
        raise AgreementError(source, [TOO_DEEP]) from exc
    if _is_deep(content):
        raise AgreementError(source, [TOO_DEEP])
    return content


def _is_deep(content: object) -> bool:
    """True if mappings and lists are nested more deeply than any agreement has them."""
    level = [content]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for value in level
            if isinstance(value, Mapping | list)
            for item in (value.values() if isinstance(value, Mapping) else value)
        ]
    return bool(level)


def taxonomy_files(path: Path) -> list[str]:
    """The names of the files beside an agreement that it takes taxonomies from. The agreement has been checked."""
    content = read_content(path)
    named = (attribute.get("taxonomy") for attribute in content["attributes"].values())
    return sorted({name for name in named if isinstance(name, str)})


def agreement_from_mapping(
    content: Mapping[str, Any], *, folder: str | Path = ".", source: str = "The agreement"
) -> Agreement:
    """Check an agreement given as nested mappings, with the keys of `agreement.toml`.

    Args:
        content: The agreement.
        folder: Where taxonomy files are looked up.
        source: How error messages name the agreement.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    refuse_unsafe(content, source)  # before anything else, since other messages name keys
    unfilled = list(places_to_fill_in(content))
    content, problems = _with_taxonomies(content, Path(folder))
    refuse_unsafe(content, source)
    settings, of_mechanism = _settings(content.get("mechanism"))
    try:
        agreement = Agreement.model_validate(content if settings is None else {**content, "mechanism": settings})
    except RecursionError:
        problems.append("the agreement is nested too deeply")
    except ValidationError as exc:
        found = exc.errors()
        if of_mechanism:  # what is wrong there is known better; rules across sections need a mechanism
            found = [error for error in found if error["loc"] and error["loc"][0] != "mechanism"]
        problems += [line for error in found for line in _sentences(error)]
    problems += of_mechanism
    if unfilled:  # what else is wrong with them follows from it
        problems = [
            line for line in problems if not line.startswith(tuple(f"{p}{end}" for p in unfilled for end in ":."))
        ]
        problems = [*map(_unfilled, unfilled), *problems]
    if problems:
        raise AgreementError(source, list(dict.fromkeys(problems)))
    return agreement


def _unfilled(place: str) -> str:
    return f"{place}: still to be filled in{EXAMPLES.get(place.rpartition('.')[2], '')}"


def refuse_unsafe(content: Mapping[str, Any], source: str) -> None:
    """Raise if a text could steer the terminal on which somebody consents."""
    problems = list(dict.fromkeys(islice(unsafe_texts(content), MOST_UNSAFE)))
    if problems:
        raise AgreementError(source, problems)


def _settings(section: object) -> tuple[MechanismSettings | None, list[str]]:
    """Read the section [mechanism] by the keys of the mechanism that it names; return what is wrong with it, too."""
    if not isinstance(section, Mapping):
        return None, []
    if "name" not in section:
        return None, ["mechanism: 'name' is missing"]
    name = section["name"]
    if not isinstance(name, str):
        return None, [
            f"mechanism.name: expected text in quotes, got {_shown(name)}. Write one of {names_of_mechanisms()}"
        ]
    kind = known_settings().get(name)
    if kind is None:
        return None, [f"mechanism.name: {name!r} is not one of {names_of_mechanisms()}"]
    try:
        return kind.model_validate(section), []
    except ValidationError as exc:
        errors = [{**error, "loc": ("mechanism", *error["loc"])} for error in exc.errors()]
        return None, [line for error in errors for line in _sentences_of_mechanism(kind, name, error)]


def _sentences_of_mechanism(kind: type[MechanismSettings], name: str, error: Any) -> list[str]:
    """As `_sentences`, with the keys that this mechanism has."""
    key = str(error["loc"][-1])
    if error["type"] != "extra_forbidden":
        return _sentences(error)
    if any(key in other.model_fields for other in known_settings().values()):
        return [
            f"mechanism.{key}: it means nothing to the mechanism '{name}'. Remove it; keys allowed here: "
            f"{', '.join(kind.model_fields)}"
        ]
    return [f"mechanism.{key}: there is no such key{_closest(key, list(kind.model_fields))}"]


def _with_taxonomies(content: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Replace names of taxonomy files by the trees in them, so that the hash covers the trees."""
    resolved, problems = dict(content), []
    attributes = content.get("attributes")
    if not isinstance(attributes, Mapping):
        return resolved, []
    resolved["attributes"] = dict(attributes)
    for name, attribute in attributes.items():
        if isinstance(attribute, Mapping) and isinstance(attribute.get("taxonomy"), str):
            try:
                tree = _read_tree(folder, attribute["taxonomy"], name)
            except ValueError as exc:
                problems.append(f"attributes.{name}.taxonomy: {exc}")
                tree = {"ANY": {"placeholder": {}}}  # so that the other checks still run
            resolved["attributes"][name] = {**attribute, "taxonomy": tree}
    return resolved, problems


def _read_tree(folder: Path, name: str, attribute: str) -> Any:
    path = Path(name)
    try:
        content = read_inside(folder, name, LARGEST_FILE)
    except FileNotFoundError:
        raise ValueError(f"there is no file '{path.name}' beside the agreement") from None
    except OSError as exc:
        hint = "A taxonomy file is an ordinary file beside the agreement, or in a folder there"
        raise ValueError(f"'{name}' cannot be read: {exc.strerror}. {hint}") from None
    try:
        trees = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_refuse_repeated_keys)
    except RecursionError:
        raise ValueError(f"'{path.name}' is nested too deeply") from None
    except UnicodeDecodeError:  # its message would show a byte
        raise ValueError(f"'{path.name}' is not a JSON file: it is not UTF-8 text") from None
    except ValueError as exc:
        raise ValueError(f"'{path.name}' is not a JSON file: {exc}") from exc
    if not isinstance(trees, dict) or attribute not in trees:
        names = ", ".join(f"'{plain_text(name)}'" for name in trees) if isinstance(trees, dict) else "no tree at all"
        raise ValueError(f"'{path.name}' has no tree under the name '{attribute}'; it has: {names}")
    return trees[attribute]


def _newlines(text: str) -> str:
    """Text with one spelling of the end of a line, as Python reads files."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


MODELS: dict[str, type[BaseModel]] = {
    "": Agreement,
    "records": Records,
    "class": ClassAttribute,
    "privacy": Privacy,
    "budget": ColumnBudget,
    "engine": Computation,
    "network": AgreedNetwork,
    "parties": Party,
    "grid": Grid,
    "derived": Derived,
    "where": Where,
    "categorical": CategoricalAttribute,
    "numerical": NumericalAttribute,
}


def _sentences(error: ErrorDetails) -> list[str]:
    """Turn one pydantic error into sentences: where, what is wrong, what to write."""
    steps = [str(step) for step in error["loc"] if step != "[key]"]
    if steps[:1] == ["attributes"] and len(steps) > 2:
        del steps[2]  # the kind, which pydantic puts between an attribute and its keys
    if steps[:2] in (["records", "identifier"], ["records", "identifier_rules"]) and len(steps) > 2:
        del steps[2]  # the form of a value, which pydantic puts there as well
    place = ".".join(steps)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        owner = ".".join(steps[:-1])
        return [f"{owner or 'the agreement'}: '{steps[-1]}' is missing{EXAMPLES.get(steps[-1], '')}"]
    if kind == "extra_forbidden":
        return [f"{place}: there is no such key{_suggestion(error)}"]
    if kind == "value_error":
        lines = str(context.get("error", error["msg"])).split("\n")
        return [f"{place}: {line}" if place else line for line in lines]
    if kind == "union_tag_invalid":
        place += ".kind"
    return [f"{place or 'the agreement'}: {_complaint(error, steps)}"]


def _complaint(error: ErrorDetails, steps: list[str]) -> str:
    """Words for what is wrong with a value and what to write instead."""
    kind, context, given = error["type"], error.get("ctx", {}), _shown(error["input"])
    last = steps[-1] if steps else ""
    if kind == "literal_error" and last == "format":
        return f"this version reads format = 1, got {given}"
    if kind == "literal_error":
        return f"{given} is not one of {context.get('expected')}"
    if kind == "union_tag_invalid":
        return f"{_shown(context.get('tag'))} is not one of {context.get('expected_tags')}"
    if kind == "union_tag_not_found":
        return '\'kind\' is missing. Write kind = "categorical" or kind = "numerical"'
    if kind == "string_type":
        return f'expected text in quotes, got {given}. Write "{given}"'
    if kind == "string_pattern_mismatch":
        return f"use letters, digits, '.', '_' and '-' only, got {given}"
    if kind == "too_short" and last == "parties":
        return f"a release needs at least 2 parties, got {context.get('actual_length')}. Add one, like [parties.bank]"
    if kind in ("too_short", "string_too_short"):
        return f"needs at least {context.get('min_length')}, got {context.get('actual_length', 0)}"
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return f"{TABLES.get(last, f'write a section or a table, like [{last}]')}, got {given}"
    if kind in ("tuple_type", "list_type"):
        return f'write a list, like ["no", "yes"], got {given}'
    if kind.startswith("bool"):
        return f"write true or false, without quotes, got {given}"
    if kind.startswith("int"):
        return f"write a whole number, got {given}"
    if kind.startswith(("decimal", "finite")):
        return f"write a number, like 1.0, got {given}"
    for word, bound in (("at least", "ge"), ("above", "gt"), ("at most", "le"), ("below", "lt")):
        if bound in context:
            return f"must be {word} {context[bound]}, got {given}"
    return f"{error['msg'].lower()}, got {given}"


TABLES = {
    "parties": "write one section per organization, like [parties.bank]",
    "grid": "write where it may be split, like grid = { step = 5 }",
    "derived": 'write how it follows from a table of events, like derived = { from = "visits", as = "count" }',
    "where": 'write one condition, like where = { column = "ward", equals = "A" }',
    "taxonomy": 'write a tree like {"ANY": {"cook": {}, "clerk": {}}}, or use values = ["cook", "clerk"]',
}


def _shown(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else str(value).lower().replace("infinity", "inf")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value) if isinstance(value, str) else "a section" if isinstance(value, Mapping) else str(value)


def _plain(message: str) -> str:
    """Write a parser's tuple of keys as a dotted name."""
    return re.sub(r"\('([^)]*)'\)", lambda keys: f"[{keys[1]}]".replace("', '", "."), message)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a mapping from JSON, where a key that is written twice would silently win over the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = sorted({key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1})
        raise ValueError(f"these labels stand twice at one place: {', '.join(map(repr, repeated))}")
    return found


EXAMPLES = {
    "epsilon": ", like epsilon = 1.0",
    "bounds": ", like bounds = [0, 120]; take them from public knowledge, not from the data",
    "grid": ", like grid = { step = 5 }: the public points where the attribute may be split; or leave it out",
    "expected": ": a public estimate of how many records there are, like expected = 20000",
    "values": ', like values = ["no", "yes"]',
    "partition": ', like partition = "vertical" ("horizontal", "vertical" or "arbitrary")',
    "parties": ": a table per organization, like [parties.bank]",
    "format": ": write format = 1 at the top",
    "privacy": ": write a section [privacy] with epsilon = 1.0",
    "records": ": write a section [records] with expected = 20000",
    "class": ": write a section [class] with a name and values",
    "attributes": ": write a section for each, like [attributes.age]",
    "mechanism": ": write a section [mechanism] with a name",
    "kind": ', like kind = "categorical" or kind = "numerical"',
    "identifier": ': the column by which records are joined, like identifier = "customer_id"',
    "dataset": ": the name under which the ledgers count what was spent on these data",
}


def _suggestion(error: ErrorDetails) -> str:
    steps = [str(step) for step in error["loc"]]
    parents = [step for step in reversed(steps[:-1]) if step in MODELS] + [""]
    model = MODELS[parents[0]]
    return _closest(steps[-1], [field.alias or name for name, field in model.model_fields.items()])


def _closest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else f". Keys allowed here: {', '.join(known)}"
