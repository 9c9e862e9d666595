"""Data dictionaries: what a public code book says about columns, from CSV or JSON.

A dictionary is public, so messages quote it. Whatever it does not say is left open in the draft.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from copublish.agreement.attributes import distinct
from copublish.errors import AgreementError, visible
from copublish.files.regular import MIB, read_regular
from copublish.rows.csv_files import DELIMITERS
from copublish.tools.drafting.answers import (
    KINDS,
    UNDECIDED,
    Bounds,
    bounds_from,
    number_from,
    rising,
    value_text,
    values_from,
)

Kind = Literal["categorical", "numerical", "identifier", "class"]

LARGEST_DICTIONARY = 16 * MIB

WORDS = {
    "name": ("name", "column", "variable", "field", "column_name", "variable_name"),
    "kind": ("kind", "type", "data_type"),
    "role": ("role",),
    "values": ("values", "codes", "enum", "categories", "levels", "allowed_values"),
    "bounds": ("bounds", "range", "limits"),
    "lower": ("lower", "min", "minimum", "lowest"),
    "upper": ("upper", "max", "maximum", "highest"),
    "unit": ("unit", "units"),
    "required": ("required", "mandatory", "not_null", "complete"),
    "nullable": ("nullable", "optional"),
    "description": ("description", "meaning", "definition"),
}
"""Words by which dictionaries call what they say of a column."""

YES, NO = ("yes", "true", "1", "y"), ("no", "false", "0", "n")


@dataclass(frozen=True, kw_only=True)
class ColumnEntry:
    """What a dictionary says about one column; nothing where it says nothing.

    Attributes:
        name: The column.
        kind: Whether categories, numbers, the identifier or the class.
        is_whole: Whether it says that numbers are whole, which leaves open whether they are codes.
        values: Its categories, as files write them.
        bounds: The lowest and the highest number.
        is_complete: Whether it says that every record has one of its values, so that none is missing or another one.
        codes: Of numbers, codes that are none and stand for a missing one.
        unit: Of numbers.
        description: In words; meanings of codes included.
    """

    name: str
    kind: Kind | None = None
    is_whole: bool = False
    values: tuple[str, ...] | None = None
    bounds: Bounds | None = None
    is_complete: bool = False
    codes: tuple[str, ...] = ()
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if self.values is not None and self.bounds is not None:
            raise ValueError("it has values and bounds; a column has categories or numbers")
        if self.kind == "numerical" and self.values is not None:
            raise ValueError("its kind is numerical, and it has a list of values. Write bounds, or kind categorical")
        if self.kind not in (None, "numerical") and self.bounds is not None:
            raise ValueError(f"its kind is {self.kind}, and it has bounds. Write values, or kind numerical")

    @property
    def words(self) -> tuple[str, ...]:
        """Description and unit, for a comment."""
        unit = f"Unit: {self.unit}" if self.unit else ""
        lines = ("".join(c if c.isprintable() else " " for c in text) for text in (self.description, unit))
        return tuple(" ".join(line.split()) for line in lines if line.strip())


Dictionary: TypeAlias = Mapping[str, ColumnEntry]


def read_dictionary(path: str | Path) -> Dictionary:
    """Read a dictionary, a .csv or .json file.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    path = Path(path)
    try:
        text = read_regular(path, LARGEST_DICTIONARY).decode("utf-8-sig")
    except FileNotFoundError as exc:
        raise AgreementError(str(path), ["no such file"]) from exc
    except UnicodeDecodeError:  # its message would show a byte, and the file may be the wrong one
        raise AgreementError(str(path), ["is not UTF-8 text. A dictionary is a .csv or .json file"]) from None
    except OSError as exc:
        raise AgreementError(str(path), [f"cannot be read: {exc.strerror}"]) from exc
    kinds = {".csv": dictionary_from_csv, ".tsv": dictionary_from_csv, ".json": dictionary_from_json}
    if path.suffix.lower() not in kinds:
        raise AgreementError(str(path), ["a dictionary is a .csv or .json file"])
    return kinds[path.suffix.lower()](text, str(path))


def dictionary_from_csv(text: str, source: str = "The dictionary") -> Dictionary:
    """Read a dictionary that has a line for each column.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS[:3], key=first.count)  # not |, which divides values
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as exc:
        raise AgreementError(source, [f"is not CSV: {exc}"]) from exc
    header = [_word(cell) for cell in lines[0]] if lines else []
    known = [word for word in header if word]
    if "name" not in known:
        raise AgreementError(source, [f"its first line has no column 'name'. {_WORDS_ALLOWED}"])
    if len(set(known)) < len(known):
        twice = next(word for word in known if known.count(word) > 1)
        raise AgreementError(source, [f"its first line says '{twice}' twice, perhaps in other words. {_WORDS_ALLOWED}"])
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if any(cell.strip() for cell in cells):
            said = {word: cell for word, cell in zip(header, cells, strict=False) if word and cell.strip()}
            rows.append((f"line {number}", said, len(cells) > len(header)))
    return _entries(rows, source)


def dictionary_from_json(text: str, source: str = "The dictionary") -> Dictionary:
    """Read a dictionary that is a list of objects, an object by column, or a table schema with `fields`.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    try:
        content = json.loads(text, parse_float=Decimal, object_pairs_hook=_refuse_twice)
    except RecursionError:
        raise AgreementError(source, ["is nested too deeply"]) from None
    except (ValueError, ArithmeticError) as exc:
        raise AgreementError(source, [f"is not JSON: {exc}"]) from exc
    if isinstance(content, dict) and isinstance(content.get("fields"), list):
        content = content["fields"]
    if isinstance(content, dict):
        content = [{"name": name, **said} if isinstance(said, dict) else said for name, said in content.items()]
    if not isinstance(content, list):
        raise AgreementError(source, ['write a list, like [{"name": "age", "bounds": [18, 99]}]'])
    rows = []
    for number, item in enumerate(content, 1):
        if not isinstance(item, dict):
            raise AgreementError(source, [f'entry {number}: write an object, like {{"name": "age"}}'])
        constraints = item.get("constraints")  # Frictionless Table Schema
        item = {**item, **constraints} if isinstance(constraints, dict) else item
        words = [(_word(key), value) for key, value in item.items() if value not in (None, "", [])]
        known = [word for word, _ in words if word]
        if len(set(known)) < len(known):
            raise AgreementError(source, [f"entry {number}: it says something twice, in other words. {_WORDS_ALLOWED}"])
        rows.append((f"entry {number}", {word: value for word, value in words if word}, False))
    return _entries(rows, source)


def _entries(rows: list[tuple[str, dict[str, Any], bool]], source: str) -> Dictionary:
    found: dict[str, ColumnEntry] = {}
    problems = []
    for place, said, too_long in rows:
        name = str(said.get("name", "")).strip()
        where = f"{place} ('{visible(name)}')" if name else place
        try:
            if too_long:
                raise ValueError("has more cells than the first line. Text with the delimiter stands in double quotes")
            if not name:
                raise ValueError("has no name")
            if name in found:
                raise ValueError("this column was there before")
            found[name] = _entry(name, said)
        except ValueError as exc:
            problems.append(f"{where}: {visible(str(exc))}")
    if not rows:
        problems.append("it describes no column")
    problems += _roles(found)
    if problems:
        raise AgreementError(source, problems)
    return found


def _entry(name: str, said: Mapping[str, Any]) -> ColumnEntry:
    word = str(said.get("kind", "")).strip().lower()
    kind = next((kind for kind, words in KINDS.items() if word in words), None)
    if word and kind is None and word not in UNDECIDED:
        raise ValueError(f"kind '{word}' is not known. Write categorical, numerical, identifier or class")
    role = str(said.get("role", "")).strip().lower()
    kind = next((kind for kind in ("identifier", "class") if role in KINDS[kind]), kind)
    if range_ := _range(said.get("values")):
        if any(key in said for key in ("bounds", "lower", "upper")):
            raise ValueError("it has bounds twice, once among its values. Write them once")
        values, labels = None, _meanings(_codes(said["values"]))
        bounds: Bounds | None = range_.bounds
        codes = range_.codes
    else:
        (values, labels), bounds, codes = _values(said.get("values")), _bounds(said), ()
    if kind is None and values is not None:
        kind = "categorical"
    if kind is None and bounds is not None:
        kind = "numerical"
    description = ". ".join(filter(None, [str(said.get("description", "")).strip().rstrip("."), labels]))
    return ColumnEntry(
        name=name,
        kind=cast("Kind | None", kind),
        is_whole=word in UNDECIDED,
        values=values,
        bounds=bounds,
        is_complete=_is_complete(said),
        codes=codes,
        unit=str(said.get("unit", "")).strip(),
        description=description,
    )


@dataclass(frozen=True)
class _Range:
    """Bounds that stand among the codes of a column, like {"min": 0, "max": 99, "N": "not asked"}.

    Attributes:
        bounds: With codes that are numbers, like 501 for all above 500, between them.
        codes: Those that are no number.
    """

    bounds: Bounds
    codes: tuple[str, ...]


def _range(said: Any) -> _Range | None:
    """The range that values are; nothing if they are none."""
    if not isinstance(said, Mapping):
        return None
    named = {str(_word(key)): value for key, value in said.items() if isinstance(value, int | Decimal)}
    bounds = _bounds({end: named[end] for end in ("lower", "upper") if end in named})
    if bounds is None:
        return None
    numbers, others = list(bounds), []
    for code in _codes(said):
        try:
            numbers.append(number_from(code))
        except ValueError:
            others.append(code)
    return _Range(rising(min(numbers), max(numbers)), distinct(tuple(others), at_least=0, what="the list"))


def _codes(said: Mapping[str, Any]) -> dict[str, str]:
    """The codes of a column beside bounds, with what they mean."""
    ends = ("lower", "upper")
    return {str(code).strip(): str(meaning).strip() for code, meaning in said.items() if _word(code) not in ends}


def _meanings(codes: Mapping[str, str]) -> str:
    return ", ".join(f"{code} is {meaning}" for code, meaning in codes.items())


def _values(said: Any) -> tuple[tuple[str, ...] | None, str]:
    """Values, and the meanings of codes in words. A code book writes 1=North; the files have 1."""
    if said is None:
        return None, ""
    if isinstance(said, Mapping):
        meanings = {str(code).strip(): str(meaning).strip() for code, meaning in said.items()}
    elif isinstance(said, list):
        return distinct(tuple(value_text(value) for value in said), at_least=1, what="the list"), ""
    else:
        listed = values_from(str(said))
        is_literal = str(said).strip().startswith("[")
        if is_literal or not all(0 < value.find("=") < len(value) - 1 for value in listed):
            return listed, ""
        pairs = [value.partition("=") for value in listed]
        distinct(tuple(code.strip() for code, _, _ in pairs), at_least=1, what="the list")
        meanings = {code.strip(): meaning.strip() for code, _, meaning in pairs}
    codes = distinct(tuple(meanings), at_least=1, what="the list")
    return codes, _meanings(meanings)


def _is_complete(said: Mapping[str, Any]) -> bool:
    """Whether no value may be missing, by either word for it."""
    known = {"required": True, "nullable": False}
    found = {_yes_or_no(said[word], word) == meaning for word, meaning in known.items() if word in said}
    if len(found) > 1:
        raise ValueError("it says that the column is required, and that its values may be missing")
    return found == {True}


def _yes_or_no(said: Any, word: str) -> bool:
    text = str(said).strip().lower()
    if text not in (*YES, *NO):
        raise ValueError(f"{word} is '{text}'. Write yes or no")
    return text in YES


def _bounds(said: Mapping[str, Any]) -> Bounds | None:
    both = said.get("bounds")
    if isinstance(both, list):
        if len(both) != 2:
            raise ValueError("write two bounds, like [18, 99]")
        return rising(_number(both[0]), _number(both[1]))
    if both is not None:
        return bounds_from(str(both))
    if ("lower" in said) != ("upper" in said):
        raise ValueError("it has one bound alone. Write both, the lower and the upper one")
    return rising(_number(said["lower"]), _number(said["upper"])) if "lower" in said else None


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError("write a number, not true or false")
    return number_from(str(value))


def _roles(found: Dictionary) -> Iterator[str]:
    for kind in ("identifier", "class"):
        named = [entry.name for entry in found.values() if entry.kind == kind]
        if len(named) > 1:
            yield f"{' and '.join(map(repr, named))} are all called the {kind}; a table has one"


def _word(text: str) -> str | None:
    """The word of ours for what a dictionary calls something; nothing for what we have no use for."""
    plain = text.strip().lower().replace(" ", "_")
    return next((word for word, others in WORDS.items() if plain in others), None)


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice at one place, and one of them would be lost")
    return found


_WORDS_ALLOWED = f"A dictionary has the columns {', '.join(WORDS)}; name alone is needed"
