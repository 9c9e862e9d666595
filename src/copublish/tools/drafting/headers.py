"""A draft from what is known at the start: names and types of columns, a public dictionary, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from copublish.errors import AgreementError
from copublish.rows.identifying_names import identifying_name
from copublish.rows.looking import look_at_columns
from copublish.rows.sources import Source
from copublish.tools.drafting.answers import (
    column_from,
    epsilon_from,
    expected_from,
    mechanism_from,
    membership_from,
    name_from,
    or_left_open,
    partition_from,
)
from copublish.tools.drafting.demo import example_agreement
from copublish.tools.drafting.dictionary import Dictionary, dictionary_from_csv, dictionary_from_json, read_dictionary
from copublish.tools.drafting.draft import (
    Decided,
    Draft,
    Essentials,
    PartyColumns,
    columns_of,
    draft_agreement,
    whole_numbers,
)
from copublish.tools.drafting.files import draft_from_text
from copublish.tools.drafting.questions import with_questions

READERS = {
    "name": name_from,
    "dataset": name_from,
    "partition": partition_from,
    "epsilon": epsilon_from,
    "expected": expected_from,
    "mechanism": mechanism_from,
    "membership": membership_from,
}
"""What may be said beside columns, and how it is read."""


def party_columns(party: str, source: Source) -> PartyColumns:
    """The columns of a party's data, as far as a draft may know them.

    Raises:
        SourceError: If the data cannot be read.
    """
    seen = look_at_columns(source)
    return PartyColumns(party, seen.types, seen.identifying, seen.decimal_commas)


def described_columns(party: str | None, dictionary: Dictionary) -> PartyColumns:
    """The columns that a dictionary alone says; their names may tell that they identify people."""
    why = ((name, identifying_name(name)) for name in dictionary)
    return PartyColumns(party, dict.fromkeys(dictionary, "unknown"), {name: said for name, said in why if said})


def draft(
    data: Mapping[str, Source] | None = None,
    *,
    dictionary: Dictionary | str | Path | None = None,
    party: str | None = None,
    has_class: bool = True,
    keep: Sequence[str] = (),
    questions: Sequence[str] = (),
    **essentials: str,
) -> Draft:
    """A draft from columns of data, a dictionary and what is said; the complete example if there is nothing of that.

    Args:
        data: Data of each party that is known. Names and types of columns get into the draft. Values of the
            first rows are looked at on this machine alone, for columns that seem to identify people.
        dictionary: A public data dictionary, or the path of one.
        party: Who drafts, where a dictionary alone says the columns.
        has_class: Whether a column is to be predicted. Without one the mechanism is one that needs none.
        keep: Columns that are to be published although they seem to identify people. The draft's `left_out` names those
            that were left out.
        questions: What the release must answer, like 'mean cost by stage' or 'age under 30'.
        essentials: What is decided: name, dataset, partition, identifier, class_name, epsilon, expected,
            mechanism, membership. What is not said is left open; without `membership` two owners of columns hide
            from each other whom they share, where they can.

    Raises:
        AgreementError: If an answer cannot be used, naming it, or the dictionary has mistakes.
        SourceError: If data cannot be read.

    Privacy:
        Reveals: names and types of columns, to who sees the draft; of those who know that a column is there also that
            it seemed to identify people. Values and bounds never come from data.
    """
    described = read_dictionary(dictionary) if isinstance(dictionary, str | Path) else dictionary or {}
    parts = [party_columns(name, source) for name, source in (data or {}).items()]
    if not (parts or described or party or essentials) and has_class:
        return with_questions(draft_from_text(example_agreement()), questions)
    if not parts:
        parts = [described_columns(party, described)]
    known = list(columns_of(parts))
    # A class that nobody here holds is named all the same; a dictionary may know it.
    readers = {
        **READERS,
        "identifier": column_from(known),
        "class_name": column_from([*known, *described] if described else []),
    }
    said: dict[str, Any] = {}
    problems = []
    for key, text in essentials.items():
        try:
            said[key] = or_left_open(readers[key])(text)
        except ValueError as exc:
            problems.append(f"{key}: {exc}")
    for name in keep:
        try:
            column_from(known)(name)
        except ValueError as exc:
            problems.append(f"keep: {exc}")
    if problems:
        raise AgreementError("What was said", problems)
    parties = [part.party for part in parts if part.party is not None]
    drafted = draft_agreement(
        Essentials(**said, has_class=has_class, parties=parties), parts, described, Decided(kept=keep)
    )
    return with_questions(drafted, questions, whole=whole_numbers(parts, described))


def dictionary_from_text(text: str, name: str) -> Dictionary:
    """A data dictionary from its text; its name says whether it is JSON or CSV.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    read = dictionary_from_json if name.lower().endswith(".json") else dictionary_from_csv
    return read(text, name)
