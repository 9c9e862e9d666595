"""`copublish check`: is my fragment what we agreed?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from copublish.agreement.loading import load_agreement
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import (
    Format,
    FormatOption,
    TableOption,
    note,
    print_json,
    results_console,
    warn_first,
)
from copublish.errors import DoubtfulDataError, FragmentError, visible
from copublish.party.check import check as check_data
from copublish.rows.overview import Overview
from copublish.rows.sources import KINDS_OF_DATA, source_from
from copublish.tools.drafting.differences import differences
from copublish.tools.drafting.files import load_draft


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


@with_options("party", "columns", "accept", "events")
def check(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    given: Mapping[str, Any],
    data: Annotated[str | None, typer.Option(help=f"Your data: {KINDS_OF_DATA}.")] = None,
    table: TableOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 4 if any value is not as agreed.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Also the numbers of rows whose values are not as agreed.")
    ] = False,
    since: Annotated[
        Path | None, typer.Option(help="An older draft of the agreement: also say what changed since, in words.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check an agreement and, with --data, your own data against it. Costs nothing.

    Nothing leaves this machine. Every problem is reported at once; a message names the column and the rule and
    never a value of a person. No value ends a run: what is not as agreed is changed by the agreement's rules, and this
    command says where, by column, rule and number of rows. Where they change or leave out more than a tenth, it ends
    with exit code 4 unless you --accept the data; a run asks for the same.

    Example: copublish check agreement.toml --data bank.parquet

    Example: copublish check agreement.toml --data patients.csv --events visits=visits.csv

    Example: copublish check agreement.toml --since approved.toml

    Example: copublish check agreement.toml --party loans --data postgresql://reader@db.example/lending --table loans
    """
    if given and data is None:
        raise typer.BadParameter("give --data too, or neither of them to check the agreement alone")
    if table is not None and data is None:
        raise typer.BadParameter("name the database of the table with --data", param_hint="--table")
    changed = None if since is None else differences(load_draft(since), load_draft(agreement))
    if changed is not None and output is not Format.JSON:
        _print_changes(changed, results_console())  # also of a draft that is no agreement yet
    source = None if data is None else source_from(data, table)
    asked = None if source is None else resolved(agreement, given, data=source)
    agreed, party = (load_agreement(agreement), None) if asked is None else (asked.agreement, asked.party)
    to_check, mapping = (None, None) if asked is None else (asked.request.data, asked.request.columns)
    checked = check_data(agreed, party, to_check, columns=mapping, accept="accept" in given, strict=strict, rows=rows)
    if checked.problems:
        raise FragmentError(checked.party, checked.problems)
    if output is Format.JSON:
        print_json({**checked.to_dict(), **({} if changed is None else {"changed": changed})})
        if not checked.ok:
            raise typer.Exit(DoubtfulDataError.exit_code)
        return
    console = results_console()
    warn_first(checked.warning, console)
    console.print(f"The agreement '{checked.agreement}' is complete. Hash {checked.agreement_hash}", markup=False)
    if checked.padding is not None:
        console.print(checked.padding, markup=False, soft_wrap=True)
    for sentence in checked.meeting:
        console.print(sentence, markup=False, soft_wrap=True)
    if checked.party is not None:
        columns = ", ".join(checked.columns)
        fit = f"The columns of '{party}' fit it: {checked.records:,} records, columns {columns}."
        console.print(fit, markup=False)
        if checked.overview is not None:
            _print_overview(checked.overview, console)
        if checked.checked_before_join:
            console.print(
                "What the mechanism asks of records was checked for all of yours: in a run those that all parties have "
                "are checked again, after the join."
            )
    if not checked.ok:
        raise DoubtfulDataError(checked.party, checked.doubts)
    if checked.doubts:
        note("Accepted, although these are hardly the data that were agreed:")
        for doubt in checked.doubts:
            note(f"  - {doubt}")


def _print_changes(changed: list[str], console: Console) -> None:
    console.print("What changed:" if changed else "Nothing has changed.")
    for sentence in changed:
        console.print(visible(f"  - {sentence}"), markup=False, soft_wrap=True)


def _print_overview(overview: Overview, console: Console) -> None:
    """Print what the agreement's rules do to the data, for their owner."""
    console.print("What the agreement's rules do to them is shown to you alone; a run tells nobody else:")
    for line in overview.lines:
        console.print(f"  - {line}", markup=False, soft_wrap=True)
