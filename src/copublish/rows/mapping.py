"""A mapping from agreed columns to one owner's own: names, units and spellings. It stays at its owner.

No part of the agreement, its hash or a release follows from it, and no other party learns that there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from copublish.agreement.domain import CategoricalDomain, NumericalDomain, format_number
from copublish.agreement.encoding_rules import ColumnRule
from copublish.agreement.loading import LARGEST_FILE, content_from_text, places_to_fill_in, refuse_unsafe
from copublish.agreement.model import Agreement
from copublish.agreement.section import Number, Section
from copublish.errors import AgreementError, MappingError, SourceError
from copublish.files.regular import read_regular
from copublish.rows.numbers import finite_number
from copublish.rows.translation import Translation


def _agreed_value(value: object) -> object:
    """An agreed value as text: whole numbers and decimals need no quotes."""
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else value


class OwnColumn(Section):
    """The own column of an agreed one, and how its values are read.

    Attributes:
        column: Its name in the data.
        factor: An agreed number is an own one times this.
        values: For own values the agreed ones; others are read as they are. The empty text is an empty cell.
        missing_spellings: Own texts for a missing value, besides the agreed ones.
    """

    column: str = Field(min_length=1)
    factor: Annotated[Number, Field(gt=0)] = Decimal(1)
    values: dict[str, Annotated[str, BeforeValidator(_agreed_value)]] = Field(default_factory=dict)
    missing_spellings: tuple[str, ...] = ()

    @property
    def translation(self) -> Translation:
        """What its values are in agreed ones."""
        return Translation(values=self.values, factor=self.factor)


class ColumnMapping(Section):
    """The own columns of one owner, by the names of agreed ones."""

    columns: dict[str, OwnColumn]

    def rule(self, rule: ColumnRule) -> ColumnRule:
        """A column's rule with the owner's spellings of missing values."""
        own = self.columns.get(rule.domain.name)
        if own is None:
            return rule
        return replace(rule, missing_spellings=(*rule.missing_spellings, *own.missing_spellings))

    def translation(self, column: str) -> Translation:
        """What the owner's values of an agreed column are in agreed ones."""
        own = self.columns.get(column)
        return Translation() if own is None else own.translation

    def names_in(self, present: Sequence[str]) -> dict[str, str]:
        """The own names of agreed columns, of those that are there.

        Raises:
            SourceError: If there is none, or it is not clear which is meant.
        """
        names = {agreed: own.column for agreed, own in self.columns.items() if own.column in present}
        if not names:
            raise SourceError("The data have no column that the mapping names. Names must match exactly.")
        for name in names.values():
            if sum(name.lower() == other.lower() for other in present) > 1:
                raise SourceError(f"Column '{name}' is there twice, in upper and lower case. Rename one of them.")
        return names


NO_MAPPING = ColumnMapping(columns={})
"""The mapping of an owner who has the agreed names and values."""


def read_mapping(path: Path) -> ColumnMapping:
    """Read a mapping. Whether it fits an agreement is another question: `mapping_problems`.

    Raises:
        MappingError: With a sentence for every mistake.
    """
    try:
        text = read_regular(path, LARGEST_FILE).decode("utf-8-sig")
    except FileNotFoundError:
        raise MappingError(path, ["no such file. 'copublish init --mapping' drafts one"]) from None
    except UnicodeDecodeError:  # its message would show a byte, and the file may be the wrong one: somebody's data
        raise MappingError(path, ["is not UTF-8 text. A mapping is a TOML file: is it the right one?"]) from None
    except OSError as exc:
        raise MappingError(path, [f"cannot be read: {exc.strerror}"]) from None
    try:
        content = content_from_text(text, str(path))
        refuse_unsafe(content, str(path))
        if unfilled := list(places_to_fill_in(content)):
            raise MappingError(path, [f"{place}: still to be filled in" for place in unfilled])
        return ColumnMapping.model_validate(content)
    except AgreementError as exc:
        raise MappingError(path, exc.problems) from None
    except ValidationError as exc:
        raise MappingError(path, [_sentence(error) for error in exc.errors()]) from None


KEYS = {1: ["columns"], 3: list(OwnColumn.model_fields)}
"""Keys by how deep they stand."""

WRONG = {
    "string_type": "write a text in quotes",
    "string_too_short": "write the name of a column",
    "model_type": 'write a table, like { column = "NAME" }',
    "dict_type": "write a table",
    "tuple_type": 'write a list, like ["-9"]',
    "greater_than": "write a number above 0",
    "decimal_type": "write a number, like 1000 or 0.01",
    "decimal_parsing": "write a number, like 1000 or 0.01",
    "finite_number": "write a number, like 1000 or 0.01",
}


def _sentence(error: Any) -> str:
    """A mistake in words: where, what is wrong, what to write. Values of the file are not repeated."""
    steps = [str(step) for step in error["loc"]]
    place, kind = ".".join(steps), error["type"]
    if kind == "extra_forbidden":
        allowed = KEYS[len(steps)]
        close = get_close_matches(steps[-1], allowed, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"Keys allowed here: {', '.join(allowed)}"
        return f"{place}: there is no such key; {hint}"
    if kind == "missing" and steps == ["columns"]:
        return 'columns: is missing. Write a table for every agreed column, like [columns.age] with column = "AGE"'
    if kind == "missing":
        return f"{'.'.join(steps[:-1])}: '{steps[-1]}' is missing: the name of your own column"
    if kind == "value_error":
        return f"{place}: {error['ctx']['error']}"
    return f"{place}: {WRONG.get(kind, error['msg'].lower())}"


def mapping_problems(agreement: Agreement, party: str, mapping: ColumnMapping) -> list[str]:
    """A sentence for every place where a mapping does not fit an agreement; no data are looked at."""
    parts = agreement.records.identifier_columns
    wanted = [*agreement.read_at(party), *parts]
    problems = [
        f"The mapping forgets column '{column}': write a table [columns.{_key(column)}] with your own column's name."
        for column in wanted
        if column not in mapping.columns
    ]
    for name, own in mapping.columns.items():
        if name not in wanted:
            problems.append(_not_wanted(agreement, party, name, wanted))
        elif name in parts:
            if own != OwnColumn(column=own.column):
                role = "the identifier" if parts == (name,) else "a part of the identifier"
                what = f"is {role}, which is compared as identifier_rules of the agreement say"
                problems.append(f"columns.{name} {what}: leave out all keys but 'column'.")
        else:
            is_spread = agreement.partition == "arbitrary" and len(agreement.holders(name)) > 1
            rule = agreement.encoding[name]
            problems += [f"columns.{name}.{said}" for said in _own_problems(own, rule, is_spread=is_spread)]
    problems += [
        f"columns.{one} and columns.{other} are both '{mine.column}', read in the same way: one of them is a slip."
        for (one, mine), (other, theirs) in combinations(mapping.columns.items(), 2)
        if mine == theirs and (one in parts) == (other in parts)  # a column may name a person and be published, too
    ]
    return problems


def _not_wanted(agreement: Agreement, party: str, name: str, wanted: Sequence[str]) -> str:
    if name in agreement.derived_at(party):
        return f"columns.{name}: by the agreement it is derived from an event table. Leave it out."
    if name in agreement.columns:
        holders = " and ".join(f"'{holder}'" for holder in agreement.holders(name))
        return f"columns.{name}: by the agreement its cells are held by {holders} alone. Leave it out."
    close = get_close_matches(name, wanted, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else f" Agreed columns of '{party}': {', '.join(wanted)}."
    return f"columns.{name}: the agreement has no such column.{hint}"


def _own_problems(own: OwnColumn, rule: ColumnRule, *, is_spread: bool) -> Iterator[str]:
    """What is wrong with the keys of one column, after the column's name."""
    for key in ("values", "missing_spellings"):
        if any(text != text.strip() for text in getattr(own, key)):
            yield f"{key}: cells are read without surrounding space, so a value with space around it never occurs."
    if set(own.values) & set(own.missing_spellings):
        yield "missing_spellings: it lists a value that 'values' recodes. Leave it out of one of them."
    if "" in own.values and is_spread:
        yield "values: an empty cell is one that another party holds, so it is not recoded."
    if isinstance(rule.domain, NumericalDomain):
        yield from _problems_of_numbers(own, rule.domain)
    elif isinstance(rule.domain, CategoricalDomain):
        if own.factor != 1:
            yield "factor: the column has agreed values and no numbers. Leave it out, or use 'values'."
        listed = rule.domain.values[:-1] if rule.domain.missing else rule.domain.values
        unlisted = [text for text in dict.fromkeys(own.values.values()) if text not in listed]
        for text in unlisted:
            close = get_close_matches(text, listed, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else "Spelling counts; missing ones: missing_spellings."
            yield f"values: the agreement lists no value '{text}'. {hint}"


def _problems_of_numbers(own: OwnColumn, domain: NumericalDomain) -> Iterator[str]:
    lower, upper = domain.lower, domain.upper
    for text in dict.fromkeys(own.values.values()):
        number = finite_number(text)
        if number is None or not float(lower) <= number <= float(upper):
            bounds = f"[{format_number(lower)}, {format_number(upper)}]"
            yield f"values: '{text}' is no number within the agreed bounds {bounds}, in agreed units."
    numbers = [number for text in own.values if (number := finite_number(text)) is not None]
    if len(set(numbers)) < len(numbers):
        yield "values: two of the own values are the same number."


def _key(name: str) -> str:
    """A name as a key of TOML."""
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
