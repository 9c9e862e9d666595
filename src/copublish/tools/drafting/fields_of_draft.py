"""A draft in fields. Nothing that the fields do not show is lost: it stands in fields of TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from copublish.agreement.columns import DEFAULT_SPELLINGS
from copublish.agreement.placeholders import FILL_IN, is_placeholder
from copublish.tools.drafting.comments import comments_to_field
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.fields import GRIDS, SHOWN_ABOVE, SHOWN_BELOW, ColumnFields, DraftFields, PartyFields
from copublish.tools.drafting.fields_read import spellings_from_lines
from copublish.tools.drafting.text import toml_key, toml_value
from copublish.tools.drafting.trees import tree_text

Form = TypeVar("Form", bound=DraftFields)


def fields_of_draft(draft: Draft, kind: type[Form]) -> Form:
    """The fields of a draft."""
    content = draft.content
    records, class_, privacy = (dict(content.get(section, {})) for section in ("records", "class", "privacy"))
    mechanism = dict(content.get("mechanism", {}))
    said_identifier = records.pop("identifier", None)
    form = kind(
        name=_text(content.get("name")),
        dataset=_text(content.get("dataset")),
        description=_text(content.get("description")),
        partition=_text(content.get("partition")),
        identifier=_text(said_identifier),
        no_identifier="records" in content and said_identifier is None,
        expected=_text(records.pop("expected", None)),
        public=_truth(records, "public"),
        spellings=_spellings(records),
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
        comments=comments_to_field(draft.comments),
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
