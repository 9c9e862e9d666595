"""A draft of an agreement: what is known, open questions where nothing is, and split points to begin with."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from copublish.agreement.attributes import USUAL_CELLS
from copublish.agreement.domain import format_number
from copublish.agreement.loading import FILL_IN, places_to_fill_in
from copublish.agreement.round_grid import FEWEST_STEPS, STEPS_OF_FRACTIONS, round_split_points
from copublish.rows.agreed_columns import ColumnType
from copublish.rows.identifying_names import identifying_name
from copublish.tools.drafting.answers import Bounds
from copublish.tools.drafting.comments import Comment
from copublish.tools.drafting.dictionary import ColumnEntry, Dictionary
from copublish.tools.drafting.first_choice import choice_for, drafted_delta
from copublish.tools.drafting.membership import membership_keys, what_is_shared


def default_grid(bounds: Bounds | None, *, is_whole: bool, cells: int = USUAL_CELLS) -> dict[str, Any]:
    """The section `grid` of a number that is drafted. The one place that chooses it.

    Cells at round numbers, which bounds decide, whoever fills them in. Between bounds that lie close together it makes
    a difference whether numbers are whole, which bounds do not tell.

    Args:
        bounds: Its public bounds, if they are known.
        is_whole: Whether it is known to be a whole number.
        cells: How many cells there shall be, about.
    """
    if bounds is not None and is_whole and bounds[1] - bounds[0] < FEWEST_STEPS:
        return {"step": 1}
    if bounds is not None and not is_whole and bounds[0] < bounds[1] and bounds[1] - bounds[0] < cells:
        decimals = max(0, -(((bounds[1] - bounds[0]) / STEPS_OF_FRACTIONS).adjusted()))
        points = round_split_points(*bounds, cells=cells, decimals=decimals)
        return {"edges": [Decimal(format_number(point)) for point in points]}
    return {"round": cells}


WIDTH_OF_COMMENTS = 110

Content = dict[str, Any]
"""An agreement as nested mappings, with the keys of `agreement.toml`; parts may be missing or open."""


@dataclass(frozen=True)
class Draft:
    """An agreement that may lack something.

    Attributes:
        content: What it says.
        words: Of columns, sentences about each for people: they mean nothing to a run.
        hints: Of places that are to be filled in, what may help.
        comments: Everything else that people have written beside it; a file that is written anew has it, too.
        left_out: Columns that were not drafted because they seem to identify people, with what says so. For who drafts
            alone: no file has it.
        kinds_left_out: Of those the kinds that follow from their types.
        notes: Sentences for who drafts: about the data, and why the mechanism or grids are not the usual ones.
    """

    content: Content
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    comments: Sequence[Comment] = ()
    left_out: Mapping[str, str] = field(default_factory=dict, repr=False)
    kinds_left_out: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: Sequence[str] = ()

    @property
    def open_places(self) -> list[str]:
        """Everything that is still to be filled in."""
        return list(places_to_fill_in(self.content))


@dataclass(frozen=True)
class PartyColumns:
    """The columns of one party's data.

    Attributes:
        party: Whose they are; not known where a dictionary alone says them.
        types: Their types.
        identifying: Why some of them seem to identify people.
        decimal_commas: Those whose numbers have a decimal comma.
    """

    party: str | None
    types: Mapping[str, ColumnType]
    identifying: Mapping[str, str] = field(default_factory=dict, repr=False)
    decimal_commas: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Essentials:
    """What no column says; `FILL IN` where nobody has decided.

    Attributes:
        name, dataset, partition, identifier, epsilon, expected, parties: Of the agreement.
        class_name: The column to predict.
        has_class: Whether there is one.
        mechanism: Which one; without it the first choice, or what works where that cannot be.
        membership: Whether owners of columns learn whom they have in common: "hidden" or "shared"; without it "hidden"
            where that can hold.
    """

    name: str = FILL_IN
    dataset: str = FILL_IN
    partition: str = FILL_IN
    identifier: str = FILL_IN
    class_name: str = FILL_IN
    has_class: bool = True
    epsilon: Decimal | str = FILL_IN
    expected: int | str = FILL_IN
    parties: Sequence[str] = ()
    mechanism: str | None = None
    membership: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What a person said about columns, beyond the dictionary.

    Attributes:
        kinds, values, bounds: Of columns.
        kept: Columns that are to be published although they seem to identify people.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    kept: Collection[str] = ()


def looks_like_identifier(column: str) -> bool:
    """Whether a column's name says that it identifies people."""
    name = column.lower()
    return name == "id" or name.endswith(("_id", "-id"))


def columns_of(parts: Sequence[PartyColumns]) -> dict[str, ColumnType]:
    """Every column of all parties once; its type is known if all that know one say the same."""
    found: dict[str, ColumnType] = {}
    for part in parts:
        for name, kind in part.types.items():
            known = found.get(name, "unknown")
            same = kind if known in ("unknown", kind) else known if kind == "unknown" else "unknown"
            found[name] = same
    return found


def identifying_columns(
    essentials: Essentials, parts: Sequence[PartyColumns], dictionary: Dictionary
) -> dict[str, str]:
    """Columns that are left out unless somebody says that they are to be published, with what says why.

    A column whose values or bounds stand in the dictionary is as public as they are, unless its name says otherwise.
    """
    roles = {entry.name for entry in dictionary.values() if entry.kind in ("identifier", "class")}
    found: dict[str, str] = {}
    for part in parts:
        for column, why in part.identifying.items():
            entry = dictionary.get(column, ColumnEntry(name=column))
            is_listed = entry.values is not None or (entry.bounds is not None and identifying_name(column) is None)
            if column not in (essentials.identifier, essentials.class_name, *roles) and not is_listed:
                found.setdefault(column, why)
    return found


def whole_numbers(parts: Sequence[PartyColumns], dictionary: Dictionary) -> set[str]:
    """Columns that are known to have whole numbers."""
    by_type = {name for name, kind in columns_of(parts).items() if kind == "whole number"}
    return by_type | {name for name, entry in dictionary.items() if entry.is_whole}


def draft_agreement(
    essentials: Essentials, parts: Sequence[PartyColumns], dictionary: Dictionary, decided: Decided | None = None
) -> Draft:
    """A draft from names and types of columns, a dictionary and what people said.

    Privacy:
        Values and bounds are never drafted from data: an agreement is public, and a value that occurs once in
        private data would be published by it. Those in `decided` were typed or confirmed by a person.
    """
    return _Builder(essentials, parts, dictionary, decided or Decided()).draft()


class _Builder:
    def __init__(
        self, essentials: Essentials, parts: Sequence[PartyColumns], dictionary: Dictionary, decided: Decided
    ) -> None:
        self.said, self.parts, self.dictionary, self.decided = essentials, parts, dictionary, decided
        named = [part.party for part in parts if part.party is not None]
        self.parties = list(dict.fromkeys([*essentials.parties, *named]))
        self.types = columns_of(parts)
        self.hints: dict[str, str] = {}

    def draft(self) -> Draft:
        said = self.said
        identifier, class_name = self._identifier(), self._class_name()
        identifying = identifying_columns(said, self.parts, self.dictionary)
        perhaps = {*self._perhaps_identifiers(identifier), *identifying} - set(self.decided.kept)
        left_out = {identifier, class_name, *perhaps}
        columns = [column for column in self._shared() if column not in left_out]
        content: Content = {
            "format": 1,
            "name": said.name,
            "dataset": said.dataset,
            "partition": said.partition,
            "parties": {party: {} for party in self.parties},
            "records": {
                "identifier": identifier,
                "expected": said.expected,
                "public": False,
                "missing_spellings": list(MISSING_SPELLINGS),
            },
            **({"class": self._class(class_name)} if said.has_class else {}),
            "attributes": {},
            "privacy": {"epsilon": said.epsilon, "neighbors": "add-remove"},
        }
        choice = choice_for(
            content, lambda cells: {name: self._attribute(name, cells) for name in columns}, said.mechanism
        )
        settings = choice.mechanism.settings
        if settings.noise_follows_delta and (delta := drafted_delta(said.expected)) is not None:
            content["privacy"] = {"epsilon": said.epsilon, "delta": delta, "neighbors": "add-remove"}
        for section, keys in settings.drafted.items():
            content[section] |= keys
        records, privacy = membership_keys(content, settings, said.membership)
        content["records"], content["privacy"] = (
            _after("expected", content["records"], records),
            content["privacy"] | privacy,
        )
        content |= {"attributes": choice.attributes, **choice.sections}
        reasons = textwrap.wrap(choice.reason, WIDTH_OF_COMMENTS)
        comments = [Comment(("mechanism", "name"), f"# {line}", "above") for line in reasons]
        words = {name: self.dictionary[name].words for name in (*columns, class_name) if name in self.dictionary}
        return Draft(
            content,
            {name: said for name, said in words.items() if said},
            self.hints,
            comments,
            left_out={column: why for column, why in identifying.items() if column in left_out},
            kinds_left_out={column: self._attribute_kind(column) for column in identifying if column in left_out},
            notes=[
                *(note for part in self.parts for note in _notes(part)),
                *filter(None, [choice.reason]),
                *what_is_shared(content, settings),
            ],
        )

    def _shared(self) -> Iterator[str]:
        """The columns that are drafted: of whole rows, those that every party has."""
        for column in self.types:
            if self.said.partition != "horizontal" or all(column in part.types for part in self.parts):
                yield column

    def _identifier(self) -> str:
        if self.said.identifier != FILL_IN:
            return self.said.identifier
        described = [name for name, entry in self.dictionary.items() if entry.kind == "identifier"]
        if described:
            return described[0]
        if perhaps := self._perhaps_identifiers(FILL_IN):
            listed = ", ".join(f'"{name}"' for name in perhaps)
            self.hints["records.identifier"] = f"perhaps {listed}, left out below because of the name"
        return FILL_IN

    def _perhaps_identifiers(self, identifier: str) -> list[str]:
        """Columns that may be the identifier while nobody has said which one is."""
        return [name for name in self.types if identifier == FILL_IN and looks_like_identifier(name)]

    def _class_name(self) -> str:
        if not self.said.has_class:
            return FILL_IN
        described = [name for name, entry in self.dictionary.items() if entry.kind == "class"]
        return described[0] if self.said.class_name == FILL_IN and described else self.said.class_name

    def _class(self, name: str) -> Content:
        section: Content = {"name": name, "values": self._values(name) or FILL_IN}
        holders = self._holders(name)
        owners = [part.party for part in self.parts if part.party is not None]
        if self.said.partition == "horizontal" or name == FILL_IN or not owners or set(holders) == set(self.parties):
            return section
        if not holders:
            self.hints["class.held_by"] = "none of these data have it"
        return {**section, "held_by": holders or FILL_IN}

    def _holders(self, column: str) -> list[str]:
        return [part.party for part in self.parts if part.party is not None and column in part.types]

    def _values(self, column: str) -> list[str] | None:
        if column in self.decided.values:
            return list(self.decided.values[column])
        entry = self.dictionary.get(column)
        if entry is not None and entry.values is not None:
            return list(entry.values)
        # What truth values are read as is a matter of their type, and tells nothing about data.
        return ["false", "true"] if self.types.get(column) == "truth value" else None

    def _attribute(self, column: str, cells: int) -> Content:
        entry = self.dictionary.get(column, ColumnEntry(name=column))
        kind, place = self._kind(column, entry), f"attributes.{column}"
        section: Content = {"kind": kind}
        if kind == "categorical":
            values = self._values(column)
            section |= {"values": values or FILL_IN, "missing": "category"}
            if entry.is_complete and values:
                section |= {"missing": values[0], "unlisted": values[0]}
            if self.types[column] == "truth word":
                self.hints[f"{place}.values"] = "truth values, as the file writes them: true, TRUE or True"
        elif kind == "numerical":
            bounds = self.decided.bounds.get(column, entry.bounds)
            is_whole = entry.is_whole or self.types[column] == "whole number"
            section |= {"bounds": FILL_IN if bounds is None else list(bounds)}
            section |= {"grid": default_grid(bounds, is_whole=is_whole, cells=cells)}
            if is_whole and all(bound == int(bound) for bound in bounds or ()):
                section |= {"decimals": 0}
            section |= {"missing": bounds[0] if entry.is_complete and bounds else "category"}
            if entry.codes:
                section["missing_spellings"] = [*MISSING_SPELLINGS, *entry.codes]
        else:
            self.hints[f"{place}.kind"] = KIND_HINTS.get(self.types[column], "")
        return section | self._held_by(column)

    def _attribute_kind(self, column: str) -> str:
        return self._kind(column, self.dictionary.get(column, ColumnEntry(name=column)))

    def _kind(self, column: str, entry: ColumnEntry) -> str:
        if column in self.decided.kinds:
            return self.decided.kinds[column]
        if column in self.decided.bounds:
            return "numerical"
        if entry.kind in ("categorical", "numerical"):
            return entry.kind
        if entry.kind == "class":  # of a dictionary, where it is not what is predicted here
            return "categorical"
        return KIND_OF_TYPE.get(self.types[column], FILL_IN)

    def _held_by(self, column: str) -> Content:
        if self.said.partition == "horizontal":
            return {}
        holders = self._holders(column)
        if self.said.partition == "vertical" and len(holders) > 1:
            listed = " and ".join(f'"{party}"' for party in holders)
            self.hints[f"attributes.{column}.held_by"] = f"{listed} have it, and in vertical data one party does"
            return {"held_by": FILL_IN}
        return {"held_by": (holders[0] if len(holders) == 1 else holders) or FILL_IN}


def _after(key: str, table: Content, more: Content) -> Content:
    """A table with more keys after one of its own."""
    parts = ({name: value, **(more if name == key else {})} for name, value in table.items())
    return {name: value for part in parts for name, value in part.items()}


def _notes(part: PartyColumns) -> Iterator[str]:
    """What has to be done about data before they are read as they are meant."""
    if part.decimal_commas:
        listed = ", ".join(f"'{name}'" for name in part.decimal_commas)
        yield (
            f"Numbers with a decimal comma, which would be read as missing: {listed}. Save the file with decimal "
            "points before 'check', in pandas with read_csv(..., decimal=',')."
        )


MISSING_SPELLINGS = ("?", "NA")
"""How a draft says that files write a missing value."""

KIND_OF_TYPE: Mapping[ColumnType, str] = {
    "text": "categorical",
    "truth value": "categorical",
    "truth word": "categorical",
    "number": "numerical",
}
"""Kinds that follow from a type. A whole number may be a code, and a date is neither."""

KIND_HINTS: Mapping[ColumnType, str] = {
    "whole number": "the data have whole numbers: codes of categories, or amounts?",
    "date": "the data have dates: categories as they are; for a number, let the source count days or years",
}
