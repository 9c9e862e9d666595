"""Identifiers: the columns that say whose record a row is, and how their spellings are made equal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator

from copublish.agreement.section import Section

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

NamedRule = Literal[
    "ignore-case",
    "ignore-spaces",
    "ignore-punctuation",
    "ignore-leading-zeros",
    "fold-accents",
    "expand-umlauts",
    "digits-only",
]

MOST_CHARACTERS = 100
"""Of `first`: names and numbers are shorter."""


class FirstCharacters(Section):
    """Rule that compares only the beginning of a text."""

    first: int


class DateFormats(Section):
    """Rule that reads a date in one of these formats, or as YYYY-MM-DD, and compares it as YYYY-MM-DD."""

    date: tuple[str, ...]


OTHER_RULES = '{ first = 3 } or { date = "DD.MM.YYYY" }'


def _read_rule(value: object) -> object:
    """A rule as the agreement writes it."""
    if isinstance(value, FirstCharacters | DateFormats) or value in get_args(NamedRule):
        return value
    if isinstance(value, Mapping) and set(value) == {"first"}:
        return FirstCharacters(first=_number_of_characters(value["first"]))
    if isinstance(value, Mapping) and set(value) == {"date"}:
        return DateFormats(date=_formats(value["date"]))
    shown = repr(value) if isinstance(value, str) else "this"
    raise ValueError(f"{shown} is not one of {', '.join(map(repr, get_args(NamedRule)))}, {OTHER_RULES}")


def _number_of_characters(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CHARACTERS:
        raise ValueError(f"'first' is a number of characters, a whole number from 1 to {MOST_CHARACTERS}")
    return value


def _formats(value: object) -> tuple[str, ...]:
    formats = (value,) if isinstance(value, str) else value
    texts = [one for one in formats if isinstance(one, str)] if isinstance(formats, list | tuple) else []
    if not texts or not isinstance(formats, list | tuple) or len(texts) < len(formats):
        raise ValueError("'date' is a format such as \"DD.MM.YYYY\", or a list of formats")
    for text in texts:
        rest = re.sub("YYYY|MM|DD", "", text)
        if any(text.count(part) != 1 for part in ("YYYY", "MM", "DD")) or any(map(str.isalnum, rest)):
            raise ValueError(f"the format '{text}' needs YYYY, MM and DD once each, and only signs between them")
    alike = Counter(re.sub("MM|DD", "NN", text) for text in texts)
    if max(alike.values()) > 1:
        raise ValueError(
            "two formats differ in the order of day and month only, or not at all, so a date could be read in two "
            "ways. Agree on one, and let the others write their dates as YYYY-MM-DD"
        )
    return tuple(texts)


def in_order(rules: Sequence[IdentifierRule]) -> tuple[IdentifierRule, ...]:
    """Rules in one order: theirs means nothing.

    Raises:
        ValueError: If one is listed twice.
    """
    places = [_place(rule) for rule in rules]
    if repeated := [rule for rule, place in zip(rules, places, strict=True) if places.count(place) > 1]:
        names = dict.fromkeys(shown_rule(rule).replace('"', "'") for rule in repeated)
        raise ValueError(f"name each rule once; these are listed twice: {', '.join(names)}")
    return tuple(rule for _, rule in sorted(zip(places, rules, strict=True), key=lambda pair: pair[0]))


def _place(rule: IdentifierRule) -> int:
    named = get_args(NamedRule)
    if isinstance(rule, DateFormats):
        return len(named)
    return len(named) + 1 if isinstance(rule, FirstCharacters) else named.index(rule)


def shown_rule(rule: IdentifierRule) -> str:
    """A rule as a message shows it."""
    if isinstance(rule, FirstCharacters):
        return f"{{ first = {rule.first} }}"
    if isinstance(rule, DateFormats):
        return f"{{ date = [{', '.join(map(repr, rule.date))}] }}"
    return f'"{rule}"'


IdentifierRule: TypeAlias = Annotated[NamedRule | FirstCharacters | DateFormats, BeforeValidator(_read_rule)]
ColumnName: TypeAlias = Annotated[str, Field(min_length=1)]
Key: TypeAlias = Annotated[tuple[ColumnName, ...], Field(min_length=1)]


def _form(value: Any) -> str:
    if isinstance(value, Mapping):
        return "table"
    return "list" if isinstance(value, list | tuple) else "text"


IdentifierColumns: TypeAlias = Annotated[
    Annotated[ColumnName, Tag("text")] | Annotated[tuple[ColumnName, ...], Tag("list")],
    Discriminator(lambda value: "list" if _form(value) == "list" else "text"),
]
"""One column, or several that name a person together."""

RulesOfIdentifier: TypeAlias = Annotated[
    Annotated[tuple[IdentifierRule, ...], Tag("list")] | Annotated[dict[str, tuple[IdentifierRule, ...]], Tag("table")],
    Discriminator(lambda value: "table" if _form(value) == "table" else "list"),
]
"""Rules of all columns, or those of each."""

AllRules: TypeAlias = tuple[IdentifierRule, ...] | dict[str, tuple[IdentifierRule, ...]]


class Identified(Section):
    """The keys of [records] that say whose record a row is."""

    identifier: IdentifierColumns | None = None
    match_keys: tuple[Key, ...] | None = None
    """Several identifiers: a row is compared by the first of which it has all parts."""
    identifier_rules: RulesOfIdentifier = ()

    @field_validator("identifier_rules")
    @classmethod
    def _check_rules(cls, rules: AllRules, info: ValidationInfo) -> AllRules:
        """Rules in one spelling: those of one column as a list, those of several by column."""
        if isinstance(rules, Mapping):
            return {column: in_order(listed) for column, listed in rules.items() if listed} or ()
        identifier, keys = info.data.get("identifier"), info.data.get("match_keys") or ()
        parts = identifier if isinstance(identifier, tuple) else [column for key in keys for column in key]
        ordered = in_order(rules)
        return dict.fromkeys(parts, ordered) if parts and ordered else ordered

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The parts of every key, in agreed order; nothing if the agreement names no identifier."""
        if self.match_keys is not None:
            return self.match_keys
        if self.identifier is None:
            return ()
        return ((self.identifier,) if isinstance(self.identifier, str) else self.identifier,)

    @property
    def identifier_columns(self) -> tuple[str, ...]:
        """Every column that is part of a key, once."""
        return tuple(dict.fromkeys(column for key in self.keys for column in key))

    @property
    def identifier_name(self) -> str:
        """The identifier as a message names it, like surname + born."""
        return " or ".join(" + ".join(key) for key in self.keys)

    @property
    def may_be_shared(self) -> bool:
        """True if the agreement itself says that two people can have one key."""
        rules = [rule for column in self.identifier_columns for rule in self.rules_of(column)]
        return any(len(key) > 1 for key in self.keys) or any(isinstance(rule, FirstCharacters) for rule in rules)

    def rules_of(self, column: str) -> tuple[IdentifierRule, ...]:
        """The rules of one part."""
        rules = self.identifier_rules
        return rules.get(column, ()) if isinstance(rules, Mapping) else rules

    def compared_in_words(self) -> str:
        """A description of how people are compared; nothing where there is no identifier."""
        if not self.keys:
            return ""
        if isinstance(self.identifier, str):
            ignored = _rules_in_words(self.rules_of(self.identifier))
            return f"by '{self.identifier}'" + (f" ignoring {ignored}" if ignored else "")
        keys = [", ".join(map(self._part_in_words, key)) for key in self.keys]
        if self.match_keys is None:
            return f"by all of {keys[0]}"
        return f"by the first of these keys of which a row has all parts: {'; or '.join(keys)}"

    def _part_in_words(self, column: str) -> str:
        ignored = _rules_in_words(self.rules_of(column))
        return f"'{column}'" + (f" (ignoring {ignored})" if ignored else "")


IGNORED_BY_RULE: dict[str, str] = {
    "ignore-case": "upper and lower case",
    "ignore-spaces": "spaces",
    "ignore-punctuation": "punctuation",
    "ignore-leading-zeros": "leading zeros of numbers",
    "fold-accents": "accents",
    "expand-umlauts": "whether umlauts are written with e",
    "digits-only": "all but digits",
}
"""Words for what rules leave out."""


def _rules_in_words(rules: Sequence[IdentifierRule]) -> str:
    return ", ".join(_in_words(rule) for rule in rules)


def _in_words(rule: IdentifierRule) -> str:
    if isinstance(rule, FirstCharacters):
        return "all after the first character" if rule.first == 1 else f"all after the first {rule.first} characters"
    if isinstance(rule, DateFormats):
        return f"how a date is written: as {' or '.join(rule.date)} or YYYY-MM-DD"
    return IGNORED_BY_RULE[rule]


def broken_identifier_rules(agreement: Agreement) -> Iterator[str]:
    """Yield a sentence for every contradiction among the keys that name a person."""
    records, rules = agreement.records, agreement.records.identifier_rules
    if records.identifier is not None and records.match_keys is not None:
        yield "records.match_keys: the agreement names an identifier, too. Make it one of the keys, or remove it"
    if rules and not records.keys:
        yield (
            "records.identifier_rules: they say how identifiers are compared, but the agreement names no identifier. "
            'Name its column, like identifier = "customer_id", or remove the rules'
        )
    elif isinstance(rules, Mapping):
        yield from _broken_table(records, rules)
    if isinstance(records.identifier, tuple) and len(records.identifier) < 2:
        yield 'records.identifier: a list has at least two columns. Write one as text, like identifier = "customer_id"'
    if records.match_keys is not None and len(records.match_keys) < 2:
        yield (
            "records.match_keys: several keys are at least two. Write a single one as identifier, like "
            'identifier = ["surname", "born"]'
        )
    yield from _broken_keys(records)
    role, hint = _role(records), _hint(records)
    for column in records.identifier_columns:
        if column in agreement.attributes:
            yield f"attributes.{column}: this is {role}; it is never published. Remove it here{hint}"
        if column == agreement.class_name:
            yield f"class.name: '{column}' is {role}; the class must be another column{hint}"


def _role(records: Identified) -> str:
    return "the identifier" if isinstance(records.identifier, str) else "a part of the identifier"


def _hint(records: Identified) -> str:
    """A part such as sex may be wanted in the release, too: every owner can have it under two agreed names."""
    if isinstance(records.identifier, str):
        return ""
    return ", or give the part a name of its own: by a mapping an owner's column may be both"


def _broken_table(records: Identified, rules: Mapping[str, object]) -> Iterator[str]:
    if isinstance(records.identifier, str):
        yield (
            "records.identifier_rules: the identifier is one column, so write a list, like "
            'identifier_rules = ["ignore-case"]'
        )
        return
    parts = records.identifier_columns
    for column in rules:
        if column not in parts:
            close = get_close_matches(column, parts, n=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"Parts: {', '.join(parts)}"
            yield f"records.identifier_rules.{column}: this is no part of the identifier. {hint}"


def _broken_keys(records: Identified) -> Iterator[str]:
    for place, key in enumerate(records.keys):
        name = "records.identifier" if records.match_keys is None else f"records.match_keys.{place}"
        if len(set(key)) < len(key):
            yield f"{name}: name each part once"
        if earlier := [one for one in records.keys[:place] if set(one) <= set(key)]:
            yield (
                f"{name}: a row that has all of it has all of the earlier key [{', '.join(earlier[0])}], so nobody is "
                "compared by it. Put it first, or remove it"
            )
