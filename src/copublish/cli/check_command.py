"""`copublish check`: is my fragment what we agreed?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement import load_agreement
from copublish.cli.terminal import (
    Format,
    FormatOption,
    TableOption,
    print_json,
    refuse_unknown_party,
    results_console,
    warn_first,
)
from copublish.fragments.reading import read_fragment
from copublish.fragments.sources import KINDS_OF_DATA, source_from
from copublish.mechanisms.registry import refuse_unfit_records
from copublish.privacy.no_promise import warning_of


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    party: Annotated[str | None, typer.Option(help="Which party of the agreement you are.")] = None,
    data: Annotated[str | None, typer.Option(help=f"Your data: {KINDS_OF_DATA}.")] = None,
    table: TableOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check an agreement and, with --party and --data, your own data against it. Costs nothing.

    Nothing leaves this machine. Every problem is reported at once; a message names the column and the rule and
    never a value of a person.

    Example: copublish check agreement.toml --party bank --data bank.parquet

    Example: copublish check agreement.toml --party loans --data postgresql://reader@db.example/lending --table loans
    """
    if (party is None) != (data is None):
        raise typer.BadParameter("give both --party and --data, or neither to check the agreement alone")
    if table is not None and data is None:
        raise typer.BadParameter("name the database of the table with --data", param_hint="--table")
    agreed = load_agreement(agreement)
    if party is not None:
        refuse_unknown_party(party, agreed.parties)
    warning = warning_of(agreed)
    result = {
        **({} if warning is None else {"warning": warning}),
        "agreement": agreed.name,
        "agreement_hash": agreed.hash,
        "ok": True,
    }
    if party is not None and data is not None:
        fragment = read_fragment(agreed, party, source_from(data, table))
        refuse_unfit_records(agreed, fragment)
        result |= {"party": party, "records": fragment.n_records, "columns": list(fragment.private_codes)}
    if output is Format.JSON:
        print_json(result)
        return
    console = results_console()
    warn_first(warning, console)
    console.print(f"The agreement '{agreed.name}' is complete. Hash {agreed.hash}")
    if "party" in result:
        columns = ", ".join(fragment.private_codes)
        console.print(f"The data of '{party}' fit it: {fragment.n_records:,} records, columns {columns}.", markup=False)
        console.print("The number of records is shown to you alone.")
        if warning is not None and agreed.partition != "horizontal":
            console.print(
                "What the mechanism asks of records was checked for all of yours: in a run those that all parties have "
                "are checked again, after the join."
            )
