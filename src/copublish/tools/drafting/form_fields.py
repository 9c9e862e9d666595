"""A draft in fields. Nothing that the fields do not show is lost: it stands in fields of TOML.

Fields of a draft read back.

Reading never fails: what cannot be read stays as it was typed, so that the agreement's own rules say what is wrong with
it, and where.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from copublish.agreement.columns import DEFAULT_SPELLINGS
from copublish.agreement.loading import FILL_IN, is_placeholder
from copublish.errors import AgreementError
from copublish.mechanisms.registry import mechanism_named, mechanism_names
from copublish.tools.drafting.answers import number_from
from copublish.tools.drafting.comments import Comment, comments_from_field, comments_to_field
from copublish.tools.drafting.draft import Content, Draft, default_grid
from copublish.tools.drafting.fields import (
    GRIDS,
    SHOWN_ABOVE,
    SHOWN_BELOW,
    ColumnFields,
    DraftFields,
    DraftProblem,
    PartyFields,
)
from copublish.tools.drafting.first_choice import drafted_delta
from copublish.tools.drafting.questions import with_questions
from copublish.tools.drafting.text import toml_key, toml_value, tree_from_text, tree_text

Form = TypeVar("Form", bound=DraftFields)


def fields_of_draft(draft: Draft, kind: type[Form]) -> Form:
    """The fields of a draft."""
    content = draft.content
    records, class_, privacy = (dict(content.get(section, {})) for section in ("records", "class", "privacy"))
    mechanism = dict(content.get("mechanism", {}))
    parties = content.get("parties", {})
    lengths = _lengths(records, parties)
    # Several columns stay among the other keys, as text of the file: the field has room for one.
    said_identifier = None if isinstance(records.get("identifier"), list) else records.pop("identifier", None)
    form = kind(
        name=_text(content.get("name")),
        dataset=_text(content.get("dataset")),
        description=_text(content.get("description")),
        partition=_text(content.get("partition")),
        identifier=_text(said_identifier),
        no_identifier="records" in content and said_identifier is None,
        expected=_text(records.pop("expected", None)),
        membership=_membership(records),
        public=_truth(records, "public"),
        spellings=_spellings(records),
        class_name=_text(class_.pop("name", None)),
        no_class="class" not in content,
        class_values=tree_text(_known(class_.pop("values", None))),
        class_held_by=_listed(class_.pop("held_by", "")),
        epsilon=_text(privacy.pop("epsilon", None)),
        delta=_text(privacy.pop("delta", None)),
        neighbors=_text(privacy.pop("neighbors", "add-remove")),
        membership_epsilon=_text(privacy.pop("membership_epsilon", None)),
        mechanism=_text(mechanism.pop("name", None)),
        records_more=_lines(records),
        class_more=_lines(class_),
        privacy_more=_lines(privacy),
        mechanism_more=_lines(mechanism),
        more=_sections({key: content[key] for key in content if key not in (*SHOWN_ABOVE, *SHOWN_BELOW)}),
        comments=comments_to_field(draft.comments),
        parties=[_party(name, dict(said), lengths.get(name)) for name, said in parties.items()],
        columns=[
            _column(name, dict(said), draft.words.get(name, ())) for name, said in content.get("attributes", {}).items()
        ],
    )
    if form.delta and form.delta == _delta_of_draft(form):
        form.drafted_delta = form.delta
    form.class_words = "\n".join(draft.words.get(form.class_name, ()))
    return form


def _delta_of_draft(form: DraftFields) -> str | None:
    """The delta that a draft with these fields would have; nothing if it would have none."""
    follows = form.mechanism in mechanism_names() and mechanism_named(form.mechanism).settings.noise_follows_delta
    return drafted_delta(int(form.expected) if form.expected.isdecimal() else FILL_IN) if follows else None


def has_no_use_for_delta(form: DraftFields) -> bool:
    """Whether the delta is one that nobody chose, and the mechanism that was chosen since can have none."""
    if not form.delta or form.delta != form.drafted_delta or form.mechanism not in mechanism_names():
        return False
    says_noise = any(line.startswith("noise") for line in form.mechanism_more.splitlines())
    return not (says_noise or mechanism_named(form.mechanism).settings.noise_follows_delta)


def kept_column(name: str, kind: str, held_by: str) -> ColumnFields:
    """The fields of a column that was left out of a draft, and is to be published."""
    section: Content = {"kind": kind, "missing": "category"} if kind in ("categorical", "numerical") else {}
    grid = {"grid": default_grid(None, is_whole=False)} if kind == "numerical" else {}
    return _column(name, {**section, **grid, "held_by": held_by}, ())


def _membership(records: Content) -> str:
    return str(records.pop("membership")) if records.get("membership") in MEMBERSHIPS else ""


MEMBERSHIPS = ("hidden", "shared")


def _lengths(records: Content, parties: Mapping[str, Content]) -> Mapping[str, Any]:
    """The length of each owner's list, taken out of the records; what rows of parties cannot show stays there."""
    said = records.get("at_most", {})
    owners = [name for name, party in parties.items() if party.get("data") is not False]
    if said == FILL_IN and records.get("membership") == "hidden":
        del records["at_most"]
        return {}
    if not isinstance(said, Mapping) or not set(said) <= set(owners):
        return {}
    records.pop("at_most", None)
    return said


def _party(name: str, said: Content, at_most: object) -> PartyFields:
    return PartyFields(
        name=name,
        host=_text(said.pop("host", None)),
        certificate=_text(said.pop("certificate", None)),
        approvals=_text(said.pop("approvals", None)),
        data=_truth(said, "data", usually=True),
        dials_out=_is_dial_out(said),
        at_most=_text(at_most),
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
    if isinstance(grid, Mapping) and isinstance(grid.get("also", []), list):
        ways = [way for way in grid if way != "also"]
        if len(ways) == 1 and ways[0] in GRIDS:
            del said["grid"]
            found.grid, found.cells, found.also = ways[0], _numbers(grid[ways[0]]), _numbers(grid.get("also"))
    found.more = _lines(said)
    return found


def _text(value: object) -> str:
    """A value as it is typed; nothing for what is not said or left open."""
    if value is None or value == FILL_IN:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) and value.is_finite() else str(value)


def _numbers(value: object) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _listed(value: object) -> str:
    """Texts with commas; what is left open is said, since nothing typed means something else here."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _spellings(records: Content) -> str:
    """Spellings of missing values, a line for each; a list that lines cannot say is left to be shown as TOML."""
    # A file that says nothing means the usual ones. An empty field means none, so they are written out.
    said = records.pop("missing_spellings", list(DEFAULT_SPELLINGS))
    if not isinstance(said, list):
        return str(said)
    lines = "\n".join(map(str, said))
    if spellings_from_lines(lines) == said:
        return lines
    records["missing_spellings"] = said
    return ""


def _known(value: object) -> object:
    return None if is_placeholder(value) else value


def _truth(said: Content, key: str, *, usually: bool = False) -> bool:
    """A truth value that a box can show; anything else stays where it is."""
    return bool(said.pop(key)) if isinstance(said.get(key), bool) else usually


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())


def _sections(tables: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in tables.items() if not isinstance(value, Mapping)}
    parts = [_lines(plain)] if plain else []
    parts += [f"[{toml_key(key)}]\n{_lines(table)}" for key, table in tables.items() if isinstance(table, Mapping)]
    return "\n\n".join(parts)


Row = TypeVar("Row", PartyFields, ColumnFields)


class FieldsRead:
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
            **self._class(),
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
        draft = Draft(content, {name: said for name, said in words.items() if said}, comments=self._comments())
        try:
            return with_questions(draft, form.questions.splitlines())
        except AgreementError as exc:
            self.problems += [DraftProblem("questions", sentence) for sentence in exc.problems]
            return draft

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
        found |= {"expected": _number(form.expected) if form.expected else FILL_IN, **self._membership()}
        found |= {"public": form.public}
        # An empty cell is missing whatever the list says, so an empty list is one that says nothing more.
        found["missing_spellings"] = spellings_from_lines(form.spellings)
        more = self._table("records_more", form.records_more)
        if form.spellings and "missing_spellings" in more:
            self._tell("spellings", "missing_spellings stands among the other keys, too: take one of them away")
        return found | more

    def _membership(self) -> Content:
        form = self.form
        found: Content = {"membership": form.membership} if form.membership else {}
        if form.membership == "shared":
            return found
        lengths = {row.name: row.at_most for row in form.parties if row.data or row.at_most}
        if form.membership == "hidden":
            known = {name: _number(text) if text else FILL_IN for name, text in lengths.items()}
            return found | {"at_most": known or FILL_IN}
        known = {name: _number(text) for name, text in lengths.items() if text}
        return {"at_most": known} if known else {}

    def _class(self) -> Content:
        form = self.form
        if form.no_class and not any((form.class_name, form.class_values, form.class_held_by, form.class_more)):
            return {}
        values = self._values("class_values", form.class_values)
        if isinstance(values, Mapping):
            self._tell("class_values", "the values of a class are a list: take the spaces before them away")
        found: Content = {"name": form.class_name or FILL_IN, "values": values}
        return {"class": found | _holders(form.class_held_by) | self._table("class_more", form.class_more)}

    def _privacy(self) -> Content:
        form = self.form
        found: Content = {"epsilon": _number(form.epsilon) if form.epsilon else FILL_IN}
        # With an exponent it is written as text, as drafts have it.
        delta = form.delta if "e" in form.delta.lower() else _number(form.delta)
        found |= {"delta": delta} if form.delta and not has_no_use_for_delta(form) else {}
        found |= {"neighbors": form.neighbors} if form.neighbors else {}
        if form.membership_epsilon and form.membership != "shared":
            found["membership_epsilon"] = _number(form.membership_epsilon)
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
            if "grid" not in more and (row.cells or row.also):  # else the mechanism's own grid
                found["grid"] = self._grid(row)
        if row.missing:
            found["missing"] = _number(row.missing) if row.kind == "numerical" else row.missing
        return found | _holders(row.held_by) | more

    def _grid(self, row: ColumnFields) -> Any:
        also = {"also": [_number(text) for text in _items(row.also)]} if row.also else {}
        if row.grid == "edges":
            return {"edges": [_number(text) for text in _items(row.cells)], **also}
        return {row.grid: _number(row.cells), **also}

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
