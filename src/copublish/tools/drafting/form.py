"""A draft as fields that a person fills in, and back; and the field that a key of the file is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from copublish.tools.drafting.comments import comments_from_field
from copublish.tools.drafting.draft import Draft
from copublish.tools.drafting.fields import ColumnFields, DraftFields, DraftProblem, PartyFields
from copublish.tools.drafting.form_fields import FieldsRead, fields_of_draft, has_no_use_for_delta, kept_column
from copublish.tools.drafting.questions import ASKED


@dataclass(kw_only=True)
class DraftForm(DraftFields):
    """All fields of a draft, as typed. An empty one is an open point where an agreement needs an answer."""

    @staticmethod
    def of(draft: Draft) -> DraftForm:
        """The fields of a draft."""
        return fields_of_draft(draft, DraftForm)

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

    @property
    def asked(self) -> list[str]:
        """The questions that the file says it was asked, each once."""
        try:
            comments = comments_from_field(self.comments)
        except ValueError:
            return []
        return list(dict.fromkeys(one.text.removeprefix(ASKED) for one in comments if one.text.startswith(ASKED)))

    def add(self, rows: str) -> None:
        """Add an empty row to `parties` or `columns`."""
        if rows == "parties":
            self.parties.append(PartyFields())
        else:
            self.columns.append(ColumnFields())

    @property
    def leaves_delta_out(self) -> bool:
        """Whether the delta is not written, because nobody chose it and the mechanism can have none."""
        return has_no_use_for_delta(self)

    def keep(self, column: str, *, kind: str = "", held_by: str = "") -> None:
        """Add a row for a column that was left out, if there is none of that name.

        Args:
            column: The column.
            kind: What its type says, as the draft has it in `kinds_left_out`.
            held_by: Who has it.
        """
        if column not in [row.name for row in self.columns]:
            self.columns.append(kept_column(column, kind, held_by))

    def remove(self, rows: str, number: int) -> None:
        """Take a row out of `parties` or `columns`; nothing happens if there is none of that number."""
        if rows == "parties":
            del self.parties[number : number + 1]
        else:
            del self.columns[number : number + 1]

    def read(self) -> tuple[Draft, tuple[DraftProblem, ...]]:
        """The draft that the fields say, and what could not be read at all, under the names of fields."""
        reading = FieldsRead(self)
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
        if place.startswith(LENGTH_OF):
            owners = [row.name for row in self.parties]
            owner = place.removeprefix(LENGTH_OF)
            return f"parties-{owners.index(owner)}-at_most" if owner in owners else "membership"
        return FIELDS_OF_PLACES.get(place) or FIELDS_OF_PLACES.get(place.partition(".")[0], "")

    def _field_of_row(self, row: PartyFields | ColumnFields, key: str) -> str:
        key = key.partition(".")[0]
        if key == "bounds" and isinstance(row, ColumnFields):
            return "upper" if row.lower and not row.upper else "lower"
        key = {"taxonomy": "values", "grid": "cells", "reach": "host"}.get(key, key)
        if not key:  # a rule about several keys of the row
            return {"numerical": "lower", "categorical": "values"}.get(getattr(row, "kind", ""), "name")
        return key if key in [one.name for one in fields(row)] else "more"


LENGTH_OF = "records.at_most."

FIELDS_OF_PLACES = {
    "name": "name",
    "dataset": "dataset",
    "description": "description",
    "partition": "partition",
    "records": "expected",
    "records.identifier": "identifier",
    "records.expected": "expected",
    "records.membership": "membership",
    "records.at_most": "membership",
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
    "privacy.membership_epsilon": "membership_epsilon",
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
