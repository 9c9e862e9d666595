"""The fields of a draft, as a person fills them in."""

from __future__ import annotations

from dataclasses import dataclass, field

GRIDS = ("round", "step", "edges", "count")
"""Ways to say where a number may be split; the first is what a draft begins with."""

SHOWN_ABOVE = ("format", "name", "dataset", "description", "partition", "parties", "records", "class", "attributes")
"""Keys and sections that have fields of their own, beside `SHOWN_BELOW`."""

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


@dataclass(kw_only=True)
class DraftFields:
    """All fields of a draft, as typed. An empty one is an open point where an agreement needs an answer.

    Attributes:
        name, dataset, description, partition: Of the release.
        identifier, no_identifier, expected, public, spellings: Of its records; a line for each spelling of a missing
            value.
        class_name, class_values, class_held_by: Of the class.
        epsilon, delta, neighbors, mechanism: What is spent, and on what.
        records_more, class_more, privacy_more, mechanism_more, more: Everything else of these sections, as TOML.
        comments: What people have written beside it in the file; nobody sees this field.
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
    comments: str = ""
    parties: list[PartyFields] = field(default_factory=list)
    columns: list[ColumnFields] = field(default_factory=list)
