"""Fields of a draft read back.

Reading never fails: what cannot be read stays as it was typed, so that the agreement's own rules say what is wrong with
it, and where.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from copublish.agreement.placeholders import FILL_IN
from copublish.tools.drafting.answers import number_from
from copublish.tools.drafting.comments import Comment, comments_from_field
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.fields import SHOWN_ABOVE, SHOWN_BELOW, ColumnFields, DraftFields, PartyFields
from copublish.tools.drafting.problems import DraftProblem
from copublish.tools.drafting.trees import tree_from_text

Row = TypeVar("Row", PartyFields, ColumnFields)


class Reading:
    """Fields read back."""

    def __init__(self, form: DraftFields) -> None:
        self.form, self.problems = form, list[DraftProblem]()

    def draft(self) -> Draft:
        """The draft that they say; `problems` has what could not be read at all, under the names of fields."""
        form = self.form
        rest = self._table("more", form.more)
        content: Content = {"format": 1, "name": form.name or FILL_IN, "dataset": form.dataset or FILL_IN}
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
        return Draft(content, {name: said for name, said in words.items() if said}, comments=self._comments())

    def _comments(self) -> Sequence[Comment]:
        try:
            return comments_from_field(self.form.comments)
        except ValueError:
            self._tell("", "the comments of the file cannot be read in this form. Load the page again")
            return ()

    def _records(self) -> Content:
        form, found = self.form, Content()
        if form.identifier or not form.no_identifier:
            found["identifier"] = form.identifier or FILL_IN
        found |= {"expected": _number(form.expected) if form.expected else FILL_IN, "public": form.public}
        # An empty cell is missing whatever the list says, so an empty list is one that says nothing more.
        found["missing_spellings"] = spellings_from_lines(form.spellings)
        more = self._table("records_more", form.records_more)
        if form.spellings and "missing_spellings" in more:
            self._tell("spellings", "missing_spellings stands among the other keys, too: take one of them away")
        return found | more

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


def spellings_from_lines(text: str) -> list[str]:
    """Spellings of missing values, a line for each: a comma can be part of one."""
    return [line.strip() for line in text.split("\n") if line.strip()]


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
