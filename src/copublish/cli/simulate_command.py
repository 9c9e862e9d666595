"""`copublish simulate`: a whole release in one process."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.cli.failures import telling_what_ledgers_have
from copublish.cli.options import with_options
from copublish.cli.terminal import (
    Format,
    FormatOption,
    errors_console,
    note,
    parse_pairs,
    print_json,
    progress_bars,
    results_console,
    warn_first,
)
from copublish.kernel.certificate.build import warning_of
from copublish.kernel.ledger.ledger import Entry, Ledger, open_existing_ledger
from copublish.party.local.simulation import simulate as run_simulation
from copublish.party.request import with_events
from copublish.release.folder import refuse_existing
from copublish.rows.sources import KINDS_OF_DATA, source_from


class EngineChoice(StrEnum):
    """Where a simulation computes."""

    IDEAL = "ideal"
    SPU = "spu"
    MASKED_SUM = "masked-sum"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


@with_options("timeout_seconds", "workers", "workers_on")
def simulate(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    data: Annotated[list[str], typer.Option(help=f"PARTY=DATA for every party that holds data: {KINDS_OF_DATA}.")],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    table: Annotated[
        list[str] | None, typer.Option(help="PARTY=TABLE for a party whose data are in a database.")
    ] = None,
    events: Annotated[
        list[str] | None,
        typer.Option(
            help="PARTY:NAME=PLACE for an event table of the agreement: a file, or a table of the party's database."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="PARTY=FILE: this party's own names, units and spellings of the agreed columns, a mapping."),
    ] = None,
    ledger: Annotated[
        list[str] | None,
        typer.Option(help="PARTY=FILE: charge this party's ledger. Without it nothing is remembered."),
    ] = None,
    engine: Annotated[
        EngineChoice,
        typer.Option(
            help="ideal: in the clear, in one process. spu, masked-sum: as agreed, with a process for each party."
        ),
    ] = EngineChoice.IDEAL,
    given: Mapping[str, Any],
    force: Annotated[bool, typer.Option("--force", help="Replace a release that is in the folder.")] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Simulate a release with all parties on this machine.

    The noise, the disclosures and the release are as between organizations. --engine ideal computes in the clear, for
    planning and experiments; --engine spu runs every party in a process of its own that sees its own data alone, and
    computes on secret shares (joins and sums of any number of parties, people compared between two); --engine
    masked-sum adds up masked sums without a secure engine, if that is what the agreement says.

    Example: copublish simulate agreement.toml --data bank=bank.parquet --data loans=loans.csv --out release/
    """
    data_of = parse_pairs(data, "--data")
    table_of = parse_pairs(table or [], "--table")
    if unknown := set(table_of) - set(data_of):
        raise typer.BadParameter(f"there is no --data for {', '.join(sorted(unknown))}", param_hint="--table")
    columns_of = parse_pairs(columns or [], "--columns")
    if unknown := set(columns_of) - set(data_of):
        raise typer.BadParameter(f"there is no --data for {', '.join(sorted(unknown))}", param_hint="--columns")
    places = _event_places(events or [], data_of)
    ledger_files = parse_pairs(ledger or [], "--ledger")
    refuse_existing(out, overwrite=force)
    agreed = load_agreement(agreement)
    warn_first(warning_of(agreed), errors_console)
    if ledger_files and set(ledger_files) != set(agreed.owners):
        raise typer.BadParameter(f"give one for every party: {', '.join(agreed.owners)}", param_hint="--ledger")
    for file in ledger_files.values():
        open_existing_ledger(Path(file), agreed.dataset).close()
    sources = {
        party: with_events(agreed, party, source_from(value, table_of.get(party)), places.get(party))
        for party, value in data_of.items()
    }
    with progress_bars() as progress, telling_what_ledgers_have(lambda: _charges(ledger_files)):
        release = run_simulation(
            agreed,
            sources,
            columns=columns_of,
            engine=engine.value,
            ledger_files=ledger_files,
            progress=progress,
            notice=note,
            **given,
        )
    release.write(out, overwrite=force)
    if not ledger_files:
        note("No ledger was charged (no --ledger): whoever publishes this keeps count of the budget.")
    if output is Format.JSON:
        print_json(
            {
                **release.warning,
                "folder": str(out),
                **release.sizes,
                "epsilon": release.certificate.epsilon.to_json(),
            }
        )
        return
    warn_first(release.certificate.warning, results_console())
    results_console().print(
        f"Released {release.size_words} to {out}. See: copublish show {out}",
        markup=False,
    )


def _event_places(events: list[str], data_of: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Where event tables are, by party and name."""
    found: dict[str, dict[str, str]] = {}
    for whose, place in parse_pairs(events, "--events").items():
        party, separator, name = whose.partition(":")
        if not separator or not name or party not in data_of:
            raise typer.BadParameter("write PARTY:NAME=PLACE, for a party with --data", param_hint="--events")
        found.setdefault(party, {})[name] = place
    return found


def _charges(ledger_files: Mapping[str, str]) -> dict[str, list[Entry]]:
    """What every party's ledger was charged so far."""
    found = {}
    for party, file in ledger_files.items():
        ledger = Ledger(file)
        found[f"The ledger of '{party}'"] = ledger.entries()
        ledger.close()
    return found
