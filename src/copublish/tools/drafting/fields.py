"""The fields of a draft as a person fills them in, and what keeps it from being an agreement.

The sentences are those of `check`, each with the place that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from copublish.agreement.loading import agreement_from_mapping
from copublish.errors import AgreementError
from copublish.tools.drafting.draft import Draft

MISSING = re.compile(r"(?P<owner>.+): '(?P<key>[^']+)' is missing", re.S)
WHOLE = "the agreement"
"""How sentences name what is about no key in particular."""


@dataclass(frozen=True)
class DraftProblem:
    """One thing that has to change, or to be filled in.

    Attributes:
        place: The key that it is about, like `attributes.income.bounds`; empty for the whole.
        sentence: What is wrong and what to write, as `check` says it.
    """

    place: str
    sentence: str


def draft_problems(draft: Draft, *, folder: str | Path = ".") -> tuple[DraftProblem, ...]:
    """Everything that keeps a draft from being an agreement; nothing if it is one.

    Args:
        draft: The draft.
        folder: Where taxonomy files are looked up.
    """
    try:
        agreement_from_mapping(draft.content, folder=folder, source="The draft")
    except AgreementError as exc:
        return problems_with_places(exc, draft)
    return ()


def problems_with_places(refusal: AgreementError, draft: Draft) -> tuple[DraftProblem, ...]:
    """The sentences of a refused draft, with their places."""
    places = sorted(_places(draft.content), key=len, reverse=True)  # a name may begin with another one
    return tuple(DraftProblem(_place(sentence, places), sentence) for sentence in refusal.problems)


def _place(sentence: str, places: list[str]) -> str:
    if missing := MISSING.match(sentence):
        owner = "" if missing["owner"] == WHOLE else missing["owner"]
        return f"{owner}.{missing['key']}".removeprefix(".")
    return next((place for place in places if sentence.startswith((f"{place}:", f"{place}."))), "")


def _places(content: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in content.items():
        place = f"{above}.{key}".removeprefix(".")
        yield place
        if isinstance(value, Mapping):
            yield from _places(value, place)


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
        at_most: Where membership is hidden, the public length that its list of people is padded to.
        more: Everything else that the file says of it, as TOML.
    """

    name: str = ""
    host: str = ""
    certificate: str = ""
    approvals: str = ""
    data: bool = True
    dials_out: bool = False
    at_most: str = ""
    more: str = ""


@dataclass(kw_only=True)
class ColumnFields:
    """One column.

    Attributes:
        name, held_by, kind, missing: As typed; who holds it by names with commas.
        values: Categories as indented text.
        lower, upper: Bounds of a number.
        grid, cells, also: In which way it may be split, the numbers for that, and numbers at which it is split besides.
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
    also: str = ""
    missing: str = ""
    words: str = ""
    more: str = ""


@dataclass(kw_only=True)
class DraftFields:
    """All fields of a draft, as typed. An empty one is an open point where an agreement needs an answer.

    Attributes:
        name, dataset, description, partition: Of the release.
        identifier, no_identifier, expected, membership, public, spellings: Of its records; a line for each spelling of
            a missing value. Where membership is said to be shared, lengths and the epsilon for it are not written.
        class_name, no_class, class_values, class_held_by: Of the class.
        epsilon, delta, neighbors, membership_epsilon, mechanism: What is spent, and on what.
        records_more, class_more, privacy_more, mechanism_more, more: Everything else of these sections, as TOML.
        drafted_delta: A delta that the draft began with, and nobody chose; nobody sees this field.
        questions: What it must answer besides, a question a line; those that were asked before are `comments`.
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
    membership: str = ""
    public: bool = False
    spellings: str = ""
    records_more: str = ""
    class_name: str = ""
    no_class: bool = False
    class_values: str = ""
    class_held_by: str = ""
    class_words: str = ""
    class_more: str = ""
    epsilon: str = ""
    delta: str = ""
    drafted_delta: str = ""
    neighbors: str = "add-remove"
    membership_epsilon: str = ""
    privacy_more: str = ""
    mechanism: str = ""
    mechanism_more: str = ""
    more: str = ""
    questions: str = ""
    comments: str = ""
    parties: list[PartyFields] = field(default_factory=list)
    columns: list[ColumnFields] = field(default_factory=list)
