"""Attributes that an owner derives from a table of events: visits, transactions, episodes.

The agreement names the table and one of a few functions. Each owner computes it for each of its people, from that
person's rows alone; which file or database has the table is the owner's own matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from copublish.agreement.section import Number, Section

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

YES, NO = "yes", "no"
"""The values of `as = "any"`: whether a person has such a row."""

Function = Literal["count", "any", "sum", "mean", "min", "max", "first", "last", "most-frequent", "distinct"]

OF_ROWS: tuple[Function, ...] = ("count", "any")
"""Functions that read no column."""

IN_ORDER: tuple[Function, ...] = ("first", "last")
"""Functions that need a column to order rows by."""

OF_NUMBERS: tuple[Function, ...] = ("sum", "mean", "min", "max")
"""Functions that read a column as numbers."""

GIVES_NUMBERS: tuple[Function, ...] = ("count", "distinct", *OF_NUMBERS)

IN_WORDS: dict[Function, str] = {
    "count": "the number of rows",
    "any": "whether there is a row",
    "sum": "the sum of '{column}'",
    "mean": "the mean of '{column}'",
    "min": "the smallest '{column}'",
    "max": "the largest '{column}'",
    "first": "'{column}' of the first row by '{by}'",
    "last": "'{column}' of the last row by '{by}'",
    "most-frequent": "the most frequent '{column}'",
    "distinct": "the number of different values of '{column}'",
}


ROW_OF_ONE_PERSON = (
    "A row of an event table is about the one person whom its identifier names: what it says of others is not "
    "protected as theirs. Rows of people whom the owner does not list count nowhere."
)


def _as_list(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Text = Annotated[str, Field(min_length=1)]
Value = Annotated[Text | Number, Field(union_mode="left_to_right")]
"""A text, which is compared as it is written, or a number, which is compared as a number."""


class Where(Section):
    """A condition on one column of an event table. An empty cell never meets it.

    Attributes:
        column: Which.
        equals: It has this value.
        one_of: It has one of these.
        starts_with: It begins with this text, or with one of several.
        at_least: It is this or comes after it.
        below: It comes before this.
    """

    column: Text
    equals: Value | None = None
    one_of: tuple[Value, ...] | None = Field(default=None, min_length=1)
    starts_with: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] | None = Field(default=None, min_length=1)
    at_least: Value | None = None
    below: Value | None = None

    @model_validator(mode="after")
    def _check_one_way(self) -> Where:
        is_range = self.at_least is not None or self.below is not None
        ways = (self.equals is not None, self.one_of is not None, self.starts_with is not None, is_range)
        if sum(ways) != 1:
            raise ValueError(
                "give exactly one of 'equals', 'one_of', 'starts_with', and a range of 'at_least' and 'below'"
            )
        ends = [end for end in (self.at_least, self.below) if end is not None]
        if len({isinstance(end, str) for end in ends}) > 1:
            raise ValueError("'at_least' and 'below' are two numbers or two texts, like dates: \"2026-01-31\"")
        if len(ends) == 2 and not ends[0] < ends[1]:  # type: ignore[operator]  # of one type
            raise ValueError("'at_least' must come before 'below'; no row could meet it")
        spaced = [text for text in self.texts if text != text.strip()]
        if spaced:
            raise ValueError(f"cells are read without surrounding space, so {spaced[0]!r} is never met; remove it")
        return self

    @property
    def values(self) -> tuple[str | Decimal, ...]:
        """Everything that cells are compared with."""
        listed = (self.equals, *(self.one_of or ()), *(self.starts_with or ()), self.at_least, self.below)
        return tuple(value for value in listed if value is not None)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that whole cells are compared with."""
        return () if self.starts_with else tuple(value for value in self.values if isinstance(value, str))

    @property
    def words(self) -> str:
        """The condition in words."""
        said = {
            "is": () if self.equals is None else (self.equals,),
            "is one of": self.one_of or (),
            "begins with": self.starts_with or (),
            "is at least": () if self.at_least is None else (self.at_least,),
            "is below": () if self.below is None else (self.below,),
        }
        parts = [f"{how} {', '.join(map(_shown, values))}" for how, values in said.items() if values]
        return f"'{self.column}' {' and '.join(parts)}"


class Derived(Section):
    """Definition of an attribute that is derived from a person's rows in an event table.

    Attributes:
        source: Name of the table; each owner says where its own is.
        function: What is computed. The key is `as`.
        column: What is read; nothing for `count` and `any`.
        by: What `first` and `last` order rows by.
        identifier: The column of the table that says whose row it is; that of [records] if it says nothing.
        where: Which rows count; all of them if it says nothing.
    """

    source: Annotated[str, Field(alias="from", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    function: Annotated[Function, Field(alias="as")]
    column: Text | None = None
    by: Text | None = None
    identifier: Text | None = None
    where: Where | None = None

    @model_validator(mode="after")
    def _check_columns(self) -> Derived:
        if self.function in OF_ROWS and self.column is not None:
            raise ValueError(f"as = \"{self.function}\" counts rows and reads no column. Remove 'column'")
        if self.function not in OF_ROWS and self.column is None:
            raise ValueError(f"as = \"{self.function}\" needs a column of '{self.source}': name it in 'column'")
        if self.function in IN_ORDER and self.by is None:
            raise ValueError(f"as = \"{self.function}\" needs a column to order rows by: name it in 'by'")
        if self.function not in IN_ORDER and self.by is not None:
            raise ValueError(f"as = \"{self.function}\" orders no rows. Remove 'by'")
        return self

    @property
    def words(self) -> str:
        """A description in words."""
        what = IN_WORDS[self.function].format(column=self.column, by=self.by)
        where = "" if self.where is None else f" where {self.where.words}"
        return f"{what} in '{self.source}'{where}"


def _shown(value: str | Decimal) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:f}"


def derived_words(agreement: Agreement) -> list[str]:
    """A sentence for every attribute that owners derive from events, and what they rest on; nothing without any."""
    found = [
        f"'{name}' is {attribute.derived.words}; each owner computes it for each of its people."
        for name, attribute in agreement.attributes.items()
        if attribute.derived is not None
    ]
    return [*found, ROW_OF_ONE_PERSON] if found else []


def with_given_columns(agreement: Agreement) -> Agreement:
    """The same agreement about data in which derived attributes are columns like the others."""
    attributes = {name: one.model_copy(update={"derived": None}) for name, one in agreement.attributes.items()}
    return agreement.model_copy(update={"attributes": attributes})


def broken_derivation_rules(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every rule about derived attributes that the agreement breaks."""
    same: dict[tuple[str, str, tuple[str, ...]], str] = {}
    whose: dict[tuple[str, str], tuple[str, str]] = {}
    for name, attribute in agreement.attributes.items():
        derived, place = attribute.derived, f"attributes.{name}.derived"
        if derived is None:
            continue
        identifier = derived.identifier or agreement.records.identifier
        if agreement.records.keys and not isinstance(agreement.records.identifier, str):
            yield (
                f"{place}: rows of events are found by one column that names a person, and this agreement compares "
                "people by several. Write one column as identifier, or leave the derived attribute out"
            )
        elif agreement.records.identifier is None:
            yield (
                f"{place}: rows of events are found by a person's identifier, and the agreement names none. Name its "
                'column in [records], like identifier = "patient"'
            )
        if agreement.partition == "arbitrary" and len(agreement.holders(name)) > 1:
            yield f"{place}: the owner of the events holds the whole column. Name that one party in 'held_by'"
        yield from _values(name, attribute.kind, agreement)
        for party in agreement.holders(name):
            known, earlier = whose.setdefault((party, derived.source), (str(identifier), name))
            if known != identifier:
                yield (
                    f"{place}: by '{earlier}' rows of '{derived.source}' belong to the person in '{known}', and here "
                    f"to the one in '{identifier}'. A row has one person: what two people share would change two "
                    "records. Take one of the columns"
                )
        twin = same.setdefault((attribute.kind, derived.model_dump_json(), agreement.holders(name)), name)
        if twin != name:
            yield f"{place}: it is the same as that of '{twin}'. Remove one of them"


def _values(name: str, kind: str, agreement: Agreement) -> Iterator[str]:
    """Yield a sentence for every way in which a function's values do not fit the attribute."""
    attribute, place = agreement.attributes[name], f"attributes.{name}"
    derived = attribute.derived
    if derived is None:
        return
    if derived.function in GIVES_NUMBERS and kind != "numerical":
        yield f'{place}.derived: as = "{derived.function}" gives numbers. Write kind = "numerical" with bounds'
    if derived.function == "any" and (attribute.kind != "categorical" or set(attribute.tree.leaves()) != {NO, YES}):
        yield f'{place}.derived: as = "any" gives "{NO}" or "{YES}". Write kind = "categorical", values = ["no", "yes"]'
    own = attribute.missing_spellings
    spellings = agreement.records.missing_spellings if own is None else own
    for value in () if derived.where is None else derived.where.texts:
        if value in spellings:
            yield f"{place}.derived.where: '{value}' is a spelling of a missing value, which meets no condition"
