"""`copublish init`: an agreement to start from."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import FILL_IN, is_placeholder
from copublish.cli.init_questions import (
    Owner,
    ask_about_columns,
    ask_essentials,
    ask_for_columns,
    ask_questions,
    option,
)
from copublish.cli.merge_command import tell_what_is_open, what_is_open
from copublish.cli.options import resolved
from copublish.cli.terminal import note
from copublish.errors import CopublishError, visible
from copublish.rows.sources import source_from
from copublish.tools.drafting.answers import (
    column_from,
    epsilon_from,
    expected_from,
    mechanism_from,
    membership_from,
    name_from,
    number_from,
    partition_from,
)
from copublish.tools.drafting.demo import example_agreement
from copublish.tools.drafting.dictionary import Dictionary, read_dictionary
from copublish.tools.drafting.draft import (
    Decided,
    Draft,
    Essentials,
    PartyColumns,
    columns_of,
    draft_agreement,
    whole_numbers,
)
from copublish.tools.drafting.headers import described_columns, party_columns
from copublish.tools.drafting.mapping import draft_mapping
from copublish.tools.drafting.questions import with_questions
from copublish.tools.drafting.text import draft_text

PARTY_AND_DATA = re.compile(r"(?P<party>[A-Za-z0-9][A-Za-z0-9._-]*)=(?P<data>.+)", re.S)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    path: Annotated[
        Path | None,
        typer.Argument(help="Where to write it. Default: agreement.toml, or my-columns.toml with --mapping."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            "--data",
            help="Draft columns from a file or database: DATA, or PARTY=DATA. Repeat it for each party.",
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
    mapping: Annotated[
        Path | None,
        typer.Option(help="An agreement that is there: draft which of your columns, in --data, are the agreed ones."),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(help="Public data dictionary, .csv or .json: name, kind, values, bounds, unit, description."),
    ] = None,
    identifier: Annotated[str | None, typer.Option(help="Column that identifies a person.")] = None,
    class_: Annotated[str | None, typer.Option("--class", help="Column to predict.")] = None,
    no_class: Annotated[bool, typer.Option("--no-class", help="No column is to be predicted.")] = False,
    partition: Annotated[str | None, typer.Option(help="horizontal, vertical or arbitrary.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the release.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name under which ledgers count what is spent.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget of the release.")] = None,
    expected: Annotated[str | None, typer.Option(help="Public estimate of the number of records.")] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(help="The mechanism whose sections are drafted. Default: the first choice, as in the example."),
    ] = None,
    membership: Annotated[
        str | None,
        typer.Option(
            help="hidden: no owner of columns learns which of its people another one has. shared: all owners learn it. "
            "Default: hidden where that can hold."
        ),
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(help="What the release must answer, like 'mean cost by stage' or 'age under 30'. Repeat it."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to draft although it seems to identify people. Repeat it for several."),
    ] = None,
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
    is marked FILL IN, for you to take from public knowledge. Columns that seem to identify people are left out, and
    named to you alone. What --question asks becomes required tables and cut points. Every party drafts its own
    columns, and 'copublish merge' makes one agreement of the drafts. Asks for the essentials at a terminal. Without
    --from and --dictionary it writes a complete example, or asks.

    Example: copublish init agreement.toml --from bank.csv

    Example: copublish init bank.toml --party bank --from bank.csv --dictionary dictionary.csv --identifier customer_id
    --class default

    Example: copublish init agreement.toml --from bank=bank.csv --from loans=loans.csv --dictionary dictionary.csv

    With --mapping it drafts no agreement but a mapping, for data whose columns have other names, units or spellings
    than an agreement. Columns are found by their names alone; what is not found is marked FILL IN.

    Example: copublish init my-columns.toml --mapping agreement.toml --party bank --data bank.csv
    """
    path = path or Path("agreement.toml" if mapping is None else "my-columns.toml")
    if path.exists() and not force:
        raise CopublishError(f"'{path}' exists. Choose another name, or add --force to replace it.")
    if mapping is not None:
        _draft_mapping(path, mapping, data or [], table or [], party)
        return
    asking = sys.stdin.isatty() if ask_ is None else ask_
    if offer_values and not (asking and data):
        raise typer.BadParameter(
            "it shows values of --from and asks about each: add --ask", param_hint="--offer-values"
        )
    if no_class and class_ is not None:
        raise typer.BadParameter("--class names a column to predict: leave out one of them", param_hint="--no-class")
    owners = _owners(data or [], table or [], party)
    described = {} if dictionary is None else read_dictionary(dictionary)
    given: dict[str, Any] = {
        "name": option(name, name_from, "--name"),
        "dataset": option(dataset, name_from, "--dataset"),
        "partition": option(partition, partition_from, "--partition"),
        "epsilon": option(epsilon, epsilon_from, "--epsilon"),
        "expected": option(expected, expected_from, "--expected"),
        "mechanism": option(mechanism, mechanism_from, "--mechanism"),
        "membership": option(membership, membership_from, "--membership"),
        "has_class": False if no_class else None,
    }
    said_something = any(value is not None for value in (*given.values(), identifier, class_, party))
    said_something = said_something or bool(question or keep)
    if not (owners or described or asking or said_something):
        path.write_text(example_agreement(), encoding="utf-8")
        note(f"Wrote {path}, a complete example. Then: copublish describe {path}")
        return
    parts = [party_columns(owner.party, owner.source) for owner in owners] or [described_columns(party, described)]
    known = list(columns_of(parts))
    given["identifier"] = option(identifier, column_from(known), "--identifier")
    # A class that this party does not hold is named all the same, and the dictionary may know it.
    elsewhere = [column for column in described if column not in known]
    given["class_name"] = option(class_, column_from([*known, *elsewhere] if described else []), "--class")
    said = {key: value for key, value in given.items() if value is not None}
    parties = [part.party for part in parts if part.party is not None]
    kept = [str(option(column, column_from(known), "--keep")) for column in keep or []]
    essentials, decided = Essentials(**said, parties=parties), Decided(kept=kept)
    if asking:
        essentials = ask_essentials(said, parts, described)
        if not known:
            parts = [PartyColumns(party, dict.fromkeys(ask_for_columns(essentials), "unknown"))]
        decided = ask_about_columns(essentials, parts, described, owners if offer_values else [], kept)
    draft, whole = draft_agreement(essentials, parts, described, decided), whole_numbers(parts, described)
    draft = with_questions(draft, question or [], whole=whole)
    if asking and not question:
        draft = ask_questions(draft, whole)
    path.write_text(draft_text(draft), encoding="utf-8")
    _tell(path, draft, owners, parts, described)


def _draft_mapping(path: Path, agreement: Path, data: list[str], tables: list[str], party: str | None) -> None:
    """Write the draft of a mapping for an agreement that is there, and say what is left open."""
    if len(data) != 1 or len(tables) > 1:
        raise typer.BadParameter("name your own data, once", param_hint="--data")
    asked = resolved(agreement, {} if party is None else {"party": party})
    source = source_from(data[0], tables[0] if tables else None)
    text = draft_mapping(asked.agreement, asked.party, source)
    path.write_text(text, encoding="utf-8")
    columns = tomllib.loads(text)["columns"]
    left_open = [f"'{visible(name)}'" for name, own in columns.items() if is_placeholder(own["column"])]
    if left_open:
        note(f"Wrote {path}. Not found by their names, and marked {FILL_IN}: {', '.join(left_open)}.")
    else:
        note(f"Wrote {path}. All columns are found by their names: see whether units and values are the agreed ones.")
    note(f"It stays here. Then: copublish check {agreement} --party {asked.party} --data {data[0]} --columns {path}")


def _owners(data: list[str], tables: list[str], party: str | None) -> list[Owner]:
    """Whose data are where: as --from says, by --party, or by the name of the file or the table."""
    named: list[tuple[str | None, str]] = []
    for text in data:
        is_file = "://" not in text and Path(text).exists()  # a name of a file may hold an equals sign
        pair = None if is_file else PARTY_AND_DATA.fullmatch(text)
        named.append((None, text) if pair is None else (pair["party"], pair["data"]))
    if party is not None and len(data) > 1:
        raise typer.BadParameter("with several --from, write PARTY=DATA in each", param_hint="--party")
    table_of = _tables(tables, [name for name, _ in named])
    owners = []
    for name, text in named:
        source, table = source_from(text, table_of.get(name)), table_of.get(name)
        owner = name or party or re.sub(r"[^A-Za-z0-9._-]+", "-", table or Path(text).stem).strip("-._") or "party"
        option(owner, name_from, "--party")
        owners.append(Owner(owner, source))
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


def _tell(path: Path, draft: Draft, owners: list[Owner], parts: list[PartyColumns], dictionary: Dictionary) -> None:
    if owners:
        note("The column names (of a CSV file: its first line) stand in the draft, which others will see.")
        if any(_looks_like_a_value(name) for part in parts for name in part.types):
            note("WARNING: a column is called by a number. If the data have no line of column names, delete the draft.")
    if draft.left_out:
        listed = [f"'{visible(column)}': {why}" for column, why in draft.left_out.items()]
        note("\n  - ".join(["Left out, because they seem to identify people (this is said to you alone):", *listed]))
        note("Those that are to be published all the same are named with --keep NAME.")
    for sentence in draft.notes:
        note(visible(sentence))
    types = columns_of(parts)
    unused = [f"'{name}'" for name in dictionary if owners and name not in types]
    if unused:
        note(f"In the dictionary, but not in these data: {', '.join(unused)}.")
    identifier = draft.content["records"].get("identifier", FILL_IN)
    if owners and identifier != FILL_IN and not all(identifier in part.types for part in parts):
        note(
            f"The identifier '{visible(identifier)}' has another name in these data. Once the agreement is there, "
            "write a mapping: copublish init my-columns.toml --mapping AGREEMENT --party PARTY --data DATA"
        )
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


def _looks_like_a_value(name: str) -> bool:
    """Whether a name of a column is a number, as it is where a file begins with somebody's record."""
    try:
        number_from(name)
    except ValueError:
        return False
    return True
