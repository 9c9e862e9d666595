"""Drafts of several parties become one. What they say differently is named, with all sides; nobody's word wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

from copublish.agreement.loading import FILL_IN, is_placeholder
from copublish.errors import AgreementError
from copublish.tools.drafting.differences import WHOLE, Conflict, Merge, Path
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.membership import completed
from copublish.tools.drafting.text import toml_value

Side = tuple[str, Any]
"""Who says something, and what."""

SETS = ("values", "missing_spellings", "identifier_rules")
"""Lists whose order two parties need not write alike; the first draft's is taken."""

DECIDING = ("kind", "name")
"""Keys that say what the others of a section are about: where they differ, the rest does by itself."""


def merge_drafts(drafts: Mapping[str, Draft], choices: Mapping[Path, str] | None = None) -> Draft:
    """One draft that says what all of them say.

    An open question is answered by whoever knows the answer. Columns keep the parties that have them.

    Args:
        drafts: Under names by which a message calls them, mostly of their files.
        choices: Whose word people have decided to take, by the path of a conflict.

    Raises:
        AgreementError: If drafts contradict each other, with every conflict and all its sides.
    """
    merged = compare_drafts(drafts, choices)
    if merged.conflicts:
        raise AgreementError("What the drafts say together", [one.sentence for one in merged.conflicts])
    return merged.draft


def compare_drafts(drafts: Mapping[str, Draft], choices: Mapping[Path, str] | None = None) -> Merge:
    """The same with its conflicts instead of an error, for who wants to look at all sides and decide.

    Args:
        drafts: Under their names.
        choices: Whose word people have decided to take, by the path of a conflict. A choice can show conflicts that
            were behind it.
    """
    contents = {who: deepcopy(draft.content) for who, draft in drafts.items()}
    for path, who in (choices or {}).items():
        _take_from(contents, path, who)
    sides = _with_delta(_with_kinds(_with_roles(list(contents.items()))))
    conflicts: list[Conflict] = []
    content = _merged_tables((), sides, conflicts)
    _merge_holders(content, sides, conflicts)
    completed(content)
    conflicts += _not_everywhere(content, sides)
    words: dict[str, Sequence[str]] = {}
    for draft in drafts.values():
        for column, said in draft.words.items():
            words[column] = tuple(dict.fromkeys([*words.get(column, ()), *said]))
    comments = tuple(dict.fromkeys(comment for draft in drafts.values() for comment in draft.comments))
    together = Draft(content, words, comments=comments)
    return Merge(together, tuple(conflicts), {who: draft.content for who, draft in drafts.items()})


def _take_from(contents: Mapping[str, Content], path: Path, who: str) -> None:
    """Have all drafts say what one of them says at a place; what it does not say goes."""
    chosen: Any = contents.get(who, {})
    for key in path:
        chosen = chosen.get(key) if isinstance(chosen, Mapping) else None
    for content in contents.values():
        table: Any = content
        for key in path[:-1]:
            table = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict):
            table.pop(path[-1], None)
            if chosen is not None:
                table[path[-1]] = deepcopy(chosen)


def _merged_tables(place: Path, sides: Sequence[Side], conflicts: list[Conflict]) -> Content:
    """Every key that some side has, in the order in which they first come; of several sides what they agree on."""
    merged: Content = {}
    for key in dict.fromkeys(key for _, table in sides for key in table):
        found = len(conflicts)
        having = [(who, table[key]) for who, table in sides if key in table]
        merged[key] = _merged_value((*place, key), key, having, conflicts)
        if place and key in DECIDING and len(conflicts) > found:
            return merged
    if place[:1] == ("attributes",) and len(place) == 2 and not all("decimals" in table for _, table in sides):
        # A side that does not say so may have fractions, which must not be read as rounded.
        merged.pop("decimals", None)
        conflicts[:] = [conflict for conflict in conflicts if conflict.path != (*place, "decimals")]
    if place[:1] == ("attributes",) and len(place) > 1 and "values" in merged and "taxonomy" in merged:
        _keep_one_list(place, merged, sides, conflicts)
    return merged


def _merged_value(place: Path, key: str, sides: Sequence[Side], conflicts: list[Conflict]) -> Any:
    known = [(who, value) for who, value in sides if not is_placeholder(value)]
    if not known:
        return FILL_IN
    if key == "grid":
        known = _with_all_points(known)
    if place == ("mechanism", "tables", "must") and all(isinstance(value, list) for _, value in known):
        return _all_tables(known)
    if key not in WHOLE and all(isinstance(value, Mapping) for _, value in known):
        return _merged_tables(place, known, conflicts)
    # The holders of a column add up, which is done when the parties are known.
    if key != "held_by" and not all(_alike(key, known[0][1], value) for _, value in known):
        conflicts.append(Conflict(place, _all_sides(known)))
    return known[0][1]


def _with_all_points(sides: Sequence[Side]) -> list[Side]:
    """Grids, each with the points that any of them has besides: what somebody has asked for contradicts nothing."""
    points = [point for _, grid in sides if isinstance(grid, Mapping) for point in _listed(grid.get("also"))]
    if not points:
        return list(sides)
    also = sorted(set(points)) if all(isinstance(point, int | Decimal) for point in points) else points
    return [(who, {**grid, "also": also} if isinstance(grid, Mapping) else grid) for who, grid in sides]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _all_tables(sides: Sequence[Side]) -> list[Any]:
    """The required tables of all drafts: each asks for what its own columns have to answer."""
    found: dict[object, Any] = {}
    for _, tables in sides:
        for table in tables:
            found.setdefault(toml_value(sorted(map(str, table)) if isinstance(table, list) else table), table)
    return list(found.values())


def _alike(key: str, one: Any, other: Any) -> bool:
    if key in SETS and isinstance(one, list) and isinstance(other, list):
        return sorted(map(toml_value, one)) == sorted(map(toml_value, other))
    # True is 1 to Python; in an agreement it is not.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _keep_one_list(place: Path, merged: Content, sides: Sequence[Side], conflicts: list[Conflict]) -> None:
    """A column has a flat list or a tree: an open list goes if somebody has a tree, and the other way around."""
    for key in ("values", "taxonomy"):
        if is_placeholder(merged[key]):
            del merged[key]
            return
    if any("values" in table and "taxonomy" in table for _, table in sides):
        return  # the agreement's own rules refuse that
    said = [(who, {key: table[key]}) for who, table in sides for key in ("values", "taxonomy") if key in table]
    conflicts.append(Conflict(place, _all_sides(said)))


def _all_sides(sides: Sequence[Side]) -> str:
    """Who says what, with those together who say the same."""
    groups: dict[str, list[str]] = {}
    for who, value in sides:
        groups.setdefault(toml_value(value), []).append(f"'{who}'")
    said = [f"{' and '.join(names)} {'says' if len(names) == 1 else 'say'} {value}" for value, names in groups.items()]
    return "; ".join(said)


def _owners(content: Content) -> list[str]:
    return [name for name, party in content.get("parties", {}).items() if party.get("data") is not False]


def _holders(content: Content, section: Content) -> list[str]:
    """Who holds a column by one draft: all of its parties, if it does not say."""
    said = section.get("held_by", _owners(content))
    listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return [party for party in listed if isinstance(party, str) and party != FILL_IN]


def _merge_holders(content: Content, sides: Sequence[Side], conflicts: list[Conflict]) -> None:
    """Add up who holds the class and every attribute."""
    for name, section in content.get("attributes", {}).items():
        having = [
            (who, draft, draft["attributes"][name]) for who, draft in sides if name in draft.get("attributes", {})
        ]
        _add_up_holders(content, section, having)
        differing = {tuple(sorted(_holders(draft, said))) for _, draft, said in having} - {()}
        if content.get("partition") == "vertical" and len(differing) > 1:
            said = _all_sides([(who, _holders(draft, said)) for who, draft, said in having])
            how = (
                "In vertical data one party holds a column, but for the identifier and the class. Leave it out of the "
                'other drafts, name it in records.identifier or class.name, or write partition = "arbitrary" in all '
                "of them"
            )
            conflicts.append(Conflict(("attributes", name, "held_by"), f"{said}. {how}"))
    if "class" in content:
        having = [(who, draft, draft["class"]) for who, draft in sides if "class" in draft]
        _add_up_holders(content, content["class"], having)


def _add_up_holders(content: Content, section: Content, having: Sequence[tuple[str, Content, Content]]) -> None:
    spoken = [said["held_by"] for _, _, said in having if "held_by" in said]
    if len(spoken) == len(having) and all(said == spoken[0] for said in spoken):
        section["held_by"] = spoken[0]
        return
    together = list(dict.fromkeys(party for _, draft, said in having for party in _holders(draft, said)))
    section.pop("held_by", None)
    if set(together) != set(_owners(content)) or (spoken and section is not content.get("class")):
        section["held_by"] = (together[0] if len(together) == 1 else together) or FILL_IN


def _not_everywhere(content: Content, sides: Sequence[Side]) -> Iterator[Conflict]:
    """Yield a conflict for every column that owners of whole rows do not all have."""
    if content.get("partition") != "horizontal":
        return
    having = [(who, draft["attributes"]) for who, draft in sides if draft.get("attributes")]
    for name in content.get("attributes", {}):
        without = [f"'{who}'" for who, attributes in having if name not in attributes]
        if without:
            yield Conflict(
                ("attributes", name),
                f"it is not in {' and '.join(without)}. In horizontal data every party has every column: add it there, "
                "or leave it out everywhere",
            )


def _with_roles(sides: Sequence[Side]) -> list[Side]:
    """The drafts, where one that left the class, the identifier or the partition open has the others' for it.

    Such a draft has a column among its attributes, or holders of it, because its author did not know better.
    """
    class_names = _names_in(sides, "class", "name")
    identifiers = _names_in(sides, "records", "identifier")
    partitions = {draft.get("partition") for _, draft in sides if isinstance(draft.get("partition"), str)} - {FILL_IN}
    if not class_names and not all("class" in draft for _, draft in sides):
        # A draft without the section says that no column is to be predicted.
        sides = [(who, {key: said for key, said in draft.items() if key != "class"}) for who, draft in sides]
    found = [(who, _with_class(_with_identifier(draft, identifiers), class_names)) for who, draft in sides]
    return [(who, _with_whole_rows(draft) if partitions == {"horizontal"} else draft) for who, draft in found]


def _names_in(sides: Sequence[Side], section: str, key: str) -> set[str]:
    said = (draft.get(section, {}).get(key) for _, draft in sides)
    return {name for name in said if isinstance(name, str) and name != FILL_IN}


def _with_identifier(draft: Content, known: set[str]) -> Content:
    if len(known) != 1 or draft.get("records", {}).get("identifier", FILL_IN) != FILL_IN:
        return draft
    attributes = {name: said for name, said in draft.get("attributes", {}).items() if name not in known}
    return {**draft, "attributes": attributes} if "attributes" in draft else draft


def _with_class(draft: Content, known: set[str]) -> Content:
    if len(known) != 1 or "class" not in draft or draft["class"].get("name", FILL_IN) != FILL_IN:
        return draft
    (name,) = known
    attributes = dict(draft.get("attributes", {}))
    column = attributes.pop(name, None)
    section = {**draft["class"], "name": name, "held_by": FILL_IN}
    if column is not None:
        section["held_by"] = _holders(draft, column)
        if is_placeholder(section.get("values", FILL_IN)):
            section["values"] = column.get("values", FILL_IN)
    return {**draft, "class": section, "attributes": attributes}


def _with_whole_rows(draft: Content) -> Content:
    """A draft of whole rows: that its own parties hold a column goes without saying, where it was not known before."""
    if draft.get("partition", FILL_IN) != FILL_IN:
        return draft

    def stripped(section: Content) -> Content:
        if set(_holders(draft, section)) != set(_owners(draft)):
            return section
        return {key: value for key, value in section.items() if key != "held_by"}

    attributes = {name: stripped(section) for name, section in draft.get("attributes", {}).items()}
    return {**draft, "attributes": attributes, **({"class": stripped(draft["class"])} if "class" in draft else {})}


def _with_kinds(sides: Sequence[Side]) -> list[Side]:
    """The drafts, where a kind that follows from a type alone yields to one that somebody has values or bounds for."""
    names = dict.fromkeys(name for _, draft in sides for name in draft.get("attributes", {}))
    kinds = {name: _kinds_of([draft.get("attributes", {}).get(name) for _, draft in sides]) for name in names}
    found = []
    for who, draft in sides:
        if "attributes" in draft:
            sections = {name: _with_kind(section, *kinds[name]) for name, section in draft["attributes"].items()}
            draft = {**draft, "attributes": sections}
        found.append((who, draft))
    return found


def _with_delta(sides: Sequence[Side]) -> list[Side]:
    """The drafts, where the delta of one that left the number of records open yields to one that follows from it."""

    def has_expected(draft: Content) -> bool:
        return bool(draft.get("records", {}).get("expected", FILL_IN) != FILL_IN)

    if not any(has_expected(draft) and "delta" in draft.get("privacy", {}) for _, draft in sides):
        return list(sides)
    return [(who, draft if has_expected(draft) else _without_delta(draft)) for who, draft in sides]


def _without_delta(draft: Content) -> Content:
    privacy = {key: value for key, value in draft.get("privacy", {}).items() if key != "delta"}
    return {**draft, "privacy": privacy} if "privacy" in draft else draft


def _kinds_of(sections: Sequence[Content | None]) -> tuple[set[str], set[str]]:
    """The kinds that drafts have something for, and those that are merely said."""
    said = [section for section in sections if section is not None and isinstance(section.get("kind"), str)]
    known = {section["kind"] for section in said if not _is_open(section)}
    return known, {section["kind"] for section in said if _is_open(section)} - {FILL_IN}


def _is_open(section: Content) -> bool:
    content = [section[key] for key in ("values", "taxonomy", "bounds") if key in section]
    return not content or any(map(is_placeholder, content))


def _with_kind(section: Content, known: set[str], merely_said: set[str]) -> Content:
    if not _is_open(section) or section.get("kind") in known or (not known and len(merely_said) < 2):
        return section
    held_by = {"held_by": section["held_by"]} if "held_by" in section else {}
    return {"kind": FILL_IN, **held_by}
