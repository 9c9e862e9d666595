"""Questions that `copublish init` asks at a terminal: the essentials, and what no dictionary says about a column.

An answer is checked while it is typed, and asked for again until it can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import typer

from copublish.agreement.loading import FILL_IN
from copublish.cli.terminal import note
from copublish.errors import AgreementError, visible
from copublish.rows.agreed_columns import column_types, offered_values
from copublish.rows.sources import Source
from copublish.tools.drafting.answers import (
    bounds_from,
    column_from,
    epsilon_from,
    expected_from,
    kind_from,
    name_from,
    names_from,
    or_left_open,
    parties_from,
    partition_from,
    values_from,
)
from copublish.tools.drafting.dictionary import Dictionary
from copublish.tools.drafting.draft import (
    Decided,
    Draft,
    Essentials,
    PartyColumns,
    columns_of,
    identifying_columns,
    looks_like_identifier,
)
from copublish.tools.drafting.questions import takes_questions, with_questions

T = TypeVar("T")


def ask(text: str, read: Callable[[str], T], default: str = FILL_IN) -> T | str:
    """Ask a question; Enter takes the default, and FILL IN leaves it open in the draft.

    Args:
        text: The question.
        read: Reads an answer, or raises a ValueError that says what to write.
        default: What Enter means.
    """
    reader = or_left_open(read)

    def checked(answer: str) -> T | str:
        try:
            return reader(answer)
        except ValueError as exc:
            raise typer.BadParameter(f"{exc}") from None

    return cast("T | str", typer.prompt(text, default=default, value_proc=checked, err=True))


def option(text: str | None, read: Callable[[str], T], name: str) -> T | str | None:
    """What an option says, read as an answer would be; nothing if it was not given.

    Raises:
        BadParameter: If it cannot be used.
    """
    if text is None:
        return None
    try:
        return or_left_open(read)(text)
    except ValueError as exc:
        raise typer.BadParameter(f"{exc}", param_hint=name) from None


def confirm(text: str) -> bool:
    """Ask whether; no is the default."""
    return bool(typer.confirm(text, default=False, err=True))


MOST_OFFERED = 40
"""Columns with more values than this are left to the code book."""


NO_CLASS = "-"
"""The answer that no column is to be predicted."""


@dataclass(frozen=True)
class Owner:
    """Data that columns are drafted from, and whose they are."""

    party: str
    source: Source


def ask_essentials(given: Mapping[str, Any], parts: Sequence[PartyColumns], dictionary: Dictionary) -> Essentials:
    """Ask for what no column says and no option has said.

    Args:
        given: What options say, by the names of the answers.
        parts: The columns that are known.
        dictionary: Says perhaps which of them is the identifier, and which the class.
    """
    known = list(columns_of(parts))
    parties = [part.party for part in parts if part.party is not None]
    answers = dict(given)

    def settle(key: str, text: str, read: Any, default: str = FILL_IN) -> None:
        if key not in answers:
            answers[key] = ask(text, read, default)

    note(
        "Enter takes what stands in brackets; FILL IN leaves something open. Nothing may come from looking at the data."
    )
    settle("name", "Name of the release", name_from, "my-release")
    settle("dataset", "Name of the data set (ledgers count under it what is spent on these people)", name_from)
    if len(parties) < 2:
        which = "All parties" if parties else "Parties"
        answer = ask(f"{which}, separated by commas", parties_from, FILL_IN if parties else "party-a, party-b")
        parties = parties if isinstance(answer, str) else list(answer)
    settle("partition", "Partition: horizontal, vertical or arbitrary", partition_from, "vertical")
    roles = {entry.kind: name for name, entry in dictionary.items()}
    by_name = next((column for column in known if looks_like_identifier(column)), FILL_IN)
    settle("identifier", "Column that identifies a person", column_from(known), roles.get("identifier", by_name))
    # The class may be a column of another party, which a dictionary knows.
    anybodys = list(dict.fromkeys([*known, *dictionary]))
    if answers.get("has_class", True):
        text = f"Column to predict (the class; {NO_CLASS} if there is none)"
        settle("class_name", text, _class_from(anybodys), roles.get("class", FILL_IN))
        if answers["class_name"] == NO_CLASS:
            del answers["class_name"]
            answers["has_class"] = False
    settle("epsilon", "Epsilon (0.1 to 2 is usual; smaller protects more)", epsilon_from)
    settle("expected", "Public estimate of the number of records", expected_from)
    return Essentials(**answers, parties=parties)


def _class_from(known: Sequence[str]) -> Callable[[str], str]:
    read = column_from(known)
    return lambda text: NO_CLASS if text.strip() == NO_CLASS else read(text)


def ask_about_columns(
    essentials: Essentials,
    parts: list[PartyColumns],
    dictionary: Dictionary,
    offering: Sequence[Owner],
    kept: Sequence[str] = (),
) -> Decided:
    """Ask whether columns that seem to identify people are published, and about the others what is open."""
    identifying = identifying_columns(essentials, parts, dictionary)
    kept = [
        column
        for column, why in identifying.items()
        if column in kept or confirm(f"'{visible(column)}' seems to identify people: {why}. Publish it all the same?")
    ]
    unpublished = set(identifying) - set(kept)
    types = {column: kind for column, kind in columns_of(parts).items() if column not in unpublished}
    values: dict[str, Any] = dict(_confirmed_values(offering, types, dictionary, essentials))
    kinds: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    for column, of_type in types.items():
        entry = dictionary.get(column)
        described = entry is not None and (entry.values is not None or entry.bounds is not None)
        if column == essentials.identifier or column in values or described or of_type == "truth value":
            continue
        if column == essentials.class_name:
            kinds[column] = "categorical"
        elif entry is not None and entry.kind in ("categorical", "numerical"):
            kinds[column] = entry.kind
        elif of_type in ("whole number", "unknown", "date"):
            what = "has whole numbers: a category (codes)" if of_type == "whole number" else "is a category"
            kinds[column] = ask(f"'{column}' {what} or a number?", kind_from)
        if kinds.get(column, "numerical" if of_type == "number" else "categorical") == "categorical":
            values[column] = ask(f"Values of '{column}', divided by |", values_from)
        elif kinds.get(column) != FILL_IN:
            bounds[column] = ask(f"Bounds of '{column}', like 0..120", bounds_from)
    return Decided(kinds=_without_open(kinds), values=_without_open(values), bounds=_without_open(bounds), kept=kept)


def ask_questions(draft: Draft, whole: Collection[str]) -> Draft:
    """Ask what the release must answer, one question after the other, if the mechanism takes questions."""
    if not takes_questions(draft):
        return draft
    note(
        "Which questions must it answer? Their tables are measured for sure. Like: mean cost by stage; age under 30; "
        "age, sex, region. Enter when there is no other."
    )

    def checked(answer: str) -> Draft | None:
        try:
            return with_questions(draft, [answer], whole=whole) if answer.strip() else None
        except AgreementError as exc:
            raise typer.BadParameter("; ".join(exc.problems)) from None

    while (
        answered := typer.prompt("A question", default="", show_default=False, value_proc=checked, err=True)
    ) is not None:
        draft = answered
    return draft


def _without_open(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {column: answer for column, answer in answers.items() if answer != FILL_IN}


def _confirmed_values(
    owners: Sequence[Owner], types: Mapping[str, str], dictionary: Dictionary, essentials: Essentials
) -> dict[str, list[str]]:
    """Show owners values of their text columns, and keep those that they confirm.

    Privacy:
        Reveals: a value that is confirmed, to everybody who sees the agreement: that somebody in the data has it. No is
            the default, and a value of few rows is called rare.
    """
    found: dict[str, list[str]] = {}
    for owner in owners:
        known = {name for name, entry in dictionary.items() if entry.values is not None}
        texts = [
            column
            for column, of_type in column_types(owner.source).items()
            if of_type in ("text", "truth word")
            and types.get(column) == of_type
            and column not in known
            and column != essentials.identifier
        ]
        for column, values in offered_values(owner.source, texts, at_most=MOST_OFFERED):
            for value in values:
                rare = " It is rare: perhaps it is a person's." if value.is_rare else ""
                if value.text not in found.get(column, []) and confirm(
                    f"'{column}' of your data has '{visible(value.text)}'.{rare} Make it public, in the agreement?"
                ):
                    found.setdefault(column, []).append(value.text)
    return found


def ask_for_columns(essentials: Essentials) -> list[str]:
    """Ask which columns there are, where no data and no dictionary say it."""
    answer = ask("Columns of all parties, separated by commas", names_from)
    named = [] if isinstance(answer, str) else list(answer)
    roles = [name for name in (essentials.identifier, essentials.class_name) if name != FILL_IN]
    return list(dict.fromkeys([*named, *roles]))
