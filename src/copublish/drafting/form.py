"""A draft as fields that a person fills in, and back. Nothing that the fields do not show is lost.

Reading back never fails: what cannot be read stays as it was typed, so that the agreement's own rules say what is wrong
with it, and where.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, TypeVar

from copublish.agreement.placeholders import FILL_IN, is_placeholder
from copublish.drafting.answers import number_from
from copublish.drafting.draft import Content, Draft
from copublish.drafting.problems import DraftProblem
from copublish.drafting.text import toml_key, toml_value
from copublish.drafting.trees import tree_from_text, tree_text

GRIDS = ("round", "step", "edges", "count")
"""Ways to say where a number may be split; the first is what a draft begins with."""

SHOWN_ABOVE = ("format", "name", "dataset", "description", "partition", "parties", "records", "class", "attributes")
SHOWN_BELOW = ("privacy", "mechanism")


@dataclass(kw_only=True)
class PartyFields:
    """One party.

    Attributes:
        name, host, certificate, approvals: As typed; empty for what is not said.
        data: Whether it holds data.
        dials_out: Whether nobody can dial it.
        more: Everything else that the file says of it, as TOML.
    """

    name: str = ""
    host: str = ""
    certificate: str = ""
    approvals: str = ""
    data: bool = True
    dials_out: bool = False
    more: str = ""


@dataclass(kw_only=True)
class ColumnFields:
    """One column.

    Attributes:
        name, held_by, kind, missing: As typed; who holds it by names with commas.
        values: Categories as indented text.
        lower, upper: Bounds of a number.
        grid, cells: In which way it may be split, and the numbers for that.
        words: Unit, meaning, and where values or bounds are public: comments in the file, a line for each.
        more: Everything else that the file says of it, as TOML.
    """

    name: str = ""
    held_by: str = ""
    kind: str = ""
    values: str = ""
    lower: str = ""
    upper: str = ""
    grid: str = GRIDS[0]
    cells: str = ""
    missing: str = ""
    words: str = ""
    more: str = ""


Row = TypeVar("Row", PartyFields, ColumnFields)


@dataclass(kw_only=True)
class DraftForm:
    """All fields of a draft, as typed. An empty one is an open point where an agreement needs an answer.

    Attributes:
        name, dataset, description, partition: Of the release.
        identifier, no_identifier, expected, public, spellings: Of its records.
        class_name, class_values, class_held_by: Of the class.
        epsilon, delta, neighbors, mechanism: What is spent, and on what.
        records_more, class_more, privacy_more, mechanism_more, more: Everything else of these sections, as TOML.
        parties, columns: A row of fields for each.
    """

    name: str = ""
    dataset: str = ""
    description: str = ""
    partition: str = ""
    identifier: str = ""
    no_identifier: bool = False
    expected: str = ""
    public: bool = False
    spellings: str = ""
    records_more: str = ""
    class_name: str = ""
    class_values: str = ""
    class_held_by: str = ""
    class_words: str = ""
    class_more: str = ""
    epsilon: str = ""
    delta: str = ""
    neighbors: str = "add-remove"
    privacy_more: str = ""
    mechanism: str = ""
    mechanism_more: str = ""
    more: str = ""
    parties: list[PartyFields] = field(default_factory=list)
    columns: list[ColumnFields] = field(default_factory=list)

    @staticmethod
    def of(draft: Draft) -> DraftForm:
        """The fields of a draft."""
        return _form_of(draft)

    @staticmethod
    def from_fields(said: Mapping[str, str]) -> DraftForm:
        """The form from flat fields, as `fields` names them. A box that is not there was not ticked.

        Rows are taken in the order of their numbers; there may be gaps.
        """
        form = _filled(DraftForm(), said, "")
        rows: dict[str, set[int]] = {"parties": set(), "columns": set()}
        for name in said:
            kind, _, rest = name.partition("-")
            number = rest.partition("-")[0]
            if kind in rows and number.isdecimal() and len(number) < MOST_DIGITS_OF_ROWS:
                rows[kind].add(int(number))
        form.parties = [_filled(PartyFields(), said, f"parties-{number}-") for number in sorted(rows["parties"])]
        form.columns = [_filled(ColumnFields(), said, f"columns-{number}-") for number in sorted(rows["columns"])]
        return form

    def add(self, rows: str) -> None:
        """Add an empty row to `parties` or `columns`."""
        if rows == "parties":
            self.parties.append(PartyFields())
        else:
            self.columns.append(ColumnFields())

    def read(self) -> tuple[Draft, tuple[DraftProblem, ...]]:
        """The draft that the fields say, and what could not be read at all, under the names of fields."""
        reading = _Reading(self)
        return reading.draft(), tuple(reading.problems)

    def field_of(self, place: str) -> str:
        """The name of the field for a key of the file, like `columns-0-lower`; empty if it is about no field."""
        for rows, section in (("parties", "parties"), ("columns", "attributes")):
            if place == section:
                return rows
            # A name can hold a point, or begin like another one: the longest that fits is meant.
            named = sorted(enumerate(getattr(self, rows)), key=lambda row: -len(row[1].name))
            for number, row in named:
                if place == f"{section}.{row.name}" or place.startswith(f"{section}.{row.name}."):
                    key = place.removeprefix(f"{section}.{row.name}").removeprefix(".")
                    return f"{rows}-{number}-{self._field_of_row(row, key)}"
        return FIELDS_OF_PLACES.get(place) or FIELDS_OF_PLACES.get(place.partition(".")[0], "")

    def _field_of_row(self, row: PartyFields | ColumnFields, key: str) -> str:
        key = key.partition(".")[0]
        if key == "bounds" and isinstance(row, ColumnFields):
            return "upper" if row.lower and not row.upper else "lower"
        key = {"taxonomy": "values", "grid": "cells", "reach": "host"}.get(key, key)
        if not key:  # a rule about several keys of the row
            return {"numerical": "lower", "categorical": "values"}.get(getattr(row, "kind", ""), "name")
        return key if key in [one.name for one in fields(row)] else "more"


FIELDS_OF_PLACES = {
    "name": "name",
    "dataset": "dataset",
    "description": "description",
    "partition": "partition",
    "records": "expected",
    "records.identifier": "identifier",
    "records.expected": "expected",
    "records.public": "public",
    "records.missing_spellings": "spellings",
    "class": "class_name",
    "class.name": "class_name",
    "class.values": "class_values",
    "class.held_by": "class_held_by",
    "privacy": "epsilon",
    "privacy.epsilon": "epsilon",
    "privacy.delta": "delta",
    "privacy.neighbors": "neighbors",
    "mechanism": "mechanism_more",
    "mechanism.name": "mechanism",
    "budget": "more",
    "engine": "more",
    "network": "more",
}


MOST_DIGITS_OF_ROWS = 6

Fields = TypeVar("Fields", PartyFields, ColumnFields, DraftForm)


def _filled(empty: Fields, said: Mapping[str, str], prefix: str) -> Fields:
    for one in fields(empty):
        name, default = f"{prefix}{one.name}", getattr(empty, one.name)
        if isinstance(default, bool):
            setattr(empty, one.name, name in said)
        elif isinstance(default, str) and name in said:
            # Lines keep their indentation: it says what stands below what.
            text = said[name].replace("\r\n", "\n")
            setattr(empty, one.name, text.strip("\n") if "\n" in text else text.strip())
    return empty


def _form_of(draft: Draft) -> DraftForm:
    content = draft.content
    records, class_, privacy = (dict(content.get(section, {})) for section in ("records", "class", "privacy"))
    mechanism = dict(content.get("mechanism", {}))
    said_identifier = records.pop("identifier", None)
    form = DraftForm(
        name=_text(content.get("name")),
        dataset=_text(content.get("dataset")),
        description=_text(content.get("description")),
        partition=_text(content.get("partition")),
        identifier=_text(said_identifier),
        no_identifier="records" in content and said_identifier is None,
        expected=_text(records.pop("expected", None)),
        public=_truth(records, "public"),
        spellings=_listed(records.pop("missing_spellings", [])),
        class_name=_text(class_.pop("name", None)),
        class_values=tree_text(_known(class_.pop("values", None))),
        class_held_by=_listed(class_.pop("held_by", "")),
        epsilon=_text(privacy.pop("epsilon", None)),
        delta=_text(privacy.pop("delta", None)),
        neighbors=_text(privacy.pop("neighbors", "add-remove")),
        mechanism=_text(mechanism.pop("name", None)),
        records_more=_lines(records),
        class_more=_lines(class_),
        privacy_more=_lines(privacy),
        mechanism_more=_lines(mechanism),
        more=_sections({key: content[key] for key in content if key not in (*SHOWN_ABOVE, *SHOWN_BELOW)}),
        parties=[_party(name, dict(said)) for name, said in content.get("parties", {}).items()],
        columns=[
            _column(name, dict(said), draft.words.get(name, ())) for name, said in content.get("attributes", {}).items()
        ],
    )
    form.class_words = "\n".join(draft.words.get(form.class_name, ()))
    return form


def _party(name: str, said: Content) -> PartyFields:
    return PartyFields(
        name=name,
        host=_text(said.pop("host", None)),
        certificate=_text(said.pop("certificate", None)),
        approvals=_text(said.pop("approvals", None)),
        data=_truth(said, "data", usually=True),
        dials_out=_is_dial_out(said),
        more=_lines(said),
    )


def _is_dial_out(said: Content) -> bool:
    if said.get("reach") not in ("listen", "dial-out"):
        return False  # what it is instead stays in `more`
    return bool(said.pop("reach") == "dial-out")


def _column(name: str, said: Content, words: Sequence[str]) -> ColumnFields:
    found = ColumnFields(name=name, words="\n".join(words))
    found.held_by, found.kind = _listed(said.pop("held_by", "")), _text(said.pop("kind", None))
    found.missing = _text(said.pop("missing", None))
    if isinstance(said.get("taxonomy"), Mapping):
        found.values = tree_text(said.pop("taxonomy"))
    elif "values" in said:
        found.values = tree_text(_known(said.pop("values")))
    bounds = said.get("bounds")
    if is_placeholder(bounds) and not isinstance(bounds, list):
        del said["bounds"]
    elif isinstance(bounds, list) and len(bounds) == 2:
        found.lower, found.upper = map(_text, said.pop("bounds"))
    grid = said.get("grid")
    if isinstance(grid, Mapping) and len(grid) == 1 and next(iter(grid)) in GRIDS:
        ((found.grid, cells),) = said.pop("grid").items()
        found.cells = ", ".join(map(_text, cells)) if isinstance(cells, list) else _text(cells)
    found.more = _lines(said)
    return found


class _Reading:
    """Fields read back."""

    def __init__(self, form: DraftForm) -> None:
        self.form, self.problems = form, list[DraftProblem]()

    def draft(self) -> Draft:
        form = self.form
        rest = self._table("more", form.more)
        content: Content = {"format": 2, "name": form.name or FILL_IN, "dataset": form.dataset or FILL_IN}
        content |= {"description": form.description} if form.description else {}
        content |= {
            "partition": form.partition or FILL_IN,
            "parties": self._rows("parties", form.parties, self._party),
            "records": self._records(),
            "class": self._class(),
            "attributes": self._rows("columns", form.columns, self._column),
            "privacy": self._privacy(),
            "mechanism": {
                "name": form.mechanism or FILL_IN,
                **self._table("mechanism_more", form.mechanism_more),
            },
            **{key: value for key, value in rest.items() if key not in (*SHOWN_ABOVE, *SHOWN_BELOW)},
        }
        words = {row.name: tuple(filter(None, map(str.strip, row.words.splitlines()))) for row in form.columns}
        words[form.class_name] = tuple(filter(None, map(str.strip, form.class_words.splitlines())))
        return Draft(content, {name: said for name, said in words.items() if said})

    def _records(self) -> Content:
        form, found = self.form, Content()
        if form.identifier or not form.no_identifier:
            found["identifier"] = form.identifier or FILL_IN
        found |= {"expected": _number(form.expected) if form.expected else FILL_IN, "public": form.public}
        # An empty cell is missing whatever the list says, so an empty list is one that says nothing more.
        found["missing_spellings"] = _items(form.spellings)
        return found | self._table("records_more", form.records_more)

    def _class(self) -> Content:
        form = self.form
        values = self._values("class_values", form.class_values)
        if isinstance(values, Mapping):
            self._tell("class_values", "the values of a class are a list: take the spaces before them away")
        found: Content = {"name": form.class_name or FILL_IN, "values": values}
        return found | _holders(form.class_held_by) | self._table("class_more", form.class_more)

    def _privacy(self) -> Content:
        form = self.form
        found: Content = {"epsilon": _number(form.epsilon) if form.epsilon else FILL_IN}
        found |= {"delta": _number(form.delta)} if form.delta else {}
        found |= {"neighbors": form.neighbors} if form.neighbors else {}
        return found | self._table("privacy_more", form.privacy_more)

    def _party(self, number: int, row: PartyFields) -> Content:
        found: Content = {}
        found |= {"host": row.host} if row.host else {}
        found |= {"certificate": row.certificate} if row.certificate else {}
        found |= {"approvals": _number(row.approvals)} if row.approvals else {}
        found |= {} if row.data else {"data": False}
        found |= {"reach": "dial-out"} if row.dials_out else {}
        return found | self._table(f"parties-{number}-more", row.more)

    def _column(self, number: int, row: ColumnFields) -> Content:
        found: Content = {"kind": row.kind or FILL_IN}
        more = self._table(f"columns-{number}-more", row.more)
        if row.kind == "categorical" and "taxonomy" not in more:
            values = self._values(f"columns-{number}-values", row.values)
            found |= {"taxonomy": values} if isinstance(values, Mapping) else {"values": values}
        if row.kind == "numerical":
            bounds = [_number(text) if text else FILL_IN for text in (row.lower, row.upper)]
            found["bounds"] = bounds if row.lower or row.upper else FILL_IN
            if "grid" not in more:
                found["grid"] = self._grid(row)
        if row.missing:
            found["missing"] = _number(row.missing) if row.kind == "numerical" else row.missing
        return found | _holders(row.held_by) | more

    def _grid(self, row: ColumnFields) -> Any:
        if not row.cells:
            return FILL_IN
        if row.grid == "edges":
            return {"edges": [_number(text) for text in _items(row.cells)]}
        return {row.grid: _number(row.cells)}

    def _values(self, name: str, text: str) -> Any:
        if not text.strip():
            return FILL_IN
        try:
            return tree_from_text(text)
        except ValueError as exc:
            self._tell(name, str(exc))
            return FILL_IN

    def _table(self, name: str, text: str) -> Content:
        try:
            return tomllib.loads(text.replace("\r\n", "\n"), parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError) as exc:
            self._tell(name, f"not valid TOML: {exc}")
            return {}

    def _rows(self, what: str, rows: Sequence[Row], read: Callable[[int, Row], Content]) -> Content:
        found: Content = {}
        for number, row in enumerate(rows):
            said = read(number, row)
            if not row.name:
                self._tell(f"{what}-{number}-name", "give it a name, or take it out")
            elif row.name in found:
                self._tell(f"{what}-{number}-name", f"the name '{row.name}' stands twice")
            else:
                found[row.name] = said
        return found

    def _tell(self, name: str, sentence: str) -> None:
        self.problems.append(DraftProblem(name, sentence))


def _text(value: object) -> str:
    """A value as it is typed; nothing for what is not said or left open."""
    if value is None or value == FILL_IN:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) and value.is_finite() else str(value)


def _listed(value: object) -> str:
    """Texts with commas; what is left open is said, since nothing typed means something else here."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _known(value: object) -> object:
    return None if is_placeholder(value) else value


def _truth(said: Content, key: str, *, usually: bool = False) -> bool:
    """A truth value that a box can show; anything else stays where it is."""
    return bool(said.pop(key)) if isinstance(said.get(key), bool) else usually


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _holders(text: str) -> Content:
    names = _items(text)
    return {} if not names else {"held_by": names[0] if len(names) == 1 else names}


def _number(text: str) -> Any:
    """A number, whole where it is one; what is none stays text, for the agreement's rules to say so."""
    try:
        number = number_from(text)
    except ValueError:
        return text
    return (
        int(number) if number == number.to_integral_value() and "." not in text and "e" not in text.lower() else number
    )


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())


def _sections(tables: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    parts = [_lines(plain)] if plain else []
    parts += [f"[{toml_key(key)}]\n{_lines(table)}" for key, table in tables.items() if isinstance(table, Mapping)]
    return "\n\n".join(parts)
