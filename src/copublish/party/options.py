"""Options that are declared once: command line, Python keywords, JSON and party.toml derive from the same fields.

An option is a field of a frozen dataclass whose type is annotated with an `Option`. Dataclasses may be nested: options
have names of their own across all of them. A module that declares options has no postponed annotations, since these
are read from the fields' types.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

from copublish.errors import OptionError
from copublish.rows.sources import names_file

T = TypeVar("T")

Places = dict[str, str]
"""Files, or tables of a database, by the names that an agreement has for them."""

Address = tuple[str, int]
"""Where a program listens: a name or number of a host, and a port."""

ADDRESS = "ADDRESS:PORT, like 0.0.0.0:7700"


@dataclass(frozen=True, kw_only=True)
class Option:
    """The description of one option.

    Attributes:
        help: What it is, for `--help` and the reference.
        default: The value unless one is given; none if there is none, or if it depends on others.
        flag: Its option on the command line; made from the field's name unless given.
        at_least: The smallest number that it can be.
        words: Values that stand for themselves and are no path.
        example: A value for the draft of party.toml. An option without one does not belong in that file.
    """

    help: str
    default: str | int | None = None
    flag: str | None = None
    at_least: int | None = None
    words: tuple[str, ...] = ()
    example: str | int | Places | None = None


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One option with the field that declares it.

    Attributes:
        name: The field's name: the keyword in Python and the key in JSON and party.toml.
        group: The field of the outer dataclass in which it is nested; none if it is not.
        type: The type of its values: a key of `KINDS`.
        option: Its description.
    """

    name: str
    group: str | None
    type: Any
    option: Option

    @property
    def flag(self) -> str:
        """Its option on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"

    @property
    def help(self) -> str:
        """Its description with its default."""
        default = self.option.default
        return self.option.help if default is None else f"{self.option.help} Default: {default}."

    @property
    def in_party_file(self) -> bool:
        """Whether party.toml may have it."""
        return self.option.example is not None

    def read(self, value: object) -> Any:
        """A value from Python, the command line, JSON or TOML as its own type.

        Raises:
            ValueError: If it is none; the text says what to write instead.
        """
        typed = KINDS[self.type].read(value)
        smallest = self.option.at_least
        if smallest is not None and typed < smallest:
            raise ValueError(f"write a whole number from {smallest} on, got {typed}")
        return typed

    def write(self, value: Any) -> Any:
        """A value of its own type as JSON and TOML have it."""
        return KINDS[self.type].write(value)

    def absolute(self, value: Any, folder: Path) -> Any:
        """A value whose path, if it is one, does not depend on the current folder; of places, those that are files."""
        if self.type == Places:
            return {name: _absolute_place(place, folder) for name, place in value.items()}
        is_path = isinstance(value, Path) and str(value) not in self.option.words
        return folder / value if is_path else value


@dataclass(frozen=True)
class Kind:
    """A type of options: how its values are read and written."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def _of_type(kind: type, words: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"write {words}, not {_type_name(value)}")
        return value

    return read


def places_of(value: Any) -> Places:
    """Places by name, from a table of them or from texts NAME=PLACE.

    Raises:
        ValueError: If it is neither, or a name stands twice.
    """
    if isinstance(value, Mapping):
        pairs = [(name, str(place) if isinstance(place, Path) else place) for name, place in value.items()]
    else:
        texts = value if isinstance(value, list | tuple) else [value]
        pairs = [text.partition("=")[::2] if isinstance(text, str) else ("", "") for text in texts]
    # What was written is not repeated: it can be an address with a password.
    if not all(isinstance(part, str) and part for pair in pairs for part in pair):
        raise ValueError("write NAME=PLACE, like visits=visits.parquet")
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _absolute_place(place: str, folder: Path) -> str:
    return str(folder / Path(place).expanduser()) if names_file(place) else place


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError(f"write a path, in quotes, not {_type_name(value) if value != '' else 'an empty text'}")
    return Path(value).expanduser()


def address_of(value: Any) -> Address:
    """Address and port of `ADDRESS:PORT`, or of a pair of both.

    Raises:
        ValueError: If it is neither.
    """
    host, port = "", 0
    if isinstance(value, str):
        host, _, digits = value.rpartition(":")
        host, port = host.strip("[]"), int(digits) if digits.isdecimal() else 0
    elif isinstance(value, tuple | list) and [type(part) for part in value] == [str, int]:
        host, port = value
    if not host or not 0 < port < 65_536:
        raise ValueError(f"write {ADDRESS}")
    return host, port


def _address_text(value: Address) -> str:
    host, port = value
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _type_name(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a decimal", str: "a text", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)


KINDS: Mapping[Any, Kind] = {
    bool: Kind(_of_type(bool, "true or false")),
    int: Kind(_of_type(int, "a whole number")),
    str: Kind(_of_type(str, "a text, in quotes")),
    Path: Kind(_path, str),
    Address: Kind(address_of, _address_text),
    Places: Kind(places_of),
}


def options_of(declaration: type[Any]) -> Mapping[str, Declared]:
    """All options that a dataclass declares, by name, in order."""
    return {declared.name: declared for declared in _declared(declaration, None)}


def _declared(declaration: type, group: str | None) -> Iterator[Declared]:
    for field in fields(declaration):
        hint: Any = field.type
        if is_dataclass(hint) and isinstance(hint, type):
            yield from _declared(hint, field.name)
        elif get_origin(hint) is Annotated:
            inner, *extras = get_args(hint)
            for option in extras:
                if isinstance(option, Option):
                    yield Declared(name=field.name, group=group, type=_without_none(inner), option=option)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    return hint


def build(declaration: type[T], given: Mapping[str, Any], **plain: Any) -> T:
    """An object of a dataclass from values by the names of its options; those that are none were not given.

    Args:
        declaration: The dataclass.
        given: Values by option.
        plain: Its other fields.

    Raises:
        TypeError: If there is no such option.
        OptionError: If a value is none that the option can have.
    """
    options = options_of(declaration)
    if unknown := [name for name in given if name not in options]:
        raise TypeError(f"There is no option '{unknown[0]}'. There are: {', '.join(options)}.")
    groups: dict[str | None, dict[str, Any]] = {declared.group: {} for declared in options.values()}
    for name, value in given.items():
        if value is not None:
            groups[options[name].group][name] = _read(options[name], value)
    kinds: dict[str, Any] = {field.name: field.type for field in fields(cast(Any, declaration))}
    nested = {group: kinds[group](**values) for group, values in groups.items() if group is not None}
    return declaration(**plain, **groups.get(None, {}), **nested)


def _read(declared: Declared, value: object) -> Any:
    try:
        return declared.read(value)
    except ValueError as exc:
        raise OptionError(declared.name, str(exc)) from None


def given_in(request: object) -> dict[str, Any]:
    """Values of all options that were given, by name; the inverse of `build`."""
    values = {}
    for name, declared in options_of(request.__class__).items():
        value = getattr(request if declared.group is None else getattr(request, declared.group), name)
        if value is not None and value is not False:
            values[name] = value
    return values


def to_json(request: object) -> dict[str, Any]:
    """The options that were given, as plain JSON values by name."""
    options = options_of(request.__class__)
    return {name: options[name].write(value) for name, value in given_in(request).items()}
