"""`copublish init`: an agreement to start from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from copublish.cli.terminal import TableOption, note
from copublish.errors import CopublishError
from copublish.fragments.sources import Source, open_source, source_from
from copublish.release.draft import Draft, Kind, draft_agreement, example_agreement

PARTITIONS = ("horizontal", "vertical", "arbitrary")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    path: Annotated[Path, typer.Argument(help="Where to write the agreement.")] = Path("agreement.toml"),
    data: Annotated[
        str | None,
        typer.Option("--from", help="Draft the attributes' kinds from the columns of this file or database."),
    ] = None,
    table: TableOption = None,
    ask: Annotated[
        bool | None, typer.Option("--ask/--no-ask", help="Ask questions. Default: only at a terminal.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a commented agreement to start from.

    Asks for the essentials at a terminal; elsewhere, or with --no-ask, it writes a complete example. With --from it
    drafts the attributes from the column names and types of your data: values and bounds are left for you to
    fill in from public knowledge, because an agreement is public and must not repeat private data.

    Example: copublish init agreement.toml --from bank.csv
    """
    if path.exists() and not force:
        raise CopublishError(f"'{path}' exists. Choose another name, or add --force to replace it.")
    if table is not None and data is None:
        raise typer.BadParameter("name the database of the table with --from", param_hint="--table")
    kinds = None if data is None else _kinds(data, source_from(data, table))
    asking = sys.stdin.isatty() if ask is None else ask
    text = example_agreement() if kinds is None and not asking else draft_agreement(_draft(kinds, asking))
    path.write_text(text, encoding="utf-8")
    fill_in = text.count("FILL IN")
    if kinds is not None:
        note("The column names (of a CSV file: its first line) stand in the agreement, which is public.")
    note(f"Wrote {path}." + (f" Fill in the {fill_in} places marked FILL IN." if fill_in else ""))
    note(f"Then: copublish describe {path}")


def _draft(kinds: dict[str, Kind] | None, asking: bool) -> Draft:
    def question(text: str, default: str) -> str:
        return str(typer.prompt(text, default=default, err=True)) if asking else default

    columns: dict[str, Kind] = kinds if kinds is not None else {"age": "numerical", "job": "categorical"}
    named = [name for name in columns if name.lower() == "id" or name.lower().endswith(("_id", "-id"))]
    name = question("Name of the release", "my-release")
    parties = [party.strip() for party in question("Parties, separated by commas", "party-a, party-b").split(",")]
    partition = question("Partition: horizontal, vertical or arbitrary", "vertical")
    while partition not in PARTITIONS:
        partition = question("Please answer horizontal, vertical or arbitrary", "vertical")
    identifier = question("Column that identifies a person", named[0] if named else "id")
    class_name = question("Column to predict (the class)", list(columns)[-1] if kinds is not None else "outcome")
    epsilon = question("Epsilon", "1.0")
    attributes = {column: kind for column, kind in columns.items() if column not in (identifier, class_name)}
    return Draft(
        name=name,
        partition=cast(Literal["horizontal", "vertical", "arbitrary"], partition),
        parties=parties,
        identifier=identifier,
        class_name=class_name,
        epsilon=epsilon,
        kinds=attributes,
    )


def _kinds(data: str, source: Source) -> dict[str, Kind]:
    """Read column names and types, and no values."""
    with open_source(source, "The data") as opened:
        schema = opened.table.schema()
        if data.lower().endswith(".csv"):
            schema = opened.connection.read_csv(data, header=True).schema()  # typed here, to tell numbers from text
    return {name: "numerical" if kind.is_numeric() else "categorical" for name, kind in schema.items()}
