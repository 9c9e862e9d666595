"""`copublish init`: an agreement to start from."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.placeholders import FILL_IN
from copublish.cli.merge_command import tell_what_is_open, what_is_open
from copublish.cli.questions import ask, confirm, option
from copublish.cli.terminal import note
from copublish.drafting.answers import (
    bounds_from,
    column_from,
    epsilon_from,
    expected_from,
    kind_from,
    name_from,
    names_from,
    parties_from,
    partition_from,
    values_from,
)
from copublish.drafting.dictionary import Dictionary, read_dictionary
from copublish.drafting.draft import (
    Decided,
    Draft,
    Essentials,
    PartyColumns,
    columns_of,
    draft_agreement,
    looks_like_identifier,
)
from copublish.drafting.example import example_agreement
from copublish.drafting.text import draft_text
from copublish.errors import CopublishError, visible
from copublish.fragments.column_types import column_types, offered_values
from copublish.fragments.sources import Source, source_from

PARTY_AND_DATA = re.compile(r"(?P<party>[A-Za-z0-9][A-Za-z0-9._-]*)=(?P<data>.+)", re.S)

MOST_OFFERED = 40
"""Columns with more values than this are left to the code book."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


@dataclass(frozen=True)
class _Owner:
    """Data that columns are drafted from, and whose they are."""

    party: str
    source: Source


def init(
    path: Annotated[Path, typer.Argument(help="Where to write the agreement.")] = Path("agreement.toml"),
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--from", help="Draft columns from a file or database: DATA, or PARTY=DATA. Repeat it for each party."
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Which table, if the data are in a database: TABLE, or PARTY=TABLE for several parties."),
    ] = None,
    party: Annotated[
        str | None,
        typer.Option(help="Whose data --from names, if it does not say. Default: the name of the file or the table."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Public data dictionary, .csv or .json: name, kind, values, bounds, unit, description."),
    ] = None,
    identifier: Annotated[str | None, typer.Option(help="Column that identifies a person.")] = None,
    class_: Annotated[str | None, typer.Option("--class", help="Column to predict.")] = None,
    partition: Annotated[str | None, typer.Option(help="horizontal, vertical or arbitrary.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the release.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name under which ledgers count what is spent.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget of the release.")] = None,
    expected: Annotated[str | None, typer.Option(help="Public estimate of the number of records.")] = None,
    offer_values: Annotated[
        bool,
        typer.Option(
            "--offer-values",
            help="At a terminal: show values of your text columns one by one. Those that you confirm become public.",
        ),
    ] = False,
    ask_: Annotated[
        bool | None, typer.Option("--ask/--no-ask", help="Ask questions. Default: only at a terminal.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented agreement to start from.

    With --from it drafts the attributes from the column names and types of your data, and with --dictionary from a
    public code book. Of your data no value gets into the draft, because an agreement is public: what is not known
    is marked FILL IN, for you to take from public knowledge. Every party drafts its own columns, and 'copublish
    merge' makes one agreement of the drafts. Asks for the essentials at a terminal. Without --from and --dictionary
    it writes a complete example, or asks.

    Example: copublish init agreement.toml --from bank.csv

    Example: copublish init bank.toml --party bank --from bank.csv --dictionary dictionary.csv --identifier customer_id
    --class default

    Example: copublish init agreement.toml --from bank=bank.csv --from loans=loans.csv --dictionary dictionary.csv
    """
    if path.exists() and not force:
        raise CopublishError(f"'{path}' exists. Choose another name, or add --force to replace it.")
    asking = sys.stdin.isatty() if ask_ is None else ask_
    if offer_values and not (asking and data):
        raise typer.BadParameter(
            "it shows values of --from and asks about each: add --ask", param_hint="--offer-values"
        )
    owners = _owners(data or [], table or [], party)
    described = {} if dictionary is None else read_dictionary(dictionary)
    given = {
        "name": option(name, name_from, "--name"),
        "dataset": option(dataset, name_from, "--dataset"),
        "partition": option(partition, partition_from, "--partition"),
        "epsilon": option(epsilon, epsilon_from, "--epsilon"),
        "expected": option(expected, expected_from, "--expected"),
    }
    said_something = any(value is not None for value in (*given.values(), identifier, class_, party))
    if not (owners or described or asking or said_something):
        path.write_text(example_agreement(), encoding="utf-8")
        note(f"Wrote {path}, a complete example. Then: copublish describe {path}")
        return
    parts = [PartyColumns(owner.party, column_types(owner.source)) for owner in owners]
    if not parts:
        parts = [PartyColumns(party, dict.fromkeys(described, "unknown"))]
    known = list(columns_of(parts))
    given["identifier"] = option(identifier, column_from(known), "--identifier")
    # A class that this party does not hold is named all the same, and the dictionary may know it.
    elsewhere = [column for column in described if column not in known]
    given["class_name"] = option(class_, column_from([*known, *elsewhere] if described else []), "--class")
    essentials = _essentials(given, parts, described, asking)
    decided = _decided(essentials, parts, described, owners if offer_values else []) if asking else Decided()
    if asking and not known:
        parts = [PartyColumns(party, dict.fromkeys(_other_columns(essentials), "unknown"))]
    draft = draft_agreement(essentials, parts, described, decided)
    path.write_text(draft_text(draft), encoding="utf-8")
    _tell(path, draft, owners, parts, described)


def _owners(data: list[str], tables: list[str], party: str | None) -> list[_Owner]:
    """Whose data are where: as --from says, by --party, or by the name of the file or the table."""
    named: list[tuple[str | None, str]] = []
    for text in data:
        pair = None if Path(text).exists() else PARTY_AND_DATA.fullmatch(text)
        named.append((None, text) if pair is None else (pair["party"], pair["data"]))
    if party is not None and len(data) > 1:
        raise typer.BadParameter("with several --from, write PARTY=DATA in each", param_hint="--party")
    table_of = _tables(tables, [name for name, _ in named])
    owners = []
    for name, text in named:
        source, table = source_from(text, table_of.get(name)), table_of.get(name)
        owner = name or party or re.sub(r"[^A-Za-z0-9._-]+", "-", table or Path(text).stem).strip("-._") or "party"
        option(owner, name_from, "--party")
        owners.append(_Owner(owner, source))
    names = [owner.party for owner in owners]
    if len(set(names)) < len(names):
        raise typer.BadParameter("two of them would be of one party: write PARTY=DATA in each", param_hint="--from")
    return owners


def _tables(tables: list[str], parties: list[str | None]) -> dict[str | None, str]:
    if tables and not parties:
        raise typer.BadParameter("name the database of the table with --from", param_hint="--table")
    if len(tables) == 1 and len(parties) == 1:
        return {parties[0]: tables[0].removeprefix(f"{parties[0]}=")}
    found: dict[str | None, str] = {}
    for text in tables:
        name, separator, table = text.partition("=")
        if not separator or name not in parties or name in found:
            raise typer.BadParameter("write PARTY=TABLE, once for each party of --from", param_hint="--table")
        found[name] = table
    return found


def _essentials(given: dict[str, Any], parts: list[PartyColumns], dictionary: Dictionary, asking: bool) -> Essentials:
    known = list(columns_of(parts))
    parties = [part.party for part in parts if part.party is not None]
    answers = {key: value for key, value in given.items() if value is not None}
    if not asking:
        return Essentials(**answers, parties=parties)

    def settle(key: str, text: str, read: Any, default: str = FILL_IN) -> Any:
        if key not in answers:
            answers[key] = ask(text, read, default)
        return answers[key]

    settle("name", "Name of the release", name_from, "my-release")
    settle("dataset", "Name of the data set (ledgers count under it what is spent on these people)", name_from)
    if len(parties) < 2:
        proposed = f"{parties[0]}, " if parties else "party-a, party-b"
        default = proposed if not parties else FILL_IN
        others = ask(f"Parties, separated by commas{' (all of them)' if parties else ''}", parties_from, default)
        parties = parties if isinstance(others, str) else list(others)
    settle("partition", "Partition: horizontal, vertical or arbitrary", partition_from, "vertical")
    roles = {entry.kind: name for name, entry in dictionary.items()}
    by_name = next((column for column in known if looks_like_identifier(column)), FILL_IN)
    settle("identifier", "Column that identifies a person", column_from(known), roles.get("identifier", by_name))
    settle("class_name", "Column to predict (the class)", column_from(known), roles.get("class", FILL_IN))
    settle("epsilon", "Epsilon (0.1 to 2 is usual; smaller protects more)", epsilon_from)
    settle("expected", "Public estimate of the number of records", expected_from)
    return Essentials(**answers, parties=parties)


def _decided(
    essentials: Essentials, parts: list[PartyColumns], dictionary: Dictionary, offering: list[_Owner]
) -> Decided:
    """Ask about every column what the dictionary leaves open."""
    types = columns_of(parts)
    values: dict[str, Any] = dict(_confirmed_values(offering, types, dictionary, essentials))
    kinds: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    note("Answer FILL IN, or Enter, to leave something open. Take values from code books and bounds from definitions.")
    for column, of_type in types.items():
        entry = dictionary.get(column)
        described = entry is not None and (entry.values is not None or entry.bounds is not None)
        if column == essentials.identifier or column in values or described:
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
    return Decided(kinds=_without_open(kinds), values=_without_open(values), bounds=_without_open(bounds))


def _without_open(answers: Mapping[str, Any]) -> dict[str, Any]:
    return {column: answer for column, answer in answers.items() if answer != FILL_IN}


def _confirmed_values(
    owners: list[_Owner], types: Mapping[str, str], dictionary: Dictionary, essentials: Essentials
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


def _other_columns(essentials: Essentials) -> list[str]:
    answer = ask("Columns of all parties, separated by commas", names_from)
    named = [] if isinstance(answer, str) else list(answer)
    roles = [name for name in (essentials.identifier, essentials.class_name) if name != FILL_IN]
    return list(dict.fromkeys([*named, *roles]))


def _tell(path: Path, draft: Draft, owners: list[_Owner], parts: list[PartyColumns], dictionary: Dictionary) -> None:
    if owners:
        note("The column names (of a CSV file: its first line) stand in the draft, which others will see.")
    types = columns_of(parts)
    unused = [f"'{name}'" for name in dictionary if owners and name not in types]
    if unused:
        note(f"In the dictionary, but not in these data: {', '.join(unused)}.")
    if draft.content["partition"] == "horizontal" and len(parts) > 1:
        partial = [f"'{name}'" for name in types if not all(name in part.types for part in parts)]
        if partial:
            note(f"Left out, because not every party has it: {', '.join(partial)}.")
    questions = what_is_open(draft.content, path)
    if len(draft.content["parties"]) != 1:
        tell_what_is_open(path, questions)
        return
    # That there is one party alone is no question to it.
    tell_what_is_open(path, tuple(question for question in questions if not question.startswith("parties:")), then=None)
    note(f"When the other parties have drafted theirs: copublish merge {path} THEIRS --out agreement.toml")
